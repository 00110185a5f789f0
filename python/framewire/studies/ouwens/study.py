"""The study of J. Ouwens' thesis, as the command line knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framewire.studies.study import Options, Progress, Study

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["STUDY"]

REPEATS = 3
"""Morning, mid-day and afternoon."""


@dataclass(frozen=True, kw_only=True)
class OuwensOptions(Options):
    """What this study may be asked beside."""

    repeats: Annotated[int, typer.Option(metavar="N", help="Repeats of each setting, 1 to 3.")] = REPEATS
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of the grid: retry values 1, 3 and 4, 3 and 6 Mbit/s.")
    ] = False
    tables: Annotated[
        bool, typer.Option("--tables", help="Print every table, bound and effect, not only a line for each table.")
    ] = False
    carrier_sense: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="For how long a station does not notice another's beginning, as '5 us' [default: the scenario's].",
        ),
    ] = None
    no_open_questions: Annotated[
        bool, typer.Option("--thesis-only", help="Leave out what the thesis did not measure.")
    ] = False


def run(options: OuwensOptions, out: Path, progress: Progress) -> Outcome:
    """Carries the measurements out, as far as they are not in the directory, and compares."""
    from framewire.studies.ouwens.comparison import compare
    from framewire.studies.ouwens.measure import carry_out
    from framewire.studies.ouwens.outcome import outcome
    from framewire.studies.ouwens.plan import measurements

    every = measurements(
        seed=options.seed, repeats=options.repeats, quick=options.quick, carrier_sense=options.carrier_sense
    )
    if options.no_open_questions:
        every = [one for one in every if not one.is_optional]
    measured = carry_out(every, out / "campaigns", jobs=options.jobs, seed=options.seed, progress=progress)
    progress({"event": "step", "text": "comparing"})
    return outcome(compare(measured, with_figures=not options.no_report))


STUDY = Study(
    name="ouwens",
    short="Repeat the 802.11b thesis.",
    description="""Repeat the measurements of the 802.11b thesis (J. Ouwens, 2005) in virtual time.

    672 movie runs and its link-layer set, then what it left open. What was computed before in DIR is found again.
    """,
    run=run,
    options=OuwensOptions,
    repeats=(1, REPEATS),
)
