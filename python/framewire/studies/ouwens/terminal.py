"""The comparison for a terminal, as CSV files and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from framewire.studies.ouwens import summary, views
from framewire.studies.ouwens.bounds import described
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.table import Cell, Column, Row
from framewire.studies.verdicts import Verdict
from framewire.studies.writers import record, terminal

__all__ = ["as_json", "csv_files", "show", "show_all", "show_cost"]


def show_all(comparison: Comparison, console: Console, *, tables: bool) -> None:
    """A line for each table, or every table; and what it took."""
    (show if tables else summary.show)(comparison, console)
    console.print()
    show_cost(comparison, console)


def show(comparison: Comparison, console: Console) -> None:
    """Every table of chapter 3, what is asked, and what it took."""
    found = views.index(comparison.judgements)
    for table in comparison.tables:
        console.print(terminal(_titled(views.judged(table, found))))
        console.print()
    for question in comparison.questions:
        console.print(terminal(_titled(question.table)))
        for answer in filter(None, question.answers):
            console.print(answer, markup=False, highlight=False)
        console.print()
    for own in (views.bounds(comparison), views.without_a_link(comparison), views.duration_errors(comparison)):
        if own.rows:
            console.print(terminal(own))
    for one in comparison.bounds:
        for miss in one.misses:
            console.print(f"missed: {described(miss)}", markup=False, highlight=False, style="red")
        for exception in one.exceptions:
            place = f"table {exception.table}, retry {exception.row[0]}, {exception.column}"
            console.print(f"excepted: {place}: {exception.why}", markup=False, highlight=False, style="yellow")
    console.print()
    console.print(terminal(views.effects(comparison)))
    console.print(comparison.headline, markup=False, highlight=False, style="bold")


def _titled(table: ThesisTable) -> ThesisTable:
    """With its number, and whether it is a prediction; rows in which nothing stands go."""
    number = f"{table.number}  " if not table.is_open else ""
    note = "" if table.published_cells or table.is_open else " (not published here: our prediction)"
    rows = tuple(row for row in table.rows if not all(cell.is_empty for cell in row.cells))
    return replace(table, title=f"{number}{table.title}{note}", rows=rows)


def show_cost(comparison: Comparison, console: Console) -> None:
    """What it took: simulated seconds, wall time, peak memory; the thesis' own measurements apart."""
    costs = comparison.measured.costs
    for what, some in (
        ("thesis", [cost for cost in costs if not cost.is_optional]),
        ("open questions", [cost for cost in costs if cost.is_optional]),
    ):
        if some:
            console.print(
                f"{what:15}{sum(cost.runs for cost in some):6,} movie runs, "
                f"{sum(cost.simulated_s for cost in some):9,.0f} simulated s, "
                f"{sum(cost.wall_s for cost in some):6.1f} s now ({sum(cost.computed for cost in some)} of "
                f"{sum(cost.cells for cost in some)} cells computed now)",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    console.print(
        f"peak memory    {comparison.measured.peak_memory_bytes / 1e6:6,.0f} MB", markup=False, highlight=False
    )


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything, for other programs."""
    return {
        "headline": comparison.headline,
        "seed": comparison.measured.seed,
        "numbers": list(_numbers(comparison)),
        "bounds": [
            {
                "bound": one.bound.key,
                "rule": one.bound.rule,
                "verdicts": {
                    Verdict.HOLDS: one.holds,
                    Verdict.FAILS: one.fails,
                    Verdict.EXCEPTED: one.excepted,
                },
                "met_with_nothing_lost": one.baseline.nothing_lost,
                "met_by_one_number_per_column": one.baseline.one_number,
                "met_by_mean": one.baseline.mean,
                "met_by_factors": one.baseline.factors,
                "met_by_nearest": one.baseline.nearest,
                "met_by_other_bitrate": one.baseline.other_bitrate,
            }
            for one in comparison.bounds
        ],
        "duration_errors": [
            {"retry": one.rows, "numbers": one.numbers, "here": one.here, **one.by}
            for one in comparison.duration_errors
        ],
        "effects": [
            {
                "table": one.table,
                "column": one.column,
                "unit": one.unit,
                "from": one.of[0],
                "to": one.of[1],
                "thesis": one.published,
                "spread": one.spread,
                "here": one.ours,
                "ci95": one.half_width,
                "direction": one.direction,
            }
            for one in comparison.effects
        ],
        "claims": [
            {"source": one.claim.source, "says": one.claim.says, "finds": one.finds, "verdict": one.verdict}
            for one in comparison.claims
        ],
        "answers": {one.key: [answer for answer in one.answers if answer] for one in comparison.questions},
        "cost": {
            "simulated_s": comparison.simulated_s,
            "wall_s": comparison.wall_s,
            "peak_memory_bytes": comparison.measured.peak_memory_bytes,
            "measurements": [vars(cost) for cost in comparison.measured.costs],
        },
        "failures": list(comparison.measured.failures),
    }


def csv_files(comparison: Comparison) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """One file with all numbers of each table, one with the effects."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for number in _numbers(comparison):
        by_table.setdefault(str(number["table"]), []).append(number)
    yield from ((f"tables/table-{name}.csv", rows) for name, rows in by_table.items())
    effects = as_json(comparison)["effects"]
    if effects:
        yield "tables/effects.csv", effects


def _numbers(comparison: Comparison) -> Iterable[dict[str, Any]]:
    found = views.index(comparison.judgements)
    for table in [*comparison.tables, *(question.table for question in comparison.questions)]:
        for row, column, cell in table.cells():
            if not cell.is_empty:
                yield _number(table, row, column, cell, views.judgement_at(found, table, row, column))


def _number(table: ThesisTable, row: Row, column: Column, cell: Cell, one: Judgement | None) -> dict[str, Any]:
    return {
        "table": table.number,
        **record(table, row, column, cell),
        "explained": one.explained if one else None,
        "allowed": one.allowed if one else None,
        "verdict": one.verdict if one else None,
        "why": one.why if one else None,
    }
