"""One self-contained HTML file made from a run directory.

It needs no network: styles, scripts, pictures and data are in the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framewire import resources
from framewire.errors import InputError
from framewire.report import file
from framewire.report.data import ReportRun, load

if TYPE_CHECKING:
    from framewire.render.excerpts import Excerpt
    from framewire.report.verdict import Verdict

__all__ = ["Report", "build", "judge", "prepare", "write"]

Progress = Callable[[dict[str, Any]], None]
"""Called with `{"event": "step", "text": ...}` at each step, as runs do."""


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: Path
    verdict: Verdict
    left_out: tuple[str, ...] = ()
    """What cannot be read of the run, and is not in the report: a sentence each."""


def build(
    run_dir: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path:
    """Writes the report of a run directory and returns its path; by default `report.html` in that directory.

    What a run does not hold (a movie that was moved, no sniffer, nothing arrived) is left out with a sentence in its
    place. PSNR is kept in the run directory as `psnr.parquet`, so that a second report is made at once.

    Raises InputError when the directory is no run directory or the file cannot be written.
    """
    return write(run_dir, out, progress).path


def write(
    run_dir: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    pictures: bool = True,
    film: bool = False,
) -> Report:
    """As :func:`build`; also returns the verdict that stands in the report.

    Without ``pictures`` none is decoded: the report has no PSNR and no filmstrip, says so, and is soon there. With
    ``film`` the worst moments of the film are in it; where that cannot be had, InputError says why.
    """
    from framewire.report import page

    resources.check()
    tell = progress or (lambda _event: None)
    run = load(Path(run_dir))
    target = Path(out) if out is not None else run.directory / "report.html"
    excerpts = _excerpts(run, tell) if film else []
    html, verdict, left_out = page.render(
        run, lambda text: tell({"event": "step", "text": f"report: {text}"}), pictures=pictures, film=excerpts
    )
    return Report(file.write(html, target), verdict, tuple(left_out))


def _excerpts(run: ReportRun, tell: Progress) -> list[Excerpt]:
    from framewire.render.excerpts import excerpts
    from framewire.report.cut_stream import StreamError

    try:
        return excerpts(run, tell)
    except StreamError as error:
        raise InputError(f"{run.directory}: {error}") from None


def prepare() -> None:
    """Loads what a report is made with, so that the next one is there sooner: for while something else goes on."""
    from framewire.report import page, plotly

    page.template()
    plotly.packed()


def judge(run_dir: str | os.PathLike[str]) -> Verdict:
    """The verdict on a run without a report: no picture is decoded, so picture quality takes no part.

    Raises InputError when the directory is no run directory.
    """
    from framewire.report import psnr
    from framewire.report.outcome import outcome

    return outcome(load(Path(run_dir), drawn=False), psnr.unmeasured()).verdict
