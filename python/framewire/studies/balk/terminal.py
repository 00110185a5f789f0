"""The comparison for a terminal, as a CSV file and as JSON."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from framewire.errors import InputError
from framewire.report.figures.base import significant
from framewire.studies.balk.claims import Finding, Ours, Verdict
from framewire.studies.balk.comparison import Comparison
from framewire.studies.balk.tables import Table, rounded_up

__all__ = ["as_json", "check_directory", "remarks", "short_unit", "show", "told", "write_files"]

_OWN = ("report.html", "claims.csv", "results.json")
"""All that a directory of results holds."""

_UNITS = ("%", "dB", "kB", "kbit/s", "s", "times")

_STYLES: dict[Verdict, str] = {
    "holds": "green",
    "does not hold": "bold red",
    "undecided": "yellow",
    "not measured": "dim",
}


def short_unit(unit: str) -> str:
    """What of a claim's unit stands beside a number: how it is counted, not of what.

    >>> [short_unit(unit) for unit in ("kB", "% of the clip", "kbit/s (least second)", "s of a run")]
    ['kB', '%', 'kbit/s', 's']
    >>> [short_unit(unit) for unit in ("of the fair share", "kbit/s per point of loss", "slope per doubling of k")]
    ['', '', '']
    """
    first, _, rest = unit.partition(" ")
    return first if first in _UNITS and not rest.startswith("per ") else ""


def told(ours: Ours | None, unit: str = "") -> str:
    """Our number with its interval, in a unit that is shown short.

    >>> told(Ours(1.114, 1.11, 1.118, 20)), told(Ours(-0.19, -2.425, 2.045, 20))
    ('1.11 ± 0.01', '-0.2 ± 2.3')
    >>> told(Ours(100.0, 61.0, 100.0, 6)), told(Ours(2.0, None, None, 1))
    ('100 (61 to 100)', '2')
    >>> told(Ours(-0.19, -2.425, 2.045, 20), "dB"), told(Ours(100.0, 61.0, 100.0, 6), "% of frames")
    ('-0.2 ± 2.3 dB', '100 % (61 to 100)')
    """
    if ours is None:
        return "\N{EN DASH}"
    counted = f" {short_unit(unit)}".rstrip()
    text = f"{significant(ours.value, 3):g}{counted}"
    if ours.low is None or ours.high is None:
        return text
    below, above = ours.value - ours.low, ours.high - ours.value
    # Repeats that found the same may differ by rounding.
    if max(below, above) <= 1e-9 * abs(ours.value):
        return text
    if math.isclose(below, above, rel_tol=1e-6):
        # Three digits that count, or two of the reach where that is a tenth of the value or more.
        leading = above / 10 if above >= abs(ours.value) / 10 else abs(ours.value) / 100
        digits = max(0, -math.floor(math.log10(leading)))
        return f"{ours.value:,.{digits}f} ± {rounded_up(above, digits)}{counted}"
    return f"{text} ({significant(ours.low, 3):g} to {significant(ours.high, 3):g})"


def remarks(one: Finding) -> list[str]:
    """What has to be known of a verdict: its worth, and what it hangs on."""
    claim = one.published
    said = ["asked by this project"] if claim.is_asked else []
    if not claim.is_independent:
        said.append(f"not counted: {claim.worth}")
    if one.differs_with_headers:
        said.append(f"with headers {told(one.with_headers, claim.unit)}: {one.verdict_with_headers}")
    if one.ours is not None and one.ours.low is None:
        said.append("exact: no draw enters" if claim.exact else "a single value")
    return said


def show(comparison: Comparison, console: Console, *, tables: bool) -> None:
    """The claims, a line for each, and on request the tables of what the paper leaves open."""
    console.print(comparison.headline, markup=False, highlight=False, style="bold")
    console.print(comparison.counted_apart, markup=False, highlight=False)
    console.print()
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("fig.", justify="right", no_wrap=True)
    made.add_column("claim")
    made.add_column("theirs")
    made.add_column("ours", no_wrap=True)
    made.add_column("", no_wrap=True)
    for one in comparison.findings:
        claim = one.published
        verdict = f"[{_STYLES[one.verdict]}]{one.verdict}[/]"
        said = f"\n[dim]{escape('; '.join(remarks(one)))}[/]" if remarks(one) else ""
        ours = escape(told(one.ours, claim.unit))
        made.add_row(str(claim.figure), escape(claim.says) + said, escape(claim.theirs), ours, verdict)
    console.print(made)
    if comparison.better is not None:
        console.print()
        console.print(comparison.better_headline, markup=False, highlight=False)
    beside = [comparison.better] if comparison.better is not None else []
    if comparison.readings:
        beside.append(_readings(comparison))
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


def _readings(comparison: Comparison) -> Table:
    """Every claim by every reading, as texts."""
    rows = [["independent claims of the paper that hold", *(reading.count for reading in comparison.readings)]]
    for one in comparison.readings[0].findings:
        claim = one.published
        found = [reading.of(claim) for reading in comparison.readings]
        cells = [f"{told(other.ours, claim.unit)} {other.verdict}" if other.ours else told(None) for other in found]
        rows.append([f"{claim.figure}: {claim.key}", *cells])
    names = [reading.name for reading in comparison.readings]
    return Table("Every claim by every reading of equation 1", "", ["", *names], rows)


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
    return {"title": table.title, "columns": list(table.columns), "rows": [list(row) for row in table.rows]}


def _claim(one: Finding) -> dict[str, Any]:
    claim = one.published
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
    return {"key": one.published.key, **_numbers("ours", one.ours), "values": values, "verdict": one.verdict}


def _numbers(name: str, ours: Ours | None) -> dict[str, float | None]:
    """A number with its 95 % confidence interval."""
    value, low, high = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def check_directory(directory: Path) -> None:
    """Says whether results may go to a directory: one to be made, an empty one, or one with results only.

    Raises InputError with the name of something else in it, before anything is simulated.
    """
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: a directory is needed, and this is a file")
    # The last is what the report is before it is whole.
    own = {directory / name for name in (*_OWN, ".report.html.partial")}
    strange = min((path for path in directory.iterdir() if path not in own or not path.is_file()), default=None)
    if strange is not None:
        raise InputError(
            f"{directory}: holds {strange.name}, which is no result of this command; allowed are a directory to be "
            f"made, an empty one, or one that holds nothing but {', '.join(_OWN)}, which are replaced"
        )


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
