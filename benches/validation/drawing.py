"""Small pictures as SVG text: curves over one another, and errors over values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

INK, PALE, FIRST, SECOND = "#333333", "#d8d8d8", "#a8a8a8", "#c8321e"
FONT = 'font-family="sans-serif" font-size="11"'
DASHED = 'stroke-dasharray="4 4"'

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
        plot = (x0 + left, y0 + top, width - left - 20, height - top - 30)
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

    def path(curve: Curve, color: str, width_of_line: float) -> str:
        steps = " ".join(f"{x0 + width * x / right:.1f},{y0 + height * (1 - y / top):.1f}" for x, y in thinned(curve))
        return f'<polyline points="{steps}" fill="none" stroke="{color}" stroke-width="{width_of_line}"/>'

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
    return grid + times + title + path(panel.kernel, FIRST, 3) + path(panel.simulated, SECOND, 1)


@dataclass(frozen=True)
class ErrorPanel:
    """Relative errors over what was measured, with a bound on both sides."""

    title: str
    errors: Sequence[tuple[float, float]]
    """Measured value and error as a share."""
    bound: float

    def draw(self, x0: float, y0: float, width: float, height: float) -> str:
        """The panel at a place: the values on a logarithmic axis, the errors on a linear one."""
        low = math.log10(min(value for value, _ in self.errors) / 1.2)
        high = math.log10(max(value for value, _ in self.errors) * 1.2)
        reach = 1.15 * max(self.bound, *(abs(error) for _, error in self.errors))

        def x(value: float) -> float:
            return x0 + width * (math.log10(value) - low) / (high - low)

        def y(error: float) -> float:
            return y0 + height * (0.5 - 0.5 * error / reach)

        levels = (
            f'<line x1="{x0}" x2="{x0 + width}" y1="{y(level):.1f}" y2="{y(level):.1f}" stroke="{FIRST}" {dash}/>'
            f'<text x="{x0 - 5}" y="{y(level) + 4:.1f}" {FONT} fill="{INK}" text-anchor="end">{100 * level:+g} %</text>'
            for level, dash in ((0.0, ""), (self.bound, DASHED), (-self.bound, DASHED))
        )
        ticks = (
            f'<text x="{x(tick):.1f}" y="{y0 + height + 14}" {FONT} fill="{INK}" text-anchor="middle">{tick:g}</text>'
            for tick in (0.5, 1, 2, 5, 10, 20)
            if low <= math.log10(tick) <= high
        )
        dots = (
            f'<circle cx="{x(value):.1f}" cy="{y(error):.1f}" r="2.5" fill="{SECOND}" fill-opacity="0.6"/>'
            for value, error in self.errors
        )
        frame = f'<rect x="{x0}" y="{y0}" width="{width}" height="{height}" fill="none" stroke="{PALE}"/>'
        head = f'<text x="{x0}" y="{y0 - 8}" {FONT} font-weight="bold" fill="{INK}">{escape(self.title)}</text>'
        return "".join([frame, *levels, *ticks, head, *dots])


def errors(panels: Sequence[ErrorPanel], label: str) -> str:
    """Panels side by side, and what their axes are."""
    width, height, left, top = 330, 240, 50, 26
    parts = [
        panel.draw(number * width + left, top, width - left - 10, height - top - 44)
        for number, panel in enumerate(panels)
    ]
    foot = f'<text x="{left}" y="{height - 6}" {FONT} fill="{INK}">{escape(label)}</text>'
    return _document(len(panels) * width, height, [*parts, foot])


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
