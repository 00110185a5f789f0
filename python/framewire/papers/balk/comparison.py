"""Everything that is compared, computed once: what the page, the screen and the files are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from framewire.papers.balk import claims, figures, plans, tables
from framewire.papers.balk.clips import CLIPS, QUANTISERS, Clip
from framewire.papers.balk.drawing import Drawn
from framewire.papers.balk.measure import Measured
from framewire.papers.balk.plan import DECISIONS

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """The paper and ours."""

    measured: Measured
    findings: Sequence[claims.Finding]
    figures: Sequence[Drawn]
    tables: Sequence[tables.Table]
    decisions: Sequence[tuple[str, str, str]] = DECISIONS

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        counts = Counter(one.verdict for one in self.findings)
        told = [f"{counts['holds']} of {len(self.findings)} claims hold", f"{counts['does not hold']} do not"]
        rest: tuple[claims.Verdict, ...] = ("undecided", "not measured")
        return ", ".join(told + [f"{counts[verdict]} {verdict}" for verdict in rest if counts[verdict]]) + "."

    @property
    def experiments(self) -> int:
        """How many were run."""
        return sum(len(runs) for runs in self.measured.runs.values())

    @property
    def clips(self) -> list[tuple[str, ...]]:
        """What is streamed, a line for each clip."""
        return [_clip(clip) for clip in self.measured.clips.values()]

    def of_figure(self, number: str) -> list[claims.Finding]:
        """The claims of a figure."""
        return [one for one in self.findings if str(one.published.figure) == number]


def compare(measured: Measured) -> Comparison:
    """Puts what was measured beside what is published."""
    return Comparison(measured, claims.findings(measured), figures.figures(measured), tables.tables(measured))


def _clip(one: Clip) -> tuple[str, ...]:
    levels = range(len(QUANTISERS))
    return (
        one.name,
        CLIPS[one.name],
        one.source,
        f"{one.frames:,}",
        f"{one.duration_s:.1f} s",
        ", ".join(f"{one.mean_kbps(level):,.0f}" for level in levels) + " kbit/s",
        f"{plans.of(one).peak_kbps:,.0f} kbit/s",
        ", ".join(f"{QUANTISERS[level]:.1f}" for level in levels),
    )
