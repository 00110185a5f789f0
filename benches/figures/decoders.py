"""What a decoder shows of a stream with a gap."""

from __future__ import annotations

from svg import Figure

LEFT, STEP, BOX = 150.0, 54.0, 38.0
SENT = ("I0", "P3", "B1", "B2", "P6", "B4", "B5", "I9", "B7", "B8", "P12", "B10", "B11")
ARRIVED = {"P6": "lost"}
BECAME = {
    "P6": "lost",
    "B4": "undecodable",
    "B5": "undecodable",
    "B7": "undecodable",
    "B8": "undecodable",
}
"""What B pictures between P6 and I9 refer to includes P6: an open group."""


def draw() -> Figure:
    """The picture of decoders.md."""
    figure = Figure("One frame lost, five not shown: what arrived, and what a decoder makes of it", 960, 262)
    shown = sorted((name for name in SENT if name not in BECAME), key=lambda name: int(name[1:]))
    figure.text(20, 84, "as sent", "head")
    figure.text(20, 100, "(decode order)", "small", "pale")
    for number, name in enumerate(SENT):
        x = LEFT + STEP * number
        fate = BECAME.get(name, "shown")
        kind = {"shown": "part", "lost": "frame", "undecodable": "box"}[fate]
        figure.rectangle(x, 66, BOX, BOX, kind)
        figure.text(x + BOX / 2, 90, name, "middle", "head", *(["loss"] if fate == "lost" else []))
        if fate != "shown":
            figure.text(x + BOX / 2, 120, "lost" if fate == "lost" else "no P6", "small", "middle", "loss")
    figure.arrow((LEFT + STEP * 7 + BOX / 2, 150), (LEFT + STEP * 7 + BOX / 2, 110))
    figure.text(LEFT + STEP * 7 + BOX / 2 + 8, 152, "I9 refers to nothing: from here on all is decoded again", "small")
    figure.text(20, 204, "as shown", "head")
    figure.text(20, 220, "(display order)", "small", "pale")
    for number in range(13):
        name = next((name for name in shown if int(name[1:]) == number), None)
        x = LEFT + number * STEP
        figure.rectangle(x, 186, BOX, BOX, "part" if name else "frame")
        figure.text(x + BOX / 2, 210, name or "=", "middle", "head")
    figure.text(
        20,
        250,
        "=  the picture before stands on. Blue: shown; dashed: never came, or nothing to show.",
        "small",
        "pale",
    )
    return figure
