"""The part of the page on the 802.11b thesis."""

from __future__ import annotations

from typing import Any

from framewire.studies.verdicts import Verdict
from framewire.studies.writers import markdown_table

HEAD = "## Against the 802.11b thesis\n"
COUNTED = (Verdict.HOLDS, Verdict.FAILS, Verdict.EXCEPTED)


def write(reproduced: dict[str, Any] | None) -> str:
    """The section, from the output of `framewire reproduce ouwens --json`."""
    if reproduced is None:
        return f"{HEAD}\nLeft out: no reproduction was given (`page.py --thesis FILE.json`).\n"
    bounds = [(one["rule"], *map(str, _counts(one))) for one in reproduced["bounds"]]
    missed = [
        (
            *(str(one[name]) for name in ("title", "row", "column")),
            _number(one["thesis"], one),
            _number(one["here"], one),
            one["why"] or "",
        )
        for one in reproduced["numbers"]
        if Verdict.read(one["verdict"]) == Verdict.FAILS
    ]
    parts = [
        HEAD,
        "`framewire reproduce ouwens` repeats the measurement campaign and prints each table of chapter 3 beside ours; "
        f"here is the outcome. {reproduced['headline']}\n",
        markdown_table(("bound", *map(str, COUNTED)), bounds, "left"),
    ]
    if missed:
        parts += ["Numbers whose bound does not hold:\n"]
        parts += [markdown_table(("table", "row", "column", "thesis", "here", "why"), missed, "left")]
    return "\n".join(parts)


def _counts(bound: dict[str, Any]) -> list[int]:
    """How many numbers hold, do not, and are excepted; of version 0.1 under names of their own."""
    if "verdicts" not in bound:
        return [bound[name] for name in ("met", "missed", "excepted")]
    return [bound["verdicts"][verdict] for verdict in COUNTED]


def _number(value: float | None, one: dict[str, Any]) -> str:
    return "" if value is None else f"{value:.4g} {one['unit'] or ''}".strip()
