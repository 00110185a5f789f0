"""What happened on the air and in the sockets, and how well the emulation held its times."""

from __future__ import annotations

import numpy as np
import polars as pl

from framewire.report import plot_data
from framewire.report.data import ReportRun
from framewire.report.figures.base import (
    HEADROOM,
    LOG,
    Figure,
    Trace,
    bars,
    base_layout,
    label,
    line,
    plain,
    rounded,
    samples,
    time_layout,
)

CLASSES = ("1", "2", "3", "4", "5 and more")
NO_AIR = "no packet was sent over an 802.11 link"


def transmissions(run: ReportRun) -> Figure:
    """How often each packet was sent."""
    traces: list[Trace] = []
    for flow in run.flows:
        shares = plot_data.transmission_shares(run, flow, "link")
        if shares is not None:
            traces.append(bars(flow, CLASSES, [100 * share for share in shares], hovertemplate="%{y:.1f} %"))
    layout = base_layout("% of packets", barmode="group", hovermode="x unified",
                         xaxis={"title": {"text": "transmissions of a packet"}, "type": "category"})  # fmt: skip
    hint = "Each further transmission costs air time: the more to the right, the less of the link's rate is left."
    absent = None if traces else NO_AIR
    return Figure("transmissions", "Transmissions per packet", hint, traces, layout, absent=absent)


def transmissions_over_time(run: ReportRun) -> Figure:
    """Mean number of transmissions in each second."""
    hint = "Where it rises the air is disturbed; at the retry limit packets are given up."
    return air_over_time(run, "transmissions-time", "Transmissions per packet over time", hint, "transmissions", "mean")


def rates_over_time(run: ReportRun) -> Figure:
    """Mean rate of the transmissions in each second."""
    hint = "Automatic rate fallback steps down when transmissions fail: a slow step costs more than the failures."
    return air_over_time(run, "rates-time", "Rate used on the air over time", hint, "rate_mbps", "Mbit/s")


def air_over_time(run: ReportRun, name: str, title: str, hint: str, column: str, unit: str) -> Figure:
    """A column of plot_data.air_per_second as lines."""
    traces: list[Trace] = []
    until = 0.0
    for flow in run.flows:
        rows = plot_data.air_per_second(run, flow)
        if rows.height:
            until = max(until, float(rows["second"][-1]) + 1)
            x, y = (rows["second"] + 0.5).to_list(), rows[column].to_list()
            traces.append(samples(flow, x, y, usual=1.0, hovertemplate="%{y:.2f}"))
    layout = time_layout(run, unit, until_s=until)
    most = max((value for trace in traces for value in trace["y"] if value is not None), default=1.0)
    least = 1.0 if column == "transmissions" else 0.0  # nothing is sent less than once
    layout["yaxis"] |= {"range": [least, least + max(most - least, 0.2) * HEADROOM]}
    return Figure(name, title, hint, traces, layout, absent=None if traces else NO_AIR, half=True)


