"""What all figures share: axes in seconds of the run, shaded interference, one line style per flow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from framewire.report.data import Flow, ReportRun
from framewire.report.palette import INTERFERENCE_FILL

Trace = dict[str, Any]
Layout = dict[str, Any]
Number = float | int | None

LOG: Layout = {"type": "log", "tickformat": "~g"}
"""Of an axis: without a format the numbers between powers of ten have one digit, 2 for 20."""
ROOM_DECADES = (0.9, 4.0)
"""Where 1, 2 and 5 of each power of ten are the numbers of a logarithmic axis: within less there may be none of them,
and over more they stand too close. Left to itself it has all digits there, of which 8, 9 and 10 overlap."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LEGEND_LINE_PX = 18
MOST_LEGEND_LINES = 5
HEADROOM = 1.12
"""Room above a curve of known range, so that the word for the interference stands free."""
MOST_MARKERS = 8
"""Markers on one line: they name it, and are no points of measurement."""
LEAST_GAP = 1 / 200
"""Of a line's length: shorter gaps cannot be seen, and where most frames are missing a line would be dust."""
MOST_POINTS = 1500
"""Points of one line: what a screen can show. More are thinned to the extremes of equal parts."""


@dataclass(frozen=True)
class Figure:
    """One interactive plot and how to read it; `absent` says why there is nothing to draw."""

    name: str
    title: str
    hint: str
    data: list[Trace] = field(default_factory=list)
    layout: Layout = field(default_factory=dict)
    absent: str | None = None
    half: bool = False
    """Fits beside another one."""

    @property
    def height(self) -> int:
        """In CSS pixels."""
        return int(self.layout.get("height", 320))


def time_layout(run: ReportRun, unit: str, *, until_s: float | None = None, **more: Any) -> Layout:
    """Layout of a figure over the time of the run."""
    until = max(run.movie_seconds, until_s or 0.0) or 1.0
    shapes = [
        {
            "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
            "fillcolor": INTERFERENCE_FILL, "line": {"width": 0}, "layer": "below",
        }
        for start, end in run.interference
    ]  # fmt: skip
    notes = [
        {
            "xref": "x", "yref": "paper", "x": (start + end) / 2, "y": 1, "yanchor": "top", "text": "interference",
            "showarrow": False, "font": {"size": 11, "color": "#7a6a00"},
        }
        for start, end in run.interference
    ]  # fmt: skip
    xaxis = {"title": {"text": "time in the run (s)"}, "range": [0, until * 1.005]}
    return base_layout(unit, xaxis=xaxis, shapes=shapes, annotations=notes, hovermode="x unified") | more


def log_scale(traces: Sequence[Trace], axis: str = "y") -> Layout:
    """A logarithmic axis for these traces, with as many numbers as there is room for.

    >>> log_scale([{"y": [0.5, 20.0]}]), log_scale([{"y": [6.0, None, 21.0]}])
    ({'type': 'log', 'tickformat': '~g', 'dtick': 'D2'}, {'type': 'log', 'tickformat': '~g'})
    """
    values = [value for trace in traces for value in trace[axis] if value is not None and value > 0]
    decades = math.log10(max(values) / min(values)) if values else 0.0
    return LOG | ({"dtick": "D2"} if ROOM_DECADES[0] <= decades <= ROOM_DECADES[1] else {})


def cut_to_live_streams(run: ReportRun, figure: Figure) -> Figure:
    """The axis of a figure of latencies (ms) as live streams need it, where files that were fetched are far below.

    Their frames come seconds ahead of their time, beside which everything else would be one line at 0.
    """
    fetched = {label(flow) for flow in run.streams if flow.fetches_file}
    live: list[float] = []
    ahead: list[float] = []
    for trace in figure.data:
        of_its_kind = ahead if trace["name"] in fetched else live
        of_its_kind.extend(value for value in trace["y"] if value is not None)
    if not live or not ahead or figure.layout["yaxis"].get("type") == "log":
        return figure
    low, high = min(0.0, *live), max(live)
    if min(ahead) >= low - (high - low):
        return figure
    room = (HEADROOM - 1) * (high - low)
    yaxis = figure.layout["yaxis"] | {"range": [low - room, high + room]}
    hint = (
        f"{figure.hint} Files that are fetched (http) come up to {-min(ahead) / 1000:.1f} s ahead, below what is drawn."
    )
    return replace(figure, layout=figure.layout | {"yaxis": yaxis}, hint=hint)


def base_layout(unit: str, **more: Any) -> Layout:
    """Layout that all figures start from."""
    layout: Layout = {
        "height": 320,
        "margin": {"l": 62, "r": 14, "t": 34, "b": 46},
        "font": {"family": FONT, "size": 12, "color": "#22272b"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "#ffffff",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}},
        "xaxis": {},
        "yaxis": {"title": {"text": unit}, "rangemode": "tozero"},
        "colorway": ["#22272b"],
        "modebar": {"bgcolor": "rgba(255,255,255,0)", "color": "#b8c1c7", "activecolor": "#0072b2"},
    }
    for key, value in more.items():
        merged = {**layout[key], **value} if isinstance(layout.get(key), dict) and isinstance(value, dict) else value
        layout[key] = merged
    for axis in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        layout[axis] = {"gridcolor": "#e6eaed", "zerolinecolor": "#c9d1d6", "linecolor": "#9aa5ac",
                        "automargin": True, **layout[axis]}  # fmt: skip
    return layout


