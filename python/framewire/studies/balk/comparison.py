"""Everything that is compared, computed once: what the page, the terminal and the files are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from framewire.studies.balk import claims, differences, estimate_readings, figures, sending_plans, side_by_side, tables
from framewire.studies.balk.clips import CLIPS, QUANTISERS, Clip
from framewire.studies.balk.drawing import Drawn
from framewire.studies.balk.measure import Measured
from framewire.studies.balk.plan import DECISIONS
from framewire.studies.balk.published import Kind
from framewire.studies.table import Table
from framewire.studies.verdicts import Verdict

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """The paper and ours."""

    measured: Measured
    findings: Sequence[claims.Finding]
    figures: Sequence[Drawn]
    tables: Sequence[Table]
    better: Table | None = None
    """The hybrid rate control against the paper's."""
    better_headline: str = ""
    by_figure: Mapping[str, Table] = field(default_factory=dict)
    """Both rate controls side by side, by the number of the figure."""
    readings: Sequence[estimate_readings.Reading] = ()
    """Every claim by every reading of equation 1, the library's first; none where only that was measured."""
    decisions: Sequence[tuple[str, str, str]] = DECISIONS

    @property
    def headline(self) -> str:
        """The result in a sentence: of what could have come out otherwise, the paper's claims and this project's.

        Of a part, what it is stands first, and claims that it leaves out are not among those that are counted.
        """
        independent = [one for one in self.findings if one.claim.is_independent]
        of_paper = [one for one in independent if not one.claim.is_asked]
        asked = [one for one in independent if one.claim.is_asked]
        if self.measured.left_out:
            drawn = ", sizes of frames drawn" if self.made_up else ""
            return (
                f"A part of the experiments, {self.measured.repeats} seeds{drawn}: "
                f"{_counted_measured(of_paper, 'independent claims of the paper')}; "
                f"{_counted_measured(asked, 'bounds that this project asks')}."
            )
        return (
            f"{_counted(of_paper, 'independent claims of the paper hold')}; "
            f"{_counted(asked, 'bounds that this project asks hold')}."
        )

    @property
    def made_up(self) -> bool:
        """Whether sizes of frames were drawn, and no movie was encoded."""
        return all(clip.quality is None for clip in self.measured.clips.values())

    @property
    def counted_apart(self) -> str:
        """What is no check, by kind and with how it came out; and what hangs on which bytes are counted."""
        parts = []
        for name, kind in _APART:
            some = [one for one in self.findings if one.claim.kind == kind]
            parts.append(f"{len(some)} {name} ({_verdicts(some)})")
        rates = [one for one in self.findings if one.claim.is_independent and one.with_headers is not None]
        differ = [f"{one.claim.key} ({_both_verdicts(one)})" for one in rates if one.differs_with_headers]
        text = f"Not counted: {'; '.join(parts)}."
        if rates:
            text += f" With headers counted, {len(differ)} of {len(rates)} independent verdicts on rates would change"
            text += f": {', '.join(differ)}." if differ else "."
        return text

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
        return [one for one in self.findings if str(one.claim.figure) == number]


_APART: Sequence[tuple[str, Kind]] = (
    ("true or false by construction", "by-construction"),
    ("by which a setting was calibrated", "calibrated"),
    ("the same as another", "same-as"),
)


_MEASURED = (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)


def _both_verdicts(one: claims.Finding) -> str:
    """Both verdicts of a claim that hangs on the ruler."""
    return f"{one.verdict} \N{RIGHTWARDS ARROW} {one.verdict_with_headers}"


def _counted(some: Sequence[claims.Finding], what: str) -> str:
    counts = Counter(one.verdict for one in some)
    rest = (Verdict.UNDECIDED, Verdict.NOT_MEASURED)
    said = [f"{counts[Verdict.HOLDS]} of {len(some)} {what}", f"{counts[Verdict.FAILS]} do not"]
    return ", ".join(said + [f"{counts[verdict]} {verdict}" for verdict in rest if counts[verdict]])


def _counted_measured(some: Sequence[claims.Finding], what: str) -> str:
    """The same of those that were measured."""
    counts: Counter[Verdict | None] = Counter(one.verdict for one in some if one.verdict != Verdict.NOT_MEASURED)
    if not counts:
        return f"no {what} were measured"
    held, failed, open_ = (counts[verdict] for verdict in _MEASURED)
    said = [f"{held} {'holds' if held == 1 else 'hold'}", f"{failed} {'does' if failed == 1 else 'do'} not"]
    if open_:
        said.append(f"{open_} {'is' if open_ == 1 else 'are'} undecided")
    return f"of {counts.total()} measured {what}, {', '.join(said)}"


def _verdicts(some: Sequence[claims.Finding]) -> str:
    counts = Counter(one.verdict for one in some)
    words: dict[Verdict | None, tuple[str, str]] = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.FAILS: ("does not hold", "do not hold"),
    }
    named = [(count, words.get(verdict, (str(verdict), str(verdict)))) for verdict, count in counts.most_common()]
    return ", ".join(f"{count} {word[count > 1]}" for count, word in named)


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
        estimate_readings.by_reading(measured),
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
        f"{sending_plans.of(one).peak_kbps:,.0f} kbit/s",
        ", ".join(f"{quantiser:.1f}" for quantiser in one.mean_quantisers),
    )
