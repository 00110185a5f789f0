"""Tables of numbers, each published beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from framewire.confidence import Estimate, mean_with_confidence

__all__ = ["DASH", "Cell", "Column", "Row", "Table", "shown"]


DASH = "\u2013"
"""What stands where there is no number."""


@dataclass(frozen=True)
class Column:
    """A quantity."""

    name: str
    unit: str
    digits: int = 1


@dataclass(frozen=True)
class Cell:
    """One number of the thesis, where it is published, and ours."""

    published: float | None
    samples: tuple[float, ...]
    """One per repeat."""

    @property
    def ours(self) -> Estimate | None:
        """Mean over the repeats with its 95 % confidence interval; None where nothing was measured."""
        return mean_with_confidence(self.samples) if self.samples else None

    @property
    def difference(self) -> float | None:
        """Ours less the thesis'."""
        return None if self.published is None or self.ours is None else self.ours.mean - self.published


@dataclass(frozen=True)
class Row:
    """Where a row stands, and its numbers."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table of chapter 3, or one of our own in its form."""

    number: str
    """As in the thesis; of our own tables a word."""
    title: str
    section: str
    row_names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    """What selects it: `flow`, `bitrate`."""

    @property
    def published_cells(self) -> int:
        """How many of its numbers are published here."""
        return sum(cell.published is not None for _, _, cell in self.cells())

    @property
    def key(self) -> str:
        """Its number as a name in files and links."""
        return "table-" + self.number.replace(".", "-").replace(" ", "-")

    def cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        """Every number with its place."""
        for row in self.rows:
            yield from ((row, column, cell) for column, cell in zip(self.columns, row.cells, strict=True))

    def find(self, labels: Sequence[str], column: str) -> Cell | None:
        """The number at a place."""
        for row, one, cell in self.cells():
            if row.labels == tuple(labels) and one.name == column:
                return cell
        return None


def shown(value: float | None, digits: int) -> str:
    """A number for people, or a dash where there is none; no minus before a zero.

    >>> shown(-0.04, 1), shown(29385.0, 0), shown(None, 1) == DASH
    ('0.0', '29,385', True)
    """
    if value is None:
        return DASH
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
