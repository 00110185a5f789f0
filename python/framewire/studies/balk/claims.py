"""Every claim of the paper beside ours: held against the claim's bounds, by what is known of our number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from framewire.confidence import mean_with_confidence
from framewire.studies.balk import explanations
from framewire.studies.balk.measure import Measured, Ruler, UnpairedError
from framewire.studies.balk.published import Published, published
from framewire.studies.balk.samples import OTHERS, RATES, Count

__all__ = ["Finding", "Ours", "Verdict", "findings"]

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]


@dataclass(frozen=True)
class Ours:
    """Our number, and between which values the true one is with 95 % confidence."""

    value: float
    low: float | None
    """None, as ``high``, for a single value, which tells nothing of its spread."""
    high: float | None
    count: int
    """Of how many values."""

    @classmethod
    def of(cls, samples: Sequence[float]) -> Ours:
        """The mean of independent values."""
        found = mean_with_confidence(samples)
        if found.half_width is None:
            return cls(found.mean, None, None, 1)
        return cls(found.mean, found.mean - found.half_width, found.mean + found.half_width, found.count)

    @classmethod
    def share(cls, count: Count) -> Ours:
        """Percent, with the score interval (E. B. Wilson, "Probable inference, the law of succession, and statistical
        inference", JASA 22, 1927) of as many draws as there are runs: unlike that of a mean it is not empty where all
        are alike.

        >>> one = Ours.share(Count(12, 12, runs=6))
        >>> round(one.value), round(one.low), round(one.high)
        (100, 61, 100)
        """
        z2, part, draws = 1.959964**2, count.of_these / count.all, count.runs
        middle = (part + z2 / (2 * draws)) / (1 + z2 / draws)
        reach = math.sqrt(z2 * (part * (1 - part) + z2 / (4 * draws)) / draws) / (1 + z2 / draws)
        return cls(100 * part, 100 * max(0.0, middle - reach), 100 * min(1.0, middle + reach), count.all)


@dataclass(frozen=True)
class Finding:
    """A claim and what was found."""

    published: Published
    ours: Ours | None
    why: str
    with_headers: Ours | None = None
    """The same with the bytes of whole packets, where bytes are counted."""

    @property
    def verdict(self) -> Verdict:
        """``undecided`` where the interval reaches over a bound, or where there is none: more seeds would tell."""
        return _judged(self.published, self.ours)

    @property
    def verdict_with_headers(self) -> Verdict | None:
        """The same by the other ruler; None where bytes are not counted."""
        return None if self.with_headers is None else _judged(self.published, self.with_headers)

    @property
    def differs_with_headers(self) -> bool:
        """Whether the verdict hangs on the ruler."""
        return self.verdict_with_headers not in (None, self.verdict)


def _judged(claim: Published, ours: Ours | None) -> Verdict:
    if ours is None:
        return "not measured"
    if claim.exact:
        return "holds" if claim.agrees(ours.value) else "does not hold"
    if ours.low is None or ours.high is None:
        return "undecided"
    if claim.agrees(ours.low) and claim.agrees(ours.high):
        return "holds"
    outside = (claim.high is not None and ours.low > claim.high) or (claim.low is not None and ours.high < claim.low)
    return "does not hold" if outside else "undecided"


def findings(measured: Measured, *, explained: bool = True) -> list[Finding]:
    """All claims, in the order of the figures; ``explained``: with why each comes out so."""
    return [_finding(claim, measured, explained) for claim in published().values()]


def _finding(claim: Published, measured: Measured, explained: bool) -> Finding:
    try:
        ours = _ours(claim.key, measured, "payload")
        with_headers = _ours(claim.key, measured, "wire") if claim.key in RATES else None
    except UnpairedError as error:
        return Finding(claim, None, f"Not judged: {error}.")
    return Finding(
        claim, ours, explanations.reason(claim.key, measured) if explained and ours is not None else "", with_headers
    )


def _ours(key: str, measured: Measured, ruler: Ruler) -> Ours | None:
    found = RATES[key](measured, ruler) if key in RATES else OTHERS[key](measured)
    if isinstance(found, Count):
        return Ours.share(found)
    return Ours.of(found) if found else None
