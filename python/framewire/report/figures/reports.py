"""What receivers report by RTCP, beside what was so."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from framewire.report import plot_data
from framewire.report.data import Flow, ReportRun
from framewire.report.figures.base import Figure, Trace, label, plain, samples, time_layout

NO_REPORT = "no report of a receiver came"


def loss(run: ReportRun) -> Figure:
    """Packets lost from report to report."""
    hint = (
        "A report says what was lost since the one before it, rounded down to 1/256: it lies up to 0.4 % below what "
        "was so, and lower where packets were lost before the receiver took the stream for valid."
    )
    columns = ("fraction_lost", "true_fraction_lost")
    return beside(run, "rtcp-loss", "Packets lost, as reported", hint, columns, 100, "%")


def round_trip(run: ReportRun) -> Figure:
    """The round trip as the sender takes it from reports."""
    hint = "How long reports were under way, to the receiver and back: a queue shows here, every five seconds."
    columns = ("round_trip_ns", "true_round_trip_ns")
    return beside(run, "rtcp-round-trip", "Round trip, as reported", hint, columns, 1e-6, "ms")


def jitter(run: ReportRun) -> Figure:
    """Jitter of packets as reported, beside that of frames."""
    hint = (
        "Reports count packets, which of one frame come one after the other with the same time stamp; the ledger "
        "counts frames, dotted. Both use the estimator of RFC 3550."
    )
    traces: list[Trace] = []
    for flow in run.flows:
        rows = of_receiver(run, flow, "jitter_ns")
        if rows.height:
            traces.append(reported(flow, rows, "jitter_ns", 1e-6, "ms"))
            frames = plot_data.delays(run, flow).drop_nulls("jitter_ms")
            seconds = frames.group_by(second=pl.col("arrival_s").floor()).agg(pl.col("jitter_ms").mean()).sort("second")
            x, y = (seconds["second"] + 0.5).to_list(), seconds["jitter_ms"].to_list()
            traces.append(truth(flow, x, y, "of frames", "ms"))
    return drawn(run, "rtcp-jitter", "Jitter, as reported", hint, traces, "ms")


def beside(
    run: ReportRun, name: str, title: str, hint: str, columns: tuple[str, str], factor: float, unit: str
) -> Figure:
    """A column as reported, and that of what was so, both times the factor."""
    said, so = columns
    traces: list[Trace] = []
    for flow in run.flows:
        rows = of_receiver(run, flow, said)
        if rows.height:
            traces.append(reported(flow, rows, said, factor, unit))
            known = rows.drop_nulls(so)
            x, y = (known["sent_ns"] / 1e9).to_list(), (known[so] * factor).to_list()
            traces.append(truth(flow, x, y, "in truth", unit))
    return drawn(run, name, title, hint, traces, unit)


def drawn(run: ReportRun, name: str, title: str, hint: str, traces: list[Trace], unit: str) -> Figure:
    """The figure of these lines over the time of the run."""
    absent = None if traces else NO_REPORT
    return Figure(name, title, hint, traces, time_layout(run, unit), absent=absent, half=True)


def of_receiver(run: ReportRun, flow: Flow, column: str) -> pl.DataFrame:
    """The reports about the picture of the flow's receiver that came and say this."""
    if not {column, "sent_ns", "arrived_ns"} <= set(run.reports.columns):
        return pl.DataFrame()
    is_of_picture = pl.col("track") == 0 if "track" in run.reports.columns else pl.lit(True)
    of_flow = (pl.col("flow") == flow.name) & (pl.col("from") == "receiver") & pl.col("arrived_ns").is_not_null()
    return run.reports.filter(of_flow & is_of_picture).drop_nulls(column)


def reported(flow: Flow, rows: pl.DataFrame, column: str, factor: float, unit: str) -> Trace:
    """What was reported, when it was sent; where the receiver alone knows that, when it came."""
    at = rows.select(pl.coalesce("sent_ns", "arrived_ns") / 1e9).to_series()
    x, y = at.to_list(), (rows[column] * factor).to_list()
    return samples(flow, x, y, usual=_usual(x), hovertemplate="%{y:.4g} " + plain(unit))


def _usual(x: list[float]) -> float:
    """Twice the median, as times between reports are drawn from half to one and a half of one (RFC 3550, 6.3.1)."""
    return 2 * float(np.median(np.diff(x))) if len(x) > 1 else 1.0


def truth(flow: Flow, x: list[float], y: list[float], what: str, unit: str) -> Trace:
    """What was so: thin and dotted."""
    named: dict[str, Any] = {"name": f"{label(flow)}, {what}", "hovertemplate": "%{y:.4g} " + plain(unit)}
    trace = samples(flow, x, y, 1.2, usual=_usual(x), **named)
    return trace | {"mode": "lines", "line": trace["line"] | {"dash": "dot"}}
