"""The page of a campaign: which flow is ahead at each place of the grid, every metric over an axis, and all means."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from framewire.campaign.metrics import more_is_better
from framewire.campaign.results import Campaign
from framewire.campaign.table import MetricColumn, notes
from framewire.confidence import mean_with_confidence
from framewire.report import file
from framewire.report.figures.base import Figure, Trace, arranged, base_layout, plain, rounded
from framewire.report.palette import Look, looks
from framewire.studies.outcome import Outcome
from framewire.studies.table import Cell, Column, Table, of_texts
from framewire.studies.verdicts import EQUAL_VALUES

__all__ = ["FILE", "write"]

FILE = "report.html"
"""Its name in the directory of the campaign."""

MOST_FIGURES = 48
"""Drawn in one page; beyond it the table has the numbers."""

MOST_TICKS = 10

LONGEST_LABEL = 18
"""Characters of a value below an axis; a table as a value has many."""

_HEIGHT = 290


def write(campaign: Campaign, out: Path | None = None) -> Path:
    """Writes the page of a campaign, of one that has not finished as far as it is, and returns where it is.

    Raises:
        InputError: when none of its cells is computed, or the file cannot be written.
    """
    return file.write(_html(campaign), out or campaign.directory / FILE)


def _html(campaign: Campaign) -> str:
    grid = _Grid.of(campaign)
    ahead = [_Ahead.of(grid, place) for place in grid.places]
    figures = list(itertools.islice(_figures(grid), MOST_FIGURES + 1))
    method = [*notes(grid.means), *_METHOD]
    if len(figures) > MOST_FIGURES:
        method.append(f"Of the figures the first {MOST_FIGURES} are drawn: the table has every number.")
    table = _means(grid)
    outcome = Outcome(
        title=campaign.name,
        facts=_facts(campaign),
        command=f"framewire report {campaign.directory}",
        again="The page again",
        brand="framewire campaign",
        figures=arranged(figures[:MOST_FIGURES]),
        headline=_headline(grid, ahead),
        overview=[_ahead_table(grid, ahead)],
        tables=[table],
        failures=[f"{one.place}: {one.reason}" for one in campaign.failures],
        method=method,
    )
    return outcome.html()


_METHOD = (
    "A line is a flow of the scenario, by its mean over the repeats; bars are its 95 % confidence interval. All flows "
    "of a repeat meet the same channel, so that two of them are compared repeat by repeat: a difference is "
    "called clear where the interval of the mean difference (Student's t) does not hold zero.",
    "Any cell can be run again in full, with its packets and a report of its own (framewire campaign cell).",
)


@dataclass(frozen=True)
class _Grid:
    """The means and what they stand over."""

    summary: pl.DataFrame
    means: pl.DataFrame
    metrics: Sequence[MetricColumn]
    axes: Sequence[str]
    flows: Sequence[str]
    along: str | None
    """The axis that figures are drawn along: the longest, of as long ones one of numbers."""
    names: Mapping[str, str]
    """Of the axes: what stands behind the last dot, where no other ends so."""
    places: Sequence[Mapping[str, Any]]
    """Every combination of values that was computed."""
    look: Mapping[str, Look]

    @classmethod
    def of(cls, campaign: Campaign) -> _Grid:
        means = campaign.means()
        flows = means["flow"].unique(maintain_order=True).to_list()
        transports = dict(campaign.summary.select("flow", "transport").unique(maintain_order=True).iter_rows())
        lengths = {axis: (means[axis].n_unique(), means[axis].dtype.is_numeric()) for axis in campaign.axes}
        return cls(
            summary=campaign.samples(),
            means=means,
            metrics=[MetricColumn.of(name, means) for name in campaign.metrics],
            axes=campaign.axes,
            names=_short(campaign.axes),
            flows=flows,
            along=max(lengths, key=lambda axis: lengths[axis]) if lengths else None,
            places=means.select(campaign.axes).unique(maintain_order=True).to_dicts() if campaign.axes else [{}],
            look=dict(zip(flows, looks([transports[flow] for flow in flows]), strict=True)),
        )

    def at(self, table: pl.DataFrame, place: Mapping[str, Any]) -> pl.DataFrame:
        """The rows of a table that stand at a place."""
        return table.filter(*(pl.col(axis) == value for axis, value in place.items())) if place else table


@dataclass(frozen=True)
class _Ahead:
    """The flow whose mean of the first metric is the best at a place, and how far before the next."""

    place: Mapping[str, Any]
    best: str | None
    mean: float | None
    second: str | None
    difference: str
    verdict: str

    @classmethod
    def of(cls, grid: _Grid, place: Mapping[str, Any]) -> _Ahead:
        metric = grid.metrics[0]
        sign = 1 if more_is_better(metric.name) else -1
        rows = grid.at(grid.means, place).drop_nulls(metric.name)
        ranked = sorted(rows.iter_rows(named=True), key=lambda row: -sign * row[metric.name])
        if not ranked or more_is_better(metric.name) is None:
            return cls(place, None, None, None, "", "")
        best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
        if second is None:
            return cls(place, best["flow"], best[metric.name], None, "", "")
        text, verdict = _difference(grid, place, metric, best["flow"], second["flow"])
        return cls(place, best["flow"], best[metric.name], second["flow"], text, verdict)


def _difference(grid: _Grid, place: Mapping[str, Any], metric: MetricColumn, one: str, other: str) -> tuple[str, str]:
    """How far two flows are apart, repeat by repeat, and what that says."""
    of_flows = grid.at(grid.summary, place).filter(pl.col("flow").is_in([one, other])).drop_nulls(metric.name)
    repeats: dict[object, dict[str, float]] = {}
    for flow, repeat, value in of_flows.select("flow", "repeat", metric.name).iter_rows():
        repeats.setdefault(repeat, {})[flow] = value
    pairs = [both[one] - both[other] for both in repeats.values() if len(both) == 2]
    if not pairs:
        return "", ""
    found, alike = mean_with_confidence(pairs), min(pairs) == max(pairs)
    if found.half_width is None or (alike and len(pairs) < EQUAL_VALUES):
        return metric.number(found.mean), "one repeat" if found.half_width is None else "the same in each repeat"
    verdict = "clear" if abs(found.mean) > found.half_width else "too close to call"
    return f"{metric.number(found.mean)} ± {metric.number(found.half_width)}", verdict


def _headline(grid: _Grid, ahead: Sequence[_Ahead]) -> str:
    places = "1 combination" if len(ahead) == 1 else f"{len(ahead)} combinations"
    if more_is_better(grid.metrics[0].name) is None or len(grid.flows) < 2:
        flows = "1 flow" if len(grid.flows) == 1 else f"{len(grid.flows)} flows"
        return f"{flows} in {places}"
    won = {flow: [one.verdict for one in ahead if one.best == flow] for flow in grid.flows}
    named = [
        f"{flow} in {len(verdicts)} ({verdicts.count('clear') or 'none'} clear)"
        for flow, verdicts in sorted(won.items(), key=lambda item: -len(item[1]))
        if verdicts
    ]
    best = "the most" if more_is_better(grid.metrics[0].name) else "the least"
    return f"Of {places}, {best} {grid.metrics[0].words}: {', '.join(named)}"


def _ahead_table(grid: _Grid, ahead: Sequence[_Ahead]) -> Table:
    metric = grid.metrics[0]
    names: list[str | Column] = [
        *(Column(grid.names[axis], align="left") for axis in grid.axes),
        Column("ahead", align="left"),
        Column(metric.words, metric.unit),
        Column("next", align="left"),
        Column("before it by", metric.unit),
        Column("", align="left"),
    ]
    rows: list[list[str | Cell]] = [
        [
            *(str(one.place[axis]) for axis in grid.axes),
            one.best or "",
            "" if one.mean is None else metric.number(one.mean),
            one.second or "",
            one.difference,
            one.verdict,
        ]
        for one in ahead
    ]
    return of_texts(names, rows, labels=0)


def _means(grid: _Grid) -> Table:
    """Every mean with its interval."""
    names = [
        *(grid.names[axis] for axis in grid.axes),
        "flow",
        "n",
        *(f"{metric.words} {metric.unit}".strip() for metric in grid.metrics),
    ]
    rows: list[list[str | Cell]] = []
    for row in grid.means.iter_rows(named=True):
        count = max(row[f"{metric.name}_n"] for metric in grid.metrics)
        cut = f", {row['cut']} cut" if row["cut"] else ""
        labels = [str(row[name]) for name in (*grid.axes, "flow")]
        rows.append([*labels, f"{count}{cut}", *(metric.cell(row, count) for metric in grid.metrics)])
    return of_texts(names, rows, title="Means", labels=len(grid.axes) + 1, key="means")


def _figures(grid: _Grid) -> Iterator[Figure]:
    """Each metric along the longest axis, for every combination of the others."""
    others = [axis for axis in grid.axes if axis != grid.along]
    kept = grid.means.select(others).unique(maintain_order=True).to_dicts() if others else [{}]
    for number, metric in enumerate(grid.metrics):
        highest = grid.means[f"{metric.name}_high"].max() if metric.name in grid.means.columns else None
        for at, place in enumerate(kept):
            where = ", ".join(f"{grid.names[axis]} {value}" for axis, value in place.items())
            traces = [trace for flow in grid.flows if (trace := _line(grid, metric, place, flow))]
            title = plain(f"{metric.words}: {where}" if where else metric.words)
            layout = base_layout(metric.unit, height=_HEIGHT, xaxis={"title": {"text": plain(grid.along or "")}})
            if grid.along:
                layout["xaxis"] |= _ticks(grid.means[grid.along])
            if isinstance(highest, int | float) and highest > 0:
                layout["yaxis"]["range"] = [0, 1.05 * min(highest, metric.most) * metric.factor]
            absent = None if traces else "it was not measured"
            yield Figure(f"figure-{number}-{at}", title, "", traces, layout, absent, half=True)


def _ticks(values: pl.Series) -> dict[str, Any]:
    """At the values of an axis, where they are few."""
    if not values.dtype.is_numeric():
        labels = values.unique(maintain_order=True).to_list()
        short = [one if len(one) <= LONGEST_LABEL else f"{one[:LONGEST_LABEL]}…" for one in map(str, labels)]
        return {"type": "category", "tickvals": labels, "ticktext": [plain(one) for one in short]}
    few = values.unique().sort().to_list()
    return {"tickvals": few} if len(few) <= MOST_TICKS else {}


def _short(axes: Sequence[str]) -> dict[str, str]:
    last = [axis.rpartition(".")[2] for axis in axes]
    return {axis: name if last.count(name) == 1 else axis for axis, name in zip(axes, last, strict=True)}


def _line(grid: _Grid, metric: MetricColumn, place: Mapping[str, Any], flow: str) -> Trace | None:
    rows = grid.at(grid.means, {**place, "flow": flow}).drop_nulls(metric.name).to_dicts()
    if not rows:
        return None
    look, means = grid.look[flow], [row[metric.name] for row in rows]
    reach = {
        "array": [(row[f"{metric.name}_high"] or mean) - mean for row, mean in zip(rows, means, strict=True)],
        "arrayminus": [mean - (row[f"{metric.name}_low"] or mean) for row, mean in zip(rows, means, strict=True)],
    }
    return {
        "type": "scatter", "mode": "lines+markers", "name": plain(flow),
        "x": [row[grid.along] for row in rows] if grid.along else [plain(flow)],
        "y": rounded([mean * metric.factor for mean in means]),
        "error_y": {"type": "data", "symmetric": False, "thickness": 1.2}
        | {key: rounded([value * metric.factor for value in values]) for key, values in reach.items()},
        "line": {"color": look.colour, "dash": look.dash, "width": 1.6},
        "marker": {"symbol": look.marker, "color": look.colour, "size": 7},
    }  # fmt: skip


def _facts(campaign: Campaign) -> list[tuple[str, str]]:
    meta = campaign.meta
    cells = meta["cells"]
    axes = [f"{axis['name']} ({len(axis['values'])})" for axis in meta["campaign"]["axis"]]
    said = [
        ("axes", ", ".join(axes) or "none"),
        ("repeats", str(meta["campaign"]["repeats"])),
        (
            "cells",
            f"{cells['done']} of {cells['planned']}" + (f", {cells['failed']} failed" if cells["failed"] else ""),
        ),
        ("simulated", f"{meta['simulated_s']:,.0f} s"),
        ("computed in", f"{meta['computing_s']:,.1f} s"),
    ]
    return said if campaign.finished else [*said, ("state", "not finished: this is what there is")]
