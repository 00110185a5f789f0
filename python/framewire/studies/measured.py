"""Campaigns of a study: carrying them out, and what is asked of their results."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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

__all__ = ["CarriedOut", "Cost", "Done", "Measured", "Measurement", "campaigns", "carry_out", "peak_memory"]


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
    is_result_where_broken: bool = False
    """Whether a run in which a flow broke is a result like others, and only one that could not be computed failed."""

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


@dataclass(kw_only=True)
class CarriedOut:
    """What campaigns took, and what failed in them."""

    costs: Sequence[Cost] = ()
    failures: Sequence[str] = ()
    peak_memory_bytes: int = 0
    seed: int = 1

    @property
    def simulated_s(self) -> float:
        """Simulated seconds in all."""
        return sum(cost.simulated_s for cost in self.costs)

    @property
    def wall_s(self) -> float:
        """Time that it took, now."""
        return sum(cost.wall_s for cost in self.costs)


@dataclass
class Measured(CarriedOut):
    """Results by measurement. Missing ones answer with no samples, so that a report can be made of a part."""

    summaries: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    ledgers: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)
    packets: Mapping[str, Callable[[], pl.LazyFrame]] = field(default_factory=dict)

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


@dataclass(frozen=True)
class Done:
    """A campaign that was carried out."""

    measurement: Measurement
    results: Campaign
    cost: Cost


def campaigns(
    every: Sequence[Measurement],
    directory: Path,
    *,
    jobs: int | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
    failed: Callable[[str], object] = lambda _what: None,
) -> Iterator[Done]:
    """Runs the campaigns one after the other, each in a directory of its own, or what is left of them.

    What failed is told to ``failed``, also an optional measurement that this version cannot make, which is left out;
    all others must be possible. Raises what :func:`framewire.campaign.campaign` raises.
    """
    tell = progress or (lambda _event: None)
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
            failed(f"{one.name}: {error}")
            continue
        took = time.monotonic() - start
        for failure in results.failures:
            if not (one.is_result_where_broken and failure.is_of_a_flow):
                failed(f"{one.name}: {failure.place}: {failure.reason}")
        yield Done(one, results, _cost(one, results.meta, took))


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
    """Runs :func:`campaigns`, and keeps what a study of summaries and ledgers asks of them."""
    failures: list[str] = []
    done = list(campaigns(every, directory, jobs=jobs, runner=runner, progress=progress, failed=failures.append))
    return into(
        summaries={one.measurement.name: one.results.summary for one in done},
        ledgers={one.measurement.name: _table(one.results, "frames") for one in done},
        packets={
            one.measurement.name: _table(one.results, "packets")
            for one in done
            if one.measurement.document.get("packets")
        },
        costs=[one.cost for one in done],
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
