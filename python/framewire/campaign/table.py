"""The means of a campaign as a table for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import polars as pl
from rich import box
from rich.markup import escape
from rich.table import Table

__all__ = ["means_table"]

NOT_MEASURED = "-"

UNITS = {"_percent": ("%", 1.0), "_ms": ("ms", 1.0), "_s": ("s", 1.0), "_bps": ("Mbit/s", 1e-6), "_bytes": ("MB", 1e-6)}
"""How names of metrics end, the unit in which they are shown, and the factor."""


def means_table(means: pl.DataFrame) -> Table:
    """A row per group: what was varied, then each metric as mean ± half its confidence interval."""
    metrics = [_Column.of(name.removesuffix("_ci95"), means) for name in means.columns if name.endswith("_ci95")]
    places = means.columns[: means.columns.index(metrics[0].name)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for name in places:
        justify = "right" if means[name].dtype.is_numeric() else "left"
        table.add_column(escape(_in_two_lines(name)), overflow="fold", justify=justify)  # type: ignore[arg-type]
    for column in metrics:
        table.add_column(escape(column.heading), justify="right", no_wrap=True)
    before: list[str] = []
    for row in means.iter_rows(named=True):
        cells = [escape(str(row[name])) for name in places]
        table.add_row(
            *_without_ditto(cells, before),
            *(column.text(row[column.name], row[f"{column.name}_ci95"]) for column in metrics),
        )
        before = cells
    return table


@dataclass(frozen=True)
class _Column:
    """How a metric is shown: all of its means with as many digits."""

    name: str
    heading: str
    factor: float
    digits: int

    @staticmethod
    def of(name: str, means: pl.DataFrame) -> _Column:
        ending = next((ending for ending in UNITS if name.endswith(ending)), "")
        unit, factor = UNITS.get(ending, ("", 1.0))
        words = name.removesuffix(ending).split("_")
        what = " ".join(word.upper() if word in ("i", "p", "b") else word for word in words)
        errors = [factor * error for error in means[f"{name}_ci95"].drop_nulls()]
        return _Column(name, f"{what}\n{unit}", factor, _digits(errors))

    def text(self, mean: float | None, error: float | None) -> str:
        """Mean and half width.

        >>> column = _Column("duration_s", "", 1.0, 2)
        >>> column.text(66.123, 0.2345), column.text(66.123, None), column.text(None, None)
        ('66.12 ± 0.23', '66.12', '-')
        """
        if mean is None:
            return NOT_MEASURED
        text = f"{mean * self.factor:.{self.digits}f}"
        return text if error is None else f"{text} ± {error * self.factor:.{self.digits}f}"


def _digits(errors: Iterable[float]) -> int:
    """Digits after the point that leave two of a usual error.

    >>> _digits([0.012, 0.031, 0.5]), _digits([120.0]), _digits([0.0]), _digits([])
    (3, 0, 1, 1)
    """
    positive = [error for error in errors if error > 0]
    return min(6, max(0, 1 - math.floor(math.log10(median(positive))))) if positive else 1


def _without_ditto(cells: list[str], before: list[str]) -> list[str]:
    """Leaves out what is the same as in the line above, as far as everything before it is, too.

    >>> _without_ditto(["1", "on", "tcp"], ["1", "on", "udp"]), _without_ditto(["2", "on", "udp"], ["1", "on", "udp"])
    (['', '', 'tcp'], ['2', 'on', 'udp'])
    """
    same = next((i for i, (now, then) in enumerate(zip(cells, before, strict=False)) if now != then), 0)
    return ["" if position < same else cell for position, cell in enumerate(cells)]


def _in_two_lines(name: str) -> str:
    """A key in at most two lines, broken at its last dot.

    >>> _in_two_lines("network.wifi.retry"), _in_two_lines("flow")
    ('network.wifi.\\nretry', '\\nflow')
    """
    above, dot, last = name.rpartition(".")
    return f"{above}{dot}\n{last}"
