"""Everything that is compared, computed once: what the report, the terminal and the files are made of."""

from __future__ import annotations

from dataclasses import dataclass

from framewire.report.figures.base import Figure
from framewire.studies.ouwens import (
    baseline,
    claims,
    criteria,
    effects,
    figures,
    link_layer,
    movie_ratio,
    open_questions,
    overview,
    tables,
)
from framewire.studies.ouwens.bounds import BoundResult, EffectResult, bounds, by_table, headline
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.verdicts import Finding

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """The thesis and ours."""

    measured: Measured
    parameters: list[tuple[str, str, str]]
    tables: list[ThesisTable]
    judgements: list[criteria.Judgement]
    bounds: list[BoundResult]
    duration_errors: list[baseline.DurationError]
    effects: list[effects.Effect]
    effects_by_table: list[EffectResult]
    claims: list[Finding]
    figures: list[figures.PaperFigure]
    overview: list[Figure]
    questions: list[open_questions.Question]
    candidates: list[link_layer.Candidate]
    link_layer: list[str]
    b_shares: tuple[float, float] | None
    """Of the bytes of a 6 Mbit/s movie, the effective share of B frames: the thesis' and ours."""

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        return headline(self.bounds, self.effects_by_table, self.judgements)


def compare(measured: Measured, *, with_figures: bool = True) -> Comparison:
    """Puts what was measured beside what was published."""
    every = tables.tables(measured)
    judgements = criteria.judge(every, measured)
    found = effects.effects(every)
    ours = movie_ratio.our_b_share(measured)
    return Comparison(
        measured=measured,
        parameters=tables.parameters(measured),
        tables=every,
        judgements=judgements,
        bounds=bounds(judgements),
        duration_errors=baseline.duration_errors(every),
        effects=found,
        effects_by_table=by_table(found),
        claims=claims.claims(measured),
        figures=figures.figures(measured) if with_figures else [],
        overview=overview.overview(every, judgements),
        questions=open_questions.questions(measured),
        candidates=link_layer.candidates(measured),
        link_layer=link_layer.conclusion(measured),
        b_shares=None if ours is None else (movie_ratio.published_b_share(), ours),
    )
