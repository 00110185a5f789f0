"""A campaign that was run, opened: its tables as polars frames, means with confidence intervals, single cells."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from framewire import earlier_formats
from framewire.campaign import dataset, index, metrics, provenance, selection
from framewire.campaign.description import DESCRIPTION, open_description, tally
from framewire.campaign.index import Place, State
from framewire.campaign.store import FAILED, MENDED, Store
from framewire.checksums import Checksums, DamagedError
from framewire.confidence import mean_with_confidence
from framewire.errors import InputError
from framewire.results import PICTURE

if TYPE_CHECKING:
    from framewire.run import Progress, Run

__all__ = ["Campaign", "Failure"]

Metric = str | pl.Expr
"""A column of the summary, one of :data:`framewire.campaign.metrics.PERCENTAGES`, or a named expression of columns."""


@dataclass(frozen=True)
class Failure:
    """A cell that could not be computed, or one in which a flow broke."""

    cell: str
    """Its id."""
    place: str
    """Its labels and repeat, for people."""
    reason: str
    scenario: Path
    """Its scenario, as TOML with the reason on top."""

    @property
    def is_of_a_flow(self) -> bool:
        """Whether the cell was computed, and a flow broke in it."""
        return self.scenario.parent.name != FAILED


class Campaign:
    """The results of a campaign; of one that has not finished, what there is.

    Raises InputError when ``directory`` holds none, or one that a newer framewire wrote.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        """Where it is."""
        self._store = Store(self.directory)
        self._index = index.read(self.directory)
        self._checksums = Checksums({})
        self.meta: dict[str, Any] = self._description()
        """``campaign.json``: versions, the campaign itself, counts, canonical hashes, simulated seconds. Where the
        campaign has not finished, the same as far as it came, without hashes."""

    def _description(self) -> dict[str, Any]:
        if self._index is None or (self.directory / DESCRIPTION).is_file():
            description, self._checksums = open_description(self.directory)
            # A dataset of before belongs to the plan that it names, or was written when there was no index.
            if self._index is None or description.get("plan") == self._index.description["plan"]:
                return description | {"finished": True}
        description = self._index.description | tally(self._store, self._indexed)
        return description | {"hashes": {}, "finished": False}

    def __repr__(self) -> str:
        return f"Campaign({str(self.directory)!r})"

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return str(self.meta["campaign"]["name"])

    @property
    def axes(self) -> list[str]:
        """Names of the axes, which are columns of every table."""
        return [str(axis["name"]) for axis in self.meta["campaign"]["axis"]]

    @property
    def metrics(self) -> list[str]:
        """What the campaign is to be judged by."""
        return [str(name) for name in self.meta["campaign"]["metrics"]]

    @property
    def hashes(self) -> dict[str, str]:
        """The canonical hash of each table over all cells: equal when two campaigns measured the same."""
        return dict(self.meta["hashes"])

    @property
    def finished(self) -> bool:
        """Whether it came to its end: every cell was computed or failed, and the tables were put together."""
        return bool(self.meta["finished"])

    @property
    def failures(self) -> list[Failure]:
        """Cells that could not be computed, and cells in which a flow broke (the others in it are valid)."""
        failed = self.meta["failed"]
        return [
            Failure(entry["cell"], entry["place"], entry["reason"], self.directory / entry["scenario"])
            for entry in failed
        ]

    @cached_property
    def _indexed(self) -> list[index.IndexedCell]:
        return [] if self._index is None else index.states(self._store, self._index.places)

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row per cell that was planned: id, axes, repeat, seed, and ``state``, what became of it."""
        if self._index is None:
            raise InputError(f"{self.directory}: has no {index.FILE}; the same `framewire campaign` command writes it")
        places = dataset.places([cell.place for cell in self._indexed], self._index.labels)
        return places.with_columns(state=pl.Series([str(cell.state) for cell in self._indexed], dtype=pl.String))

    def cells_at(self, wanted: Mapping[str, object]) -> pl.DataFrame:
        """The rows of :attr:`cells` that stand at a place, such as ``{"network.wifi.retry": 4}``."""
        every = self.cells
        places = [cell.place for cell in self._indexed]
        chosen = set(map(id, selection.matching(places, wanted)))
        return every.filter(pl.Series([id(place) in chosen for place in places], dtype=pl.Boolean))

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per finished cell and flow: id, axes, repeat, seed, and the columns of a run's summary."""
        if not self.meta["cells"]["done"]:
            why = "none of its cells could be computed" if self.finished else "none of its cells is computed yet"
            raise InputError(f"{self.directory}: has no results: {why}")
        if not self.finished and self._index is not None:
            rows = [dataset.Row(cell.place, cell.finished) for cell in self._indexed if cell.finished is not None]
            for row in rows:
                if damage := row.finished.damage("summary.parquet"):
                    raise InputError(f"cell {row.place}: {damage}; {MENDED}")
            return earlier_formats.transports(dataset.summary(self._index.labels, rows))
        path = self.directory / "summary.parquet"
        try:
            self._check(path)
            return earlier_formats.transports(pl.read_parquet(path, glob=False))
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path}: cannot be read as a table: {str(error).splitlines()[0]}") from None

    @property
    def frames(self) -> pl.LazyFrame:
        """The ledgers of all cells, of the picture, read as far as they are needed."""
        return self._of_track(pl.col("track") == PICTURE, alone=True)

    @property
    def sound(self) -> pl.LazyFrame:
        """The same of the sound: a row for each packet."""
        return self._of_track(pl.col("track") != PICTURE, alone=False)

    def _of_track(self, wanted: pl.Expr, *, alone: bool) -> pl.LazyFrame:
        """Rows of the ledgers; those that an earlier version wrote are of the picture ``alone``."""
        rows = self._parts("frames")
        return rows.filter(wanted if "track" in rows.collect_schema().names() else pl.lit(alone))

    @property
    def packets(self) -> pl.LazyFrame:
        """The packet tables of all cells, where the campaign keeps them (``packets = true``)."""
        return self._parts("packets")

    @property
    def flows(self) -> pl.LazyFrame:
        """The states of the flows of all cells over time, where the campaign keeps them (``flows = true``)."""
        return self._parts("flows")

    @property
    def rates(self) -> pl.LazyFrame:
        """The tables of rates of all cells, where the campaign keeps them (``rates = "1 s"``, for instance)."""
        return self._parts("rates")

    def tables(self, *names: str) -> Iterator[tuple[Place, list[Path]]]:
        """Each finished cell with its files of these tables, checked: to be read a few at a time where all are too
        much, and where the campaign leaves them with their cells (``parts = false``).

        Raises InputError for one that is not what was written.
        """
        for cell in self._indexed:
            if cell.finished is not None:
                paths = [cell.finished.table(name) for name in names]
                if damage := cell.finished.damage(*(path.name for path in paths)):
                    raise InputError(f"cell {cell.place}: {damage}; {MENDED}")
                yield cell.place, paths

    def samples(
        self, metrics: Sequence[Metric] | Metric | None = None, by: Sequence[str] | str | None = None
    ) -> pl.DataFrame:
        """What each repeat says of each metric, of which :meth:`means` has the means: a row per group and ``repeat``.

        The columns are those of ``by``, ``repeat``, a metric each, null where nothing was measured, and ``cut``,
        whether a run ended at its limit.
        """
        wanted = [metrics] if isinstance(metrics, str | pl.Expr) else self.metrics if metrics is None else metrics
        groups = [*self.axes, "flow"] if by is None else [by] if isinstance(by, str) else list(by)
        self._check_columns(groups)
        expressions = [_expression(metric) for metric in wanted]
        # It takes part in the grouping also where it is asked for.
        per_repeat = [*groups, *({"repeat"} - set(groups))]
        return (
            _with_columns_of(self.summary, expressions)
            .select(*per_repeat, *expressions, _CUT)
            .group_by(per_repeat, maintain_order=True)
            .agg(*(pl.col(one.meta.output_name()).mean() for one in expressions), pl.col("cut").any())
        )

    def means(
        self, metrics: Sequence[Metric] | Metric | None = None, by: Sequence[str] | str | None = None
    ) -> pl.DataFrame:
        """Mean of each metric with its 95 % confidence interval, by Student's t over the repeats.

        ``metrics`` are those of the campaign by default; ``by`` is every axis and ``flow``. For a metric ``x`` there
        are the columns ``x``, ``x_low`` and ``x_high`` (the interval, within what the metric can be:
        :meth:`framewire.confidence.Estimate.within`; null where fewer than two repeats measured it) and ``x_n``, the
        number of repeats. Cells of one repeat meet the same channel and are no independent samples: where a group holds
        several rows of one repeat (an axis is not in ``by``), their mean is the sample. The column ``cut`` counts the
        repeats in which a run ended at its limit: what it had not been offered by then is ``not offered``. What the
        version that computed the cells did not record is null, and its ``x_n`` is 0.
        """
        groups = [*self.axes, "flow"] if by is None else [by] if isinstance(by, str) else list(by)
        samples = self.samples(metrics, groups)
        names = [name for name in samples.columns if name not in {*groups, "repeat", "cut"}]
        lists = [*(pl.col(name).drop_nulls() for name in names), pl.col("cut")]
        listed = (
            samples.group_by(groups, maintain_order=True).agg(lists)
            if groups
            else samples.select(column.implode() for column in lists)
        )
        bounds = _bounds(names, self.summary)
        return listed.select(
            *groups,
            *(series for name in names for series in _estimates(name, listed[name], bounds[name])),
            pl.col("cut").list.sum().cast(pl.Int32),
        )

    def report(self, out: str | os.PathLike[str] | None = None) -> Path:
        """Writes a page with its figures and means, one HTML file, and returns its path.

        By default it is ``report.html`` in the directory of the campaign. One that has not finished is shown as far as
        it came. Raises InputError when none of its cells is computed, or when the file cannot be written.
        """
        from framewire.campaign import page  # plots are slow to import

        return page.write(self, None if out is None else Path(out))

    def run_cell(
        self,
        cell: str | Mapping[str, object],
        *,
        out: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """Run one cell again, alone and in full, as a run directory with packets that a report can be made of.

        ``cell`` is the id in the column ``cell``, or as much of it as identifies it; or a place where only
        one cell stands, such as ``{"network.wifi.retry": 4, "repeat": 1}``. A cell that failed is found, too.
        """
        import framewire

        cell_id, scenario = self._store.scenario(cell if isinstance(cell, str) else self._at(cell).id)
        run = framewire.run(scenario, world="simulated", out=out, progress=progress)
        provenance.write(run.directory, self.name, self.directory, self._place_of(cell_id))
        return run

    def _at(self, wanted: Mapping[str, object]) -> Place:
        if self._index is None:
            raise InputError(f"{self.directory}: has no {index.FILE}: a cell can only be named by its id here")
        place = selection.the_one(self._index.places, wanted)
        if next(cell.state for cell in self._indexed if cell.place.id == place.id) is State.OPEN:
            raise InputError(f"{place}: is not computed yet; the same `framewire campaign` command goes on with it")
        return place

    def _place_of(self, cell_id: str) -> Place | None:
        """Where a cell stands; None for one that is not in the plan any more."""
        places = () if self._index is None else self._index.places
        return next((place for place in places if place.id == cell_id), None)

    def _parts(self, name: str) -> pl.LazyFrame:
        return pl.scan_parquet(self._checked_parts(name), glob=False)

    def _checked_parts(self, name: str) -> list[Path]:
        parts = sorted((self.directory / name).glob("part-*.parquet"))
        if not self.finished:
            raise InputError(f"{self.directory}: has not finished: only its summary can be read, as far as it is")
        if not parts and not dataset.has_parts(self.meta):
            raise InputError(
                f"{self.directory}: the table {name} stays with its cells, by `parts = false` in the campaign"
            )
        if not parts:
            keys = {"packets": "packets = true", "flows": "flows = true", "rates": 'rates = "1 s"'}
            why = f"; `{keys[name]}` in the campaign keeps them" if name in keys else ""
            raise InputError(f"{self.directory}: has no table {name}{why}")
        for part in parts:
            self._check(part)
        return parts

    def _check(self, path: Path) -> None:
        """Refuses a table of the dataset that is not what was written."""
        try:
            self._checksums.check(self.directory, path.relative_to(self.directory).as_posix())
        except DamagedError as error:
            remedy = "the same `framewire campaign` command puts it together again"
            raise InputError(f"{self.directory}: {error}; {remedy}") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None

    def _check_columns(self, names: Sequence[str]) -> None:
        allowed = [*self.axes, "flow", "transport", "repeat"]
        for name in names:
            if name not in allowed:
                raise InputError(f"by: {name!r} is not allowed; allowed are {', '.join(allowed)}")


def _expression(metric: Metric) -> pl.Expr:
    if isinstance(metric, pl.Expr):
        return metric
    metrics.check(metric)
    if metric in metrics.PERCENTAGES:
        part, columns = metrics.PERCENTAGES[metric]
        whole = pl.sum_horizontal(*columns)
        share = pl.when(whole > 0).then(100 * pl.col(part) / whole)
        return share.alias(metric)
    return pl.col(metric).cast(pl.Float64)


def _with_columns_of(summary: pl.DataFrame, expressions: Sequence[pl.Expr]) -> pl.DataFrame:
    """Results that were computed before a column was there do not have it: what is made of it was not measured."""
    names = {name for expression in expressions for name in expression.meta.root_names()}
    absent = sorted((names & {*metrics.COLUMNS}) - {*summary.columns})
    return summary.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)


_CUT = (pl.col("status") == "partial").alias("cut")
"""Whether a run ended at its limit: nothing else ends one of a campaign before its flows have."""


def _bounds(names: Sequence[str], summary: pl.DataFrame) -> dict[str, tuple[float, float]]:
    sent_ahead = metrics.sends_ahead(summary)
    return {name: metrics.bounds(name, sent_ahead=sent_ahead) for name in names}


def _estimates(name: str, samples: pl.Series, bounds: tuple[float, float]) -> list[pl.Series]:
    estimates = [mean_with_confidence(values.to_list()) if len(values) else None for values in samples]
    intervals = [None if e is None else e.within(*bounds) for e in estimates]
    return [
        pl.Series(name, [None if e is None else e.mean for e in estimates], pl.Float64),
        pl.Series(f"{name}_low", [None if i is None else i[0] for i in intervals], pl.Float64),
        pl.Series(f"{name}_high", [None if i is None else i[1] for i in intervals], pl.Float64),
        pl.Series(f"{name}_n", [0 if e is None else e.count for e in estimates], pl.Int32),
    ]
