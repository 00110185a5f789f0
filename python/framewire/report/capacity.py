"""What a wired link can carry: its rate, or its recording, less its outages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from framewire import _native
from framewire.report.data import ReportRun

__all__ = ["Link", "of_link"]


@dataclass(frozen=True)
class Link:
    """The link of a wired run."""

    rate: str | None
    """Of a link with one rate, as the scenario says it."""
    rate_bps: int | None
    trace: str | None
    """The file that its rate was recorded in."""
    outages: list[tuple[float, float]]
    """Seconds of the run without any rate."""
    movie_seconds: float

    @property
    def in_words(self) -> str:
        """Its rate; of a recording its name, and the mean where it is still there."""
        if self.trace is None:
            return str(self.rate)
        mean = self.mean_bps
        known = "" if mean is None else f" ({mean / 1e6:.1f} Mbit/s in the mean)"
        return f"trace {Path(self.trace).name}{known}"

    @property
    def least_bps(self) -> float | None:
        """In the second of the movie in which it can carry least; None when the recording is no longer there."""
        return min(self.per_second(math.ceil(self.movie_seconds) or 1), default=None)

    @property
    def mean_bps(self) -> float | None:
        """Over the length of the movie; None when the recording is no longer there."""
        rates = self.per_second(math.ceil(self.movie_seconds) or 1)
        return sum(rates) / len(rates) if rates else None

    def per_second(self, count: int) -> list[float]:
        """Bit/s in each of the first seconds, whole IP packets counted; empty when the recording is no longer there."""
        rates = (float(self.rate_bps or 0),) * count if self.trace is None else recorded(self.trace, count)
        return [rate * self._up(second) for second, rate in enumerate(rates)]

    def _up(self, second: int) -> float:
        """Part of a second that is in no outage; outages are in order and without overlap."""
        return 1.0 - sum(max(0.0, min(end, second + 1.0) - max(start, second)) for start, end in self.outages)


def of_link(run: ReportRun) -> Link | None:
    """The link of a wired run; None over 802.11, where what can be carried is a matter of each packet."""
    path = None if run.network is None else run.network.path
    if path is None or path.wifi is not None:
        return None
    wire = path.wire
    return Link(wire.rate, wire.rate_bps, wire.trace, wire.outages, run.movie_seconds)


@lru_cache(maxsize=8)
def recorded(trace: str, count: int) -> tuple[float, ...]:
    """Rates of a recording in each second; empty when it is no longer there or no longer one."""
    try:
        return tuple(map(float, _native.trace_rates(trace, count)))
    except _native.ScenarioError:
        return ()
