"""What may come of a claim, in the same few words for every study; and the number that it is judged by.

A study holds claims of others, or bounds of its own, against what was measured. Each has a :class:`Verdict`; a number
that nothing is asked of has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from framewire.confidence import Estimate, mean_with_confidence

__all__ = ["Bounds", "Change", "Claim", "Finding", "Number", "Verdict", "counted", "together"]


class Verdict(StrEnum):
    """What came of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    """What is measured is not precise enough to say."""
    EXCEPTED = "excepted"
    """It does not hold, and a rule that looks at the published numbers alone says why it cannot be asked."""
    NOT_MEASURED = "not measured"

    @classmethod
    def of(cls, value: bool | None) -> Verdict | None:
        """Of what can be said without an interval; None where it cannot be said so simply."""
        return None if value is None else cls.HOLDS if value else cls.FAILS

    @classmethod
    def read(cls, word: str | None) -> Verdict | None:
        """From a file, also one of version 0.1, where ``reproduce ouwens`` had words of its own.

        >>> Verdict.read("met"), Verdict.read("does not hold"), Verdict.read(None)
        (<Verdict.HOLDS: 'holds'>, <Verdict.FAILS: 'does not hold'>, None)
        """
        return None if word is None else cls({"met": "holds", "missed": "does not hold"}.get(word, word))


class Change(StrEnum):
    """How one way to do something compares with another."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"

    @classmethod
    def of(cls, difference: Estimate, least: float = 0.0) -> Change:
        """Of the mean of differences of which more is better: the same where its interval holds zero, or within what
        is the least that counts.

        >>> str(Change.of(Estimate(0.2, 0.1, 5))), str(Change.of(Estimate(-0.2, 0.3, 5)))
        ('better', 'same')
        """
        if abs(difference.mean) < max(difference.half_width or 0.0, least):
            return cls.SAME
        return cls.BETTER if difference.mean > 0 else cls.WORSE


EQUAL_VALUES = 6
"""So many equal values hold the median with 95 % confidence: were it another one, all of n values would be on one side
of it with a chance of 2 / 2^n at most (the sign test), which is below 5 % from 6 on."""


@dataclass(frozen=True)
class Number:
    """A measured number, and between which values the true one is with 95 % confidence."""

    value: float
    low: float | None
    """None, as ``high``, where nothing is known of the spread: of a single value, and of few that are equal."""
    high: float | None
    count: int
    """Of how many values."""

    @classmethod
    def of(cls, samples: Sequence[float]) -> Number:
        """The mean of independent values.

        Of fewer than `EQUAL_VALUES` that are all equal, nothing is known of the spread either:

        >>> Number.of([0.5, 0.5]).low, Number.of([0.5] * 6).low
        (None, 0.5)
        """
        found = mean_with_confidence(samples)
        if found.half_width is None or (found.half_width == 0 and found.count < EQUAL_VALUES):
            return cls(found.mean, None, None, found.count)
        return cls(found.mean, found.mean - found.half_width, found.mean + found.half_width, found.count)

    @classmethod
    def share(cls, of_these: int, count: int, *, draws: int) -> Number:
        """Percent, with the score interval (E. B. Wilson, "Probable inference, the law of succession, and statistical
        inference", JASA 22, 1927) of as many independent draws as there were: unlike that of a mean it is not empty
        where all are the same.

        >>> one = Number.share(12, 12, draws=6)
        >>> round(one.value), round(one.low), round(one.high)
        (100, 61, 100)
        """
        z2, part = 1.959964**2, of_these / count
        middle = (part + z2 / (2 * draws)) / (1 + z2 / draws)
        reach = math.sqrt(z2 * (part * (1 - part) + z2 / (4 * draws)) / draws) / (1 + z2 / draws)
        return cls(100 * part, 100 * max(0.0, middle - reach), 100 * min(1.0, middle + reach), count)


@dataclass(frozen=True)
class Bounds:
    """Between which values a number agrees; None for no such bound."""

    low: float | None = None
    high: float | None = None

    def hold(self, value: float) -> bool:
        """Whether a value is within."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def judge(self, ours: Number | None, *, exact: bool = False) -> Verdict:
        """Undecided where the interval reaches over a bound, or where there is none: more repeats would decide.

        A value into which no draw enters is exact, and the whole truth by itself.

        >>> str(Bounds(high=1.0).judge(Number(0.9, 0.8, 1.1, 3)))
        'undecided'
        """
        if ours is None:
            return Verdict.NOT_MEASURED
        if exact:
            return Verdict.HOLDS if self.hold(ours.value) else Verdict.FAILS
        if ours.low is None or ours.high is None:
            return Verdict.UNDECIDED
        if self.hold(ours.low) and self.hold(ours.high):
            return Verdict.HOLDS
        outside = (self.high is not None and ours.low > self.high) or (self.low is not None and ours.high < self.low)
        return Verdict.FAILS if outside else Verdict.UNDECIDED

    def __str__(self) -> str:
        """In words.

        >>> str(Bounds(0.85, 1.15)), str(Bounds(high=1.05)), str(Bounds())
        ('0.85 to 1.15', 'at most 1.05', '')
        """
        if self.low is None:
            return "" if self.high is None else f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """Something that is said of a number: by a publication, or by this project as a bound."""

    source: str
    """Where it stands: a section, a figure, a table."""
    says: str


@dataclass(frozen=True)
class Finding:
    """A claim and what came of it."""

    claim: Claim
    finds: str
    """What was measured, in words; empty where nothing was."""
    verdict: Verdict | None
    """None where it cannot be said so simply."""

    def record(self) -> dict[str, Any]:
        """For CSV and JSON."""
        return {
            "source": self.claim.source, "says": self.claim.says, "finds": self.finds, "verdict": self.verdict,
        }  # fmt: skip


def counted(verdicts: Iterable[Verdict | None]) -> Mapping[Verdict, int]:
    """How often each was found, those that were not among them."""
    found = Counter(verdicts)
    return {verdict: found[verdict] for verdict in Verdict}


def together(judged: Sequence[Verdict]) -> Verdict:
    """Of several: a claim on all of them holds where it holds on each, and fails where it fails on any.

    >>> str(together([Verdict.HOLDS, Verdict.UNDECIDED])), str(together([]))
    ('undecided', 'not measured')
    """
    if not judged:
        return Verdict.NOT_MEASURED
    worst = (Verdict.FAILS, Verdict.NOT_MEASURED, Verdict.UNDECIDED)
    return next((one for one in worst if one in judged), Verdict.HOLDS)
