"""The four parts of a transport, and what each may be."""

from __future__ import annotations

from svg import Figure

QUEUES = "direct ifd ifd-optimised dependency leaky keyframe obs"
PARTS = (
    (
        "queue",
        "which frame goes next",
        "and which is given up",
        QUEUES,
    ),
    ("format", "how frames become", "bytes", "elementary-stream rtp ts"),
    ("session", "between format", "and socket", "none rfc4571 rtp rtsp"),
    ("socket", "of this kernel, or", "simulated", "datagram stream"),
)
EXAMPLES = (
    ("udp", "direct rtp none datagram", "drop"),
    ("udp+dependency", "dependency rtp none datagram", "wait"),
    ("tcp+ifd", "ifd elementary-stream none stream", "wait"),
    ("rtp+tcp", "direct rtp rfc4571 stream", "wait"),
)
LEFT, TOP, WIDTH, GAP, BOX = 150.0, 60.0, 148.0, 34.0, 174.0


def draw() -> Figure:
    """The picture of transports.md."""
    figure = Figure("The parts of a transport, from the frame clock to the network", 960, 434)
    figure.box(20, TOP + 30, 96, 66, "frame clock", ["a frame when", "it is due"], "part")
    for number, (name, first, second, words) in enumerate(PARTS):
        x = _x(number)
        figure.arrow((116 if number == 0 else x - GAP, TOP + 63), (x, TOP + 63))
        figure.box(x, TOP, WIDTH, BOX, name, [first, second])
        figure.lines(x + 16, TOP + 72, words.split(), "code", step=15)
    figure.arrow((_x(3) + WIDTH, TOP + 63), (_x(3) + WIDTH + 30, TOP + 63))
    figure.text(_x(3) + WIDTH + 4, TOP + 52, "network", "small")
    _losses(figure)
    _examples(figure)
    return figure


def _x(part: int) -> float:
    return LEFT + part * (WIDTH + GAP)


def _losses(figure: Figure) -> None:
    y = TOP + BOX
    figure.arrow((_x(0) + 16, y), (_x(0) + 16, y + 24), kind="lossline")
    figure.lines(_x(0) + 26, y + 17, ["frames given up by its", "rules (sender pipeline)"], "small", "loss", step=13)
    figure.arrow((_x(3) + 16, y), (_x(3) + 16, y + 24), kind="lossline")
    figure.lines(
        _x(3) + 26,
        y + 17,
        ["overflow of datagrams:", "wait, drop, or", "drop-rest-of-frame"],
        "small",
        "loss",
        step=13,
    )


def _examples(figure: Figure) -> None:
    top = TOP + BOX + 76
    figure.text(20, top, "Some names, and their parts", "head")
    for row, (name, words, overflow) in enumerate(EXAMPLES):
        y = top + 26 + row * 26
        figure.line([(20, y + 8), (940, y + 8)], "grid")
        figure.text(20, y, name, "code", "head")
        for number, word in enumerate(words.split()):
            figure.text(_x(number) + 16, y, word, "code")
        if "datagram" in words:
            figure.text(_x(3) + 80, y, f"overflow: {overflow}", "code")
