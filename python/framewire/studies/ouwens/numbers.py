"""All numbers of the comparison, for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from framewire.studies.ouwens import views
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.table import Cell, Column, Row
from framewire.studies.verdicts import Verdict
from framewire.studies.writers import record

__all__ = ["csv_files", "document"]


def document(comparison: Comparison) -> dict[str, Any]:
    """Beside what every study has."""
    return {
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
        "effects": _effects(comparison),
        "answers": {one.key: [answer for answer in one.answers if answer] for one in comparison.questions},
        "cost": {
            "simulated_s": comparison.measured.simulated_s,
            "wall_s": comparison.measured.wall_s,
            "peak_memory_bytes": comparison.measured.peak_memory_bytes,
            "measurements": [vars(cost) for cost in comparison.measured.costs],
        },
    }


def csv_files(comparison: Comparison) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """One file with all numbers of each table, one with the effects."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for number in _numbers(comparison):
        by_table.setdefault(f"tables/table-{number['table']}.csv", []).append(number)
    effects = _effects(comparison)
    return {**by_table, **({"tables/effects.csv": effects} if effects else {})}


def _effects(comparison: Comparison) -> list[dict[str, Any]]:
    return [
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
    ]


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
