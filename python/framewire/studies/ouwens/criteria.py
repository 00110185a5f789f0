"""When a table agrees: every number that has a bound, held against it, on both sides.

The bounds stand in :data:`BOUNDS`. They are this project's: the thesis says nothing of how far its numbers, of one
run each, may be off. What it asks of a number holds, does not hold or is excepted; an exception has to be found by
rule, from the thesis' own neighbouring rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev

from framewire.confidence import student_t
from framewire.studies.ouwens import movie_ratio
from framewire.studies.ouwens.link_layer import without_oven
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.ouwens.published import attempts
from framewire.studies.table import Cell, Column, Row
from framewire.studies.verdicts import Verdict, counted

__all__ = ["BOUNDS", "Bound", "Judgement", "contradicted", "judge", "size_of", "summary"]

LOSS_POINTS = 0.5
SHARE_POINTS = 1.0
IFD_POINTS = 3.0
DURATION_SHARE = 0.05
ROUNDED = 0.05
"""The thesis rounds to a tenth: its number stands for all that round to it."""


@dataclass(frozen=True)
class Bound:
    """Something that is asked of a group of numbers."""

    key: str
    title: str
    rule: str
    source: str
    """Where its size comes from."""


BY_HAND = "set by hand in this project"
BY_ROWS = "computed from the thesis' rows that measure the same"

BOUNDS: tuple[Bound, ...] = (
    Bound(
        "duration",
        "durations, tables 3.7 and 3.13",
        "within 5 % at retry values of 3 and more (and 0, which is 16)",
        BY_HAND,
    ),
    Bound(
        "stream",
        "durations, table 3.6",
        "the 95 % intervals of single runs overlap, ours and theirs (their spread: rows that measure the same)",
        BY_ROWS,
    ),
    Bound(
        "stream-5.5",
        "the same with the card at 5.5 Mbit/s",
        "as above: what the thesis' own tables say of this set (section 3.5)",
        BY_ROWS,
    ),
    Bound(
        "loss",
        "blocking UDP, tables 3.8 to 3.11",
        "within 0.5 points at retry values of 3 and more, but for rows that the thesis' own neighbours contradict",
        BY_HAND,
    ),
    Bound(
        "transmissions",
        "transmissions per packet, table 3.2",
        "shares within 1 point at retry values of 3 and more",
        BY_HAND,
    ),
    Bound(
        "ifd",
        "IFD, tables 3.19 to 3.22",
        "within 3 points at retry values of 3 and more, after the part that the movie's I:P:B ratio explains",
        BY_HAND,
    ),
    Bound(
        "udp",
        "non-blocking UDP, tables 3.14 to 3.17",
        "no bound: beside theirs, with the part that the movie's I:P:B ratio explains",
        "",
    ),
)


@dataclass(frozen=True)
class Judgement:
    """One number and its bound."""

    bound: str
    table: str
    row: tuple[str, ...]
    column: str
    unit: str
    published: float
    ours: float
    half_width: float | None
    explained: float
    """Points that the movie's ratio explains, to be added to ours."""
    allowed: str
    verdict: Verdict | None
    """None where nothing is asked."""
    why: str = ""
    limit: float | None = None
    """How far off a number without a spread of its own may be; None where nothing is asked."""

    @property
    def difference(self) -> float:
        """What remains when the explained part is taken off."""
        return self.ours + self.explained - self.published


def judge(tables: Sequence[ThesisTable], measured: Measured) -> list[Judgement]:
    """Every published number that a bound is about and that was measured."""
    found: list[Judgement] = []
    of_udp = movie_ratio.udp_explained(measured)
    for table in tables:
        excepted = contradicted(table) if table.section == "3.6" else {}
        for row, column, cell in table.cells():
            if cell.published is not None and cell.ours is not None:
                found += _judgements(table, row, column, cell, measured, of_udp, excepted)
    return found


def summary(judgements: Sequence[Judgement]) -> list[tuple[Bound, Mapping[Verdict, int], Judgement | None]]:
    """Of each bound: how often each verdict was found, and the worst of the numbers that count."""
    results: list[tuple[Bound, Mapping[Verdict, int], Judgement | None]] = []
    for bound in BOUNDS:
        mine = [one for one in judgements if one.bound == bound.key]
        counting = [one for one in mine if one.verdict != Verdict.EXCEPTED]
        results.append((bound, counted(one.verdict for one in mine), max(counting, key=size_of, default=None)))
    return results


def size_of(one: Judgement) -> float:
    """How far off a number is: durations as a share of the thesis', all else in its unit."""
    return abs(one.difference) / (one.published if one.bound in ("duration", "stream", "stream-5.5") else 1)


