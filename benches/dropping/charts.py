"""Bar charts as SVG: a panel per link, a group per movie, a bar per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

COLOURS = ("#9aa0a6", "#c58b4a", "#b0549a", "#d0a215", "#8fb7e0", "#4a8fd0", "#12467b", "#0a8a5f")
WIDTH, PANEL, TOP, LEFT, RIGHT, FOOT = 960, 150, 56, 58, 12, 26
GAP = 0.22
"""Of a group's width, between groups."""


@dataclass(frozen=True)
class Chart:
    """What is drawn; values by panel, group and bar, None where there is none."""

    title: str
    unit: str
    panels: Sequence[str]
    groups: Sequence[str]
    bars: Sequence[str]
    values: Mapping[tuple[str, str, str], float | None]
    logarithmic: bool = False
    """From 100 to 100,000 ms."""

    def height_of(self, value: float) -> float:
        """As a share of the panel."""
        if self.logarithmic:
            return min(max((log10(max(value, 1.0)) - 2) / 3, 0.0), 1.0)
        return min(max(value / 100, 0.0), 1.0)

    @property
    def ticks(self) -> Sequence[float]:
        """Where lines are drawn."""
        return (100, 1_000, 10_000, 100_000) if self.logarithmic else (0, 25, 50, 75, 100)


def svg(chart: Chart) -> str:
    """The whole picture."""
    height = TOP + len(chart.panels) * (PANEL + FOOT + 22)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{escape(chart.title)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" font-size="15" font-weight="bold">{escape(chart.title)}</text>',
        *_legend(chart),
    ]
    for number, panel in enumerate(chart.panels):
        parts.extend(_panel(chart, panel, TOP + number * (PANEL + FOOT + 22)))
    return "\n".join([*parts, "</svg>\n"])


def _legend(chart: Chart) -> list[str]:
    step = (WIDTH - LEFT - RIGHT) / len(chart.bars)
    parts = []
    for number, bar in enumerate(chart.bars):
        x = LEFT + number * step
        parts.append(f'<rect x="{x:.1f}" y="28" width="11" height="11" fill="{COLOURS[number]}"/>')
        parts.append(f'<text x="{x + 15:.1f}" y="38" font-size="11">{escape(bar)}</text>')
    return parts


def _panel(chart: Chart, panel: str, top: float) -> list[str]:
    base = top + 18 + PANEL
    parts = [f'<text x="{LEFT}" y="{top + 10}" font-weight="bold">{escape(panel)}</text>']
    for tick in chart.ticks:
        y = base - PANEL * chart.height_of(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        label = f"{tick / 1000:g} s" if chart.logarithmic else f"{tick:.0f} {chart.unit}"
        parts.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" font-size="10">{label}</text>')
    group_width = (WIDTH - LEFT - RIGHT) / len(chart.groups)
    bar_width = group_width * (1 - GAP) / len(chart.bars)
    for place, group in enumerate(chart.groups):
        left = LEFT + group_width * (place + GAP / 2)
        middle = LEFT + group_width * (place + 0.5)
        parts.append(f'<text x="{middle:.1f}" y="{base + 15:.1f}" text-anchor="middle">{escape(group)}</text>')
        for number, bar in enumerate(chart.bars):
            value = chart.values.get((panel, group, bar))
            if value is None:
                continue
            tall = max(PANEL * chart.height_of(value), 0.5)
            x = left + number * bar_width
            parts.append(
                f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{bar_width - 1:.1f}" height="{tall:.1f}" '
                f'fill="{COLOURS[number]}"><title>{escape(bar)}: {value:,.1f} {chart.unit}</title></rect>'
            )
    return parts
