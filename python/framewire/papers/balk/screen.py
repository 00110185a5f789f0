"""The comparison for a terminal, as a CSV file and as JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from framewire.errors import InputError
from framewire.papers.balk.claims import Finding, Verdict
from framewire.papers.balk.comparison import Comparison
from framewire.papers.balk.tables import Table
from framewire.report.figures.base import significant

__all__ = ["as_json", "show", "told", "write_files"]

_STYLES: dict[Verdict, str] = {
    "holds": "green",
    "does not hold": "bold red",
    "undecided": "yellow",
    "not measured": "dim",
}


def told(finding: Finding) -> str:
    """Our number with its interval."""
    ours = finding.ours
    if ours is None:
        return "\N{EN DASH}"
    mean = f"{significant(ours.mean, 3):g}"
    spread = ours.half_width or 0.0
    # Repeats that found the same may differ by rounding.
    return mean if spread <= 1e-9 * abs(ours.mean) else f"{mean} ± {significant(spread, 2):g}"


def show(comparison: Comparison, console: Console, *, tables: bool) -> None:
    """The claims, a line for each, and on request the tables of what the paper leaves open."""
    console.print(comparison.headline, markup=False, highlight=False, style="bold")
    console.print()
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("fig.", justify="right", no_wrap=True)
    made.add_column("claim")
    made.add_column("theirs")
    made.add_column("ours", no_wrap=True)
    made.add_column("", no_wrap=True)
    for one in comparison.findings:
        claim = one.published
        verdict = f"[{_STYLES[one.verdict]}]{one.verdict}[/]" + (" (calibrated)" if claim.calibrated else "")
        ours = f"{told(one)} {claim.unit}" if len(claim.unit) <= 6 else told(one)
        made.add_row(str(claim.figure), escape(claim.says), escape(claim.theirs), escape(ours), verdict)
    console.print(made)
    if comparison.better is not None:
        console.print()
        console.print(comparison.better_headline, markup=False, highlight=False)
    beside = [comparison.better] if comparison.better is not None else []
    for table in [*beside, *comparison.tables] if tables else ():
        console.print()
        wide = RichTable(
            box=box.SIMPLE_HEAD, title=escape(table.title), title_justify="left", show_edge=False, pad_edge=False
        )
        for place, name in enumerate(table.columns):
            wide.add_column(name, justify="right" if place else "left")
        for row in table.rows:
            wide.add_row(*map(escape, row))
        console.print(wide)
    cost = comparison.measured
    text = f"{comparison.experiments:,} experiments, {cost.simulated_s:,.0f} simulated s, {cost.wall_s:.0f} s now"
    console.print()
    console.print(text, markup=False, highlight=False)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """All numbers."""
    cost = comparison.measured
    return {
        "headline": comparison.headline,
        "claims": [_claim(one) for one in comparison.findings],
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
    return {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}


def _claim(one: Finding) -> dict[str, Any]:
    claim, ours = one.published, one.ours
    return {
        "key": claim.key,
        "figure": claim.figure,
        "section": claim.section,
        "says": claim.says,
        "theirs": claim.theirs,
        "low": claim.low,
        "high": claim.high,
        "unit": claim.unit,
        "basis": claim.basis,
        "calibrated": claim.calibrated,
        "ours": None if ours is None else ours.mean,
        "half_width": None if ours is None else ours.half_width,
        "seeds": 0 if ours is None else ours.count,
        "verdict": one.verdict,
        "why": one.why,
    }


def write_files(comparison: Comparison, directory: Path) -> None:
    """The claims as ``claims.csv``, and all numbers as ``results.json``."""
    rows = [_claim(one) for one in comparison.findings]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "claims.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        text = json.dumps(as_json(comparison), indent=1, ensure_ascii=False)
        (directory / "results.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{directory}: cannot write the numbers: {error.strerror}") from error
