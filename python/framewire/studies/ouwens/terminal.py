"""The comparison for a terminal, as CSV files and as JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from framewire.studies.ouwens.baseline import BASELINE_NAMES, TOLD_FROM_OTHERS
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement, Verdict
from framewire.studies.ouwens.model import DASH, Cell, Column, Row, Table, shown
from framewire.studies.ouwens.verdicts import told

__all__ = ["as_json", "show", "show_cost", "write_csv"]

_STYLES: dict[Verdict, str] = {"met": "green", "missed": "bold red", "excepted": "yellow"}
_WIDEST = 8
"""Columns of a table that fit beside their rows."""


def show(comparison: Comparison, console: Console) -> None:
    """Every table of chapter 3, what is asked, and what it took."""
    judged = _index(comparison.judgements)
    for table in comparison.tables:
        console.print(_rich(table, judged))
        console.print()
    for question in comparison.questions:
        console.print(_rich(question.table, {}))
        for answer in filter(None, question.answers):
            console.print(answer, markup=False, highlight=False)
        console.print()
    console.print(_bounds(comparison))
    console.print(_without_a_link(comparison))
    if comparison.duration_errors:
        console.print(_duration_errors(comparison))
    for one in comparison.bounds:
        for miss in one.misses:
            console.print(f"missed: {told(miss)}", markup=False, highlight=False, style="red")
        for exception in one.exceptions:
            place = f"table {exception.table}, retry {exception.row[0]}, {exception.column}"
            console.print(f"excepted: {place}: {exception.why}", markup=False, highlight=False, style="yellow")
    console.print()
    console.print(_effects(comparison))
    console.print(comparison.headline, markup=False, highlight=False, style="bold")


def show_cost(comparison: Comparison, console: Console) -> None:
    """What it took: simulated seconds, wall time, peak memory; the thesis' own measurements apart."""
    costs = comparison.measured.costs
    for what, some in (
        ("thesis", [cost for cost in costs if cost.is_of_thesis]),
        ("open questions", [cost for cost in costs if not cost.is_of_thesis]),
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


def _rich(table: Table, judged: dict[tuple[object, ...], Judgement]) -> RichTable:
    number = f"{table.number}  " if table.section != "open" else ""
    note = "" if table.published_cells or table.section == "open" else " (not published here: our prediction)"
    title = f"{number}{table.title}{note}: thesis / here"
    made = RichTable(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", show_edge=False, pad_edge=False)
    for name in table.row_names:
        made.add_column(name)
    for column in table.columns[:_WIDEST]:
        made.add_column(f"{column.name} {column.unit}".strip(), justify="right")
    for row in table.rows:
        cells = [
            _text(cell, column, judged.get(_key(table, row, column)))
            for column, cell in zip(table.columns[:_WIDEST], row.cells, strict=False)
        ]
        if any(cells):
            made.add_row(*map(escape, row.labels), *cells)
    return made


def _text(cell: Cell, column: Column, one: Judgement | None) -> str:
    if cell.ours is None and cell.published is None:
        return ""
    here = shown(cell.ours.mean, column.digits) if cell.ours else DASH
    text = here if cell.published is None else f"{shown(cell.published, column.digits)} / {here}"
    style = _STYLES[one.verdict] if one and one.verdict else ""
    return f"[{style}]{text}[/]" if style else text


def _bounds(comparison: Comparison) -> RichTable:
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    numbers = ("met", "missed", "excepted")
    for name in ("what", *numbers, "farthest off"):
        made.add_column(name, justify="right" if name in numbers else "left")
    for one in comparison.bounds:
        counts = (str(one.met), str(one.missed), str(one.excepted))
        made.add_row(escape(one.bound.title), *counts, escape(one.worst))
    return made


def _without_a_link(comparison: Comparison) -> RichTable:
    title = "met without any model of a link"
    made = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", show_edge=False, pad_edge=False)
    made.add_column("what")
    for name in ("here", *BASELINE_NAMES.values()):
        made.add_column(name, justify="right")
    for one in comparison.bounds:
        if one.baseline.judged:
            counts = [str(getattr(one.baseline, name)) for name in BASELINE_NAMES]
            made.add_row(escape(one.bound.title), str(one.met), *counts)
    return made


def _duration_errors(comparison: Comparison) -> RichTable:
    title = "durations: how far off in the mean"
    made = RichTable(box=box.SIMPLE_HEAD, title=title, title_justify="left", show_edge=False, pad_edge=False)
    for name in ("retry value", "numbers", "here", *(BASELINE_NAMES[key] for key in TOLD_FROM_OTHERS)):
        made.add_column(name, justify="right")
    for one in comparison.duration_errors:
        others = [f"{100 * one.by[key]:.1f} %" if key in one.by else DASH for key in TOLD_FROM_OTHERS]
        made.add_row(one.rows, str(one.numbers), f"{100 * one.here:.1f} %", *others)
    return made


def _effects(comparison: Comparison) -> RichTable:
    made = RichTable(
        box=box.SIMPLE_HEAD, title="retry values 1 and 2", title_justify="left", show_edge=False, pad_edge=False
    )
    for name in ("table", "effects", "same direction", "within our spread", "opposite"):
        made.add_column(name, justify="right")
    for one in comparison.effects_by_table:
        made.add_row(one.table, str(one.all), str(one.same), str(one.within), str(one.opposite))
    return made


_FIELDS = (
    "table",
    "title",
    "row",
    "column",
    "unit",
    "thesis",
    "here",
    "ci95",
    "repeats",
    "difference",
    "explained",
    "allowed",
    "verdict",
    "why",
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
                "met": one.met,
                "missed": one.missed,
                "excepted": one.excepted,
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
        "claims": [vars(one) for one in comparison.claims],
        "answers": {one.key: [answer for answer in one.answers if answer] for one in comparison.questions},
        "cost": {
            "simulated_s": comparison.simulated_s,
            "wall_s": comparison.wall_s,
            "peak_memory_bytes": comparison.measured.peak_memory_bytes,
            "measurements": [vars(cost) for cost in comparison.measured.costs],
        },
        "failures": list(comparison.measured.failures),
    }


def write_csv(comparison: Comparison, directory: Path) -> list[Path]:
    """One file with all numbers of each table, one with the effects."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    by_table: dict[str, list[dict[str, Any]]] = {}
    for number in _numbers(comparison):
        by_table.setdefault(str(number["table"]), []).append(number)
    for name, rows in by_table.items():
        written.append(_csv(directory / f"table-{name}.csv", _FIELDS, rows))
    effects = as_json(comparison)["effects"]
    if effects:
        written.append(_csv(directory / "effects.csv", tuple(effects[0]), effects))
    return written


def _numbers(comparison: Comparison) -> Iterable[dict[str, Any]]:
    judged = _index(comparison.judgements)
    for table in [*comparison.tables, *(question.table for question in comparison.questions)]:
        for row, column, cell in table.cells():
            if cell.ours is not None or cell.published is not None:
                yield _number(table, row, column, cell, judged.get(_key(table, row, column)))


def _number(table: Table, row: Row, column: Column, cell: Cell, one: Judgement | None) -> dict[str, Any]:
    ours = cell.ours
    return {
        "table": table.number,
        "title": table.title,
        "row": ", ".join(f"{name} {label}" for name, label in zip(table.row_names, row.labels, strict=True)),
        "column": column.name,
        "unit": column.unit,
        "thesis": cell.published,
        "here": None if ours is None else ours.mean,
        "ci95": None if ours is None else ours.half_width,
        "repeats": len(cell.samples),
        "difference": cell.difference,
        "explained": one.explained if one else None,
        "allowed": one.allowed if one else None,
        "verdict": one.verdict if one else None,
        "why": one.why if one else None,
    }


def _csv(path: Path, fields: Sequence[str], rows: Iterable[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _index(judgements: Iterable[Judgement]) -> dict[tuple[object, ...], Judgement]:
    return {(one.table, one.row, one.column, one.unit): one for one in judgements}


def _key(table: Table, row: Row, column: Column) -> tuple[object, ...]:
    return (table.number, row.labels, column.name, column.unit)
