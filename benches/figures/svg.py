"""Figures as SVG text: boxes, arrows, words and points, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Point = tuple[float, float]

STYLE = """\
<style>
svg { --paper: #ffffff; --ink: #1f2328; --pale: #59636e; --line: #8b949e; --grid: #d8dee4; --box: #f3f5f7;
  --part: #dcebfa; --loss: #b3261e; --ours: #0a7d55; --other: #b4650a; --third: #2f6fb2; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --pale: #9aa4af; --line: #768390;
  --grid: #30363d; --box: #1b222b; --part: #16324f; --loss: #ff8a80; --ours: #4fd1a0;
  --other: #f0a35e; --third: #79b8ff; } }
text { fill: var(--ink); font: 12px sans-serif; }
text.title { font: bold 14px sans-serif; } text.pale { fill: var(--pale); } text.loss { fill: var(--loss); }
text.small { font-size: 11px; } text.code { font: 11px monospace; } text.head { font-weight: bold; }
text.middle { text-anchor: middle; } text.end { text-anchor: end; }
.box { fill: var(--box); stroke: var(--line); } .part { fill: var(--part); stroke: var(--line); }
.frame { fill: none; stroke: var(--line); stroke-dasharray: 5 4; }
.line { fill: none; stroke: var(--pale); stroke-width: 1.5; } .grid { fill: none; stroke: var(--grid); }
.dash { fill: none; stroke: var(--pale); stroke-dasharray: 4 3; }
.lossline { fill: none; stroke: var(--loss); stroke-width: 1.5; }
.ours { fill: var(--ours); stroke: var(--ours); } .other { fill: var(--other); stroke: var(--other); }
.third { fill: var(--third); stroke: var(--third); } .curve { fill: none; stroke-width: 2; }
.hollow { fill: var(--paper); } .nofill { fill: none; }
</style>
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">\
<path d="M0 0 8 4 0 8z" style="fill: var(--pale)"/></marker>
<marker id="losstip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">\
<path d="M0 0 8 4 0 8z" style="fill: var(--loss)"/></marker>
</defs>"""


class Figure:
    """What is drawn, in the order in which it is drawn; lengths are pixels."""

    def __init__(self, title: str, width: float, height: float) -> None:
        self.title, self.width, self.height = title, width, height
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, *classes: str) -> None:
        """A line of text; y is its base line."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{" ".join(classes)}">{escape(text, quote=False)}</text>')

    def lines(self, x: float, y: float, lines: Sequence[str], *classes: str, step: float = 15) -> None:
        """Lines of text below one another."""
        for number, line in enumerate(lines):
            self.text(x, y + number * step, line, *classes)

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        """A box of one of the kinds in the style."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" class="{kind}"/>',
        )

    def box(
        self, x: float, y: float, width: float, height: float, head: str, lines: Sequence[str] = (), kind: str = "box"
    ) -> None:
        """A box with a heading, and text below it."""
        self.rectangle(x, y, width, height, kind)
        self.text(x + width / 2, y + 18, head, "head", "middle")
        self.lines(x + width / 2, y + 35, lines, "small", "middle", step=14)

    def line(self, points: Sequence[Point], kind: str = "line", marker: str = "") -> None:
        """Straight lines from point to point."""
        path = " ".join(f"{x:.4g},{y:.4g}" for x, y in points)
        end = f' marker-end="url(#{marker})"' if marker else ""
        self.parts.append(f'<polyline points="{path}" class="{kind}"{end}/>')

    def arrow(self, *points: Point, kind: str = "line") -> None:
        """Where something goes; of kind `lossline`, where it is lost."""
        self.line(points, kind, "losstip" if kind == "lossline" else "tip")

    def dot(self, x: float, y: float, kind: str, radius: float = 3.5) -> None:
        """A point of a series."""
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}"/>')

    def cross(self, x: float, y: float, kind: str, reach: float = 3.5) -> None:
        """A point of a series that differs from a dot also without colours."""
        low, high, left, right = y - reach, y + reach, x - reach, x + reach
        path = f"M{left:.1f} {low:.1f} {right:.1f} {high:.1f}M{left:.1f} {high:.1f} {right:.1f} {low:.1f}"
        self.parts.append(f'<path d="{path}" class="{kind} curve"/>')

    def __str__(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" aria-label="{escape(self.title)}">'
        )
        paper = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
        title = f'<text x="20" y="26" class="title">{escape(self.title, quote=False)}</text>'
        return "\n".join([head, STYLE, paper, title, *self.parts, "</svg>\n"])
