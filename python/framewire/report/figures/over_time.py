"""What the viewer and the receiver saw over the time of the run."""

from __future__ import annotations

import math

import polars as pl

from framewire import stats
from framewire.report import plot_data
from framewire.report.capacity import Link, of_link
from framewire.report.data import Flow, ReportRun
from framewire.report.figures.base import (
    HEADROOM,
    Figure,
    Layout,
    Trace,
    cut_to_live_streams,
    line,
    log_scale,
    rounded,
    samples,
    time_layout,
)


def scale_buttons(logarithmic: Layout) -> Layout:
    """Two buttons, for a linear axis of figures over time and for this one."""
    linear = {**dict.fromkeys(logarithmic), "type": "linear"}
    scales = {"linear": linear, "log": logarithmic}
    return {
        "type": "buttons", "direction": "right", "x": 1, "xanchor": "right", "y": -0.09, "yanchor": "top",
        "showactive": True, "pad": {"t": 0, "b": 2}, "font": {"size": 11}, "bgcolor": "#ffffff",
        "buttons": [
            {"label": name, "method": "relayout", "args": [{f"yaxis.{key}": value for key, value in scale.items()}]}
            for name, scale in scales.items()
        ],
    }  # fmt: skip


LEVELS_APART = 0.05
MOST_ROOM = 3.0
"""How many times as high as the highest curve the link is drawn: more would press the curves flat."""


def frame_throughput(run: ReportRun) -> Figure:
    """Throughput of complete frames."""
    hint = "Of an adaptive stream it follows the level: compare it with the levels below."
    if plot_data.movie_bitrate(run):
        hint = (
            "The dotted line is the movie's rate: a transport below it falls behind or drops, one above it catches up."
        )
    if len(run.streams) < len(run.flows):
        hint += " Cross traffic has no frames: drawn is what its application got."
    return throughput(run, "throughput-frames", "Throughput at frame level", hint, brought)


