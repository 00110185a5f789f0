"""The packets of a session of VTP, in the order in which they go."""

from __future__ import annotations

from svg import Figure

SENDER, RECEIVER, TOP = 240.0, 720.0, 70.0


def draw() -> Figure:
    """The picture of vtp.md."""
    figure = Figure("A session of the Video Transport Protocol", 960, 566)
    for x, name in ((SENDER, "server"), (RECEIVER, "client")):
        figure.box(x - 70, TOP - 26, 140, 44, name, ["data, control socket"], "part")
        figure.line([(x, TOP + 18), (x, 548)], "grid")
    steps = (
        ("back", 0, "request (3), on both sockets", "repeated after 0.25, 0.5, then each 1 s"),
        ("forward", 0, "description (4), with a cookie", "levels, duration, k; the server remembers nothing"),
        ("back", 0, "start (5), each cookie on its socket", "both valid: both addresses are proved"),
        ("back", 1, "offer (8), where the client wants repeats", "answered by an offer of what the session has"),
        ("forward", 0, "video (0), paced at the rate", "k - 1 of k packets"),
        ("forward", 0, "video (1), asks for a control packet", "every k-th packet"),
        ("back", 0, "control (2): its time stamps, SIZE", "bytes that came since the last one: the estimate"),
        ("back", 1, "missing (9): what has not come", "key frames first, if it can still be in time"),
        ("forward", 1, "repeat: video with a number of its own", "in the place of a new packet"),
        ("forward", 0, "teardown (6), the end of the movie", "each 0.5 s, four times, until it is acknowledged"),
        ("back", 0, "teardown (6), acknowledged", "either side may stop before"),
    )
    for number, (way, optional, name, note) in enumerate(steps):
        y = TOP + 52 + number * 40
        ends = (SENDER, RECEIVER) if way == "forward" else (RECEIVER, SENDER)
        figure.arrow((ends[0], y), (ends[1], y), kind="dash" if optional else "line")
        figure.text((SENDER + RECEIVER) / 2, y - 5, name, "middle")
        figure.text((SENDER + RECEIVER) / 2, y + 13, note, "middle", "small", "pale")
    for first, last, text in (
        (0, 2, ["set-up: no", "amplification"]),
        (4, 6, ["video, and", "the measurement", "of equation 1"]),
        (9, 10, ["end"]),
    ):
        low, high = TOP + 38 + first * 40, TOP + 60 + last * 40
        figure.line([(132, low), (124, low), (124, high), (132, high)], "line")
        figure.lines(20, (low + high) / 2 - 7 * len(text) + 12, text, "small")
    figure.lines(760, TOP + 178, ["dashed: only where both", "sides want repeats"], "small", "pale")
    return figure
