"""Frames shown in time and latency, case by case: our dropping beside the best of the others and no dropping."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import tables
from svg import Figure

SHOWN, LATENCY = 1, 4
TOP, ROW, NAMES = 92.0, 17.0, 250.0
LEFT, WIDTH, LATENCY_LEFT = 270.0, 320.0, 640.0
LEAST_MS, MOST_MS = 100.0, 100_000.0
BEST = "the rival that shows most"

Kinds = Mapping[str, str]
"""How the row of a name is drawn."""


def draw() -> Figure:
    """The picture of dropping.md."""
    kinds = {"dependency, 1,000 ms": "ours", BEST: "other", "ifd-optimised": "third nofill", "plain TCP": "cross"}
    return _draw("dropping.md", "A start-up of 1 s, every movie over every link", "## All measures", kinds)


def draw_programs() -> Figure:
    """The picture of dropping-programs.md."""
    optimised = "ifdsink mode=ifd-optimised"
    kinds = {"ifdsink": "ours", BEST: "other", optimised: "third nofill", "tcpclientsink": "cross"}
    return _draw("dropping-programs.md", "Programs in real time, a start-up of 1 s", "# ", kinds)


def _draw(page: str, title: str, section: str, kinds: Kinds) -> Figure:
    cases = _cases(page, section)
    bottom = TOP + ROW * len(cases)
    figure = Figure(title, 980, bottom + 20)
    for number, (words, kind) in enumerate(kinds.items()):
        _mark(figure, 24 + number * 210, 46, kind)
        figure.text(34 + number * 210, 50, words, "small")
    figure.text(LEFT, TOP - 24, "frames shown in time, %", "head")
    figure.text(LATENCY_LEFT, TOP - 24, "latency of those that came, 95th percentile", "head")
    for share in range(0, 101, 20):
        _grid(figure, LEFT + WIDTH * share / 100, f"{share}", bottom)
    for ms, label in ((100, "0.1 s"), (1_000, "1 s"), (10_000, "10 s"), (100_000, "100 s")):
        _grid(figure, _latency(ms), label, bottom)
    for number, (name, rows) in enumerate(cases.items()):
        y = TOP + ROW * (number + 0.5)
        figure.text(NAMES, y + 4, name, "small", "end")
        for row, kind in reversed(kinds.items()):
            cells = rows[row]
            _mark(figure, LEFT + WIDTH * tables.number(cells[SHOWN]) / 100, y, kind)
            if cells[LATENCY]:
                _mark(figure, _latency(tables.number(cells[LATENCY])), y, kind)
    return figure


def _cases(page: str, section: str) -> dict[str, dict[str, list[str]]]:
    """The tables of all cases, by their title: their rows by name."""
    text = (tables.DOCS / page).read_text(encoding="utf-8")
    found = {}
    for name, table in re.findall(r"^### (.+ over .+)\n\n((?:\|.*\n)+)", text[text.index(section) :], re.MULTILINE):
        lines = table.splitlines()[2:]
        rows = [[cell.strip().replace("**", "") for cell in line.strip("|").split("|")] for line in lines]
        rivals = [row for row in rows if not row[0].startswith(("ifd", "dependency", "the lab's"))]
        named = {row[0].removesuffix(" †"): row for row in rows}
        found[name] = named | {BEST: max(rivals, key=lambda row: tables.number(row[SHOWN]))}
    return found


def _latency(ms: float) -> float:
    share = math.log(min(max(ms, LEAST_MS), MOST_MS) / LEAST_MS) / math.log(MOST_MS / LEAST_MS)
    return LATENCY_LEFT + WIDTH * share


def _grid(figure: Figure, x: float, label: str, bottom: float) -> None:
    figure.line([(x, TOP - 4), (x, bottom)], "grid")
    figure.text(x, TOP - 8, label, "small", "middle", "pale")


def _mark(figure: Figure, x: float, y: float, kind: str) -> None:
    if kind == "cross":
        figure.cross(x, y, "lossline")
    else:
        figure.dot(x, y, kind, 4)
