"""Carrying the experiments out, and what a viewer got in each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as Directory
from typing import Any

import numpy as np
import polars as pl

from framewire.campaign.results import Campaign
from framewire.studies.hybrid.movies import FRAMES, GROUP
from framewire.studies.hybrid.paths import CONTROLS, STREAM, Path
from framewire.studies.measured import CarriedOut, Cost, Measurement, campaigns, peak_memory
from framewire.studies.study import Progress

__all__ = ["Measured", "Run", "carry_out"]


@dataclass(frozen=True)
class Run:
    """What came of one run; shares of all frames, of packets or of the fair rate."""

    level: float
    """Mean of the frames that were whole in time."""
    switches: float
    freezes: float
    """Half seconds and more without a frame that can be shown."""
    in_time: float
    """Frames that were whole when they were due."""
    shown: float
    """Those of them for which what they refer to was there too."""
    share: float
    """Of the fair share."""
    lost: float
    """Of packets."""
    delay_ms: float
    """Of frames that came whole, the mean time from their last byte's leaving to their arrival."""


@dataclass
class Measured(CarriedOut):
    """Runs by path and control, one per seed."""

    runs: Mapping[tuple[str, str], Sequence[Run]] = field(default_factory=dict)
    paths: Sequence[Path] = ()
    repeats: int = 0

    def of(self, path: Path, control: str) -> Sequence[Run]:
        """None where it was not measured."""
        return self.runs.get((path.name, control), ())


def carry_out(
    paths: Sequence[Path],
    directory: Directory,
    *,
    seed: int,
    repeats: int,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Runs every control over every path, as a campaign in ``directory``, or what is left of it.

    Raises what :func:`framewire.campaign.campaign` raises.
    """
    files = {movie: str(movie.streaming_file(directory)) for movie in {path.movie for path in paths}}
    places = {f"{path.name}; {control}": (path, control) for path in paths for control in CONTROLS}
    values = [
        {"label": label, "set": _flat(path.scenario(control, files[path.movie]))}
        for label, (path, control) in places.items()
    ]
    first = paths[0].scenario(CONTROLS[0], files[paths[0].movie])
    document = {
        "name": "hybrid",
        "scenario": {"seed": seed, "captures": "none", **first},
        "axis": [{"name": "setting", "values": values}],
        "repeats": repeats,
        "rates": "0.1 s",
        "parts": False,
    }
    failures: list[str] = []
    costs: list[Cost] = []
    runs: dict[tuple[str, str], list[Run]] = {}
    measurement = Measurement("paths", document, is_result_where_broken=True)
    for done in campaigns([measurement], directory, jobs=jobs, progress=progress, failed=failures.append):
        costs.append(done.cost)
        for label, run in _runs(done.results, {label: path for label, (path, _) in places.items()}):
            path, control = places[label]
            runs.setdefault((path.name, control), []).append(run)
    return Measured(
        runs=runs,
        paths=paths,
        repeats=repeats,
        costs=costs,
        failures=failures,
        peak_memory_bytes=peak_memory(),
        seed=seed,
    )


def _flat(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that an axis sets: the wire as a whole, so that nothing of another path is left in it."""
    return {
        "flow": scenario["flow"],
        "movie.ladder": scenario["movie"]["ladder"],
        "network.wire": scenario["network"]["wire"],
    }


_FRAMES = ("arrival_ns", "deadline_ns", "first_byte_ns", "last_byte_ns", "level")


def _runs(results: Campaign, paths: Mapping[str, Path]) -> Iterator[tuple[str, Run]]:
    """By label, in the order of the repeats."""
    if not results.meta["cells"]["done"]:
        return
    rows = results.summary.filter(pl.col("flow") == STREAM)
    summaries = {(row["setting"], row["repeat"]): row for row in rows.iter_rows(named=True)}
    for at, (frames, rates) in results.tables("frames", "rates"):
        label = str(at.labels["setting"])
        ledger = pl.read_parquet(frames, columns=[*_FRAMES])
        samples = pl.read_parquet(rates, columns=["flow", "at_ns", "received_packet_bytes"])
        yield label, _run(ledger, samples.filter(pl.col("flow") == STREAM), summaries[label, at.repeat], paths[label])


def _run(ledger: pl.DataFrame, samples: pl.DataFrame, summary: Mapping[str, Any], path: Path) -> Run:
    assert ledger.height == FRAMES
    arrival, deadline = (ledger[name].cast(pl.Float64).fill_null(np.inf).to_numpy() for name in _FRAMES[:2])
    due = np.where(np.isinf(deadline), -1.0, deadline)
    in_time = arrival <= due
    whole_until = np.maximum.accumulate(arrival.reshape(-1, GROUP), axis=1).reshape(-1)
    shown = whole_until <= due
    levels = ledger["level"].fill_null(0).to_numpy()[in_time]
    came = ledger.filter(pl.col("arrival_ns").is_not_null())
    delay = (came["arrival_ns"] - came["last_byte_ns"]).mean()
    return Run(
        level=float(levels.mean()) if len(levels) else 0.0,
        switches=float(summary["level_switches"] or 0),
        freezes=float(_freezes(shown)),
        in_time=float(in_time.mean()),
        shown=float(shown.mean()),
        share=_rate_bps(samples, ledger) / path.fair_bps,
        lost=(summary["packets_lost"] or 0) / max(1, summary["packets_sent"] or 0),
        delay_ms=float(delay) / 1e6 if isinstance(delay, float) else 0.0,
    )


def _freezes(shown: np.typing.NDArray[np.bool_]) -> int:
    """Stretches of half a second and more of which nothing is shown."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], shown, [True])).astype(np.int8)))
    return int(((edges[1::2] - edges[::2]) >= GROUP).sum())


def _rate_bps(samples: pl.DataFrame, ledger: pl.DataFrame) -> float:
    """IP packets that came from the stream's first packet to its last."""
    begin = ledger["first_byte_ns"].min()
    end = ledger.select(pl.coalesce("last_byte_ns", "first_byte_ns").max()).item()
    within = samples.filter(pl.col("at_ns").is_between(begin, end)) if begin is not None else samples.clear()
    if within.height < 2:
        return 0.0
    seconds = (int(within["at_ns"][-1]) - int(within["at_ns"][0])) / 1e9
    came = int(within["received_packet_bytes"][-1]) - int(within["received_packet_bytes"][0])
    return came * 8 / seconds
