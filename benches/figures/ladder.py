"""Levels of a movie, the file that holds them, and the schedule by which they are sent."""

from __future__ import annotations

from itertools import accumulate

from svg import Figure, Point

FRAMES, GROUP, LEVELS = 24, 6, 3
SEGMENTS = (3.0, 3.2, 5.4, 5.0, 2.2, 1.6, 3.6, 4.4, 2.0, 1.6)
"""Bytes that a plan sends in each of ten segments of the sketch."""
STARTUP = 0.5
"""Segments before the player takes the first frame."""


def draw() -> Figure:
    """The picture of ladder.md."""
    figure = Figure("Ladder, streaming file and schedule", 960, 476)
    _levels(figure, 60, 62)
    _file(figure, 60, 210)
    _schedule(figure)
    return figure


def _levels(figure: Figure, left: float, top: float) -> None:
    figure.text(
        20, top - 6, "Ladder: the same frames at every level; levels change at key frames (switch points)", "head"
    )
    taken = [0] * GROUP + [1] * GROUP + [2] * GROUP + [1] * GROUP
    for level in range(LEVELS):
        y = top + 10 + (LEVELS - 1 - level) * 32
        figure.text(20, y + 17, f"{level}", "small")
        for frame in range(FRAMES):
            key = frame % GROUP == 0
            tall = (10 + 5 * level) * (1.0 if key else 0.6)
            kind = "ours" if taken[frame] == level else "box"
            figure.rectangle(left + frame * 36, y + 26 - tall, 26 if key else 18, tall, kind)
    figure.text(
        left,
        top + 120,
        "decode order; large: key frames; green: what a server sends",
        "small",
        "pale",
    )


def _file(figure: Figure, left: float, top: float) -> None:
    figure.text(20, top, "Streaming file: the levels of a frame lie side by side", "head")
    x = left
    for name, width, kind in (
        ("header", 70, "box"),
        ("frame 0: level 0", 112, "part"),
        ("level 1", 70, "part"),
        ("level 2", 88, "part"),
        ("frame 1: level 0", 112, "part"),
        ("level 1", 70, "part"),
        ("level 2", 88, "part"),
        ("...", 60, "part"),
        ("index", 90, "box"),
    ):
        figure.rectangle(x, top + 10, width, 30, kind)
        figure.text(x + width / 2, top + 29, name, "small", "middle")
        x += width + 4


def _schedule(figure: Figure) -> None:
    left, bottom, width, tall = 60.0, 446.0, 560.0, 160.0
    sent = [0.0, *accumulate(SEGMENTS)]
    taken = _taken()
    most = sent[-1]

    def at(time: float, amount: float) -> Point:
        return left + width * time / (len(SEGMENTS) + STARTUP), bottom - tall * amount / most

    figure.text(20, bottom - tall - 16, "Schedule of a level: bytes over time (a sketch)", "head")
    figure.line([(left, bottom - tall - 4), (left, bottom), (left + width, bottom)], "grid")
    figure.line([at(time, amount) for time, amount in enumerate(sent)], "curve third")
    figure.line([at(time, amount) for time, amount in taken], "curve other")
    x, text = left + width + 40, bottom - tall + 14
    for number, (kind, words) in enumerate(
        (
            ("third", "C(t): what the plan has sent, by the mean"),
            ("", "rate of each of N = 10 segments"),
            ("other", "V(t): what the player has taken, a frame each"),
            ("", "frame period after the start-up time"),
            ("", "U(t) = C(t) - V(t): in the client's buffer"),
            ("", "where it would fall below zero, bytes go"),
            ("", "ahead in the first seconds (pre-send)"),
        )
    ):
        if kind:
            figure.dot(x - 12, text + number * 19 - 4, kind, 4)
        figure.text(x, text + number * 19, words, "small")


def _taken() -> list[Point]:
    """Stairs of what the player has taken, eight frames a segment, of which the first is a large one."""
    points: list[Point] = [(0.0, 0.0), (STARTUP, 0.0)]
    amount = 0.0
    for number, size in enumerate(SEGMENTS):
        for frame in range(8):
            time = STARTUP + number + frame / 8
            points.append((time, amount))
            amount += size * (0.3 if frame == 0 else 0.1)
            points.append((time, amount))
    return points
