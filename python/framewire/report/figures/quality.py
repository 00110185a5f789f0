"""PSNR with freeze: all flows together by the second, and each by itself frame by frame."""

from __future__ import annotations

import polars as pl

from framewire.psnr import CAP_DB
from framewire.report.data import Flow, ReportRun
from framewire.report.figures.base import HEADROOM, Figure, Trace, label, line, rounded, thinned, time_layout
from framewire.report.psnr import PsnrResult

LANE_PX = 74


def per_second(run: ReportRun, psnr: PsnrResult) -> Figure:
    """Mean of each second, so that the flows can be distinguished."""
    name, title = "psnr", "PSNR with freeze, mean of each second"
    sent = "that of the ladder's top level" if run.has_levels else "the one that was sent"
    hint = f"At {CAP_DB:g} dB every picture is {sent}; a deep dip is a second mostly frozen."
    if psnr.failure:
        return Figure(name, title, hint, absent=psnr.failure)
    traces: list[Trace] = []
    for flow in run.flows:
        rows = capped(run, flow, psnr)
        if rows.height:
            means = rows.group_by(pl.col("at_s").floor().alias("second")).agg(pl.col("db").mean()).sort("second")
            traces.append(line(flow, (means["second"] + 0.5).to_list(), means["db"].to_list(),
                               hovertemplate="%{y:.1f} dB"))  # fmt: skip
    layout = time_layout(run, "PSNR (dB)", height=340)
    layout["xaxis"] |= {"title": {"text": "time in the movie (s)"}, "range": [0, run.movie_seconds]}
    layout["yaxis"] |= {"range": [0, CAP_DB * HEADROOM]}
    return Figure(name, title, hint, traces, layout, absent=None if traces else "no received movie could be compared")


def per_frame(run: ReportRun, psnr: PsnrResult) -> Figure:
    """A lane for each flow with every frame."""
    name, title = "psnr-frames", "The same, frame by frame"
    hint = "Thin spikes down are single frames, hardly seen; a floor is a freeze, its depth how much had moved."
    flows = [flow for flow in run.flows if psnr.of(flow).height]
    if not flows:
        return Figure(name, title, hint, absent=psnr.failure or "no received movie could be compared")
    layout = time_layout(run, "", height=70 + LANE_PX * len(flows), hovermode="closest")
    spans = layout["shapes"]
    layout |= {"showlegend": False, "annotations": [], "shapes": []}
    layout["xaxis"] |= {"title": {"text": "time in the movie (s)"}, "range": [0, run.movie_seconds], "anchor": "free",
                        "position": 0}  # fmt: skip
    layout["margin"] |= {"t": 10, "l": 20}
    traces: list[Trace] = []
    for index, flow in enumerate(flows):
        number = "" if index == 0 else str(index + 1)
        rows = capped(run, flow, psnr)
        x, y = thinned(rows["at_s"].to_list(), rows["db"].to_list())
        traces.append(
            line(flow, rounded(x, 5), rounded(y, 3), mode="lines", yaxis=f"y{number}",
                 line={"color": flow.look.colour, "width": 1}, hovertemplate="%{x:.2f} s: %{y:.1f} dB")
        )  # fmt: skip
        top = 1 - index / len(flows)
        layout[f"yaxis{number}"] = {
            "domain": [top - 0.86 / len(flows), top], "range": [0, CAP_DB * 1.06], "tickvals": [0, 25, 50],
            "gridcolor": "#e6eaed", "zerolinecolor": "#9aa5ac", "tickfont": {"size": 10}, "automargin": True,
            "title": {"text": "dB", "font": {"size": 10}},
        }  # fmt: skip
        layout["annotations"].append(
            {"text": f"<b>{label(flow)}</b>", "xref": "paper", "x": 0.004, "yref": f"y{number}", "y": 3,
             "xanchor": "left", "yanchor": "bottom", "showarrow": False,
             "font": {"size": 12, "color": flow.look.colour}, "bgcolor": "rgba(255,255,255,0.75)"}
        )  # fmt: skip
        layout["shapes"] += [span | {"yref": f"y{number} domain"} for span in spans]
    return Figure(name, title, hint, traces, layout)


def capped(run: ReportRun, flow: Flow, psnr: PsnrResult) -> pl.DataFrame:
    """Columns `at_s` (time in the movie) and `db`."""
    return psnr.of(flow).select(
        (pl.col("display") / run.rate_of(flow)).alias("at_s"), pl.col("psnr_db").clip(upper_bound=CAP_DB).alias("db")
    )
