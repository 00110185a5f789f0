"""How a stream that has the link to itself climbs: figure 15."""

from __future__ import annotations

from itertools import groupby
from statistics import fmean

from framewire.studies.balk.clips import FRAME_RATE, QUANTISERS
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import isolated

__all__ = ["any_valley", "first_at_top_s", "mean_valley_s", "valleys"]

TOP = str(len(QUANTISERS) - 1)


def first_at_top_s(run: Run) -> float:
    """From the stream's first packet to the first frame of the top level; the length of the clip when none came."""
    begin = float(run.document["stream"]["begin_s"])
    came = run.levels_that_came
    return next((at - begin for level, at in came if level == TOP), len(came) * _PERIOD_S)


def _below_top(run: Run) -> list[float]:
    """After the first time: how long each stretch below the top level lasts, the last one where it ends."""
    levels = run.levels_that_came
    first = next((place for place, (level, _) in enumerate(levels) if level == TOP), len(levels))
    stretches = [
        (is_top, [at for _, at in some]) for is_top, some in groupby(levels[first:], key=lambda one: one[0] == TOP)
    ]
    return [times[-1] - times[0] + _PERIOD_S for is_top, times in stretches if not is_top]


def valleys(run: Run) -> float:
    """How often the level falls below the top after the first climb."""
    return len(_below_top(run))


def mean_valley_s(run: Run) -> float:
    """How long that lasts; 0 where it does not happen."""
    return fmean(_below_top(run)) if _below_top(run) else 0.0


def any_valley(measured: Measured) -> bool:
    """Whether the level falls in any run."""
    return any(valleys(run) for run in measured.of(isolated()))


_PERIOD_S = FRAME_RATE[1] / FRAME_RATE[0]
