"""Everything that is compared, computed once: what the page, the screen and the files are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from framewire.papers.balk import claims, differences, figures, plans, side_by_side, tables
from framewire.papers.balk.clips import CLIPS, QUANTISERS, Clip
from framewire.papers.balk.drawing import Drawn
from framewire.papers.balk.measure import Measured
from framewire.papers.balk.plan import DECISIONS
from framewire.papers.balk.tables import Table

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """The paper and ours."""

    measured: Measured
    findings: Sequence[claims.Finding]
    figures: Sequence[Drawn]
    tables: Sequence[Table]
    better: Table | None = None
    """The better rate control against the paper's."""
    better_headline: str = ""
    by_figure: Mapping[str, Table] = field(default_factory=dict)
    """Both rate controls side by side, by the number of the figure."""
    decisions: Sequence[tuple[str, str, str]] = DECISIONS

    @property
    def headline(self) -> str:
        """The result in a sentence. What a setting was calibrated by is no check, and counted apart."""
        independent = [one for one in self.findings if not one.published.calibrated]
        counts = Counter(one.verdict for one in independent)
        told = [f"{counts['holds']} of {len(independent)} independent claims hold", f"{counts['does not hold']} do not"]
        rest: tuple[claims.Verdict, ...] = ("undecided", "not measured")
        told += [f"{counts[verdict]} {verdict}" for verdict in rest if counts[verdict]]
        calibrated = len(self.findings) - len(independent)
        return ", ".join(told) + f"; {calibrated} more set alpha and is no check."

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
    every = [differences.table(measured), differences.frames_where_fixed_falls(measured), *tables.tables(measured)]
    better = side_by_side.by_how_much(measured)
    return Comparison(
        measured,
        claims.findings(measured),
        figures.figures(measured),
        [table for table in every if table.rows],
        better if better.rows else None,
        side_by_side.headline(measured),
        side_by_side.by_figure(measured),
    )


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
        ", ".join(f"{quantiser:.1f}" for quantiser in one.mean_quantisers),
    )
