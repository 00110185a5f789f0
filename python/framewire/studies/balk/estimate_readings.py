"""Every claim by every reading of equation 1, and on links with the clock of the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framewire.studies.balk.claims import Finding, findings
from framewire.studies.balk.measure import Measured
from framewire.studies.balk.published import Published
from framewire.studies.balk.variants import LIBRARYS_READING, READINGS
from framewire.studies.verdicts import Verdict

__all__ = ["Reading", "by_reading"]


@dataclass(frozen=True)
class Reading:
    """A reading and what came of every claim that packets decide."""

    name: str
    findings: Sequence[Finding]
    """Of claims that hang on what was sent: plans and PSNR are the same by all readings."""

    @property
    def count(self) -> str:
        """How many of the paper's claims hold, of those that could come out otherwise."""
        counted = [one for one in self.findings if one.claim.is_independent and not one.claim.is_asked]
        return f"{sum(one.verdict == Verdict.HOLDS for one in counted)} of {len(counted)}"

    @property
    def seeds(self) -> int:
        """Of most claims: seeds of the experiment of figure 16 that several of them are judged by."""
        return next((one.ours.count for one in self.findings if one.claim.key == "fair-8" and one.ours), 0)

    def of(self, claim: Published) -> Finding:
        """What came of a claim."""
        return next(one for one in self.findings if one.claim == claim)


def by_reading(measured: Measured) -> list[Reading]:
    """The library's reading, and the others as far as they were measured; none where there is nothing to compare."""
    others = [reading for reading in READINGS if any(setting.variant == reading for setting in measured.runs)]
    views = [(LIBRARYS_READING, measured), *((reading.name, measured.read_as(reading)) for reading in others)]
    judged = [Reading(name, _of_packets(view)) for name, view in views]
    return judged if others else []


def _of_packets(measured: Measured) -> list[Finding]:
    return [one for one in findings(measured, explained=False) if not one.claim.exact]
