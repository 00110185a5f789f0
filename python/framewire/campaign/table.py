"""The means of a campaign as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from framewire.campaign.metrics import bounds
from framewire.wrapped_table import Column, WrappedTable

__all__ = ["MetricColumn", "cells_table", "means_table", "notes"]

NOT_MEASURED = "-"

INTERVALS = "In brackets: 95 % confidence interval of the mean, within what the quantity can be; n: repeats."

FEW = (
    "Of two repeats the mean is hardly known (half an interval is 12.7 standard errors; of three 4.3, of five 2.8): "
    "--repeats 5 or more."
)

NO_SPREAD = "[-]: every repeat measured the same; where nothing is drawn at random, every other one will, too."

CUT = "cut: so many of the repeats have a run that ended at its limit; what was not offered by then is not lost either."

UNITS = {"_percent": ("%", 1.0), "_ms": ("ms", 1.0), "_s": ("s", 1.0), "_bps": ("Mbit/s", 1e-6), "_bytes": ("MB", 1e-6)}
"""How names of metrics end, the unit in which they are shown, and the factor."""


def means_table(means: pl.DataFrame) -> WrappedTable:
    """A row per group: what was varied, the number of repeats, and each metric as mean and confidence interval.

    Where fewer repeats measured a metric than took part, their number stands behind its mean. Repeats that measured the
    same have no interval: one of width 0 would promise that the next does, too. Repeats with a run that ended at its
    limit are counted beside n.
    """
    metrics = [MetricColumn.of(name, means) for name in _metrics_of(means)]
    places = means.columns[: means.columns.index(metrics[0].name)]
    rows = means.rows(named=True)
    repeats = [max(row[f"{metric.name}_n"] for metric in metrics) for row in rows]
    keys = [
        Column(_in_two_lines(name), cells, "right" if means[name].dtype.is_numeric() else "left")
        for name, cells in zip(
            places, _without_dittos([[str(row[name]) for name in places] for row in rows]), strict=True
        )
    ]
    counts = Column(
        "n", [f"{n}, {row['cut']} cut" if row["cut"] else str(n) for row, n in zip(rows, repeats, strict=True)]
    )
    values = [
        Column(metric.heading, [metric.cell(row, count) for row, count in zip(rows, repeats, strict=True)])
        for metric in metrics
    ]
    return WrappedTable([*keys, counts], values)


def notes(means: pl.DataFrame) -> list[str]:
    """What is to be said below the table of these means, a line each."""
    names = _metrics_of(means)
    widths = [means[f"{name}_high"] - means[f"{name}_low"] for name in names]
    of_two = [width.filter(means[f"{name}_n"] == 2) for name, width in zip(names, widths, strict=True)]
    said = {
        INTERVALS: any((width > 0).any() for width in widths),
        FEW: any((width > 0).any() for width in of_two),
        NO_SPREAD: any((width == 0).any() for width in widths),
        CUT: bool((means["cut"] > 0).any()),
    }
    return [text for text, is_true in said.items() if is_true]


def _metrics_of(means: pl.DataFrame) -> list[str]:
    named = (name.removesuffix("_low") for name in means.columns if name.endswith("_low"))
    # An axis may be named as the bound of a metric.
    return [name for name in named if {name, f"{name}_high", f"{name}_n"} <= {*means.columns}]


def cells_table(cells: pl.DataFrame) -> WrappedTable:
    """A row per cell: its id, where it stands, and what became of it."""
    columns = [
        Column(_in_two_lines(name), list(map(str, cells[name])), "right" if cells[name].dtype.is_numeric() else "left")
        for name in cells.columns
        if name != "seed"  # which follows from the repeat
    ]
    return WrappedTable(columns[:1], columns[1:])


@dataclass(frozen=True)
class MetricColumn:
    """How a metric is shown: all of its means with as many digits."""

    name: str
    words: str
    unit: str
    """Empty for a count."""
    factor: float
    """To that unit."""
    digits: int

    @property
    def heading(self) -> str:
        """In two lines."""
        return f"{self.words}\n{self.unit}"

    @property
    def most(self) -> float:
        """What it is never above."""
        return bounds(self.name, sent_ahead=False)[1]

    @staticmethod
    def of(name: str, means: pl.DataFrame) -> MetricColumn:
        """By the widths of its intervals."""
        ending = next((ending for ending in UNITS if name.endswith(ending)), "")
        unit, factor = UNITS.get(ending, ("", 1.0))
        words = name.removesuffix(ending).split("_")
        what = " ".join(word.upper() if word in ("i", "p", "b", "srtt") else word for word in words)
        widths = means[f"{name}_high"] - means[f"{name}_low"]
        return MetricColumn(name, what, unit, factor, _digits([factor * width / 2 for width in widths.drop_nulls()]))

    def cell(self, row: Mapping[str, Any], repeats: int) -> str:
        """The mean of a row, and how many repeats measured it where some did not."""
        text = self.text(row[self.name], row[f"{self.name}_low"], row[f"{self.name}_high"])
        count = row[f"{self.name}_n"]
        return text if count in (0, repeats) else f"{text} (n {count})"

    def text(self, mean: float | None, low: float | None, high: float | None) -> str:
        """Mean and interval.

        >>> metric = MetricColumn("duration_s", "duration", "s", 1.0, 2)
        >>> metric.text(66.123, 66.0, 66.5), metric.text(66.123, 66.123, 66.123)
        ('66.12 [66.00, 66.50]', '66.12 [-]')
        >>> metric.text(66.123, None, None), metric.text(None, None, None)
        ('66.12', '-')
        """
        if mean is None:
            return NOT_MEASURED
        if low is None or high is None:
            return self.number(mean)
        return f"{self.number(mean)} [{f'{self.number(low)}, {self.number(high)}' if high > low else NOT_MEASURED}]"

    def number(self, value: float) -> str:
        """A value in the unit that is shown."""
        return f"{value * self.factor:.{self.digits}f}"


def _digits(errors: Iterable[float]) -> int:
    """Digits after the point that leave two of half the width of a usual interval.

    >>> _digits([0.012, 0.031, 0.5]), _digits([120.0]), _digits([0.0]), _digits([])
    (3, 0, 1, 1)
    """
    positive = [error for error in errors if error > 0]
    return min(6, max(0, 1 - math.floor(math.log10(median(positive))))) if positive else 1


def _without_dittos(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The columns of these rows, without what is the same as in the row above as far as everything before it is, too.

    >>> _without_dittos([["1", "on", "udp"], ["1", "on", "tcp"], ["2", "on", "tcp"]])
    [['1', '', '2'], ['on', '', 'on'], ['udp', 'tcp', 'tcp']]
    """
    shown = []
    for row, before in zip(rows, [[], *rows], strict=False):
        same = next((i for i, (now, then) in enumerate(zip(row, before, strict=False)) if now != then), 0)
        shown.append(["" if position < same else cell for position, cell in enumerate(row)])
    return [list(column) for column in zip(*shown, strict=True)]


def _in_two_lines(name: str) -> str:
    """A key in at most two lines, broken at its last dot.

    >>> _in_two_lines("network.wifi.retry"), _in_two_lines("flow")
    ('network.wifi.\\nretry', 'flow')
    """
    above, dot, last = name.rpartition(".")
    return f"{above}.\n{last}" if dot else last
