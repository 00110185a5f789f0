"""The part of the page on the 802.11b thesis."""

from __future__ import annotations

from typing import Any

from markdown import table

HEAD = "## Against the 802.11b thesis\n"


def write(reproduced: dict[str, Any] | None) -> str:
    """The section, from the output of `framewire reproduce ouwens --json`."""
    if reproduced is None:
        return f"{HEAD}\nLeft out: no reproduction was given (`page.py --thesis FILE.json`).\n"
    bounds = [(one["rule"], str(one["met"]), str(one["missed"]), str(one["excepted"])) for one in reproduced["bounds"]]
    judged = [one for one in reproduced["numbers"] if one["verdict"] is not None]
    missed = [
        (
            *(str(one[name]) for name in ("title", "row", "column")),
            _number(one["thesis"], one),
            _number(one["here"], one),
            one["why"] or "",
        )
        for one in judged
        if one["verdict"] == "missed"
    ]
    parts = [
        HEAD,
        "`framewire reproduce ouwens` repeats the measurement campaign and prints each table of chapter 3 beside ours; "
        f"here is the outcome. {reproduced['headline']}\n",
        table(("bound", "met", "missed", "excepted"), bounds),
    ]
    if missed:
        parts += ["Numbers that miss their bound:\n"]
        parts += [table(("table", "row", "column", "thesis", "here", "why"), missed)]
    return "\n".join(parts)


def _number(value: float | None, one: dict[str, Any]) -> str:
    return "" if value is None else f"{value:.4g} {one['unit'] or ''}".strip()
