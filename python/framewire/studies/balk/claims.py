"""Every claim of the paper beside ours: held against the claim's bounds, by what is known of our number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from framewire.studies import verdicts
from framewire.studies.balk import explanations
from framewire.studies.balk.measure import Measured, Ruler, UnpairedError
from framewire.studies.balk.published import Published, published
from framewire.studies.balk.samples import OTHERS, RATES, Count
from framewire.studies.numbers import formatted
from framewire.studies.verdicts import Number, Verdict

__all__ = ["Finding", "findings"]


@dataclass(frozen=True, kw_only=True)
class Finding(verdicts.Finding):
    """A claim of the paper and what was found."""

    claim: Published
    ours: Number | None
    why: str
    with_headers: Number | None = None
    """The same with the bytes of whole packets, where bytes are counted."""

    @classmethod
    def of(cls, claim: Published, ours: Number | None, why: str, with_headers: Number | None = None) -> Finding:
        """Judged by the bounds of the claim."""
        verdict = claim.bounds.judge(ours, exact=claim.exact)
        return cls(claim=claim, finds=formatted(ours, claim.unit), verdict=verdict, ours=ours, why=why,
                   with_headers=with_headers)  # fmt: skip

    @property
    def verdict_with_headers(self) -> Verdict | None:
        """The verdict by the other ruler; None where bytes are not counted."""
        if self.with_headers is None:
            return None
        return self.claim.bounds.judge(self.with_headers, exact=self.claim.exact)

    @property
    def differs_with_headers(self) -> bool:
        """Whether the verdict hangs on the ruler."""
        return self.verdict_with_headers not in (None, self.verdict)

    def record(self) -> dict[str, Any]:
        """For CSV and JSON."""
        claim = self.claim
        return {
            "key": claim.key,
            "figure": claim.figure,
            "section": claim.source,
            "says": claim.says,
            "theirs": claim.theirs,
            "low": claim.bounds.low,
            "high": claim.bounds.high,
            "project": claim.of_project,
            "unit": claim.unit,
            "basis": claim.basis,
            "kind": claim.kind if claim.same_as is None else f"{claim.kind}={claim.same_as}",
            "reason": claim.reason,
            **_numbers("ours", self.ours),
            "values": 0 if self.ours is None else self.ours.count,
            "exact": claim.exact,
            "verdict": self.verdict,
            **_numbers("with_headers", self.with_headers),
            "verdict_with_headers": self.verdict_with_headers,
            "why": self.why,
        }

    def record_of_reading(self) -> dict[str, Any]:
        """The part of it that another reading of the paper changes."""
        every = self.record()
        return {name: every[name] for name in ("key", "ours", "ours_low", "ours_high", "values", "verdict")}


def _numbers(name: str, ours: Number | None) -> dict[str, float | None]:
    """A number with its 95 % confidence interval."""
    value, low, high = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def findings(measured: Measured, *, explained: bool = True) -> list[Finding]:
    """All claims, in the order of the figures; ``explained``: with why each comes out so."""
    return [_finding(claim, measured, explained) for claim in published().values()]


def _finding(claim: Published, measured: Measured, explained: bool) -> Finding:
    try:
        ours = _ours(claim.key, measured, "payload")
        with_headers = _ours(claim.key, measured, "wire") if claim.key in RATES else None
    except UnpairedError as error:
        return Finding.of(claim, None, f"Not judged: {error}.")
    return Finding.of(
        claim, ours, explanations.reason(claim.key, measured) if explained and ours is not None else "", with_headers
    )


def _ours(key: str, measured: Measured, ruler: Ruler) -> Number | None:
    found = RATES[key](measured, ruler) if key in RATES else OTHERS[key](measured)
    if isinstance(found, Count):
        return Number.share(found.of_these, found.all, draws=found.runs)
    return Number.of(found) if found else None
