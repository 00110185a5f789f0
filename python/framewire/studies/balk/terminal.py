"""The comparison for a terminal, as a CSV file and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from framewire.errors import InputError
from framewire.studies.balk import views
from framewire.studies.balk.claims import Finding
from framewire.studies.balk.comparison import Comparison
from framewire.studies.table import Table
from framewire.studies.verdicts import Number
from framewire.studies.writers import terminal

__all__ = ["as_json", "check_directory", "csv_files", "show"]

_OWN = ("report.html", "claims.csv", "results.json")
"""All that a directory of results holds."""


def show(comparison: Comparison, console: Console, *, tables: bool) -> None:
    """The claims, a line for each, and on request the tables of what the paper leaves open."""
    console.print(comparison.headline, markup=False, highlight=False, style="bold")
    console.print(comparison.counted_apart, markup=False, highlight=False)
    console.print()
    console.print(terminal(views.claims_in_short(comparison.findings)))
    if comparison.better is not None:
        console.print()
        console.print(comparison.better_headline, markup=False, highlight=False)
    beside = [comparison.better] if comparison.better is not None else []
    if comparison.readings:
        beside.append(views.readings_in_short(comparison))
    for table in [*beside, *comparison.tables] if tables else ():
        console.print()
        console.print(terminal(table))
    cost = comparison.measured
    text = f"{comparison.experiments:,} experiments, {cost.simulated_s:,.0f} simulated s, {cost.wall_s:.0f} s now"
    console.print()
    console.print(text, markup=False, highlight=False)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """All numbers."""
    cost = comparison.measured
    return {
        "headline": comparison.headline,
        "counted_apart": comparison.counted_apart,
        "claims": [_claim(one) for one in comparison.findings],
        "readings": [
            {"reading": one.name, "claims": [_judged(found) for found in one.findings]} for one in comparison.readings
        ],
        "better": None if comparison.better is None else _table(comparison.better),
        "better_headline": comparison.better_headline,
        "side_by_side": {number: _table(table) for number, table in comparison.by_figure.items()},
        "tables": [_table(table) for table in comparison.tables],
        "seed": cost.seed,
        "repeats": cost.repeats,
        "experiments": comparison.experiments,
        "simulated_s": cost.simulated_s,
        "wall_s": cost.wall_s,
        "failures": list(cost.failures),
    }


def _table(table: Table) -> dict[str, Any]:
    columns = [*table.row_names, *(column.heading for column in table.columns)]
    rows = [[*row.labels, *(cell.text for cell in row.cells)] for row in table.rows]
    return {"title": table.title, "columns": columns, "rows": rows}


def _claim(one: Finding) -> dict[str, Any]:
    claim = one.claim
    return {
        "key": claim.key,
        "figure": claim.figure,
        "section": claim.source,
        "says": claim.says,
        "theirs": claim.theirs,
        "low": claim.bounds.low,
        "high": claim.bounds.high,
        "unit": claim.unit,
        "basis": claim.basis,
        "kind": claim.kind if claim.same_as is None else f"{claim.kind}={claim.same_as}",
        "reason": claim.reason,
        **_numbers("ours", one.ours),
        "values": 0 if one.ours is None else one.ours.count,
        "exact": claim.exact,
        "verdict": one.verdict,
        **_numbers("with_headers", one.with_headers),
        "verdict_with_headers": one.verdict_with_headers,
        "why": one.why,
    }


def _judged(one: Finding) -> dict[str, Any]:
    values = 0 if one.ours is None else one.ours.count
    return {"key": one.claim.key, **_numbers("ours", one.ours), "values": values, "verdict": one.verdict}


def _numbers(name: str, ours: Number | None) -> dict[str, float | None]:
    """A number with its 95 % confidence interval."""
    value, low, high = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _is_own(path: Path) -> bool:
    """Whether it is a result, or what a report is before it is whole."""
    return path.is_file() and (path.name in _OWN or path.match(".report.html.*.part"))


CAMPAIGNS = "campaigns"
"""Where the cells are kept, below the results."""


def check_directory(directory: Path) -> None:
    """Says whether results may go to a directory: one to be made, an empty one, or one with results only.

    Raises InputError with the name of something else in it, before anything is simulated.
    """
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: a directory is needed, and this is a file")
    strange = min(
        (path for path in directory.iterdir() if not (_is_own(path) or (path.name == CAMPAIGNS and path.is_dir()))),
        default=None,
    )
    if strange is not None:
        raise InputError(
            f"{directory}: holds {strange.name}, which is no result of this command; allowed are a directory to be "
            f"made, an empty one, or one that holds nothing but {', '.join(_OWN)}, which are replaced, and {CAMPAIGNS}"
        )


def csv_files(comparison: Comparison) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """The claims."""
    yield "claims.csv", [_claim(one) for one in comparison.findings]
