"""The three buffers of I-Frame Delay, and where a frame is given up."""

from __future__ import annotations

from svg import Figure

TOP, WIDTH, HEIGHT, STEP = 70.0, 170.0, 62.0, 250.0


def draw() -> Figure:
    """The picture of ifd.md."""
    figure = Figure("Three buffers of one frame each, and where a frame is given up", 800, 250)
    buffers = (
        ("C, current", ["what the frame clock", "has just offered"]),
        ("W, wait", ["what goes next"]),
        ("S, send", ["what is being written,", "always to its end"]),
    )
    middle = TOP + HEIGHT / 2
    for number, (name, lines) in enumerate(buffers):
        x = 60 + STEP * number
        figure.box(x, TOP, WIDTH, HEIGHT, name, lines, "part" if number == 1 else "box")
    figure.text(8, middle - 24, "frame", "small", "pale")
    figure.text(8, middle - 10, "clock", "small", "pale")
    figure.arrow((8, middle), (56, middle))
    for left, over, below in ((60 + WIDTH, "when offered", "decision"), (60 + STEP + WIDTH, "when S", "is empty")):
        figure.text(left + (STEP - WIDTH) / 2, middle - 8, over, "small", "pale", "middle")
        figure.text(left + (STEP - WIDTH) / 2, middle + 18, below, "small", "pale", "middle")
        figure.arrow((left + 4, middle), (left + STEP - WIDTH - 4, middle))
    end = 60 + 2 * STEP + WIDTH
    figure.arrow((end + 4, middle), (end + 60, middle))
    figure.text(end + 8, middle - 8, "socket", "small", "pale")
    for x, what in (
        (60 + WIDTH / 2, "C, where W is no less important"),
        (60 + STEP + WIDTH / 2, "W, where it is less important"),
    ):
        figure.arrow((x, TOP + HEIGHT), (x, TOP + HEIGHT + 50), kind="lossline")
        figure.text(x, TOP + HEIGHT + 66, what, "small", "loss", "middle")
    figure.text(
        60,
        TOP + HEIGHT + 98,
        "I before P before B, and a newer I for an older one. The optimised policy also gives up",
        "small",
    )
    figure.text(60, TOP + HEIGHT + 113, "frames whose references were given up.", "small")
    return figure
