"""The comparison in a screenful: a line for each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from framewire.studies.ouwens.bounds import described_in_short, place
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement, size_of
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.parts import Part
from framewire.studies.table import DASH, Cell, Column, Row, of_texts, shown
from framewire.studies.verdicts import Verdict

__all__ = ["Line", "lines", "parts"]


@dataclass(frozen=True)
class Line:
    """A table in a line."""

    table: ThesisTable
    holds: int
    bounded: int
    """Numbers with a bound, less excepted ones."""
    worst: str
    """Of these the farthest off; of all published ones where nothing is asked."""


def lines(comparison: Comparison) -> Iterator[Line]:
    """One for each table of which something is published and was measured, in the order of the thesis."""
    for table in comparison.tables:
        # The same numbers, judged once more beside a card at 5.5 Mbit/s, do not count twice.
        mine = [one for one in comparison.judgements if one.table == table.number and one.bound != "stream-5.5"]
        bounded = [one for one in mine if one.verdict in (Verdict.HOLDS, Verdict.FAILS)]
        worst = _worst_judged(bounded) or _worst_published(table)
        if worst:
            yield Line(table, sum(one.verdict == Verdict.HOLDS for one in bounded), len(bounded), worst)


def parts(comparison: Comparison) -> list[Part]:
    """The lines, and what is a prediction."""
    names: list[str | Column] = [
        "table",
        Column("", align="left"),
        "holds",
        Column("farthest off (thesis, here)", align="left"),
    ]
    rows: list[list[str | Cell]] = [
        [line.table.number, line.table.title, _count(line), line.worst] for line in lines(comparison)
    ]
    predicted = [table.number for table in comparison.tables if not table.published_cells]
    told = [f"predicted here, not published here: {', '.join(predicted)}"] if predicted else []
    return [of_texts(names, rows), *told]


def _count(line: Line) -> Cell:
    if not line.bounded:
        return Cell(text=DASH)
    return Cell(text=f"{line.holds} of {line.bounded}", mark=Verdict.of(line.holds == line.bounded))


def _worst_judged(judgements: Sequence[Judgement]) -> str:
    worst = max(judgements, key=size_of, default=None)
    return described_in_short(worst) if worst else ""


def _worst_published(table: ThesisTable) -> str:
    """In the unit of the first column: a table may also count packets."""
    unit = table.columns[0].unit
    cells = [one for one in table.cells() if one[1].unit == unit and one[2].difference is not None]
    worst = max(cells, key=lambda one: abs(one[2].difference or 0.0), default=None)
    return _shortly(*worst) if worst else ""


def _shortly(row: Row, column: Column, cell: Cell) -> str:
    here = cell.ours.mean if cell.ours else None
    where = place(row.labels, column.name)
    return f"{where}: {shown(cell.published, column.digits)}, {shown(here, column.digits)} {column.unit}".rstrip()
