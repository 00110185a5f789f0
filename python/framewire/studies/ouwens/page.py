"""The report: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from framewire.studies import page
from framewire.studies.ouwens import views
from framewire.studies.ouwens.bounds import described
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.figures import SECTIONS, PaperFigure
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.table import shown

__all__ = ["render"]

SECTION_TITLES: Mapping[str, str] = {
    "3.5": "IEEE 802.11b link layer",
    "3.6": "Blocking UDP",
    "3.7": "TCP",
    "3.8": "Non-blocking UDP",
    "3.9": "TCP with IFD",
}

ACROSS = ("3.7", "3.13")
"""Tables of few columns that take the whole width all the same: most of theirs are published."""


@dataclass(frozen=True)
class Section:
    """A section of chapter 3."""

    number: str
    title: str
    tables: tuple[ThesisTable, ...]
    figures: tuple[PaperFigure, ...]

    @property
    def anchor(self) -> str:
        """Its name in links."""
        return "section-" + self.number.replace(".", "-")


def render(comparison: Comparison) -> str:
    """The report as HTML."""
    measured = comparison.measured
    facts = (
        ("thesis", "J. Ouwens, TU Eindhoven and Philips Research, 2005"),
        ("world", "simulated"),
        ("seed", str(measured.seed)),
        ("simulated", f"{shown(comparison.simulated_s, 0)} s"),
        ("took", f"{shown(comparison.wall_s, 0)} s"),
        ("peak memory", f"{shown(measured.peak_memory_bytes / 1e6, 0)} MB"),
    )
    command = f"framewire reproduce ouwens --seed {measured.seed}"
    head = page.Head("The 802.11b thesis, repeated", "MPEG-2 over 802.11b: the thesis, repeated", facts, command)
    return page.render(
        head,
        template="ouwens/page.html.jinja",
        figures=[*comparison.overview, *(one.figure for one in comparison.figures)],
        comparison=comparison,
        sections=[_section(number, comparison) for number in SECTION_TITLES],
        views=views,
        described=described,
        is_narrow=_is_narrow,
        has_gaps=_has_gaps,
    )


def _section(number: str, comparison: Comparison) -> Section:
    found = views.index(comparison.judgements)
    return Section(
        number,
        SECTION_TITLES[number],
        tuple(views.judged(table, found) for table in comparison.tables if table.section == number),
        tuple(one for one in comparison.figures if SECTIONS[one.spec.flow] == number),
    )


def _is_narrow(table: ThesisTable) -> bool:
    return len(table.columns) <= 4 and not table.is_open and table.number not in ACROSS


def _has_gaps(table: ThesisTable) -> bool:
    """Whether some of it is published and some is not."""
    return any(table.beside) and table.published_cells < sum(not cell.is_empty for _, _, cell in table.cells())
