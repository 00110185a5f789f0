"""One scenario drawn many times in virtual time, and where one more draw of it may lie.

Which transmissions fail is chance, and microseconds decide which packet meets which chance. So a run in the emulated
world is one more draw of what the simulated world draws, and a bound that is narrower than the spread of the draws
fails by luck alone. The spread is cheap to have: a draw of eight seconds by seven transports takes a tenth of a second.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import framewire
from framewire import _native
from framewire.confidence import student_t

__all__ = [
    "ARRIVALS",
    "CONFIDENCE",
    "SEEDS",
    "Band",
    "Draws",
    "Row",
    "draw",
    "ends_elsewhere",
    "over_the_same_frames",
    "rows_of",
]

Row = dict[str, Any]
"""The summary of a flow, by column, and its `ARRIVALS`."""

ARRIVALS = "arrivals"
"""When each frame that arrived whole did, in ns, by its number."""

NEAR = 2
"""Frames: as many as may be between two that a queue of the sender's keeps."""

SEEDS = range(1, 33)
"""The spread itself is known to 13 % then (1 / sqrt(2 * 31)), which Student's distribution takes into account."""

CONFIDENCE = 1 - 1e-5
"""Of one comparison. Some hundred are made in a run of the tests, of which many say the same: fewer than one run in a
thousand is refused by chance. The bound is 5.3 standard deviations; of a normal distribution that is known it would be
4.4."""


@dataclass(frozen=True)
class Band:
    """Where one more draw lies, but for one time in a hundred thousand."""

    mean: float
    reach: float
    """To either side."""


class Draws:
    """Summaries of one scenario with many seeds."""

    def __init__(self, rows: list[dict[str, Row]]) -> None:
        self.rows = rows
        """Of each seed, by flow."""

    def band(self, flow: str, column: str) -> Band:
        """The prediction interval of one more value: that of a normal distribution, mean and deviation estimated."""
        values = self._values(flow, column)
        spread = statistics.stdev(values) * math.sqrt(1 + 1 / len(values))
        return Band(statistics.fmean(values), student_t(CONFIDENCE, len(values) - 1) * spread)

    def _values(self, flow: str, column: str) -> list[float]:
        return [row[flow][column] for row in self.rows]


def rows_of(summary: pl.DataFrame, frames: pl.DataFrame) -> dict[str, Row]:
    """The flows of one run."""
    arrived = frames.filter(pl.col("complete"), pl.col("arrival_ns").is_not_null())
    return {
        row["flow"]: row
        | {ARRIVALS: dict(arrived.filter(pl.col("flow") == row["flow"]).select("frame", "arrival_ns").iter_rows())}
        for row in summary.to_dicts()
    }


def over_the_same_frames(row: Row, draws: Draws) -> tuple[Row, Draws]:
    """A run of a flow and draws of it, with `duration_s` from the first to the last frame that arrived in all of them.

    The summary's is to the last frame that arrived. Where a full queue takes one packet more or less, that is another
    frame: it jumps by as much as lies between the two, which the spread of draws with one of the outcomes cannot know.
    """
    flow = row["flow"]
    others = [rows[flow] for rows in draws.rows]
    common = set(row[ARRIVALS]).intersection(*(other[ARRIVALS] for other in others))
    assert common, f"no frame of {flow} arrived in all draws"

    def between(one: Row) -> Row:
        return one | {"duration_s": (one[ARRIVALS][max(common)] - one[ARRIVALS][min(common)]) / 1e9}

    return between(row), Draws([{flow: between(other)} for other in others])


def ends_elsewhere(row: Row, draws: Draws) -> list[str]:
    """Whether the first or the last frame that arrived is none that is the first or the last of a draw, give or take
    `NEAR`: what is lacking there does not show in `over_the_same_frames`."""
    found = []
    for what, end in (("first", min), ("last", max)):
        there = [end(rows[row["flow"]][ARRIVALS]) for rows in draws.rows]
        if not min(there) - NEAR <= end(row[ARRIVALS]) <= max(there) + NEAR:
            found.append(f"the {what} frame is {end(row[ARRIVALS])}: {min(there)} to {max(there)} is expected")
    return found


def draw(
    scenario: str, film: Path | None, duration_s: float, seeds: Iterable[int] = SEEDS, ladder: Path | None = None
) -> Draws:
    """Simulates a scenario over ``film`` and ``ladder``, which it names, with each of the seeds."""
    movie = _native.load_movie(film, ladder)

    def one(seed: int) -> dict[str, Row]:
        resolved = framewire.load(scenario, set={"seed": seed}, movie_duration_s=duration_s).parsed
        with tempfile.TemporaryDirectory() as directory:
            _native.simulate_cell(resolved, movie, Path(directory))
            summary, frames = (pl.read_parquet(Path(directory) / f"{table}.parquet") for table in ("summary", "frames"))
        return rows_of(summary, frames)

    with ThreadPoolExecutor() as pool:
        return Draws(list(pool.map(one, seeds)))
