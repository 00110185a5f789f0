"""The report: one self-contained HTML file, in the style of the report of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

import framewire
from framewire.report import file
from framewire.report.page import HERE as REPORT
from framewire.report.page import in_script, plotly_packed
from framewire.studies.balk.claims import Verdict
from framewire.studies.balk.comparison import Comparison
from framewire.studies.balk.terminal import remarks, told

__all__ = ["render", "write"]

HERE = files("framewire.studies.balk")
STYLE = files("framewire.studies.ouwens").joinpath("page.css")
"""Tables of studies look alike."""

MARKS: dict[Verdict, str] = {
    "holds": "met",
    "does not hold": "missed",
    "undecided": "excepted",
    "not measured": "open",
}


def write(comparison: Comparison, target: Path) -> Path:
    """Writes the report; it appears whole or not at all."""
    return file.write(render(comparison), target)


def render(comparison: Comparison) -> str:
    """The report as HTML."""
    drawn = [plot for figure in comparison.figures for plot in figure.plots if not plot.absent]
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(HERE.joinpath("page.html.jinja").read_text(encoding="utf-8"))
    style = REPORT.joinpath("style.css").read_text(encoding="utf-8") + STYLE.read_text(encoding="utf-8")
    return template.render(
        comparison=comparison,
        told=told,
        remarks=remarks,
        marks=MARKS,
        style=Markup(style),
        script=Markup(REPORT.joinpath("report.js").read_text(encoding="utf-8")),
        figures_json=in_script({figure.name: [figure.data, figure.layout] for figure in drawn}),
        plotly=plotly_packed(),
        version=framewire.__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