def brought(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits per second of complete frames, or of what cross traffic brought."""
    return plot_data.carried(run, flow) if flow.is_bulk else plot_data.frame_throughput(run, flow)


def packet_throughput(run: ReportRun) -> Figure:
    """Throughput of packets."""
    hint = (
        "Everything that the network brought above UDP or TCP, useful or not: what lies above the curve at frame level "
        "was carried for frames that never became whole, or by TCP twice. The summary's packet throughput counts every "
        "byte once, and only what the receiver read."
    )
    return throughput(run, "throughput-packets", "Throughput at packet level", hint, plot_data.packet_throughput)


def throughput(run: ReportRun, name: str, title: str, hint: str, series: plot_data.PerSecond) -> Figure:
    """Mbit/s in each second of the run."""
    traces: list[Trace] = []
    until = 0.0
    for flow in run.flows:
        rows = series(run, flow)
        if rows.height:
            until = max(until, float(rows["at_s"][-1]) + 1)
            # The last second is cut short by the end of the stream: it would look like a dip.
            rows = rows[:-1] if rows.height > 1 else rows
            x = (rows["at_s"] + 0.5).to_list()
            traces.append(line(flow, x, (rows["bps"] / 1e6).to_list(), hovertemplate="%{y:.2f} Mbit/s"))
    layout = time_layout(run, "Mbit/s", until_s=until)
    bitrate = plot_data.movie_bitrate(run)
    if (link := of_link(run)) is not None and traces:
        highest = max([bitrate or 0.0, *(1e6 * value for trace in traces for value in trace["y"] if value is not None)])
        room, said = capacity(link, until, highest)
        traces = [*room, *traces]
        hint = f"{hint} {said}"
        if room:
            shown = max(highest / 1e6, min(max(room[0]["y"]), MOST_ROOM * highest / 1e6))
            layout["yaxis"] |= {"range": [0, HEADROOM * shown]}
    if bitrate:
        layout["shapes"] = layout["shapes"] + [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": bitrate / 1e6, "y1": bitrate / 1e6,
             "line": {"color": "#22272b", "width": 1, "dash": "dot"}}
        ]  # fmt: skip
    return Figure(name, title, hint, traces, layout, absent=None if traces else "nothing arrived")


def capacity(link: Link, until_s: float, highest_bps: float) -> tuple[list[Trace], str]:
    """The link as an area behind the curves, and what to say of it; nothing is drawn of one far above them all."""
    rates = link.per_second(math.ceil(until_s) or 1)
    if not rates:
        return [], f"What the link can carry is not drawn: its recording ({link.in_words}) is no longer there."
    if min(rates) > MOST_ROOM * highest_bps:
        return [], f"What the link can carry ({link.in_words}) is far above this plot."
    steps: Trace = {
        "type": "scatter", "mode": "lines", "name": "link", "x": list(range(len(rates) + 1)),
        "y": rounded([rate / 1e6 for rate in (*rates, rates[-1])]), "fill": "tozeroy",
        "fillcolor": "rgba(154, 165, 172, 0.16)", "line": {"color": "#9aa5ac", "width": 1, "shape": "hv"},
        "hovertemplate": "%{y:.2f} Mbit/s",
    }  # fmt: skip
    cut = ", cut off above," if max(rates) > MOST_ROOM * highest_bps else ""
    return [steps], f"The grey area{cut} is what the link can carry ({link.in_words}), headers of packets included."


def latency(run: ReportRun) -> Figure:
    """Latency of each frame that arrived."""
    hint = (
        "A level line keeps up; a rising one falls behind for good; a gap is frames that did not come. The dotted line "
        "is the player's start-up delay."
    )
    if run.has_levels:
        hint += " Below zero a frame came before its time: adaptive servers send ahead."
    figure = per_frame(run, "latency", "Latency of each frame", hint, "latency_ms", "ms")
    if figure.layout:
        startup = run.startup_s * 1000
        figure.layout["shapes"] = figure.layout["shapes"] + [
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": startup, "y1": startup,
             "line": {"color": "#22272b", "width": 1, "dash": "dot"}}
        ]  # fmt: skip
        logarithmic = log_scale(figure.data)
        figure.layout["updatemenus"] = [scale_buttons(logarithmic)]
        if spread_is_wide(run) and not run.has_levels:
            figure.layout["yaxis"] |= logarithmic
            figure.layout["updatemenus"] = [scale_buttons(logarithmic) | {"active": 1}]
        return cut_to_live_streams(run, figure)
    return figure


def jitter(run: ReportRun) -> Figure:
    """Jitter estimate at each frame that arrived."""
    hint = "The RFC 3550 estimator over the latencies: how unevenly frames arrive, whatever their delay."
    return per_frame(run, "jitter", "Jitter", hint, "jitter_ms", "ms")


def apart(run: ReportRun) -> Figure:
    """How far sound and picture are apart in each second."""
    traces: list[Trace] = []
    for flow in run.streams:
        rows = plot_data.apart(run, flow)
        if rows.height:
            x = (rows["at_s"] + 0.5).to_list()
            traces.append(samples(flow, x, rows["apart_ms"].to_list(), usual=1.0, hovertemplate="%{y:.0f} ms"))
    hint = (
        "The mean latency of the sound that was due in each second less that of the picture: below zero the sound came "
        "first, because it goes before the frames that wait. A player that waits for both makes up for it."
    )
    layout = time_layout(run, "ms")
    layout["yaxis"] |= {"rangemode": "normal"}
    return Figure("apart", "Sound and picture apart", hint, traces, layout, None if traces else "no sound arrived")


def sound_latency(run: ReportRun) -> Figure:
    """Latency of each packet of sound that arrived."""
    traces: list[Trace] = []
    for flow in run.streams:
        rows = run.sound.filter((pl.col("flow") == flow.name) & pl.col("latency_ns").is_not_null())
        if rows.height:
            x, y = (rows["due_ns"] / stats.NANOS).to_list(), (rows["latency_ns"] / 1e6).to_list()
            traces.append(samples(flow, x, y, 1.3, hovertemplate="%{y:.1f} ms"))
    hint = "Peaks are packets that waited for a large frame that was being sent; a gap is sound that was lost."
    layout = time_layout(run, "ms")
    layout["xaxis"] |= {"title": {"text": "time when the sound was due (s)"}}
    return Figure("sound-latency", "Latency of sound", hint, traces, layout, None if traces else "no sound arrived")


def levels(run: ReportRun) -> Figure:
    """From which level the frames of adaptive streams came."""
    traces: list[Trace] = []
    for flow in run.flows:
        if not flow.is_adaptive or "level" not in run.frames.columns:
            continue
        rows = run.ledger(flow).drop_nulls("level").sort("due_ns")
        changes = rows.filter((pl.col("level") != pl.col("level").shift()).fill_null(value=True))
        if changes.height:
            rows = pl.concat([changes, rows[-1:]])
            x = (rows["due_ns"] / stats.NANOS).to_list()
            shaped = {"color": flow.look.colour, "dash": flow.look.dash, "width": 1.8, "shape": "hv"}
            # A little apart, so that streams on one level are seen beside each other.
            y = (rows["level"] + LEVELS_APART * len(traces)).to_list()
            levels = rows["level"].to_list()
            traces.append(line(flow, x, y, line=shaped, customdata=levels, hovertemplate="level %{customdata}"))
    layout = time_layout(run, "level")
    layout["xaxis"] |= {"title": {"text": "time when the frame was due (s)"}}
    top = max(0, len(run.ladder.get("levels_bps", [])) - 1)
    layout["yaxis"] |= {"dtick": 1, "range": [-0.15, max(1, top) + 0.15 + LEVELS_APART * len(traces)]}
    hint = (
        "Level 0 is the lowest. A level is taken over at a key frame; a viewer may see each change. Lines on "
        "one level are drawn a little apart."
    )
    return Figure("levels", "Level of each frame", hint, traces, layout, None if traces else "no stream had levels")


def sending_rates(run: ReportRun) -> Figure:
    """What the controllers of adaptive streams decided."""
    return of_samples(
        run,
        "sending-rates",
        "Sending rate of adaptive streams",
        "sending_rate_bps",
        "Bytes of video per second, as the controller decided them; what the network let through is above.",
    )


def estimates(run: ReportRun) -> Figure:
    """What the controllers hold the bandwidth for."""
    return of_samples(
        run,
        "estimates",
        "Bandwidth as the controllers estimate it",
        "estimate_bps",
        "What a controller believes it has, from what its receiver reports; not all of them estimate.",
    )


def of_samples(run: ReportRun, name: str, title: str, column: str, hint: str) -> Figure:
    """A rate out of the samples of adaptive streams, Mbit/s."""
    traces: list[Trace] = []
    for flow in run.flows if column in run.states.columns else []:
        rows = plot_data.samples(run, flow).drop_nulls(column).sort("at_ns")
        if rows.height:
            x, y = (rows["at_ns"] / stats.NANOS).to_list(), (rows[column] / 1e6).to_list()
            traces.append(samples(flow, x, y, 1.3, hovertemplate="%{y:.2f} Mbit/s"))
    layout = time_layout(run, "Mbit/s")
    return Figure(name, title, hint, traces, layout, None if traces else "nothing was sampled", half=True)


def per_frame(run: ReportRun, name: str, title: str, hint: str, column: str, unit: str) -> Figure:
    """A quantity of the ledger against the time when the frame was due."""
    traces: list[Trace] = []
    for flow in run.flows:
        rows = plot_data.delays(run, flow).drop_nulls(column).sort("due_s")
        if rows.height:
            x, y, usual = rows["due_s"].to_list(), rows[column].to_list(), 1 / run.rate_of(flow)
            traces.append(samples(flow, x, y, 1.3, usual=usual, hovertemplate="%{y:.1f} " + unit))
    layout = time_layout(run, unit)
    layout["xaxis"] |= {"title": {"text": "time when the frame was due (s)"}}
    return Figure(name, title, hint, traces, layout if traces else {}, absent=None if traces else "no frame arrived")


def spread_is_wide(run: ReportRun) -> bool:
    """The largest latency is so far from the usual one that a linear scale shows nothing else."""
    known = run.frames["latency_ns"].drop_nulls()
    known = known.filter(known > 0)
    return known.len() > 0 and float(known.max()) > 30 * float(known.quantile(0.25))  # type: ignore[arg-type]
