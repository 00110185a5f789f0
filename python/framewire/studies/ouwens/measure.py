"""Carrying out the measurements, and what is asked of their results."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from framewire.campaign import Runner, campaign
from framewire.errors import InputError
from framewire.studies.ouwens.plan import Measurement

if TYPE_CHECKING:
    from framewire.campaign.results import Campaign

__all__ = ["Cost", "Measured", "carry_out"]

Progress = Callable[[dict[str, Any]], None]

AFTERNOON = 3
"""The repeat that graphs show, as the thesis' graphs show its third."""


@dataclass(frozen=True)
class Cost:
    """What a measurement took."""

    name: str
    runs: int
    simulated_s: float
    wall_s: float
    cpu_s: float
    """Of all its cells, also those that were computed before."""
    computed: int
    cells: int
    is_of_thesis: bool = True


@dataclass
class Measured:
    """Results by measurement. Missing ones answer with no samples, so that a report can be made of a part."""

    summaries: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    ledgers: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)
    packets: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)
    costs: Sequence[Cost] = ()
    failures: Sequence[str] = ()
    peak_memory_bytes: int = 0
    seed: int = 1

    def samples(self, measurement: str, column: str | pl.Expr, **place: object) -> list[float]:
        """Values of a column of the summary (or an expression of columns), one per repeat."""
        index = self._index(measurement, tuple(place))
        rows = index.get(tuple(place.values()))
        if rows is None:
            return []
        values = rows.select(pl.col(column) if isinstance(column, str) else column).to_series()
        return [float(value) for value in values.drop_nulls() if value == value]

    def has(self, measurement: str) -> bool:
        """Whether it was carried out."""
        return measurement in self.summaries

    @cached_property
    def movie_sizes(self) -> dict[int, list[tuple[str, int]]]:
        """Type and size of every frame in decode order, by bitrate in Mbit/s."""
        if "movies" not in self.ledgers:
            return {}
        frames = self.ledgers["movies"]().filter((pl.col("flow") == "tcp") & (pl.col("repeat") == 1))
        once = (
            frames.group_by("bitrate", "frame").agg(pl.col("type", "size").first()).sort("bitrate", "frame").collect()
        )
        return {
            int(bitrate): list(zip(rows["type"], rows["size"], strict=True))
            for (bitrate,), rows in once.group_by("bitrate", maintain_order=True)
        }

    def ledger(self, flow: str, *, bitrate: int, retry: int, oven: str) -> pl.DataFrame:
        """The ledger of the run that graphs show: the last repeat. Empty where it was not measured."""
        table = self._shown_ledgers.get((flow, bitrate, retry, oven))
        return table if table is not None else pl.DataFrame()

    @cached_property
    def _shown_ledgers(self) -> dict[tuple[object, ...], pl.DataFrame]:
        if "movies" not in self.ledgers:
            return {}
        last = min(AFTERNOON, int(self.summaries["movies"]["repeat"].max() or 1))  # type: ignore[arg-type]
        shown = (pl.col("bitrate") == 3) | (pl.col("bitrate") == 6) | (pl.col("retry") == 4)
        shown |= (pl.col("flow") == "udp") & (pl.col("bitrate") == 4)
        frames = (
            self.ledgers["movies"]()
            .filter((pl.col("repeat") == last) & pl.col("retry").is_in([1, 2, 3, 4]) & shown)
            .select(
                "flow", "bitrate", "retry", "oven", "frame", "type", "size", "due_ns", "arrival_rel_ns", "latency_ns",
                "jitter_ns", "bytes_received", "complete",
            )
            .collect()
        )  # fmt: skip
        return dict(frames.partition_by("flow", "bitrate", "retry", "oven", as_dict=True))

    def _index(self, measurement: str, keys: tuple[str, ...]) -> dict[tuple[object, ...], pl.DataFrame]:
        cache = self.__dict__.setdefault("_indexes", {})
        if (measurement, keys) not in cache:
            summary = self.summaries.get(measurement)
            cache[measurement, keys] = {} if summary is None else summary.partition_by(*keys, as_dict=True)
        found: dict[tuple[object, ...], pl.DataFrame] = cache[measurement, keys]
        return found


def carry_out(
    every: Sequence[Measurement],
    directory: Path,
    *,
    jobs: int | None = None,
    runner: Runner | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Measured:
    """Runs the campaigns, each in a directory of its own, or what is left of them.

    A measurement of an open question that this version cannot make is told among the failures; the thesis' own must
    all be possible. Raises what :func:`framewire.campaign.campaign` raises.
    """
    tell = progress or (lambda _event: None)
    done = []
    failures: list[str] = []
    for number, one in enumerate(every):
        title = f"{one.name} ({number + 1} of {len(every)})"

        def forward(event: dict[str, Any], title: str = title) -> None:
            tell({**event, "text": f"{title}: {event['text']}"} if event.get("event") == "step" else event)

        start = time.monotonic()
        try:
            results = campaign(one.document, out=directory / one.name, jobs=jobs, runner=runner, progress=forward)
        except InputError as error:
            if one.section != "open":
                raise
            failures.append(f"{one.name}: {error}")
            continue
        failures += [f"{one.name}: {failure.place}: {failure.reason}" for failure in results.failures]
        done.append((one, results, time.monotonic() - start))
    return Measured(
        summaries={one.name: results.summary for one, results, _ in done},
        ledgers={one.name: (_table(results, "frames")) for one, results, _ in done},
        packets={one.name: (_table(results, "packets")) for one, results, _ in done if one.document["packets"]},
        costs=[_cost(one, results.meta, wall_s) for one, results, wall_s in done],
        failures=failures,
        peak_memory_bytes=peak_memory(),
        seed=seed,
    )


def _table(results: Campaign, name: Literal["frames", "packets"]) -> Callable[[], pl.LazyFrame]:
    """Reads a table when it is asked for."""
    return lambda: results.frames if name == "frames" else results.packets


def _cost(one: Measurement, meta: Mapping[str, Any], wall_s: float) -> Cost:
    cells = meta["cells"]
    return Cost(
        one.name,
        one.runs,
        meta["simulated_s"],
        wall_s,
        meta["computing_s"],
        cells["computed_now"],
        cells["distinct"],
        one.section != "open",
    )


def peak_memory() -> int:
    """The most that this process has had in memory, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
