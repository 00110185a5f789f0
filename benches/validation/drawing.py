"""Small pictures as SVG text: curves over one another, and a scatter of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

INK, PALE, FIRST, SECOND = "#333333", "#d8d8d8", "#7f7f7f", "#c8321e"
FONT = 'font-family="sans-serif" font-size="11"'

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """Two curves over one another."""

    title: str
    kernel: Curve
    simulated: Curve


def curves(panels: Sequence[Panel], columns: int, y_label: str) -> str:
    """Panels in a grid, each with axes of its own; grey the kernel, red the simulation."""
    width, height, left, top = 330, 190, 44, 26
    rows = math.ceil(len(panels) / columns)
    parts = []
    for number, panel in enumerate(panels):
        x0, y0 = (number % columns) * width, (number // columns) * height
        plot = (x0 + left, y0 + top, width - left - 10, height - top - 30)
        parts.append(_panel(panel, plot))
    legend = (
        f'<text x="{left}" y="{rows * height + 14}" {FONT} fill="{FIRST}">grey: this kernel</text>'
        f'<text x="{left + 110}" y="{rows * height + 14}" {FONT} fill="{SECOND}">red: simulated</text>'
        f'<text x="{left + 210}" y="{rows * height + 14}" {FONT} fill="{INK}">{escape(y_label)}</text>'
    )
    return _document(columns * width, rows * height + 22, [*parts, legend])


def _panel(panel: Panel, plot: tuple[float, float, float, float]) -> str:
    x0, y0, width, height = plot
    points = [*panel.kernel, *panel.simulated]
    right = max((x for x, _ in points), default=1.0)
    top = max((y for _, y in points), default=1.0) * 1.05 or 1.0

    def path(curve: Curve, color: str) -> str:
        steps = " ".join(f"{x0 + width * x / right:.1f},{y0 + height * (1 - y / top):.1f}" for x, y in thinned(curve))
        return f'<polyline points="{steps}" fill="none" stroke="{color}" stroke-width="1.2"/>'

    step = _step(top)
    ticks = [number * step for number in range(int(top / step) + 1)]
    grid = "".join(
        f'<line x1="{x0}" x2="{x0 + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="{PALE}"/>'
        f'<text x="{x0 - 5}" y="{y + 4:.1f}" {FONT} fill="{INK}" text-anchor="end">{tick:g}</text>'
        for tick in ticks
        for y in [y0 + height * (1 - tick / top)]
    )
    times = "".join(
        f'<text x="{x0 + width * second / right:.1f}" y="{y0 + height + 14}" {FONT} fill="{INK}" '
        f'text-anchor="middle">{second:g} s</text>'
        for second in range(0, int(right) + 1, 10)
    )
    title = f'<text x="{x0}" y="{y0 - 8}" {FONT} font-weight="bold" fill="{INK}">{escape(panel.title)}</text>'
    return grid + times + title + path(panel.kernel, FIRST) + path(panel.simulated, SECOND)


def scatter(groups: Sequence[tuple[str, Sequence[tuple[float, float]]]], bounds: tuple[float, float], label: str) -> str:
    """Pairs on logarithmic axes, a panel per group, with the diagonal and lines at these shares off it."""
    width, height, left, top = 330, 320, 44, 26
    parts = []
    for number, (title, pairs) in enumerate(groups):
        x0, y0, side = number * width + left, top, height - top - 40
        values = [value for pair in pairs for value in pair if value > 0]
        low, high = math.log10(min(values) / 1.3), math.log10(max(values) * 1.3)

        def at(value: float, low: float = low, high: float = high) -> float:
            return (math.log10(max(value, 10**low)) - low) / (high - low)

        def line(
            share: float, dash: str, x0: float = x0, low: float = low, high: float = high, at=at  # noqa: ANN001
        ) -> str:
            ends = [(at(x), at(x * (1 + share))) for x in (10**low, 10**high)]
            (xa, ya), (xb, yb) = [(x0 + side * x, top + side * (1 - y)) for x, y in ends]
            return f'<line x1="{xa:.1f}" y1="{ya:.1f}" x2="{xb:.1f}" y2="{yb:.1f}" stroke="{FIRST}" {dash}/>'

        dots = "".join(
            f'<circle cx="{x0 + side * at(kernel):.1f}" cy="{y0 + side * (1 - at(simulated)):.1f}" r="2.5" '
            f'fill="{SECOND}" fill-opacity="0.6"/>'
            for kernel, simulated in pairs
        )
        ticks = "".join(
            f'<text x="{x0 + side * at(tick):.1f}" y="{y0 + side + 14}" {FONT} fill="{INK}" '
            f'text-anchor="middle">{tick:g}</text>'
            f'<text x="{x0 - 5}" y="{y0 + side * (1 - at(tick)) + 4:.1f}" {FONT} fill="{INK}" '
            f'text-anchor="end">{tick:g}</text>'
            for tick in (0.5, 1, 2, 5, 10, 20)
            if low <= math.log10(tick) <= high
        )
        frame = f'<rect x="{x0}" y="{y0}" width="{side}" height="{side}" fill="none" stroke="{PALE}"/>'
        dashed = 'stroke-dasharray="4 4"'
        lines = line(0.0, "") + line(bounds[number], dashed) + line(-bounds[number], dashed)
        head = f'<text x="{x0}" y="{y0 - 8}" {FONT} font-weight="bold" fill="{INK}">{escape(title)}</text>'
        parts.append(frame + lines + ticks + head + dots)
    foot = f'<text x="{left}" y="{height - 6}" {FONT} fill="{INK}">{escape(label)}</text>'
    return _document(len(groups) * width, height, [*parts, foot])


def thinned(curve: Curve) -> list[tuple[float, float]]:
    """Without the points inside a level stretch.

    >>> thinned([(0, 1), (1, 1), (2, 1), (3, 2)])
    [(0, 1), (2, 1), (3, 2)]
    """
    return [
        point
        for number, point in enumerate(curve)
        if number in (0, len(curve) - 1) or not curve[number - 1][1] == point[1] == curve[number + 1][1]
    ]


def _step(top: float) -> float:
    """A round step that gives at most five lines."""
    power = 10.0 ** math.floor(math.log10(top / 5))
    return next(step * power for step in (1, 2, 5, 10) if top / (step * power) <= 5)


def _document(width: float, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
