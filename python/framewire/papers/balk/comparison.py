"""Everything that is compared, computed once: what the page, the screen and the files are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from framewire.papers.balk import claims, figures, plans, tables
from framewire.papers.balk.clips import QUANTISERS, STATISTICS, clip
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
        told = [f"{counts[verdict]} {verdict}" for verdict in _VERDICTS if counts[verdict]]
        return f"Of {len(self.findings)} claims {', '.join(told)}."

    @property
    def experiments(self) -> int:
        """How many were run."""
        return sum(len(runs) for runs in self.measured.runs.values())

    @property
    def clips(self) -> list[tuple[str, ...]]:
        """What is streamed, a line for each clip."""
        return [_clip(name) for name in STATISTICS]

    def of_figure(self, number: str) -> list[claims.Finding]:
        """The claims of a figure."""
        return [one for one in self.findings if str(one.published.figure) == number]


_VERDICTS: tuple[claims.Verdict, ...] = ("holds", "does not hold", "undecided", "not measured")


def compare(measured: Measured) -> Comparison:
    """Puts what was measured beside what is published."""
    return Comparison(measured, claims.findings(measured), figures.figures(measured), tables.tables(measured))


def _clip(name: str) -> tuple[str, ...]:
    one = clip(name)
    levels = range(len(QUANTISERS))
    return (
        name,
        one.statistics.paper_name,
        f"{one.frames:,}",
        f"{one.duration_s:.1f} s",
        ", ".join(f"{one.mean_kbps(level):,.0f}" for level in levels) + " kbit/s",
        f"{plans.of(name).peak_kbps:,.0f} kbit/s",
        ", ".join(f"{QUANTISERS[level]:.1f}" for level in levels),
    )
