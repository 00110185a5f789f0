"""How packets left and came: their sizes, and the time between them at both ends of the network."""

from __future__ import annotations

import numpy as np
import polars as pl

from framewire import stats
from framewire.report import plot_data
from framewire.report.data import Flow, ReportRun
from framewire.report.figures.base import Figure, Trace, base_layout, line, log_scale, rounded, samples, time_layout

SHARES = np.concatenate([np.linspace(0, 0.99, 100), np.linspace(0.991, 1, 10)])
"""At which a distribution is drawn: more closely where pauses are."""

LEAST_MS = 0.001
"""Gaps below a microsecond are drawn as one: a logarithm has no place for packets that come at one moment."""


def sizes(run: ReportRun) -> Figure:
    """Share of packets up to each size."""
    traces = []
    for flow in run.flows:
        rows = _gaps(run, flow).filter(pl.col("end") == "sender")
        if rows.height:
            shares = np.quantile(rows["size"].to_numpy(), SHARES)
            traces.append(_distribution(flow, shares, "%{x:.0f} B: %{y:.1f} %", "hv"))
    layout = base_layout("% of packets", xaxis={"title": {"text": "IP bytes"}}, yaxis={"range": [0, 102]})
    hint = "Share of the sent packets of up to this size. What fills packets has fewer headers to carry and to lose."
    return Figure("packet-sizes", "Sizes of packets", hint, traces, layout, _absent(traces), half=True)


def gaps(run: ReportRun) -> Figure:
    """Share of gaps up to each length, at both ends."""
    traces = []
    for flow in run.flows:
        for end, rows in _gaps(run, flow).drop_nulls("gap_ms").group_by("end", maintain_order=True):
            shares = np.quantile(rows["gap_ms"].to_numpy(), SHARES).clip(LEAST_MS)
            trace = _distribution(flow, shares, "%{x:.3g} ms: %{y:.1f} %", "linear")
            if end[0] == "sender":
                trace["name"] += ", sent"
                trace |= {"opacity": 0.45, "line": trace["line"] | {"dash": "dot"}, "showlegend": False}
            traces.append(trace)
    layout = base_layout(
        "% of gaps",
        xaxis={"title": {"text": "ms since the packet before"}} | log_scale(traces, "x"),
        yaxis={"range": [0, 102]},
    )
    hint = (
        "Dotted as packets were sent, solid as they came: a burst leaves the sender in microseconds, and the link "
        "spreads it. Of 802.11 a step to the right is a retransmission."
    )
    return Figure("packet-gaps", "Time between packets", hint, traces, layout, _absent(traces), half=True)


def gaps_over_time(run: ReportRun) -> Figure:
    """The 95th percentile of the gaps of each second, as packets came."""
    traces, until_s = [], 0.0
    for flow in run.flows:
        rows = _gaps(run, flow).filter(pl.col("end") == "receiver").drop_nulls("gap_ms")
        if rows.height:
            seconds = (
                rows.group_by(second=pl.col("at_s").floor())
                .agg(pl.col("gap_ms").quantile(0.95, "linear"))
                .sort("second")
            )
            until_s = max(until_s, seconds["second"][-1] + 1)
            x, y = (seconds["second"] + 0.5).to_list(), seconds["gap_ms"].clip(LEAST_MS).to_list()
            traces.append(samples(flow, x, y, usual=1.0, hovertemplate="%{y:.3g} ms"))
    layout = time_layout(run, "ms", until_s=until_s)
    layout["yaxis"] |= log_scale(traces) | {"rangemode": "normal"}
    hint = "The 95th percentile of the times between arriving packets, second by second: where it rises, nothing came."
    return Figure("packet-gaps-time", "Time between packets over the run", hint, traces, layout, _absent(traces))


def _gaps(run: ReportRun, flow: Flow) -> pl.DataFrame:
    if not plot_data.has_packets(run):
        return pl.DataFrame(schema={"end": pl.String, "at_s": pl.Float64, "size": pl.Int32, "gap_ms": pl.Float64})
    return run.of_flow(flow, run.packets, stats.packet_gaps)


def _distribution(flow: Flow, values: np.ndarray, hover: str, shape: str) -> Trace:
    trace = line(flow, rounded(values.tolist()), rounded((100 * SHARES).tolist()), hovertemplate=hover)
    return trace | {"line": trace["line"] | {"shape": shape}}


def _absent(traces: list[Trace]) -> str | None:
    return None if traces else "no packet was sent"
