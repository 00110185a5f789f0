"""Retry values 1 and 2, where the card's own way of choosing its rate is not known: direction and order of effects.

In every table the six settings of retry value 1, 2 and 3, with and without the oven, are compared in pairs. A pair is
an effect of the thesis when its two numbers differ by more than its runs do: by more than the range of the rows of 3
and more attempts, which more attempts do not change. Ours must then differ in the same direction. When all pairs do,
the order of the settings is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from framewire.confidence import Estimate
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.ouwens.published import attempts
from framewire.studies.table import Cell, Column, Row

__all__ = ["Effect", "effects"]

TABLES = ("3.7", "3.8", "3.11", "3.13", "3.14", "3.17", "3.19", "3.22")

Direction = Literal["same", "opposite", "within our spread"]


@dataclass(frozen=True)
class Effect:
    """A pair of settings that the thesis found different."""

    table: str
    column: str
    unit: str
    of: tuple[str, str]
    """The two settings."""
    published: float
    """The second less the first."""
    spread: float
    """Of the thesis' runs."""
    ours: float
    half_width: float
    """Of our difference."""

    @property
    def direction(self) -> Direction:
        """Whether ours goes the same way."""
        if abs(self.ours) <= self.half_width:
            return "within our spread"
        return "same" if (self.ours > 0) == (self.published > 0) else "opposite"


def effects(tables: Sequence[ThesisTable]) -> list[Effect]:
    """All of them, by table."""
    found = []
    for table in tables:
        if table.number in TABLES:
            for position, column in enumerate(table.columns):
                found += _of_column(table, position, column)
    return found


def _of_column(table: ThesisTable, position: int, column: Column) -> list[Effect]:
    low = [row for row in table.rows if row.labels[0] in ("1", "2", "3")]
    pairs = [pair for pair in combinations(low, 2) if {pair[0].labels[0], pair[1].labels[0]} != {"3"}]
    found = []
    for first, second in pairs:
        spread = max(_plateau_range(table, position, row.labels[1]) for row in (first, second))
        one, other = first.cells[position], second.cells[position]
        effect = _effect(table, column, (_name(first), _name(second)), one, other, max(spread, _resolution(column)))
        found += [effect] if effect else []
    return found


def _name(row: Row) -> str:
    return f"retry {row.labels[0]}{', oven' if row.labels[1] == 'yes' else ''}"


def _resolution(column: Column) -> float:
    """What the thesis prints, doubled: two rounded numbers can differ by so much for nothing."""
    return 0.2 if column.unit == "%" else 1.0


def _plateau_range(table: ThesisTable, position: int, oven: str) -> float:
    values = [
        published
        for row in table.rows
        if row.labels[1] == oven and attempts(int(row.labels[0])) >= 3
        if (published := row.cells[position].published) is not None
    ]
    return max(values) - min(values) if values else 0.0


def _effect(
    table: ThesisTable, column: Column, of: tuple[str, str], first: Cell, second: Cell, spread: float
) -> Effect | None:
    if first.published is None or second.published is None or first.ours is None or second.ours is None:
        return None
    published = second.published - first.published
    if abs(published) <= spread:
        return None
    ours = second.ours.mean - first.ours.mean
    return Effect(
        table.number, column.name, column.unit, of, published, spread, ours, _half_width(first.ours, second.ours)
    )


def _half_width(first: Estimate, second: Estimate) -> float:
    return float(((first.half_width or 0.0) ** 2 + (second.half_width or 0.0) ** 2) ** 0.5)
