"""The page of a study: one self-contained HTML file, in the style of the report of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

import framewire
from framewire.report import plotly
from framewire.report.figures.base import Figure
from framewire.report.page import HERE as REPORT
from framewire.report.page import in_script
from framewire.studies.writers import html, templates

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
    again: str = "The same seed gives the same numbers"
    brand: str = "framewire reproduce"
    """Which command wrote it."""


def render(head: Head, *, figures: Iterable[Figure] = (), template: str = "base.html.jinja", **shown: Any) -> str:
    """The page as HTML, by the template of a study or by the one that serves all.

    The latter shows ``headline``, the table ``claims``, ``tables``, ``failures``, the figures and the ``method``.
    """
    every = list(figures)
    return (
        templates()
        .get_template(template)
        .render(
            page=head,
            html=html,
            figures=every,
            style=Markup(REPORT.joinpath("style.css").read_text(encoding="utf-8") + _style()),
            script=Markup(REPORT.joinpath("report.js").read_text(encoding="utf-8")),
            figures_json=in_script({one.name: [one.data, one.layout] for one in every if not one.absent}),
            plotly=plotly.packed(),
            version=framewire.__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            **shown,
        )
    )


def _style() -> str:
    source, _, _ = templates().loader.get_source(templates(), "page.css")  # type: ignore[union-attr]
    return source
