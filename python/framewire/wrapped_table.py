"""A table for terminals of any width.

Where its columns do not fit side by side, the table goes on below, and the columns that name the rows come again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

__all__ = ["Column", "WrappedTable"]

BETWEEN = 2
"""Columns of the terminal between two columns of the table."""


@dataclass(frozen=True)
class Column:
    """A heading of one line or several, and a text for every row, plain or with a style."""

    heading: str
    cells: Sequence[str | Text]
    justify: Literal["left", "right"] = "right"

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes."""
        return max(cell_len(line) for text in (self.heading, *map(str, self.cells)) for line in text.split("\n"))

    @property
    def lines(self) -> int:
        """Lines of the heading."""
        return self.heading.count("\n") + 1


@dataclass(frozen=True)
class WrappedTable:
    """Columns that name the rows, and columns that are cut into as many tables as the terminal asks for.

    Of ``details``, those that fit beside the last of the values are shown, and no others.
    """

    keys: Sequence[Column]
    values: Sequence[Column]
    details: Sequence[Column] = ()

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        """Draws it."""
        for number, values in enumerate(self._parts(options.max_width)):
            if number:
                yield ""
            yield _drawn([*self.keys, *values], len(self.keys))

    def _parts(self, width: int) -> Iterator[Sequence[Column]]:
        """The values in pieces of which each fits beside the keys, at least one in each."""
        free = width - sum(key.width + BETWEEN for key in self.keys)
        part: list[Column] = []
        taken = -BETWEEN
        for column in self.values:
            if part and taken + BETWEEN + column.width > free:
                yield part
                part, taken = [], -BETWEEN
            part.append(column)
            taken += BETWEEN + column.width
        for column in self.details:
            taken += BETWEEN + column.width
            if taken > free:
                break
            part.append(column)
        yield part

    @classmethod
    def of(cls, headings: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()) -> WrappedTable:
        """A table of rows, each of which its first text names; of the columns that are named, texts stand left."""
        columns = list(zip(*rows, strict=True)) or [()] * len(headings)
        made = [
            Column(heading, cells, "left" if heading in left else "right")
            for heading, cells in zip(headings, columns, strict=True)
        ]
        return cls(made[:1], made[1:])


def _drawn(columns: Sequence[Column], keys: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    lines = max(column.lines for column in columns)
    for number, column in enumerate(columns):
        heading = "\n" * (lines - column.lines) + column.heading
        folds = number < keys  # in a terminal too narrow for anything, names are folded and numbers stay whole
        table.add_column(Text(heading), justify=column.justify, no_wrap=not folds, overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(text) if isinstance(text, str) else text for text in row))
    return table
