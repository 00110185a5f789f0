"""What a server of movies has, in which forms, and what it keeps of each client."""

from __future__ import annotations

from svg import Figure

TOP, LEFT, WIDTH, STEP = 54.0, 200.0, 250.0, 44.0
FORMS = (
    ("/NAME", "HTTP", "the file as it is"),
    ("/mp4/NAME.mp4", "HTTP", "MP4, its index in front"),
    ("/ts/NAME.ts", "HTTP", "MPEG transport stream"),
    ("rtsp://.../NAME", "RTSP", "RTP: interleaved, or datagrams"),
)


def draw() -> Figure:
    """The picture of serving.md."""
    figure = Figure("A folder of movies, the forms in which they are had, and what is kept of each client", 790, 318)
    height = STEP * len(FORMS) + 10
    figure.box(20, TOP + height / 2 - 33, 130, 66, "files", ["listed when", "the server begins"])
    figure.arrow((154, TOP + height / 2), (LEFT - 4, TOP + height / 2))
    figure.rectangle(LEFT, TOP, WIDTH, height, "part")
    for number, (path, scheme, what) in enumerate(FORMS):
        y = TOP + 22 + STEP * number
        figure.text(LEFT + 12, y, path, "code")
        figure.text(LEFT + 12, y + 16, f"{scheme}: {what}", "small")
        figure.arrow((LEFT + WIDTH + 4, y + 4), (LEFT + WIDTH + 56, y + 4))
    x = LEFT + WIDTH + 60
    figure.box(
        x,
        TOP,
        790 - 20 - x,
        height,
        "each client has",
        [
            "a connection that it opens",
            "a session: its frame clock (or,",
            "by --pace client, its own speed)",
            "a queue, which gives frames up",
            "where the client is too slow",
            "limits: silence, slowness,",
            "size of requests",
            "one frame in memory at a time",
        ],
    )
    y = TOP + height + 34
    figure.arrow((x + 100, TOP + height + 2), (x + 100, y - 4))
    figure.box(
        LEFT, y, 790 - 20 - LEFT, 36, "clients.ndjson: a line of each answer; clients/N: the ledger of connection N"
    )
    return figure
