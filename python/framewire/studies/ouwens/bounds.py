"""The overview: what agrees, what does not, and by how much, in sentences and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framewire.studies.ouwens import criteria
from framewire.studies.ouwens.baseline import Baseline, baseline
from framewire.studies.ouwens.criteria import Bound, Judgement
from framewire.studies.ouwens.effects import Effect
from framewire.studies.table import shown
from framewire.studies.verdicts import Verdict

__all__ = [
    "BoundResult",
    "EffectResult",
    "bounds",
    "by_table",
    "described",
    "described_in_short",
    "headline",
    "place",
    "worth",
]


@dataclass(frozen=True)
class BoundResult:
    """A bound and how often what it asks was found."""

    bound: Bound
    holds: int
    fails: int
    excepted: int
    worst: str
    misses: tuple[Judgement, ...]
    exceptions: tuple[Judgement, ...]
    baseline: Baseline
    """What is met without any model of a link."""

    @property
    def verdict(self) -> Verdict | None:
        """Whether it holds everywhere; None where nothing is asked or measured."""
        return Verdict.of(not self.fails if self.holds + self.fails else None)


@dataclass(frozen=True)
class EffectResult:
    """How many effects at retry values 1 and 2 a table has, and how many go the same way here."""

    table: str
    same: int
    within: int
    opposite: int

    @property
    def all(self) -> int:
        """Effects of the thesis that exceed its spread."""
        return self.same + self.within + self.opposite


def bounds(judgements: Sequence[Judgement]) -> list[BoundResult]:
    """Every bound."""
    results = []
    for bound, counts, worst in criteria.summary(judgements):
        mine = [one for one in judgements if one.bound == bound.key]
        results.append(
            BoundResult(
                bound,
                counts[Verdict.HOLDS],
                counts[Verdict.FAILS],
                counts[Verdict.EXCEPTED],
                described(worst) if worst else "nothing measured",
                tuple(one for one in mine if one.verdict == Verdict.FAILS),
                tuple(one for one in mine if one.verdict == Verdict.EXCEPTED),
                baseline(mine),
            )
        )
    return results


def by_table(effects: Sequence[Effect]) -> list[EffectResult]:
    """Effects counted by table."""
    tables = list(dict.fromkeys(effect.table for effect in effects))
    count = {(table, way): 0 for table in tables for way in ("same", "within our spread", "opposite")}
    for effect in effects:
        count[effect.table, effect.direction] += 1
    return [
        EffectResult(table, count[table, "same"], count[table, "within our spread"], count[table, "opposite"])
        for table in tables
    ]


def described(one: Judgement) -> str:
    """A number with its place and its difference."""
    digits = 1 if one.unit in ("s", "%") else 0
    explained = f", of which the movies' ratio explains {-one.explained:+.1f}" if abs(one.explained) >= 0.05 else ""
    unit = "points" if one.unit == "%" else one.unit
    relative = f" ({100 * one.difference / one.published:+.1f} %)" if one.unit == "s" and one.published else ""
    return (
        f"table {one.table}, {place(one.row, one.column)}: {shown(one.published, digits)} there, "
        f"{shown(one.ours, digits)} here, {one.ours - one.published:+.{digits}f} {unit}{relative}{explained}"
    )


def described_in_short(one: Judgement) -> str:
    """The same in short, without its table.

    >>> described_in_short(Judgement("loss", "3.8", ("3", "yes"), "B", "%", 0.1, 0.4, None, 0.0, "", Verdict.HOLDS))
    'retry 3, oven, B: 0.1, 0.4 %'
    """
    digits = 1 if one.unit in ("s", "%") else 0
    values = f"{shown(one.published, digits)}, {shown(one.ours, digits)} {one.unit}"
    return f"{place(one.row, one.column)}: {values}"


def place(labels: Sequence[str], column: str) -> str:
    """Where a number stands in its table.

    >>> place(("4", "no"), "B"), place(("6 Mbit/s", "1", "yes"), "5-10"), place(("2",), "TCP, oven")
    ('retry 4, B', '6 Mbit/s, retry 1, oven, 5-10', 'retry 2, TCP, oven')
    """
    first = [label for label in labels if label not in ("no", "yes")]
    named = [label if "Mbit" in label else f"retry {label}" for label in first]
    return ", ".join([*named, *(["oven"] if "yes" in labels else []), column])


def headline(
    results: Sequence[BoundResult], effects: Sequence[EffectResult], judgements: Sequence[Judgement] = ()
) -> str:
    """The whole in a few sentences: what holds, which way effects go, how far off is what has no bound."""
    counting = _counted(results)
    holds, fails = sum(one.holds for one in counting), sum(one.fails for one in counting)
    excepted = sum(one.excepted for one in counting)
    if not holds + fails:
        return "Nothing that has a bound was measured."
    same, every = sum(one.same for one in effects), sum(one.all for one in effects)
    exceptions = f" ({excepted} more are contradicted by the thesis' own neighbouring rows)" if excepted else ""
    low = f" At retry values 1 and 2, {same} of {every} effects go the same way." if every else ""
    met = f"{holds} of {holds + fails} numbers of the thesis are met here within bounds that this project set"
    return f"{met}{exceptions}.{low}{_without_bound(judgements)} {worth(results)}"


def worth(results: Sequence[BoundResult]) -> str:
    """What the count of met bounds is to be held against."""
    without = sum((one.baseline for one in _counted(results)), Baseline())
    return (
        "How much that says of the simulated link: guesses that simulate none were held against the same bounds. "
        f"Frames are never lost and streams take the movie's time: {without.nothing_lost} met. The median of what the "
        f"thesis has in a column, for all its rows: {without.one_number}. The thesis' own number for another setting "
        f"in place of the one asked about: that for the nearest retry value {without.nearest}, for the other bitrate "
        f"{without.other_bitrate}, the mean of the column {without.mean}, the effects of retry value and oven added up "
        f"{without.factors}. None of the six guesses meets {without.none} of the numbers, and the simulation meets "
        f"{without.none_but_here} of these; it misses {without.only_without} that a guess from another setting meets."
    )


def _counted(results: Sequence[BoundResult]) -> list[BoundResult]:
    """All but the bound that judges the same numbers once more."""
    return [one for one in results if one.bound.key != "stream-5.5"]


def _without_bound(judgements: Sequence[Judgement]) -> str:
    """Nothing is asked of non-blocking UDP, where the two are furthest apart: no count may hide that."""
    unbound = [one for one in judgements if one.bound == "udp"]
    if not unbound:
        return ""
    worst = max(unbound, key=lambda one: abs(one.difference))
    return f" The {len(unbound)} of non-blocking UDP have no bound; the furthest off: {described(worst)}."
