"""The report: one self-contained HTML file, in the style of the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

import framewire
from framewire.report import file
from framewire.report.page import HERE as REPORT
from framewire.report.page import in_script, plotly_packed
from framewire.studies.ouwens.baseline import BASELINE_NAMES, TOLD_FROM_OTHERS
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement, Verdict
from framewire.studies.ouwens.figures import PaperFigure
from framewire.studies.ouwens.model import Cell, Column, Table, shown
from framewire.studies.ouwens.verdicts import told

__all__ = ["render", "write"]

HERE = files("framewire.studies.ouwens")

SECTION_TITLES = {
    "3.5": "IEEE 802.11b link layer",
    "3.6": "Blocking UDP",
    "3.7": "TCP",
    "3.8": "Non-blocking UDP",
    "3.9": "TCP with IFD",
}

_MARKS: dict[Verdict, str] = {"met": "met", "missed": "missed", "excepted": "excepted"}


@dataclass(frozen=True)
class ShownCell:
    """A number and its neighbours as they stand in the page."""

    published: str
    ours: str
    spread: str
    difference: str
    mark: str
    hint: str


@dataclass(frozen=True)
class ShownTable:
    """A table as the page lays it out."""

    table: Table
    beside: tuple[bool, ...]
    """By column: whether anything of it is published, so that it has three parts."""
    rows: tuple[tuple[tuple[str, ...], tuple[ShownCell, ...]], ...]

    @property
    def is_prediction(self) -> bool:
        """Whether nothing of it is published here."""
        return not any(self.beside)

    @property
    def has_gaps(self) -> bool:
        """Whether some of it is published and some is not."""
        return any(self.beside) and self.table.published_cells < sum(
            bool(cell.samples) or cell.published is not None for _, _, cell in self.table.cells()
        )


def write(comparison: Comparison, target: Path) -> Path:
    """Writes the report; it appears whole or not at all."""
    return file.write(render(comparison), target)


def render(comparison: Comparison) -> str:
    """The report as HTML."""
    judged: dict[tuple[object, ...], Judgement] = {
        (one.table, one.row, one.column, one.unit): one for one in comparison.judgements
    }
    drawn = [one for one in (*comparison.overview, *(one.figure for one in comparison.figures)) if not one.absent]
    return _template().render(
        comparison=comparison,
        sections=[_section(number, comparison, judged) for number in SECTION_TITLES],
        open_questions=[(one, _shown_table(one.table, {})) for one in comparison.questions],
        shown=shown,
        baseline_names=BASELINE_NAMES,
        told_from_others=list(TOLD_FROM_OTHERS),
        told=told,
        style=Markup(REPORT.joinpath("style.css").read_text(encoding="utf-8") + _text("page.css")),
        script=Markup(REPORT.joinpath("report.js").read_text(encoding="utf-8")),
        figures_json=in_script({figure.name: [figure.data, figure.layout] for figure in drawn}),
        plotly=plotly_packed(),
        version=framewire.__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


@dataclass(frozen=True)
class Section:
    """A section of chapter 3."""

    number: str
    title: str
    tables: tuple[ShownTable, ...]
    figures: tuple[PaperFigure, ...]

    @property
    def anchor(self) -> str:
        """Its name in links."""
        return "section-" + self.number.replace(".", "-")


def _section(number: str, comparison: Comparison, judged: dict[tuple[object, ...], Judgement]) -> Section:
    return Section(
        number,
        SECTION_TITLES[number],
        tuple(_shown_table(table, judged) for table in comparison.tables if table.section == number),
        tuple(one for one in comparison.figures if _section_of(one) == number),
    )


def _section_of(figure: PaperFigure) -> str:
    from framewire.studies.ouwens.figures import SECTIONS

    return SECTIONS[figure.spec.flow]


def _shown_table(table: Table, judged: dict[tuple[object, ...], Judgement]) -> ShownTable:
    beside = tuple(
        any(row.cells[position].published is not None for row in table.rows) for position in range(len(table.columns))
    )
    rows = tuple(
        (
            row.labels,
            tuple(
                _shown_cell(cell, column, judged.get((table.number, row.labels, column.name, column.unit)))
                for column, cell in zip(table.columns, row.cells, strict=True)
            ),
        )
        for row in table.rows
    )
    return ShownTable(table, beside, rows)


def _shown_cell(cell: Cell, column: Column, one: Judgement | None) -> ShownCell:
    ours = cell.ours
    spread = (
        "" if ours is None or ours.half_width is None or ours.half_width == 0 else shown(ours.half_width, column.digits)
    )
    difference = cell.difference
    return ShownCell(
        shown(cell.published, column.digits) if cell.published is not None else "",
        shown(ours.mean, column.digits) if ours else "",
        f"±{spread}" if spread and float(spread.replace(",", "")) else "",
        _signed(difference, column.digits),
        _MARKS[one.verdict] if one and one.verdict else "",
        _hint(one),
    )


def _signed(value: float | None, digits: int) -> str:
    """A difference, with its sign.

    >>> _signed(1.25, 1), _signed(-0.01, 1), _signed(None, 1)
    ('+1.2', '0.0', '')
    """
    if value is None:
        return ""
    text = shown(value, digits)
    return text if float(text.replace(",", "")) == 0 or text.startswith("-") else f"+{text}"


def _hint(one: Judgement | None) -> str:
    if one is None:
        return ""
    parts = [f"allowed {one.allowed}"] if one.allowed else []
    if abs(one.explained) >= 0.05:
        parts.append(f"the movies' ratio explains {-one.explained:+.1f}, {one.difference:+.1f} remain")
    if one.why:
        parts.append(f"excepted: {one.why}")
    return "; ".join(parts)


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_text("page.html.jinja"))


def _text(name: str) -> str:
    return HERE.joinpath(name).read_text(encoding="utf-8")


def tables_of(sections: Sequence[Section]) -> list[Table]:
    """All tables, in the order of the page."""
    return [one.table for section in sections for one in section.tables]
