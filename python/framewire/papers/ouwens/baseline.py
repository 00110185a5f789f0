"""What a count of met bounds is worth: how many of the same bounds are met without any model of a link.

**Nothing lost** knows only the movie: no frame is lost, every packet is sent once, every stream takes the movie's time.
**One number per column** knows the answers: for each column of each table the median of what the thesis published in
the judged rows, in every one of them. What depends on nothing that was varied, it gets right.

Neither is corrected for the movie's I:P:B ratio, and neither has a spread of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from framewire.papers.ouwens.criteria import Judgement
from framewire.papers.ouwens.published import DURATION_S

__all__ = ["Baseline", "baseline"]


@dataclass(frozen=True)
class Baseline:
    """How many of the judged numbers each of the two meets, and what is left to be gained by a model."""

    judged: int = 0
    nothing_lost: int = 0
    one_number: int = 0
    neither: int = 0
    """Numbers that both miss."""
    neither_but_here: int = 0
    """Of these, the ones that are met here."""

    def __add__(self, other: Baseline) -> Baseline:
        return Baseline(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def baseline(judgements: Sequence[Judgement]) -> Baseline:
    """Of the numbers that are met or missed; those that nothing is asked of, and excepted ones, do not count."""
    judged = [one for one in judgements if one.verdict in ("met", "missed")]
    columns: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        columns.setdefault((one.table, one.column), []).append(one.published)
    nothing = [_meets(one, _nothing_lost(one)) for one in judged]
    number = [_meets(one, median(columns[one.table, one.column])) for one in judged]
    neither = [one for one, first, second in zip(judged, nothing, number, strict=True) if not (first or second)]
    return Baseline(len(judged), sum(nothing), sum(number), len(neither), sum(one.verdict == "met" for one in neither))


def _nothing_lost(one: Judgement) -> float:
    if one.unit == "s":
        return DURATION_S
    return 100.0 if one.bound == "transmissions" and one.column == "1 x" else 0.0


def _meets(one: Judgement, says: float) -> bool:
    return one.limit is not None and abs(says - one.published) <= one.limit
