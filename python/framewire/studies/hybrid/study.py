"""The study of the hybrid rate control, as the command line knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framewire.studies.study import Options, Progress, Study

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["STUDY"]

REPEATS, QUICK_REPEATS = 6, 3
"""Of six equal values the sign test has 95 % confidence."""


@dataclass(frozen=True, kw_only=True)
class HybridOptions(Options):
    """What this study may be asked beside."""

    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Seeds of each path, 2 to 1,000 [default: 6, quick: 3].")
    ] = None
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also stream over the recorded links in it that docs/vtp-hybrid.md names (*.up, *.down and *.mahi of "
            "Mahimahi's format, or with .gz).",
        ),
    ] = None


def run(options: HybridOptions, out: Path, progress: Progress) -> Outcome:
    """Carries the experiments out, and judges."""
    from framewire.studies import traces
    from framewire.studies.hybrid.measure import carry_out
    from framewire.studies.hybrid.outcome import outcome
    from framewire.studies.hybrid.paths import paths

    kept = out / "campaigns"
    recorded = traces.load(options.traces, kept / "traces", (*traces.UPS_AND_DOWNS, "mahi"))
    measured = carry_out(
        paths(recorded, quick=options.quick),
        kept,
        seed=options.seed,
        repeats=options.repeats or (QUICK_REPEATS if options.quick else REPEATS),
        jobs=options.jobs,
        progress=progress,
    )
    return outcome(measured)


STUDY = Study(
    name="hybrid",
    short="Hold the hybrid rate control against others.",
    description="""Stream over some fifty paths by the hybrid rate control, the paper's, TFRC and at a fixed rate.

    What docs/vtp-hybrid.md says of it is held against what is measured. What was computed before in DIR is found again.
    """,
    run=run,
    options=HybridOptions,
    repeats=(2, 1_000),
    quick_apart=True,
)
