"""Published numbers of the 802.11b thesis against ours: durations, and how many bounds are met."""

from __future__ import annotations

import math
import re

import tables
from svg import Figure

DURATIONS = ("links.md", "| | oven | retry value 1 | 2 | 3 | 4 | 16 |")
BOUNDS = ("reproduce-ouwens.md", "| | numbers | met here |")
NAMES = ("here", "nothing lost", "one number", "mean", "factors", "nearest", "other bitrate")
PAIR = re.compile(r"([\d.]+) \(([\d.]+)")
LEAST, MOST = 50.0, 450.0
LEFT, TOP, SIZE = 70.0, 86.0, 340.0


def draw() -> Figure:
    """The picture of reproduce-ouwens.md."""
    figure = Figure("The thesis against framewire", 960, 500)
    _scatter(figure)
    _bounds(figure)
    return figure


def _at(value: float) -> float:
    """A place on either logarithmic axis, from 0 to the size."""
    return SIZE * math.log(value / LEAST) / math.log(MOST / LEAST)


def _scatter(figure: Figure) -> None:
    figure.text(LEFT, TOP - 36, "Seconds that the movie takes, tables 3.7 and 3.13", "head")
    bottom = TOP + SIZE
    for tick in (50, 100, 200, 400):
        figure.line([(LEFT, bottom - _at(tick)), (LEFT + SIZE, bottom - _at(tick))], "grid")
        figure.line([(LEFT + _at(tick), TOP), (LEFT + _at(tick), bottom)], "grid")
        figure.text(LEFT - 6, bottom - _at(tick) + 4, f"{tick}", "small", "end", "pale")
        figure.text(LEFT + _at(tick), bottom + 16, f"{tick}", "small", "middle", "pale")
    figure.line([(LEFT, bottom), (LEFT + SIZE, TOP)], "dash")
    figure.text(LEFT + SIZE / 2, bottom + 34, "published, s", "small", "middle")
    figure.text(LEFT - 50, TOP - 14, "here, s", "small")
    name = ""
    for first, _, *cells in tables.rows(*DURATIONS):
        name = first or name
        for retry, cell in zip((1, 2, 3, 4, 16), cells, strict=True):
            pair = PAIR.match(cell)
            assert pair is not None, cell
            here, thesis = map(float, pair.groups())
            kind = ("ours" if name.startswith("TCP") else "other") + (" nofill" if retry <= 2 else "")
            figure.dot(LEFT + _at(thesis), bottom - _at(here), kind, 4)
    for number, (kind, words) in enumerate(
        (
            ("other", "blocking UDP"),
            ("ours", "TCP"),
            ("third nofill", "hollow: retry values 1 and 2"),
        )
    ):
        figure.dot(LEFT + 16, TOP + 18 + number * 18, kind, 4)
        figure.text(LEFT + 26, TOP + 22 + number * 18, words, "small")


def _bounds(figure: Figure) -> None:
    left, width = 640.0, 250.0
    figure.text(left - 150, TOP - 36, "Numbers within their bound, of those that have one", "head")
    *groups, total = tables.rows(*BOUNDS)
    numbers = tables.number(total[1])
    for number, (name, met) in enumerate(zip(NAMES, total[2:], strict=True)):
        y = TOP + 4 + number * 34
        share = tables.number(met) / numbers
        figure.text(left - 10, y + 13, name, "end", "head" if number == 0 else "small")
        figure.rectangle(left, y, width, 18, "box")
        figure.rectangle(left, y, width * share, 18, "ours" if number == 0 else "third")
        figure.text(left + width + 6, y + 13, met, "small")
    figure.line([(left + width, TOP), (left + width, TOP + 4 + len(NAMES) * 34 - 12)], "dash")
    text = [
        f"Of {numbers:.0f} published numbers, in {len(groups)} groups of tables.",
        "Blue: without a model of a link. 'Nothing lost' and 'one number'",
        "do not look at the row; 'mean', 'factors', 'nearest' and 'other",
        "bitrate' take each number from other rows of the thesis.",
    ]
    figure.lines(left - 150, TOP + len(NAMES) * 34 + 20, text, "small", "pale", step=16)