def legend_lines(figure: Figure, *, half: bool) -> int:
    """Lines that the legend takes: its columns are all as wide as the longest name."""
    names = [str(trace.get("name", "")) for trace in figure.data if trace.get("showlegend", True)]
    if not names or not figure.layout.get("showlegend", True):
        return 0
    columns = max(1, (460 if half else 1050) // (50 + 7 * max(map(len, names))))
    return -(-len(names) // columns)


def arranged(figures: list[Figure]) -> list[Figure]:
    """Gives legends their room: figures become higher, and stand alone where half the width is too little."""
    cramped = any(figure.half and legend_lines(figure, half=True) > MOST_LEGEND_LINES for figure in figures)
    placed = [replace(figure, half=figure.half and not cramped) for figure in figures]
    for figure in placed:
        more = legend_lines(figure, half=figure.half) - 1
        if more > 0:
            figure.layout["height"] += LEGEND_LINE_PX * more
            figure.layout["margin"]["t"] += LEGEND_LINE_PX * more
    return placed


def line(flow: Flow, x: Sequence[Number], y: Sequence[Number], width: float = 1.8, **more: Any) -> Trace:
    """A line in the flow's colour and style, with some of its markers, so that it is recognised without colour too."""
    look = flow.look
    trace: Trace = {
        "type": "scatter", "mode": "lines+markers", "name": label(flow), "x": rounded(x), "y": rounded(y),
        "line": {"color": look.colour, "dash": look.dash, "width": width}, "connectgaps": False,
        "marker": {"symbol": look.marker, "color": look.colour, "size": 7, "maxdisplayed": MOST_MARKERS},
    }  # fmt: skip
    return trace | more


def samples(
    flow: Flow,
    x: Sequence[float],
    y: Sequence[float],
    width: float = 1.8,
    *,
    usual: float | None = None,
    most: int = MOST_POINTS,
    **more: Any,
) -> Trace:
    """A line through samples over time that is broken where none came for a while."""
    kept_x, kept_y = thinned(*broken(x, y, usual), most)
    return line(flow, rounded(kept_x, 6), kept_y, width, **more)


def broken(
    x: Sequence[float], y: Sequence[float], usual: float | None = None
) -> tuple[list[float], list[float | None]]:
    """A line with a gap wherever samples are further apart than half as much again as `usual` (the median, where it is
    not given), if that can be seen. A sample between two gaps is drawn as long as one counts.

    >>> broken([0, 1, 2, 5, 9, 10], [3, 4, 5, 6, 7, 8])
    ([0.0, 1.0, 2.0, 3.5, 4.5, 5.5, 7.0, 9.0, 10.0], [3, 4, 5, None, 6, 6, None, 7, 8])
    """
    if len(x) < 2:
        return list(x), list(y)
    apart = np.diff(np.asarray(x, dtype=np.float64))
    usual = float(np.median(apart)) if usual is None else usual
    gaps = {int(at) for at in np.flatnonzero(apart > max(1.5 * usual, LEAST_GAP * float(x[-1] - x[0])))}
    found: list[tuple[float, float | None]] = []
    for at, (place, value) in enumerate(zip(x, y, strict=True)):
        is_alone = at in gaps and (at - 1 in gaps or at == 0)
        is_alone = is_alone or (at == len(x) - 1 and at - 1 in gaps)
        found += [(place - usual / 2, value), (place + usual / 2, value)] if is_alone else [(float(place), value)]
        if at in gaps:
            found.append(((place + x[at + 1]) / 2, None))
    return [place for place, _ in found], [value for _, value in found]


def bars(flow: Flow, x: Sequence[Any], y: Sequence[Number], **more: Any) -> Trace:
    """Bars in the flow's colour and pattern."""
    marker: Trace = {"color": flow.look.colour}
    if flow.look.pattern:
        marker["pattern"] = {"shape": flow.look.pattern, "fillmode": "overlay", "size": flow.look.pattern_size}
    return {"type": "bar", "name": label(flow), "x": list(x), "y": rounded(y), "marker": marker} | more


def label(flow: Flow) -> str:
    """The flow's name as plotly shows it: plotly reads a few tags in texts, so they are made harmless."""
    return plain(flow.name)


def plain(text: str) -> str:
    """Text in which plotly finds no tags or entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rounded(values: Iterable[Number], digits: int = 4) -> list[Number]:
    """Significant digits that a plot can show, so that the file stays small; what is not finite becomes a gap."""
    return [significant(value, digits) for value in values]


def significant(value: Number, digits: int) -> Number:
    """One number, rounded."""
    if value is None or not math.isfinite(value):
        return None
    if value == 0 or isinstance(value, int):
        return value
    short = round(value, digits - 1 - math.floor(math.log10(abs(value))))
    return int(short) if short == int(short) and abs(short) < 1e15 else short


def thinned(x: Sequence[Number], y: Sequence[Number], most: int = MOST_POINTS) -> tuple[list[Number], list[Number]]:
    """At most about `most` points: of each part of a long line its least and its greatest value, and the first gap in
    it, in their order."""
    if len(x) <= most:
        return list(x), list(y)
    part = -(-2 * len(x) // most)
    kept: list[int] = []
    for start in range(0, len(x), part):
        indices = range(start, min(start + part, len(x)))
        known = [index for index in indices if y[index] is not None]
        chosen = {next((index for index in indices if y[index] is None), start)} if len(known) < len(indices) else set()
        if known:
            chosen |= {min(known, key=lambda index: y[index] or 0), max(known, key=lambda index: y[index] or 0)}
        kept += sorted(chosen)
    return [x[index] for index in kept], [y[index] for index in kept]
