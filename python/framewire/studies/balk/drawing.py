"""What the figures of this study share: colours, lines, axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from framewire.report.figures.base import Figure, Trace, arranged, base_layout, rounded

__all__ = ["HYBRID", "LEVEL_COLOURS", "RIVAL", "SOFT", "TCP", "VTP", "Drawn", "line", "plot"]

VTP, TCP, RIVAL, SOFT = "#0072B2", "#56B4E9", "#D55E00", "#A9B2B8"
HYBRID = "#009E73"
LEVEL_COLOURS = ("#CC79A7", "#E69F00", "#009E73")
_HEIGHT = 290


@dataclass(frozen=True)
class Drawn:
    """A figure of the paper: one plot or more."""

    number: str
    title: str
    plots: tuple[Figure, ...]


def line(name: str, x: Iterable[float | None], y: Iterable[float | None], colour: str, **more: object) -> Trace:
    """A line without markers."""
    stroke = {"color": colour, "width": 1.6} | dict(more.pop("line", {}))  # type: ignore[call-overload]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": rounded(x),
        "y": rounded(y, 5),
        "line": stroke,
    } | more


def plot(
    name: str,
    title: str,
    hint: str,
    traces: Sequence[Trace],
    x: str,
    y: str,
    absent: str = "it was not measured in this run",
    **more: object,
) -> Figure:
    """A figure of these traces; without any it says that nothing was measured, or why."""
    if not traces:
        return Figure(name, title, hint, absent=absent, half=True)
    xaxis = {"title": {"text": x}} | dict(more.pop("xaxis", {}))  # type: ignore[call-overload]
    yaxis = {"title": {"text": y}, "rangemode": "tozero"} | dict(more.pop("yaxis", {}))  # type: ignore[call-overload]
    layout = base_layout(y, height=_HEIGHT, xaxis=xaxis, yaxis=yaxis, **more)
    return arranged([Figure(name, title, hint, list(traces), layout, half=True)])[0]
