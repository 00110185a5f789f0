"""Writes the large tables of docs/reproduce-balk.md anew, in their places, from the numbers of a run.

    framewire reproduce balk --traces DIR
    .venv/bin/python benches/figures/balk_tables.py reproduce/balk/results.json
    make figures

What the page says beside its tables has to follow by hand.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tables
from balk import HEADING, PAGE

from framewire.studies.balk.published import Published, published
from framewire.studies.numbers import formatted
from framewire.studies.table import DASH
from framewire.studies.verdicts import Change, Number, Verdict

VERDICTS = {Verdict.HOLDS: "**holds**", Verdict.FAILS: "does not", Verdict.UNDECIDED: "undecided"}
COUNTED = "Of 37 experiments:"
"""With this a line begins that counts what is better."""


def main() -> int:
    """Replaces them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="results.json of a whole run")
    found = json.loads(parser.parse_args().results.read_text(encoding="utf-8"))
    for heading, rows in every(found):
        tables.replace(PAGE, heading, rows)
    tables.replace_line(PAGE, COUNTED, found["better_headline"])
    return 0


def every(found: Mapping[str, Any]) -> Iterator[tuple[str, list[list[str]]]]:
    """The rows of each table, by how its heading begins."""
    yield HEADING, list(readings(found["readings"]))
    yield "|  | climb (s) |", list(decisions(_titled(found, "What would have to be different")))
    yield "|  | fixed below 15 |", list(_titled(found, "Frames per second where fixed-rate streaming fails"))
    yield "|   | share of fair |", [[_without(cell) for cell in row] for row in found["better"]["rows"]]


def readings(found: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Each claim by each reading; one that repeats another is left out."""
    by_key = [{one["key"]: one for one in reading["claims"]} for reading in found]
    claims = [published()[key] for key in by_key[0]]
    counted = [claim.key for claim in claims if claim.is_independent and not claim.is_asked]
    held = (sum(reading[key]["verdict"] == Verdict.HOLDS for key in counted) for reading in by_key)
    yield ["independent claims of the paper that hold", *(f"**{number} of {len(counted)}**" for number in held)]
    for claim in claims:
        if claim.same_as is None:
            yield [_name(claim), *(_found(claim, reading[claim.key]) for reading in by_key)]


def _name(claim: Published) -> str:
    aside = " (asked)" if claim.is_asked else "" if claim.is_independent else " (not counted)"
    return f"{claim.figure} `{claim.key}`{aside}"


def _found(claim: Published, one: Mapping[str, Any]) -> str:
    if one["ours"] is None:
        return DASH
    number = Number(one["ours"], one["ours_low"], one["ours_high"], one["values"])
    return f"{formatted(number, claim.unit)} {VERDICTS[Verdict(one['verdict'])]}"


def decisions(rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Without how many claims each meets; a star is no emphasis here."""
    for name, *cells, _met in rows:
        yield [name, *(cell.replace(" *", "\\*") for cell in cells)]


def _titled(found: Mapping[str, Any], title: str) -> Sequence[list[str]]:
    rows: Sequence[list[str]] = next(one["rows"] for one in found["tables"] if one["title"] == title)
    return rows


def _without(cell: str) -> str:
    """What is worse stands out."""
    return f"**{cell}**" if cell.endswith(f" {Change.WORSE}") else cell


if __name__ == "__main__":
    raise SystemExit(main())
