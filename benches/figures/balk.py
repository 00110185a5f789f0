"""What became of each claim of the paper on VTP, by every reading."""

from __future__ import annotations

import tables
from svg import Figure

PAGE, HEADING = "reproduce-balk.md", "| | bytes over gaps (60 bytes) |"
TOP, ROW, NAMES, COLUMN = 118.0, 17.0, 240.0, 112.0
READINGS = (
    ("bytes over gaps", "as vtp is"),
    ("k over k - 1", ""),
    ("28 bytes", "of header"),
    ("no header", "counted"),
    ("bytes over gaps,", "10 ms clock"),
    ("k over k - 1,", "10 ms clock"),
)
MARKS = ("holds", "undecided", "does not")


def draw() -> Figure:
    """The picture of reproduce-balk.md."""
    counts, *claims = tables.rows(PAGE, HEADING)
    figure = Figure("Every claim by every reading of the paper", 960, TOP + ROW * len(claims) + 16)
    for number, word in enumerate(MARKS):
        _mark(figure, 24 + number * 110, 46, word)
        figure.text(34 + number * 110, 50, {"does not": "does not hold"}.get(word, word), "small")
    figure.text(20, TOP - 16, "independent claims that hold", "small")
    for number, (heads, count) in enumerate(zip(READINGS, counts[1:], strict=True)):
        x = NAMES + (number + 0.5) * COLUMN
        figure.lines(x, TOP - 48, heads, "small", "middle", step=14)
        figure.text(x, TOP - 16, count, "head", "middle")
    for number, (name, *cells) in enumerate(claims):
        y = TOP + ROW * (number + 0.5)
        figure.line([(20, y + ROW / 2), (940, y + ROW / 2)], "grid")
        figure.text(20, y + 4, name.replace("`", ""), "small")
        for place, cell in enumerate(cells):
            _mark(figure, NAMES + (place + 0.5) * COLUMN, y, next((word for word in MARKS if cell.endswith(word)), ""))
    return figure


def _mark(figure: Figure, x: float, y: float, verdict: str) -> None:
    if verdict == "holds":
        figure.dot(x, y, "ours", 4)
    elif verdict == "undecided":
        figure.dot(x, y, "third nofill", 4)
    elif verdict:
        figure.cross(x, y, "other")
