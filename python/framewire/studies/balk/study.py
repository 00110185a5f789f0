"""The study of the paper on VTP, as the command line knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framewire.studies.study import Options, Progress, Study

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["STUDY"]


@dataclass(frozen=True, kw_only=True)
class BalkOptions(Options):
    """What this study may be asked beside."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where the campaigns, the CSV file, the numbers and the report are kept, and nothing else "
            "[default: reproduce/balk, quick: reproduce/balk-quick].",
        ),
    ] = None
    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Seeds of each experiment, 2 to 1,000 [default: 20, quick: 3].")
    ] = None
    tables: Annotated[bool, typer.Option("--tables", help="Print what stands beside the paper, too.")] = False
    made_up: Annotated[
        bool,
        typer.Option("--made-up", help="Stream made-up sizes of frames, not encoded movies: needs no ffmpeg."),
    ] = False
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also stream over the recorded links in it (Mahimahi's *.up and *.down, or with .gz)."
        ),
    ] = None


def check(_options: BalkOptions, out: Path) -> None:
    """Nothing but results of this study may be in the directory."""
    from framewire.studies.balk import directory

    directory.check(out)


def run(options: BalkOptions, out: Path, progress: Progress) -> Outcome:
    """Carries the experiments out, and compares."""
    from framewire.studies import traces as recorded
    from framewire.studies.balk import clips, measure
    from framewire.studies.balk.comparison import compare
    from framewire.studies.balk.directory import CAMPAIGNS
    from framewire.studies.balk.outcome import outcome
    from framewire.studies.balk.plan import QUICK_SEEDS, SEEDS, settings

    kept = out / CAMPAIGNS
    links = recorded.load(options.traces, kept / "traces")

    def making(step: str, share: float | None) -> None:
        progress({"event": "step", "text": step, "share": share})

    movies = {name: clips.made_up(name) if options.made_up else clips.encoded(name, making) for name in clips.CLIPS}
    every = settings(quick=options.quick, traces={name: link.mean_bps / 1e6 for name, link in links.items()})
    measured = measure.carry_out(
        every,
        movies,
        kept,
        seed=options.seed,
        repeats=options.repeats or (QUICK_SEEDS if options.quick else SEEDS),
        jobs=options.jobs,
        traces=links,
        progress=progress,
    )
    progress({"event": "step", "text": "comparing"})
    return outcome(compare(measured))


STUDY = Study(
    name="balk",
    short="Repeat the paper on VTP.",
    description="""Repeat the experiments of the paper on VTP (Balk, Gerla, Sanadidi, Maggiorini) in virtual time.

    Figures 9 to 24: sending plans, fairness to TCP, random loss, TFRC, PSNR, frame rates and quantisers. Each claim of
    the paper stands beside ours, with a verdict, and its rate control beside the hybrid one. What was computed before
    in DIR is found again.
    """,
    run=run,
    options=BalkOptions,
    repeats=(2, 1_000),
    check=check,
    quick_apart=True,
)
