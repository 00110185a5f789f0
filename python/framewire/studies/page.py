"""The page of a study: one self-contained HTML file, in the style of the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

import framewire
from framewire.report import plotly
from framewire.report.page import HERE as REPORT
from framewire.report.page import in_script
from framewire.studies.part_writers import figures_of, html_of_part
from framewire.studies.parts import Section
from framewire.studies.writers import templates

__all__ = ["Head", "render"]


@dataclass(frozen=True)
class Head:
    """What stands above and below every page."""

    title: str
    """Of the window."""
    heading: str
    facts: Sequence[tuple[str, str]]
    """What was repeated and at what cost, each with its name."""
    command: str
    """What gives the same numbers."""
    again: str
    """What comes of it."""
    brand: str
    """Which command wrote it."""


def render(head: Head, sections: Sequence[Section]) -> str:
    """The page as HTML; the heading of the first section is the headline."""
    figures = [one.figure for one in figures_of(sections)]
    return (
        templates()
        .get_template("page.html.jinja")
        .render(
            page=head,
            sections=sections,
            html=html_of_part,
            style=Markup(REPORT.joinpath("style.css").read_text(encoding="utf-8") + _style()),
            script=Markup(REPORT.joinpath("report.js").read_text(encoding="utf-8")),
            figures_json=in_script({one.name: [one.data, one.layout] for one in figures if not one.absent}),
            plotly=plotly.packed(),
            version=framewire.__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
    )


def _style() -> str:
    source, _, _ = templates().loader.get_source(templates(), "page.css")  # type: ignore[union-attr]
    return source