def sniffer(run: ReportRun) -> Figure:
    """Transmissions per packet, as the sniffer counted them, beside the truth."""
    panels = [(flow, truth, seen) for flow in run.flows
              if (truth := plot_data.transmission_shares(run, flow, "link")) is not None
              and (seen := plot_data.transmission_shares(run, flow, "sniffer")) is not None]  # fmt: skip
    title = "What the sniffer saw beside the truth"
    hint = (
        "A sniffer misses frames, so it counts too few transmissions per packet: the gap between the bars is the error "
        "of a study that relies on one."
    )
    if not panels:
        return Figure("sniffer", title, hint, absent="there was no sniffer")
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    layout = base_layout("", barmode="group", height=80 + 190 * rows, margin={"t": 70},
                         legend={"yref": "container", "y": 1, "yanchor": "top"})  # fmt: skip
    layout["grid"] = {"rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.35, "xgap": 0.14}
    layout["annotations"] = []
    traces: list[Trace] = []
    for index, (flow, truth, seen) in enumerate(panels):
        number = "" if index == 0 else str(index + 1)
        for what, shares, look in (("on the link", truth, ""), ("sniffed", seen, "/")):
            traces.append(
                {
                    "type": "bar", "name": what, "legendgroup": what, "showlegend": index == 0,
                    "x": ["1", "2", "3", "4", "5+"], "y": rounded([100 * share for share in shares]),
                    "xaxis": f"x{number}", "yaxis": f"y{number}", "hovertemplate": "%{y:.1f} %",
                    "marker": {"color": flow.look.colour, "opacity": 1 if not look else 0.55,
                               "pattern": {"shape": look, "fillmode": "overlay", "size": 5}},
                }
            )  # fmt: skip
        layout[f"xaxis{number}"] = {"type": "category", "gridcolor": "#e6eaed", "tickfont": {"size": 10}}
        layout[f"yaxis{number}"] = {"gridcolor": "#e6eaed", "range": [0, 100], "tickfont": {"size": 10},
                                    "title": {"text": "%" if index % columns == 0 else ""}}  # fmt: skip
        layout["annotations"].append(
            {"text": label(flow), "xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0.5, "y": 1.02,
             "yanchor": "bottom", "showarrow": False, "font": {"size": 12}}
        )  # fmt: skip
    return Figure("sniffer", title, hint, traces, layout)


def congestion_window(run: ReportRun) -> Figure:
    """TCP's congestion window."""
    hint = "A window that falls and climbs again met losses; one that grows without end fills a queue."
    return flow_state(run, "cwnd", "Congestion window", hint, "cwnd_packets", 1, "packets")


def unsent_bytes(run: ReportRun) -> Figure:
    """Bytes in the socket that the network has not got yet."""
    hint = "Bytes here can no longer be dropped by choice: I-frame delay keeps them few, plain TCP lets them pile up."
    return flow_state(run, "unsent", "Waiting in the socket, not yet sent", hint, "unsent_bytes", 1000, "kB")


def flow_state(run: ReportRun, name: str, title: str, hint: str, column: str, divisor: float, unit: str) -> Figure:
    """A column of the flows table as lines."""
    traces: list[Trace] = []
    until = 0.0
    if column in run.states.columns:
        for flow in run.flows:
            rows = plot_data.samples(run, flow).drop_nulls(column).sort("at_ns")
            if flow.is_bulk and rows.height:  # several connections count together
                rows = rows.group_by("at_ns", maintain_order=True).agg(pl.col(column).sum())
            if rows.height:
                until = max(until, float(rows["at_ns"][-1]) / 1e9)
                x, y = (rows["at_ns"] / 1e9).to_list(), (rows[column] / divisor).to_list()
                traces.append(samples(flow, x, y, 1.3, hovertemplate="%{y:.4g} " + plain(unit)))
    layout = time_layout(run, unit, until_s=until)
    return Figure(name, title, hint, traces, layout, absent=None if traces else "no flow has it", half=True)


def release_errors(run: ReportRun) -> Figure:
    """Distribution of release errors, as the share of packets released later than x."""
    traces: list[Trace] = []
    steps = np.concatenate([np.linspace(0, 0.9, 60), 1 - np.logspace(-1, -4, 50)])
    for flow in run.flows:
        errors = plot_data.release_errors_us(run, flow)
        if errors is not None:
            x = np.quantile(errors, steps)
            traces.append(line(flow, [max(0.1, float(value)) for value in x], [100 * (1 - float(q)) for q in steps],
                               hovertemplate="%{y:.3g} % later than %{x:.0f} us"))  # fmt: skip
    layout = base_layout(
        "% of packets released later",
        xaxis={"title": {"text": "release error (us)"}} | LOG,
        yaxis=LOG | {"range": [-2, 2]},
    )
    hint = "How late the emulated network handed packets over; what stays far below a frame's time did not matter."
    absent = None if traces else "no release was recorded"
    return Figure("release-errors", "Release errors of the emulated network", hint, traces, layout, absent=absent)
