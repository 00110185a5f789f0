"""The comparison in a screenful: the result in a sentence, then a line for each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement, size_of
from framewire.studies.ouwens.model import DASH, Cell, Column, Row, Table, shown
from framewire.studies.ouwens.verdicts import place, told_at

__all__ = ["Line", "lines", "show"]


@dataclass(frozen=True)
class Line:
    """A table in a line."""

    table: Table
    met: int
    bounded: int
    """Numbers with a bound, less excepted ones."""
    worst: str
    """Of these the farthest off; of all published ones where nothing is asked."""


def lines(comparison: Comparison) -> Iterator[Line]:
    """One for each table of which something is published and was measured, in the order of the thesis."""
    for table in comparison.tables:
        # The same numbers, judged once more beside a card at 5.5 Mbit/s, do not count twice.
        mine = [one for one in comparison.judgements if one.table == table.number and one.bound != "stream-5.5"]
        bounded = [one for one in mine if one.verdict in ("met", "missed")]
        worst = _worst_judged(bounded) or _worst_published(table)
        if worst:
            yield Line(table, sum(one.verdict == "met" for one in bounded), len(bounded), worst)


def show(comparison: Comparison, console: Console) -> None:
    """The headline, the lines, and what is a prediction."""
    console.print(comparison.headline, markup=False, highlight=False, style="bold")
    console.print()
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("table", no_wrap=True)
    made.add_column("")
    made.add_column("met", justify="right", no_wrap=True)
    made.add_column("farthest off (thesis, here)")
    for line in lines(comparison):
        met = f"{line.met} of {line.bounded}" if line.bounded else DASH
        style = "" if not line.bounded else "green" if line.met == line.bounded else "bold red"
        made.add_row(line.table.number, escape(line.table.title), f"[{style}]{met}[/]" if style else met, line.worst)
    console.print(made)
    predicted = [table.number for table in comparison.tables if not table.published_cells]
    if predicted:
        console.print(f"predicted here, not published here: {', '.join(predicted)}", markup=False, highlight=False)


def _worst_judged(judgements: Sequence[Judgement]) -> str:
    worst = max(judgements, key=size_of, default=None)
    return told_at(worst) if worst else ""


def _worst_published(table: Table) -> str:
    """In the unit of the first column: a table may also count packets."""
    unit = table.columns[0].unit
    cells = [one for one in table.cells() if one[1].unit == unit and one[2].difference is not None]
    worst = max(cells, key=lambda one: abs(one[2].difference or 0.0), default=None)
    return _told(*worst) if worst else ""


def _told(row: Row, column: Column, cell: Cell) -> str:
    here = cell.ours.mean if cell.ours else None
    where = place(row.labels, column.name)
    return f"{where}: {shown(cell.published, column.digits)}, {shown(here, column.digits)} {column.unit}".rstrip()
