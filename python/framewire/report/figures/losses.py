"""What was lost: by fate, by type, by place, in runs, and by size."""

from __future__ import annotations

from typing import Literal

import polars as pl

from framewire import stats
from framewire.report import plot_data
from framewire.report.data import ReportRun
from framewire.report.figures.base import (
    Figure,
    Layout,
    Trace,
    bars,
    base_layout,
    cut_to_live_streams,
    label,
    line,
    log_scale,
    rounded,
    samples,
    time_layout,
)
from framewire.report.palette import FATE_COLOURS, PLACE_COLOURS, PLACE_NAMES, TYPE_COLOURS

MOST_SIZES = 350
"""Points of one flow against size: enough to see the shape."""


def by_fate(run: ReportRun) -> Figure:
    """Shares of the fates that an offered frame can have."""
    shares = {fate: [100 * plot_data.share(run, flow, fate) for flow in run.streams]
              for fate in stats.OF_OFFERED}  # fmt: skip
    return Figure(
        "fates",
        "What became of the frames",
        "Only what was shown reached the viewer; undecodable frames arrived whole but refer to one that did not.",
        stacked(run, shares, FATE_COLOURS, {fate: fate for fate in shares}),
        share_layout(run, f"% of {run.counted} frames"),
        half=True,
    )


def by_place(run: ReportRun) -> Figure:
    """Shares of frames lost or undecodable, by the place of their root cause."""
    counted = stats.loss_by_place(run.frames).select(
        "flow", "place", missing=pl.col("share").fill_null(0.0) + pl.col("undecodable_share").fill_null(0.0)
    )
    missing = {(flow, place): share for flow, place, share in counted.iter_rows()}
    shares = {place: [100 * missing.get((flow.name, place), 0.0) for flow in run.streams] for place in PLACE_COLOURS}
    return Figure(
        "places",
        "Where frames were lost",
        "Lost and undecodable frames, each at the place of its root cause: one that refers to a lost frame counts "
        "where that was lost. The sender's own choice is cheaper than the network's.",
        stacked(run, shares, PLACE_COLOURS, PLACE_NAMES),
        share_layout(run, f"% of {run.counted} frames", full=False),
        half=True,
    )


def missed(run: ReportRun) -> Figure:
    """Frames that were not shown, by the second in which they were due on the screen."""
    traces: list[Trace] = []
    for flow in run.streams:
        rows = plot_data.viewer_seconds(run, flow)
        # Frames may come long after the last was due.
        due = rows.filter(pl.sum_horizontal(*stats.OF_OFFERED) > 0)["at_s"].max()
        if due is None:
            continue
        rows = rows.filter(pl.col("at_s") <= due)
        not_shown = rows.select(pl.col("late") + pl.col("undecodable") + pl.col("lost")).to_series()
        x = (rows["at_s"] + 0.5).to_list()
        traces.append(line(flow, x, not_shown.to_list(), hovertemplate="%{y} frames"))
    hint = (
        f"Late, undecodable and lost frames of each second, of {run.frame_rate:.4g}. One that was lost takes with it "
        "what refers to it: a few packets can cost the viewer the rest of a group."
    )
    absent = None if traces else "no frame was offered"
    layout = _over_time(run, traces, "frames")
    return Figure("missed-time", "Frames missed in each second", hint, traces, layout, absent)


def discontinuities(run: ReportRun) -> Figure:
    """Gaps in the numbers of the packets that came, second by second."""
    traces: list[Trace] = []
    for flow in run.streams:
        rows = plot_data.viewer_seconds(run, flow).drop_nulls("discontinuities")
        if rows.height:
            x, y = (rows["at_s"] + 0.5).to_list(), rows["discontinuities"].to_list()
            traces.append(samples(flow, x, y, usual=1.0, hovertemplate="%{y}"))
    hint = (
        "How often the packets that came went on with a gap, for any number of them lost in a row: what a "
        "demultiplexer counts. TCP has none."
    )
    absent = None if traces else "no flow has packets with numbers, or packets were not recorded"
    layout = _over_time(run, traces, "gaps")
    return Figure("discontinuities-time", "Discontinuities in each second", hint, traces, layout, absent)


def _over_time(run: ReportRun, traces: list[Trace], unit: str) -> Layout:
    return time_layout(run, unit, until_s=max((trace["x"][-1] + 0.5 for trace in traces if trace["x"]), default=0.0))


def stacked(
    run: ReportRun, shares: dict[str, list[float]], colours: dict[str, str], names: dict[str, str]
) -> list[Trace]:
    """One horizontal bar per flow."""
    flows = [label(flow) for flow in run.streams]
    return [
        {
            "type": "bar", "orientation": "h", "name": names[key], "y": flows, "x": rounded(shares[key], 4),
            "marker": {"color": colours[key], "line": {"color": "#ffffff", "width": 0.5}},
            "hovertemplate": "%{x:.1f} %",
        }
        for key in shares
    ]  # fmt: skip


