"""What is shown of the comparison, as tables: those of the thesis with what is judged of them, and our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from framewire.studies.ouwens import criteria
from framewire.studies.ouwens.baseline import BASELINE_NAMES, TOLD_FROM_OTHERS
from framewire.studies.ouwens.bounds import BoundResult
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.ouwens.published import LINK_LAYER_PACKETS
from framewire.studies.table import DASH, Cell, Column, Row, Table, of_texts, shown
from framewire.studies.verdicts import Change, Verdict

__all__ = [
    "bounds",
    "candidates",
    "costs",
    "duration_errors",
    "effects",
    "index",
    "judged",
    "judgement_at",
    "parameters",
    "without_a_link",
]

Index = Mapping[tuple[object, ...], Judgement]


def index(judgements: Sequence[Judgement]) -> Index:
    """By the place that a judgement is about."""
    return {(one.table, one.row, one.column, one.unit): one for one in judgements}


def judgement_at(found: Index, table: ThesisTable, row: Row, column: Column) -> Judgement | None:
    """What was judged of a number; None where nothing is asked."""
    return found.get((table.number, row.labels, column.name, column.unit))


def judged(table: ThesisTable, found: Index) -> ThesisTable:
    """The table with a verdict on each number that a bound is about, and its rows with the oven shaded."""
    rows = tuple(
        replace(
            row,
            cells=tuple(
                _marked(cell, judgement_at(found, table, row, column))
                for column, cell in zip(table.columns, row.cells, strict=True)
            ),
            style="shaded" if row.labels[-1:] == ("yes",) else "",
        )
        for row in table.rows
    )
    return replace(table, rows=rows)


def _marked(cell: Cell, one: Judgement | None) -> Cell:
    return cell if one is None else replace(cell, mark=one.verdict, hint=_hint(one))


def _hint(one: Judgement) -> str:
    parts = [f"allowed {one.allowed}"] if one.allowed else []
    if abs(one.explained) >= 0.05:
        parts.append(f"the movies' ratio explains {-one.explained:+.1f}, {one.difference:+.1f} remain")
    if one.why:
        parts.append(f"excepted: {one.why}")
    return "; ".join(parts)


_COUNTS = (Verdict.HOLDS, Verdict.FAILS, Verdict.EXCEPTED)


def bounds(comparison: Comparison) -> Table:
    """How often what each bound asks was found."""
    names: list[str | Column] = [
        Column("asked", align="left"),
        Column("its size", align="left"),
        Column("result", align="left"),
        *map(str, _COUNTS),
    ]
    rows: list[list[str | Cell]] = [
        [
            one.bound.title,
            one.bound.rule,
            one.bound.source or DASH,
            _chip(one.verdict),
            *(str(count or "") for count in (one.holds, one.fails, one.excepted)),
            one.worst,
        ]
        for one in comparison.bounds
    ]
    rows.append(_low(comparison))
    return of_texts(["what", *names, Column("farthest off", align="left")], rows)


def _chip(verdict: Verdict | None) -> Cell:
    return Cell(text=verdict or DASH, mark=verdict)


def _low(comparison: Comparison) -> list[str | Cell]:
    """Retry values 1 and 2, where directions are asked and no size."""
    same = sum(one.same for one in comparison.effects_by_table)
    every = sum(one.all for one in comparison.effects_by_table)
    asked = "direction of every effect that exceeds the thesis' spread"
    verdict = Verdict.of(same == every) if every else None
    counts = (str(same or ""), str(every - same or ""), "")
    return ["retry values 1 and 2", asked, criteria.BY_ROWS, _chip(verdict), *counts, Cell(text="by table", link="low")]


def without_a_link(comparison: Comparison) -> Table:
    """What of the same bounds is met without any model of a link."""
    rows = [_baselines(one) for one in comparison.bounds if one.baseline.judged]
    return of_texts(["what", "here", *BASELINE_NAMES.values()], rows, title="Met without any model of a link")


def _baselines(one: BoundResult) -> list[str | Cell]:
    counts = [int(getattr(one.baseline, name)) for name in BASELINE_NAMES]
    better = [Cell(text=str(count), mark=Change.BETTER if count > one.holds else None) for count in counts]
    return [one.bound.title, str(one.holds), *better]


def duration_errors(comparison: Comparison) -> Table:
    """How far off durations are in the mean, here and where they are predicted from other settings."""
    names = ["retry value", "numbers", "here", *(BASELINE_NAMES[key] for key in TOLD_FROM_OTHERS)]
    rows = [
        [one.rows, str(one.numbers), _percent(one.here), *(_percent(one.by.get(key)) for key in TOLD_FROM_OTHERS)]
        for one in comparison.duration_errors
    ]
    return of_texts(names, rows, title="Durations: how far off in the mean")


def _percent(share: float | None) -> str:
    return DASH if share is None else f"{100 * share:.1f} %"


def effects(comparison: Comparison) -> Table:
    """Effects at retry values 1 and 2, counted by table."""
    names = ["table", "effects", "same direction", "within our spread", "opposite"]
    rows: list[list[str | Cell]] = [
        [
            one.table,
            str(one.all),
            Cell(text=str(one.same), mark=Verdict.HOLDS if one.same == one.all else None),
            str(one.within or ""),
            Cell(text=str(one.opposite or ""), mark=Verdict.FAILS if one.opposite else None),
        ]
        for one in comparison.effects_by_table
    ]
    return of_texts(names, rows, title="Retry values 1 and 2")


def parameters(comparison: Comparison) -> Table:
    """Table 3.1."""
    names = ("parameter", "thesis", "here")
    return of_texts(names, comparison.parameters, title="Table 3.1: what is varied", align="left", key="table-3-1")


def candidates(comparison: Comparison) -> Table:
    """Which movie section 3.5 sent."""
    names = ("movie", "packets here", "packets there", "bytes of movie per packet there")
    rows: list[list[str | Cell]] = [
        [
            f"{one.bitrate} Mbit/s",
            Cell(text=shown(one.packets, 0), mark="best" if one.fits else None),
            f"{LINK_LAYER_PACKETS:,}",
            shown(one.payload, 0),
        ]
        for one in comparison.candidates
    ]
    return of_texts(names, rows, title="Which movie was it, and at which rate?")


def costs(comparison: Comparison) -> Table:
    """What each measurement took."""
    names = ("measurement", "movie runs", "simulated s", "took s", "cells computed now")
    rows = [
        [
            one.name,
            shown(one.runs, 0),
            shown(one.simulated_s, 0),
            shown(one.wall_s, 1),
            f"{one.computed} of {one.cells}",
        ]
        for one in comparison.measured.costs
    ]
    return of_texts(names, rows)
