"""What is made of a table: Markdown, HTML, records for CSV and JSON, and what a terminal shows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from framewire.errors import InputError
from framewire.studies.table import DASH, Align, Cell, Column, Mark, Row, Table, of_texts, shown, signed
from framewire.studies.verdicts import Change, Verdict
from framewire.wrapped_table import Column as WrappedColumn
from framewire.wrapped_table import WrappedTable

__all__ = ["css_class", "html", "markdown", "markdown_table", "record", "records", "templates", "terminal", "write_csv"]

_TERMINAL: Mapping[Mark, str] = {
    Verdict.HOLDS: "green",
    Verdict.FAILS: "bold red",
    Verdict.UNDECIDED: "yellow",
    Verdict.EXCEPTED: "yellow",
    Verdict.NOT_MEASURED: "dim",
    Change.BETTER: "green",
    Change.WORSE: "red",
    "best": "bold",
}

_HTML: Mapping[Mark, str] = {
    Verdict.FAILS: "fails",
    Verdict.NOT_MEASURED: "unmeasured",
}
"""Where a class has another name than the mark."""


def markdown(table: Table) -> str:
    """A table with a line feed at its end, without its title; texts may hold Markdown themselves, but for bars.

    >>> from framewire.studies.table import of_texts
    >>> print(markdown(of_texts(("a", "b"), [("1", Cell(text="2", mark="best"))])))
    | a | b |
    |---|---:|
    | 1 | **2** |
    <BLANKLINE>
    """
    heads = [*table.row_names, *(column.heading for column in table.columns)]
    rule = "---|" * len(table.row_names) + "".join("---:|" if _is_right(one) else "---|" for one in table.columns)
    lines = [_line(heads), f"|{rule}"]
    for row in table.rows:
        texts = (_joined(cell, column) for column, cell in zip(table.columns, row.cells, strict=True))
        strong = (f"**{text}**" if _is_strong(cell) else text for text, cell in zip(texts, row.cells, strict=True))
        small = ("<br>".join((text, *cell.below)) for text, cell in zip(strong, row.cells, strict=True))
        lines.append(_line([*row.labels, *small]))
    return "\n".join(lines) + "\n"


def markdown_table(names: Sequence[str], rows: Iterable[Sequence[str | Cell]], align: Align = "right") -> str:
    """A table of texts in Markdown, the first column of which names the row.

    >>> print(markdown_table(("a", "b"), [("1", "2")], "left"))
    | a | b |
    |---|---|
    | 1 | 2 |
    <BLANKLINE>
    """
    return markdown(of_texts(names, list(rows), align=align))


def _is_right(column: Column) -> bool:
    return column.align == "right"


def _is_strong(cell: Cell) -> bool:
    return bool(cell.text) and cell.mark in ("best", Verdict.FAILS)


def _line(texts: Sequence[str]) -> str:
    whole = [_BAR.sub(r"\|", text) for text in texts]
    return f"| {' | '.join(whole)} |"


_BAR = re.compile(r"(?<!\\)\|")
"""What would end a cell of Markdown."""


def _joined(cell: Cell, column: Column) -> str:
    """What is published and ours in one text."""
    here = cell.value_text(column.digits)
    return here if cell.published is None else f"{shown(cell.published, column.digits)} / {here or DASH}"


def terminal(table: Table) -> RenderableType:
    """A table as wide as the terminal below its title: texts are broken into lines, columns of numbers go on below."""
    drawn = _drawn(table)
    if not table.title:
        return drawn
    sides = f": {table.theirs} / here" if any(table.beside) else ""
    return Group(Text(table.title + sides), drawn)


def _drawn(table: Table) -> RenderableType:
    if any(not _is_right(column) for column in table.columns):
        return _of_texts(table)
    keys = [WrappedColumn(name, [row.labels[place] for row in table.rows], "left")
            for place, name in enumerate(table.row_names)]  # fmt: skip
    values = [
        WrappedColumn(column.heading, [_text(row.cells[place], column) for row in table.rows])
        for place, column in enumerate(table.columns)
    ]
    return WrappedTable(keys, values)


def _of_texts(table: Table) -> RichTable:
    made = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in table.row_names:
        made.add_column(Text(name))
    for place, column in enumerate(table.columns):
        of_verdicts = all(row.cells[place].is_chip for row in table.rows)
        made.add_column(Text(column.heading), justify=column.align, no_wrap=_is_right(column) or of_verdicts)
    for row in table.rows:
        cells = (_text(cell, column) for column, cell in zip(table.columns, row.cells, strict=True))
        made.add_row(*map(Text, row.labels), *cells)
    return made


def _text(cell: Cell, column: Column) -> Text:
    text = Text(_joined(cell, column), style=_TERMINAL.get(cell.mark, "") if cell.mark else "")
    for line in cell.below:
        text.append(f"\n{line}", style="dim")
    return text


@cache
def templates() -> jinja2.Environment:
    """The templates of the studies' pages; everything that is put in is escaped unless it is marked safe."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["css_class"] = css_class
    environment.globals.update(shown=shown, signed=signed)
    return environment


def _template(name: str) -> str:
    return files("framewire.studies").joinpath(*name.split("/")).read_text(encoding="utf-8")


def html(table: Table) -> Markup:
    """The table and what stands below it; its title is for the page to place."""
    macro = templates().get_template("table.html.jinja").module.table  # type: ignore[attr-defined]
    return Markup(macro(table))


def css_class(mark: Mark | None) -> str:
    """By which a page colours what is marked."""
    return "" if mark is None else _HTML.get(mark, str(mark))


def records(table: Table) -> list[dict[str, Any]]:
    """Of a table of numbers one for each that is published or was measured, of one of texts one for each row.

    >>> from framewire.studies.table import Column, Row
    >>> table = Table("Lost", ("retry",), (Column("I", "%"),), (Row(("3",), (Cell(1.0, (0.5, 1.5)),)),))
    >>> [(one["row"], one["published"], one["here"]) for one in records(table)]
    [('retry 3', 1.0, 1.0)]
    """
    if any(cell.published is not None or cell.samples for _, _, cell in table.cells()):
        return list(_numbers(table))
    heads = [*table.row_names, *(column.heading for column in table.columns)]
    return [dict(zip(heads, [*row.labels, *(cell.text for cell in row.cells)], strict=True)) for row in table.rows]


def _numbers(table: Table) -> Iterator[dict[str, Any]]:
    for row, column, cell in table.cells():
        if not cell.is_empty:
            yield record(table, row, column, cell) | {"verdict": cell.mark}


def record(table: Table, row: Row, column: Column, cell: Cell) -> dict[str, Any]:
    """A number with its place, what is published there, and how far the two are apart."""
    return {
        "title": table.title,
        "row": ", ".join(f"{name} {label}" for name, label in zip(table.row_names, row.labels, strict=True)),
        "column": column.name,
        "unit": column.unit,
        table.theirs: cell.published,
        "here": None if cell.ours is None else cell.ours.mean,
        "ci95": None if cell.ours is None else cell.ours.half_width,
        "repeats": len(cell.samples),
        "difference": cell.difference,
    }


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Records of which each has the fields of the first, in a directory that is made where it is missing.

    Raises InputError when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    return path
