"""V(t), C(t), U(t) and rates of a ladder and its plan, as figures 9 to 14 of the paper show them."""

from __future__ import annotations

import html
import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from framewire import _native
from framewire.report.figures.base import FONT, Figure, Trace, base_layout, rounded, thinned

__all__ = ["figures", "write_page"]

_BLUE, _RED, _GREEN, _GREY, _PURPLE = "#0072B2", "#D55E00", "#009E73", "#7f8c8d", "#AA4499"
_LEVEL_COLOURS = ("#56B4E9", "#009E73", "#D55E00", "#332288", "#AA4499", "#999933", "#117733", "#882255")
_MEGA = 1e6


def figures(description: dict[str, Any]) -> list[Figure]:
    """The figures of a ladder as ``make`` describes it; the curves are those of the top level."""
    level = description["levels"][-1]
    sizes, rate = level["sizes"], tuple(description["frame_rate"])
    plan = description["plan"]
    startup, top = float(plan["startup_s"]), plan["levels"][-1]
    constant = _plan(sizes, rate, segments=1, startup_s=startup)
    smooth = _plan(sizes, rate, buffer=top["client_buffer_bytes"], startup_s=startup)
    fewest = _plan(sizes, rate, buffer=top["client_buffer_bytes"], startup_s=startup, fewest_changes=True)
    played = _Consumption(sizes, rate, startup)
    pairs = [
        ("9", "Sent at the mean rate", constant["base_steps"], constant["base_end_s"], constant["base_occupancy"]),
        ("10", "Sent in segments", top["base_steps"], top["base_end_s"], top["base_occupancy"]),
        ("12", "Sent as planned", top["steps"], top["end_s"], top["occupancy"]),
    ]
    drawn: list[Figure] = []
    for number, title, steps, end, occupancy in pairs:
        drawn += _curves(number, title, played, _Sent(steps, end), occupancy)
    drawn.append(_corridor(played, _Sent(top["steps"], top["end_s"]), top["client_buffer_bytes"]))
    drawn.append(_sources(description))
    drawn.append(_profiles(description))
    drawn.append(_compared(top, smooth, fewest))
    return drawn


def _plan(sizes: Sequence[int], rate: tuple[int, int], **settings: Any) -> dict[str, Any]:
    planned = json.loads(_native.plan_levels([list(sizes)], rate, _native.PlanSettings(**settings)))
    return dict(planned["levels"][0])


class _Consumption:
    """V(t): frame i is taken at the start-up time plus i periods."""

    def __init__(self, sizes: Sequence[int], rate: tuple[int, int], startup: float) -> None:
        period = rate[1] / rate[0]
        self.times = [startup + period * frame for frame in range(len(sizes))]
        self.before = [0, *accumulate(sizes)]

    def curve(self, more: float = 0.0) -> tuple[list[float], list[float]]:
        """Times and bytes, each frame as a step."""
        times = [0.0, *(time for time in self.times for _ in range(2))]
        levels = [0, *(self.before[frame + after] for frame in range(len(self.times)) for after in (0, 1))]
        return times, [level + more for level in levels]


class _Sent:
    """C(t), from its steps: start, bytes by then, bit/s."""

    def __init__(self, steps: Sequence[Sequence[float]], end: float) -> None:
        self.starts = [step[0] for step in steps]
        self._steps, self.end = steps, end

    def at(self, time: float) -> float:
        """Bytes sent by a time."""
        start, sent, rate = self._steps[max(bisect_right(self.starts, time) - 1, 0)]
        return float(sent) + float(rate) / 8 * (min(time, self.end) - float(start))

    def curve(self, until: float) -> tuple[list[float], list[float]]:
        """Its corners."""
        times = [*self.starts, self.end, *([until] if until > self.end else [])]
        return times, [self.at(time) for time in times]


def _line(name: str, x: Sequence[float], y: Sequence[float], colour: str, **more: Any) -> Trace:
    kept_x, kept_y = thinned(list(x), list(y))
    trace: Trace = {"type": "scatter", "mode": "lines", "name": name, "x": rounded(kept_x, 6), "y": rounded(kept_y, 5)}
    return trace | {"line": {"color": colour, "width": 1.6, **more}}


def _layout(unit: str, **more: Any) -> dict[str, Any]:
    return base_layout(unit, xaxis={"title": {"text": "time (s)"}}, hovermode="x unified", **more)


