"""Frames shown and share of the fair rate, path by path: the hybrid rate control beside the paper's."""

from __future__ import annotations

import tables
from svg import Figure

PAGE, HEADING = "vtp-hybrid.md", "| path | control | mean level |"
SHOWN, SHARE = 6, 7
TOP, ROW, NAMES = 92.0, 15.0, 330.0
PANELS = ((350.0, 280.0, 100.0, "frames shown, %"), (670.0, 270.0, 2.5, "share of the fair rate"))


def draw() -> Figure:
    """The picture of vtp-hybrid.md."""
    paths: dict[str, dict[str, list[str]]] = {}
    for path, control, *rest in _tables():
        paths.setdefault(path, {})[control] = [path, control, *rest]
    height = TOP + ROW * len(paths) + 34
    figure = Figure("Every path of the tables below: vtp-hybrid beside the paper's VTP", 960, height)
    for x, kind, name in ((20, "ours", "vtp-hybrid"), (120, "other", "paper")):
        figure.dot(x + 4, 46, kind)
        figure.text(x + 14, 50, name, "small")
    for left, width, most, name in PANELS:
        _axis(figure, left, width, most, name, TOP + ROW * len(paths))
    for number, (path, controls) in enumerate(paths.items()):
        y = TOP + ROW * (number + 0.5)
        figure.text(NAMES, y + 4, path, "small", "end")
        for (left, width, most, _), column in zip(PANELS, (SHOWN, SHARE), strict=True):
            paper, ours = (
                left + width * tables.number(controls[name][column]) / most for name in ("paper", "vtp-hybrid")
            )
            figure.line([(paper, y), (ours, y)], "grid")
            figure.dot(paper, y, "other")
            figure.dot(ours, y, "ours")
    return figure


def _tables() -> list[list[str]]:
    """Both tables of the page: the second one is of paths that were held out."""
    text = (tables.DOCS / PAGE).read_text(encoding="utf-8")
    first = tables.rows(PAGE, HEADING)
    held_out = text[text.index("### Held out") :].splitlines()
    rest = [line for line in held_out if line.count("|") == 11][2:]
    second = [[cell.strip() for cell in line.strip("|").split("|")] for line in rest]
    return first + [[f"held out: {path}", *cells] for path, *cells in second]


def _axis(figure: Figure, left: float, width: float, most: float, name: str, bottom: float) -> None:
    figure.text(left, TOP - 24, name, "head")
    for tick in range(6):
        x, value = left + width * tick / 5, most * tick / 5
        fair = name.startswith("share") and value == 1
        figure.line([(x, TOP - 4), (x, bottom)], "dash" if fair else "grid")
        figure.text(x, TOP - 8, f"{value:g}", "small", "middle", "pale")
