"""The study of frame-aware dropping, as the command line knows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framewire.errors import InputError
from framewire.studies.study import Options, Progress, Study

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["STUDY"]


@dataclass(frozen=True, kw_only=True)
class DroppingOptions(Options):
    """What this study may be asked beside."""

    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Draws of each link with chance [default: 3, quick: 1].")
    ] = None
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also stream over the recorded LTE links in it that docs/dropping.md names (*.up and *.down of "
            "Mahimahi's format, or with .gz).",
        ),
    ] = None
    applications: Annotated[
        bool,
        typer.Option(
            "--applications",
            help="Also run the programs themselves, in real time: an hour, on a Linux machine that is not busy, with "
            "GStreamer and the elements of `make plugin`.",
        ),
    ] = False


def check(options: DroppingOptions, _out: Path) -> None:
    """Raises InputError where the options cannot be."""
    if options.applications and options.quick:
        raise InputError("--applications: is no small part of the runs; leave --quick out")


def run(options: DroppingOptions, out: Path, progress: Progress) -> Outcome:
    """Carries the campaigns out, and on request the applications, and judges."""
    from framewire.studies import traces
    from framewire.studies.dropping import applications
    from framewire.studies.dropping.measure import carry_out
    from framewire.studies.dropping.outcome import outcome
    from framewire.studies.dropping.plan import MAIN_STARTUP_MS, Method, plan

    kept = out / "campaigns"
    recorded = traces.load(options.traces, kept / "traces")
    planned = plan(recorded, quick=options.quick, seed=options.seed, repeats=options.repeats)
    measured = carry_out(planned, kept, jobs=options.jobs, progress=progress)
    if options.applications:

        def limit(codec: str, link: str, method: Method) -> int | None:
            return measured.best((codec, link, MAIN_STARTUP_MS), method, "own").limit_ms

        rows = applications.carry_out(planned, limit, out / "applications", progress)
        measured = replace(measured, applications=rows)
    return outcome(measured)


STUDY = Study(
    name="dropping",
    short="Hold frame-aware dropping against what others do.",
    description="""Stream live over TCP that falls behind: with nothing dropped, by others' rules, and by ours.

    Every movie goes over every link by every transport of the lab with every limit, in virtual time; what
    docs/dropping.md says is held against what a viewer sees. What was computed before in DIR is found again.
    """,
    run=run,
    options=DroppingOptions,
    check=check,
    quick_apart=True,
)
