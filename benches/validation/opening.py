"""The beginning of the page: what it comes to, in ten lines and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from textwrap import fill
from typing import Any

from comparison import ALGORITHMS, Cell, percent

from framewire.studies.parts import Part, Points
from framewire.studies.verdicts import Finding, Verdict


def write(
    criteria: Sequence[Finding],
    cells: Sequence[Cell],
    speed: dict[str, Any] | None,
    reproduced: dict[str, Any] | None,
    pictures: str,
) -> list[Part]:
    """The summary; what was not measured is not in it."""
    points = [_criteria(criteria), _goodput(cells)]
    if speed is not None:
        points.append(_speed(speed))
    if reproduced is not None:
        points.append(f"Beside the 802.11b thesis: {reproduced['headline'].split('. ')[0].rstrip('.')}.")
    points.append("Where a number is off, the page says by how much and why.")
    return [
        "**In short.** The simulated world beside what it stands for:",
        Points([fill(point, 116).replace("\n", "\n  ") for point in points]),
        f"![Goodput of all cells, simulated over measured]({pictures}/goodput.svg)",
    ]


def _criteria(criteria: Sequence[Finding]) -> str:
    missed = [one.claim.source for one in criteria if one.verdict != Verdict.HOLDS]
    held = f"{len(criteria) - len(missed)} of {len(criteria)} criteria against this kernel's TCP hold"
    return f"{held}; these do not: {'; '.join(missed)}." if missed else f"{held}."


def _goodput(cells: Sequence[Cell]) -> str:
    each = []
    for algorithm in ALGORITHMS:
        errors = [abs(cell.goodput_error) for cell in cells if cell.algorithm == algorithm]
        if errors:
            each.append(f"{algorithm} {percent(median(errors))}, {percent(max(errors))}")
    return f"Error of the goodput of {len(cells)} cells, median and worst: {'; '.join(each)}."


def _speed(speed: dict[str, Any]) -> str:
    ratios = [row["ratio"] for row in speed["rows"]]
    return f"It is {min(ratios):.0f} to {max(ratios):.0f} times as fast as ns-3 in the same scenarios, on one thread."