def share_layout(run: ReportRun, unit: str, *, full: bool = True, bars_per_flow: int = 1) -> dict[str, object]:
    """Layout of horizontal bars of shares, the first flow on top."""
    xaxis: dict[str, object] = {"title": {"text": unit}, "range": [0, 100]} if full else {"title": {"text": unit}}
    yaxis = {"title": {"text": ""}, "autorange": "reversed", "type": "category"}
    height = 150 + (16 + 10 * bars_per_flow) * max(3, len(run.streams))
    return base_layout("", barmode="stack", xaxis=xaxis, yaxis=yaxis, height=height, hovermode="y unified",
                       margin={"t": 70, "l": 20}, legend={"traceorder": "normal"})  # fmt: skip


def by_type(run: ReportRun) -> Figure:
    """Share of each frame type that was lost."""
    flows = [label(flow) for flow in run.streams]
    counted = stats.loss_by_type(run.frames)
    shares = {(flow, kind): share for flow, kind, share in counted.select("flow", "type", "share").iter_rows()}
    traces: list[Trace] = []
    for kind, colour in TYPE_COLOURS.items():
        lost = [100 * (shares.get((flow.name, kind)) or 0.0) for flow in run.streams]
        traces.append({"type": "bar", "orientation": "h", "name": f"{kind} frames", "y": flows, "x": rounded(lost),
                       "marker": {"color": colour}, "hovertemplate": "%{x:.1f} %"})  # fmt: skip
    return Figure(
        "types",
        "Loss by frame type",
        "An I frame takes its whole group with it, a B frame only itself: good dropping shows long bars for B alone.",
        traces,
        share_layout(run, f"% of {run.counted} frames of the type", bars_per_flow=3) | {"barmode": "group"},
        half=True,
    )


def runs_of(run: ReportRun, what: Literal["packets", "frames"], name: str, title: str, hint: str) -> Figure:
    """How often so many in a row were lost."""
    traces: list[Trace] = []
    for flow in run.streams:
        counts = plot_data.loss_runs(run, flow, what)
        if counts is not None:
            traces.append(bars(flow, list(counts), list(counts.values()), hovertemplate="%{y}"))
    layout = base_layout("how often", barmode="group", hovermode="x unified",
                         xaxis={"title": {"text": f"{what} lost in a row"}, "type": "category"})  # fmt: skip
    absent = None if traces else f"no flow has {what} that can be counted"
    return Figure(name, title, hint, traces, layout, absent=absent, half=True)


def frame_runs(run: ReportRun) -> Figure:
    """Runs of lost frames."""
    hint = "Runs of one or two B frames are hardly seen; long runs are what the viewer calls a freeze."
    return runs_of(run, "frames", "frame-runs", "Frames lost in a row", hint)


def packet_runs(run: ReportRun) -> Figure:
    """Runs of lost datagrams."""
    hint = "Runs of one are single losses on the link; runs of many come from bursts, a full queue or a frame given up."
    return runs_of(run, "packets", "packet-runs", "Packets lost in a row", hint)


def size_against_latency(run: ReportRun) -> Figure:
    """Latency of frames by their size."""
    traces: list[Trace] = []
    for flow in run.streams:
        rows = run.of_flow(flow, run.frames, stats.size_and_latency).sort("size")
        if rows.height:
            rows = rows.gather_every(-(-rows.height // MOST_SIZES))
            traces.append(
                {
                    "type": "scatter", "mode": "markers", "name": label(flow), "x": (rows["size"] / 1000).to_list(),
                    "y": rounded(rows["latency_ms"].to_list()),
                    "marker": {"color": flow.look.colour, "symbol": flow.look.marker, "size": 5, "opacity": 0.55},
                    "hovertemplate": "%{x:.1f} kB, %{y:.1f} ms",
                }
            )  # fmt: skip
    # A logarithm has no place for what came at its time or ahead of it, as streams of levels do.
    ahead = any(value <= 0 for trace in traces for value in trace["y"])
    scale = {"type": "linear"} if ahead else log_scale(traces)
    layout = base_layout("latency (ms)", xaxis={"title": {"text": "size of the frame (kB)"}}, yaxis=scale)
    hint = "A slope is the time that a large frame takes on the link; a cloud without one is time spent waiting."
    if ahead:
        hint += " Below zero, frames came ahead of their time."
    absent = None if traces else "no frame arrived"
    figure = Figure("size-latency", "Size against latency", hint, traces, layout, absent=absent, half=True)
    return cut_to_live_streams(run, figure)