def _curves(number: str, title: str, played: _Consumption, sent: _Sent, held: dict[str, Any]) -> list[Figure]:
    """C(t) and V(t), and U(t) below."""
    until = played.times[-1]
    times, bytes_played = played.curve()
    sent_times, bytes_sent = sent.curve(until)
    both = [
        _line("C(t), sent", sent_times, [value / _MEGA for value in bytes_sent], _BLUE),
        _line("V(t), played", times, [value / _MEGA for value in bytes_played], _RED),
    ]
    left = [(sent.at(time) - bytes_) / _MEGA for time, bytes_ in zip(times, bytes_played, strict=True)]
    least, most = held["least_bytes"] / 1e3, held["most_bytes"] / 1e3
    late = held["first_underflow_s"]
    told = f"From {least:,.1f} kB (at {held['least_at_s']:.1f} s) to {most:,.1f} kB (at {held['most_at_s']:.1f} s); "
    told += "no frame is late." if late is None else f"the first late frame is at {late:.1f} s."
    return [
        Figure(f"figure-{number}", f"{title} (figure {number})", "", both, _layout("MB")),
        Figure(
            f"figure-{number}-u", "U(t) = C(t) - V(t)", told, [_line("U(t)", times, left, _GREEN)],
            _layout("MB", yaxis={"rangemode": "normal"}),
        ),
    ]  # fmt: skip


def _corridor(played: _Consumption, sent: _Sent, buffer: int) -> Figure:
    times, least = played.curve()
    sent_times, bytes_sent = sent.curve(played.times[-1])
    total = played.before[-1]
    traces = [
        _line("V(t) + b_min", times, [min(value + buffer, total) / _MEGA for value in least], _GREY, dash="dot"),
        _line("C(t)", sent_times, [value / _MEGA for value in bytes_sent], _BLUE),
        _line("V(t)", times, [value / _MEGA for value in least], _RED),
    ]
    hint = f"A plan that stays in between is never late and never overflows. b_min is {buffer / 1e3:,.0f} kB."
    return Figure("figure-11", "Between underflow and overflow (figure 11)", hint, traces, _layout("MB"))


def _sources(description: dict[str, Any]) -> Figure:
    numerator, denominator = description["frame_rate"]
    window = max(1, round(numerator / denominator))
    traces = []
    for number, level in reversed(list(enumerate(description["levels"]))):
        sizes = level["sizes"]
        starts = range(0, len(sizes) - window + 1, window)
        rates = [sum(sizes[start : start + window]) * 8e-3 * numerator / denominator / window for start in starts]
        times = [start * denominator / numerator for start in starts]
        name = f"level {number}" + (f" ({level['quality']})" if "quality" in level else "")
        traces.append(_line(name, times, rates, _LEVEL_COLOURS[number % len(_LEVEL_COLOURS)]))
    return Figure("figure-13", "Rate of the video, by second (figures 13 and 14, left)", "", traces, _layout("kbit/s"))


def _profiles(description: dict[str, Any]) -> Figure:
    traces = []
    for number, level in reversed(list(enumerate(description["plan"]["levels"]))):
        colour = _LEVEL_COLOURS[number % len(_LEVEL_COLOURS)]
        traces.append(_rates(f"level {number}", level["steps"], level["end_s"], colour))
    return Figure("figure-13-plan", "Rates of the plan (figures 13 and 14, right)", "", traces, _layout("kbit/s"))


def _rates(name: str, steps: Sequence[Sequence[float]], end: float, colour: str) -> Trace:
    times = [*(step[0] for step in steps), end]
    rates = [step[2] / 1e3 for step in steps]
    return _line(name, times, [*rates, rates[-1]], colour, shape="hv")


def _compared(plan: dict[str, Any], smooth: dict[str, Any], fewest: dict[str, Any]) -> Figure:
    every = (
        ("as planned", plan, _BLUE),
        ("as smooth as its buffer allows", smooth, _RED),
        ("with the fewest changes of rate", fewest, _PURPLE),
    )
    traces = [_rates(name, one["steps"], one["end_s"], colour) for name, one, colour in every]
    told = [f"{name} {_count(one)} of at most {one['peak_bps'] / 1e3:,.0f} kbit/s" for name, one, _ in every]
    hint = f"With the {plan['client_buffer_bytes'] / 1e3:,.0f} kB of buffer that the plan needs: {'; '.join(told)}."
    title = "The plan and the best ones with its buffer (not in the paper)"
    return Figure("smoothed", title, hint, traces, _layout("kbit/s"))


def _count(plan: dict[str, Any]) -> str:
    rates = len(plan["steps"])
    return f"{rates} rate{'s' if rates > 1 else ''}"


def write_page(description: dict[str, Any], out: Path) -> Path:
    """One HTML file with all figures; it needs no network."""
    import plotly.offline  # slow to import

    title = html.escape(f"Ladder {description['name']}")
    parts = []
    for figure in figures(description):
        data, layout = (json.dumps(part).replace("</", "<\\/") for part in (figure.data, figure.layout))
        parts.append(
            f"<h2>{html.escape(figure.title)}</h2><p>{html.escape(figure.hint)}</p><div id='{figure.name}'></div>"
            f"<script>Plotly.newPlot('{figure.name}', {data}, {layout}, {{responsive: true}})</script>"
        )
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>body {{ font-family: {FONT}; max-width: 1000px; margin: 2em auto; color: #22272b }}</style>"
        f"<script>{plotly.offline.get_plotlyjs()}</script></head><body><h1>{title}</h1>{''.join(parts)}</body></html>"
    )
    out.write_text(page, encoding="utf-8")
    return out
