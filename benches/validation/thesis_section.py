"""The part of the page on the 802.11b thesis."""

from __future__ import annotations

from typing import Any

from framewire.studies.parts import Part, Section
from framewire.studies.table import of_texts
from framewire.studies.verdicts import Verdict

HEAD = "Against the 802.11b thesis"
COUNTED = (Verdict.HOLDS, Verdict.FAILS, Verdict.EXCEPTED)


def write(reproduced: dict[str, Any] | None) -> Section:
    """The section, from the output of `framewire reproduce ouwens --json`."""
    if reproduced is None:
        return Section(HEAD, ["Left out: no reproduction was given (`page.py --thesis FILE.json`)."])
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
    parts: list[Part] = [
        "`framewire reproduce ouwens` repeats the measurement campaign and prints each table of chapter 3 beside ours; "
        f"here is the outcome. {reproduced['headline']}",
        of_texts(("bound", *map(str, COUNTED)), bounds, align="left"),
    ]
    if missed:
        heads = ("table", "row", "column", "thesis", "here", "why")
        parts += ["Numbers whose bound does not hold:", of_texts(heads, missed, align="left")]
    return Section(HEAD, parts)


def _counts(bound: dict[str, Any]) -> list[int]:
    """How many numbers hold, do not, and are excepted; of version 0.1 under names of their own."""
    if "verdicts" not in bound:
        return [bound[name] for name in ("met", "missed", "excepted")]
    return [bound["verdicts"][verdict] for verdict in COUNTED]


def _number(value: float | None, one: dict[str, Any]) -> str:
    return "" if value is None else f"{value:.4g} {one['unit'] or ''}".strip()
