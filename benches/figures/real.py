"""A stream between two machines, and what is made of the two records."""

from __future__ import annotations

from svg import Figure

TOP, WIDTH, GAP = 50.0, 210.0, 330.0


def draw() -> Figure:
    """The picture of real.md."""
    figure = Figure("What goes between two machines, what each keeps, and how both become one run", 790, 325)
    left, right = 20.0, 20 + WIDTH + GAP
    for x, command, lines in (
        (left, "framewire send", ["queue, pace and rules", "as in the lab"]),
        (right, "framewire receive", ["frames, sound,", "the movie as received"]),
    ):
        figure.box(x, TOP, WIDTH, 140, command, lines)
    rows = (
        ("announcement: transport, codec, sound", "port + 1, UDP", True),
        ("the movie", "port, UDP or TCP", False),
        ("sound of RTP over UDP, and reports", "port + 2, ports + 1 and + 3", False),
    )
    for number, (what, where, answered) in enumerate(rows):
        y = TOP + 34 + 44 * number
        figure.text(left + WIDTH + GAP / 2, y - 6, what, "small", "middle")
        figure.text(left + WIDTH + GAP / 2, y + 14, where, "small", "pale", "middle")
        figure.arrow((left + WIDTH + 6, y), (right - 6, y))
        if answered:
            figure.arrow((right - 6, y), (left + WIDTH + 6, y))
    for x, (directory, what) in (
        (left, ("sent", "when, and what was given up")),
        (right, ("came", "when each packet arrived")),
    ):
        figure.arrow((x + WIDTH / 2, TOP + 140), (x + WIDTH / 2, TOP + 166))
        figure.box(x, TOP + 166, WIDTH, 46, directory, [what])
    middle = left + WIDTH + 25
    figure.box(
        middle,
        TOP + 190,
        GAP - 50,
        54,
        "framewire report sent came",
        ["one run: what each frame became, and why"],
        "part",
    )
    figure.arrow((left + WIDTH / 2, TOP + 212), (left + WIDTH / 2, TOP + 232), (middle - 4, TOP + 232))
    figure.arrow((right + WIDTH / 2, TOP + 212), (right + WIDTH / 2, TOP + 232), (middle + GAP - 46, TOP + 232))
    return figure
