"""What is shown of the comparison, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from framewire.studies.balk.claims import Finding
from framewire.studies.balk.comparison import Comparison
from framewire.studies.balk.published import Published
from framewire.studies.numbers import formatted, short_unit
from framewire.studies.table import Cell, Column, Table, of_texts

__all__ = ["claims", "claims_in_short", "clips", "decisions", "readings", "readings_in_short", "remarks"]


def remarks(one: Finding) -> list[str]:
    """What has to be known of a verdict: its worth, and what it hangs on."""
    claim = one.claim
    said = ["asked by this project"] if claim.is_asked else []
    if not claim.is_independent:
        said.append(f"not counted: {claim.worth}")
    if one.differs_with_headers:
        said.append(f"with headers {formatted(one.with_headers, claim.unit)}: {one.verdict_with_headers}")
    if one.ours is not None and one.ours.low is None:
        said.append("exact: no draw enters" if claim.exact else "a single value")
    return said


def claims(findings: Sequence[Finding], *, numbered: bool = False) -> Table:
    """Each claim with its bounds and why it comes out so; on request with the figure that it is about."""
    names: list[str | Column] = [
        *([Column("figure", align="left")] if numbered else []),
        Column("section", align="left"),
        Column("the paper says", align="left"),
        "theirs",
        "ours",
        "agrees at",
        Column("verdict", align="left"),
        Column("why", align="left"),
    ]
    rows = [[*([_figure(one.claim)] if numbered else []), *_cells(one)] for one in findings]
    return _aside(of_texts(names, rows, labels=0), [one.claim for one in findings])


def _cells(one: Finding) -> list[str | Cell]:
    claim = one.claim
    headers = () if one.with_headers is None else (formatted(one.with_headers, claim.unit), "with headers")
    return [
        claim.source,
        claim.says,
        claim.theirs,
        Cell(text=one.finds, below=headers),
        _agrees_at(claim),
        Cell(text=str(one.verdict), mark=one.verdict, below=tuple(remarks(one))),
        f"{claim.reason} {one.why}".strip(),
    ]


def _figure(claim: Published) -> Cell:
    return Cell(text=str(claim.figure), link=f"paper-figure-{claim.figure}", below=(claim.key,))


def _agrees_at(claim: Published) -> str:
    """The bounds with their unit, and which of them are this project's; of what a number without a unit is stands in
    brackets.

    >>> from framewire.studies.balk.published import published
    >>> [_agrees_at(published()[key]) for key in ("tfrc-1", "fair-8")]
    ['at most 200 kbit/s (least second)', '0.85 to 1.15 (both ours) of the fair share']
    """
    of_a_unit = short_unit(claim.unit) or claim.unit.startswith(("of ", "kbit/s per "))
    bounds = claim.bounds_in_words
    return f"{bounds} {claim.unit}" if of_a_unit else f"{bounds} ({claim.unit})"


def _aside(table: Table, of: Sequence[Published]) -> Table:
    """In grey what is not counted."""
    rows = (
        row if claim.is_independent else replace(row, style="aside") for row, claim in zip(table.rows, of, strict=True)
    )
    return replace(table, rows=tuple(rows))


def claims_in_short(findings: Sequence[Finding]) -> Table:
    """A line for each claim."""
    names: list[str | Column] = [
        "fig.", Column("claim", align="left"), Column("theirs", align="left"), "ours", Column("", align="left"),
    ]  # fmt: skip
    rows: list[list[str | Cell]] = [
        [
            str(one.claim.figure),
            Cell(text=one.claim.says, below=("; ".join(remarks(one)),) if remarks(one) else ()),
            one.claim.theirs,
            one.finds,
            Cell(text=str(one.verdict), mark=one.verdict),
        ]
        for one in findings
    ]
    return of_texts(names, rows)


READINGS = "Every claim by every reading of equation 1"


def readings(comparison: Comparison) -> Table:
    """Every claim by every reading: numbers and verdicts."""
    every = comparison.readings
    names: list[str | Column] = [
        *(Column(name, align="left") for name in ("figure", "the paper says")),
        "agrees at",
        *(reading.name for reading in every),
    ]
    counts = [Cell(text=reading.count, mark="best") for reading in every]
    first: list[str | Cell] = ["", "independent claims of the paper that hold", "", *counts]
    of = [one.claim for one in every[0].findings]
    rows: list[list[str | Cell]] = [
        [_figure(claim), claim.says, _agrees_at(claim), *(_found(reading.of(claim)) for reading in every)]
        for claim in of
    ]
    table = _aside(of_texts(names, rows, labels=0), of)
    head = of_texts(names, [first], labels=0).rows
    return replace(table, title=READINGS, rows=(*head, *table.rows))


def _found(one: Finding) -> Cell:
    below = () if one.ours is None else (str(one.verdict),)
    return Cell(text=one.finds, mark=None if one.ours is None else one.verdict, below=below)


def readings_in_short(comparison: Comparison) -> Table:
    """The same with the verdict behind each number."""
    every = comparison.readings
    rows: list[list[str | Cell]] = [["independent claims of the paper that hold", *(one.count for one in every)]]
    for claim in (one.claim for one in every[0].findings):
        found = [reading.of(claim) for reading in every]
        cells = [f"{one.finds} {one.verdict}" if one.ours else one.finds for one in found]
        rows.append([f"{claim.figure}: {claim.key}", *cells])
    return of_texts(["", *(reading.name for reading in every)], rows, title=READINGS)


def decisions(comparison: Comparison) -> Table:
    """What the paper does not give."""
    return of_texts(("what", "the paper", "here"), comparison.decisions, align="left")


def clips(comparison: Comparison) -> Table:
    """What is streamed."""
    names = (
        "clip",
        "stands for",
        "sizes of frames",
        "frames",
        "length",
        "mean rates",
        "plan's peak",
        "mean quantisers",
    )
    return of_texts(names, comparison.clips)