def _judgements(
    table: ThesisTable,
    row: Row,
    column: Column,
    cell: Cell,
    measured: Measured,
    of_udp: Mapping[tuple[str, str], float],
    excepted: Mapping[tuple[str, ...], str],
) -> Iterator[Judgement]:
    if table.number in ("3.7", "3.13") and _is_high(row):
        allowed = DURATION_SHARE * (cell.published or 0)
        yield _within("duration", table, row, column, cell, allowed, "±5 %")
    elif table.number == "3.6":
        yield _overlapping("stream-5.5" if "at 5.5" in column.name else "stream", table, row, column, cell)
    elif table.number == "3.2" and column.name.endswith(" x") and int(row.labels[0]) >= 3:
        yield _within("transmissions", table, row, column, cell, SHARE_POINTS, "±1 point")
    elif table.section == "3.6" and table.facts.get("bitrate") and _is_high(row):
        why = excepted.get((*row.labels, column.name), "")
        yield _within("loss", table, row, column, cell, LOSS_POINTS, "±0.5 points", why=why)
    elif table.section == "3.9" and _is_high(row):
        yield _within(
            "ifd", table, row, column, cell, IFD_POINTS, "±3 points", _ifd_explained(table, row, column, measured)
        )
    elif table.section == "3.8" and table.facts.get("bitrate") and _is_high(row):
        explained = 0.0
        if table.facts["bitrate"] == "6":
            explained = of_udp.get((row.labels[1], column.name), 0.0)
        yield _within("udp", table, row, column, cell, None, "", explained)


def _is_high(row: Row) -> bool:
    """Whether the row's retry value allows three transmissions or more."""
    return attempts(int(row.labels[0])) >= 3


def _within(
    bound: str,
    table: ThesisTable,
    row: Row,
    column: Column,
    cell: Cell,
    allowed: float | None,
    shown: str,
    explained: float = 0.0,
    why: str = "",
) -> Judgement:
    ours, published = cell.ours, cell.published
    assert ours is not None
    assert published is not None
    place = (table, row, column, cell)
    if allowed is None:
        return _judgement(bound, place, explained, shown, None)
    limit = allowed + ROUNDED
    within = abs(ours.mean + explained - published) <= limit
    verdict = Verdict.HOLDS if within else Verdict.EXCEPTED if why else Verdict.FAILS
    return _judgement(bound, place, explained, shown, verdict, why if verdict == Verdict.EXCEPTED else "", limit)


def _judgement(
    bound: str,
    place: tuple[ThesisTable, Row, Column, Cell],
    explained: float,
    shown: str,
    verdict: Verdict | None,
    why: str = "",
    limit: float | None = None,
) -> Judgement:
    """What was found at a place where both sides have a number."""
    table, row, column, cell = place
    assert cell.ours is not None
    assert cell.published is not None
    return Judgement(
        bound,
        table.number,
        row.labels,
        column.name,
        column.unit,
        cell.published,
        cell.ours.mean,
        cell.ours.half_width,
        explained,
        shown,
        verdict,
        why,
        limit,
    )


def _overlapping(bound: str, table: ThesisTable, row: Row, column: Column, cell: Cell) -> Judgement:
    """Whether one run of ours and the thesis' single one can be the same: their intervals overlap."""
    ours, published = cell.ours, cell.published
    assert ours is not None
    assert published is not None
    theirs = _reach(without_oven(column.name.split(",")[0].lower()))
    reach = _reach(cell.samples) + theirs
    verdict = Verdict.of(abs(ours.mean - published) <= reach)
    return _judgement(bound, (table, row, column, cell), 0.0, f"±{reach:.1f} s", verdict, limit=theirs)


def _reach(runs: Sequence[float]) -> float:
    """Half the interval in which one more run lies, 19 times in 20: Student's for a further observation."""
    if len(runs) < 2:
        return 0.0
    return student_t(0.95, len(runs) - 1) * stdev(runs) * math.sqrt(1 + 1 / len(runs))


def _ifd_explained(table: ThesisTable, row: Row, column: Column, measured: Measured) -> float:
    scale = movie_ratio.ifd_scale(measured, int(table.facts["bitrate"]))
    lost = table.find(row.labels, "B")
    if scale is None or lost is None or lost.ours is None or column.name not in ("B", "total"):
        return 0.0
    points = lost.ours.mean * (scale - 1)
    return points if column.name == "B" else points * 998 / 1499


def contradicted(table: ThesisTable) -> dict[tuple[str, ...], str]:
    """Published numbers that differ from both neighbours in retry value by more than these differ, and by 0.5 points.

    More attempts can only lose less, so a row above both its neighbours tells of something that the table does not
    name. 0 stands beside 16, which it is taken for. Only rows of 3 and more attempts are looked at.
    """
    found = {}
    for oven in {row.labels[1] for row in table.rows if len(row.labels) == 2}:
        rows = [row for row in table.rows if row.labels[1] == oven and attempts(int(row.labels[0])) >= 2]
        rows.sort(key=lambda row: (attempts(int(row.labels[0])), row.labels[0] == "0"))
        for position, column in enumerate(table.columns):
            values = [row.cells[position].published for row in rows]
            for place in range(1, len(rows)):
                before = place - 1
                after = place + 1 if place + 1 < len(rows) else place - 2
                triple = [values[index] for index in (before, place, after)]
                if any(value is None for value in triple):
                    continue
                low, value, high = (float(one) for one in triple if one is not None)
                spread = abs(low - high)
                if min(abs(value - low), abs(value - high)) > max(spread, LOSS_POINTS):
                    sides = f"retry {rows[before].labels[0]}: {low:g}, retry {rows[after].labels[0]}: {high:g}"
                    found[(*rows[place].labels, column.name)] = f"{value:g} % between {sides}"
    return found
