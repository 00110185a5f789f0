"""Short films of the moments at which most screens stood still, for a report that needs no other file."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framewire.movie.ffmpeg import path_of
from framewire.render.film import Options, encode
from framewire.render.panel import GAP, Grid
from framewire.render.screens import Screen, of_run, seconds_of, standing
from framewire.report.data import ReportRun

__all__ = ["Excerpt", "excerpts", "worst"]

LENGTH_S = 6.0
MOST = 2
WIDTH = 960
"""Of the whole picture, in pixels: an excerpt of the lab's movie has 1 to 2 MB, so that a page with two is under 15."""


FOOT = 72
"""Pixels that a browser's controls cover while a film stands still."""


@dataclass(frozen=True)
class Excerpt:
    """A part of the film."""

    begin_s: float
    end_s: float
    data_uri: str


def excerpts(run: ReportRun, progress: Callable[[dict[str, Any]], None]) -> list[Excerpt]:
    """The parts of the film in which most screens stood still; none where all showed everything in its turn.

    Raises InputError where there is no picture, StreamError where one cannot be told from another, MachineError where
    ffmpeg is missing or crashes.
    """
    path_of("ffmpeg")
    screens, _ = of_run(run)
    found = []
    for begin_s in worst(screens):
        end_s = min(begin_s + LENGTH_S, seconds_of(screens))
        columns = Grid.of(len(screens), 4 / 3, None).columns
        options = Options(begin_s=begin_s, end_s=end_s, width=(WIDTH - GAP) // columns - GAP, foot=FOOT)
        with tempfile.TemporaryDirectory(prefix="framewire-") as scratch:
            target = Path(scratch) / "excerpt.mp4"
            encode(target, screens, options, progress)
            code = base64.b64encode(target.read_bytes()).decode("ascii")
        found.append(Excerpt(begin_s, end_s, f"data:video/mp4;base64,{code}"))
    return found


def worst(screens: Sequence[Screen], length_s: float = LENGTH_S, most: int = MOST) -> list[float]:
    """Where the parts of the film begin in which most screens stand still, in order; parts do not overlap.

    The first screen is what was sent. Of parts that are alike it is the first one.
    """
    rate, seconds = screens[0].frame_rate, seconds_of(screens)
    frames = max(1, round(seconds * rate))
    still = np.zeros(frames, dtype=np.int64)
    for screen in screens[1:]:
        still += _still(screen, frames, rate)
    size = min(frames, max(1, round(length_s * rate)))
    sums = np.convolve(still, np.ones(size, dtype=np.int64), mode="valid")
    begins: list[int] = []
    while len(begins) < most and sums.max(initial=0) > 0:
        begin = int(sums.argmax())
        begins.append(begin)
        sums[max(0, begin - size + 1) : begin + size] = 0
    return [begin / rate for begin in sorted(begins)]


def _still(screen: Screen, frames: int, rate: float) -> NDArray[np.int64]:
    stands = standing(screen.shown_at_s, frames, rate).tolist()
    slots = [None if slot < 0 else slot for slot in stands]
    return np.array([screen.caption(number / rate, slot)[1] for number, slot in enumerate(slots)], dtype=np.int64)
