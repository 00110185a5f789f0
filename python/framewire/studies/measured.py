"""Campaigns of a study: carrying them out, and what is asked of their results."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import polars as pl

from framewire.campaign import Runner, campaign
from framewire.errors import InputError
from framewire.studies.study import Progress

if TYPE_CHECKING:
    from framewire.campaign.results import Campaign

M = TypeVar("M", bound="Measured")

__all__ = ["Cost", "Measured", "Measurement", "carry_out", "peak_memory"]


@dataclass(frozen=True)
class Measurement:
    """One campaign."""

    name: str
    document: Mapping[str, Any]
    """The campaign, as its file would state it."""
    streams: float = 1
    """Streams in one cell, in the mean."""
    is_optional: bool = False
    """Whether the others are worth something without it."""

    @property
    def cells(self) -> int:
        """Cells, with repeats."""
        count = int(self.document["repeats"])
        for axis in self.document.get("axis", []):
            count *= len(axis["values"])
        return count

    @property
    def runs(self) -> int:
        """Movie runs: every stream of every cell."""
        return round(self.cells * self.streams)


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
    is_optional: bool = False


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
    into: type[M] = Measured,  # type: ignore[assignment]
) -> M:
    """Runs the campaigns, each in a directory of its own, or what is left of them.

    An optional measurement that this version cannot make is told among the failures; all others must be possible.
    Raises what :func:`framewire.campaign.campaign` raises.
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
            if not one.is_optional:
                raise
            failures.append(f"{one.name}: {error}")
            continue
        failures += [f"{one.name}: {failure.place}: {failure.reason}" for failure in results.failures]
        done.append((one, results, time.monotonic() - start))
    return into(
        summaries={one.name: results.summary for one, results, _ in done},
        ledgers={one.name: (_table(results, "frames")) for one, results, _ in done},
        packets={one.name: (_table(results, "packets")) for one, results, _ in done if one.document.get("packets")},
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
        one.is_optional,
    )


def peak_memory() -> int:
    """The most that this process has had in memory, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
