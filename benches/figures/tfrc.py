"""The loop of TFRC: data one way, feedback the other, and what each end works out."""

from __future__ import annotations

from svg import Figure

TOP, WIDTH, HEIGHT, GAP = 56.0, 250.0, 118.0, 250.0


def draw() -> Figure:
    """The picture of tfrc.md."""
    figure = Figure("TFRC (RFC 5348): what each end works out, and what goes between them", 790, 200)
    left, right = 20.0, 20 + WIDTH + GAP
    figure.box(
        left,
        TOP,
        WIDTH,
        HEIGHT,
        "sender",
        [
            "round trip R, from feedback (4.3)",
            "X by the equation from s, R and p (3.1)",
            "at most twice what was received (4.3)",
            "half of it where no feedback comes (4.4)",
            "next packet after s/X (4.6)",
        ],
        "part",
    )
    figure.box(
        right,
        TOP,
        WIDTH,
        HEIGHT,
        "receiver",
        [
            "lost: three later packets came (5.1)",
            "loss event: losses within one R (5.2)",
            "p from eight loss intervals (5.4)",
            "history discounted while few come (5.5)",
            "feedback each R, and at a new event (6.2)",
        ],
    )
    middle = left + WIDTH + GAP / 2
    for y, what, detail in (
        (TOP + 36, "data: sequence number,", "time stamp, R"),
        (TOP + 90, "feedback: time stamp and delay,", "X_recv, p"),
    ):
        figure.text(middle, y - 8, what, "small", "middle")
        figure.text(middle, y + 16, detail, "small", "middle")
    figure.arrow((left + WIDTH + 6, TOP + 36), (right - 6, TOP + 36))
    figure.arrow((right - 6, TOP + 90), (left + WIDTH + 6, TOP + 90))
    figure.text(left, TOP + HEIGHT + 20, "Numbers in parentheses are sections of the RFC.", "small", "pale")
    return figure
