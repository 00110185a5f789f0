"""Tables: what was measured, where there is such a number beside what is published, and texts.

A study fills one :class:`Table`; :mod:`framewire.studies.writers` makes HTML, Markdown, CSV and what a terminal shows
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from framewire.confidence import Estimate, mean_with_confidence
from framewire.studies.verdicts import Change, Finding, Verdict

__all__ = ["DASH", "Align", "Cell", "Column", "Mark", "Row", "Table", "of_findings", "of_texts", "shown", "signed"]

DASH = "\N{EN DASH}"
"""What stands where there is no number."""

Align = Literal["left", "right"]

Mark = Verdict | Change | Literal["best"]
"""What is made of a number: a verdict on it, how it compares with another, or that it is the best of its column."""


@dataclass(frozen=True)
class Column:
    """A quantity, or what a text is about."""

    name: str
    unit: str = ""
    digits: int = 1
    align: Align = "right"
    """Numbers stand at the right and are never broken into lines, texts at the left."""

    @property
    def heading(self) -> str:
        """Its name with its unit."""
        return f"{self.name} {self.unit}".strip()


@dataclass(frozen=True)
class Cell:
    """A number, where it is published and as it was measured; or a text."""

    published: float | None = None
    samples: tuple[float, ...] = ()
    """One per repeat."""
    text: str = ""
    """In the place of the mean of the samples."""
    mark: Mark | None = None
    hint: str = ""
    """What a page says when it is pointed at."""
    below: tuple[str, ...] = ()
    """Lines in small print."""
    link: str = ""
    """The anchor in the page that the text leads to."""

    @property
    def ours(self) -> Estimate | None:
        """Mean over the repeats with its 95 % confidence interval; None where nothing was measured."""
        return mean_with_confidence(self.samples) if self.samples else None

    @property
    def difference(self) -> float | None:
        """Ours less the published one."""
        return None if self.published is None or self.ours is None else self.ours.mean - self.published

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return self.published is None and not self.samples and not self.text

    @property
    def is_chip(self) -> bool:
        """Whether it says its mark and nothing else."""
        return self.mark is not None and self.text == self.mark

    def value_text(self, digits: int) -> str:
        """Ours as text; empty where there is none."""
        return self.text or (shown(self.ours.mean, digits) if self.ours else "")

    def spread(self, digits: int) -> str:
        """Half the confidence interval as text; empty where it rounds to nothing."""
        reach = self.ours.half_width if self.ours else None
        text = shown(reach or 0.0, digits)
        return f"±{text}" if float(text.replace(",", "")) else ""


@dataclass(frozen=True)
class Row:
    """Where a row stands, and what stands in it."""

    labels: tuple[str, ...]
    cells: tuple[Cell, ...]
    style: Literal["", "shaded", "aside"] = ""
    """Shaded, to separate it from its neighbours, or in grey, because it does not count."""


@dataclass(frozen=True)
class Table:
    """Rows with as many labels as there are names for them, and as many cells as columns."""

    title: str
    row_names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    """What stands below it in small print."""
    key: str = ""
    """Its name in links."""
    theirs: str = "published"
    """Whose the published numbers are: *thesis*, *paper*."""
    above: str = ""
    """What stands between its title and itself."""

    @property
    def published_cells(self) -> int:
        """How many of its numbers are published."""
        return sum(cell.published is not None for _, _, cell in self.cells())

    @property
    def beside(self) -> tuple[bool, ...]:
        """By column: whether anything of it is published."""
        return tuple(
            any(row.cells[place].published is not None for row in self.rows) for place in range(len(self.columns))
        )

    def cells(self) -> Iterator[tuple[Row, Column, Cell]]:
        """Every cell with its place."""
        for row in self.rows:
            yield from ((row, column, cell) for column, cell in zip(self.columns, row.cells, strict=True))

    def find(self, labels: Sequence[str], column: str) -> Cell | None:
        """What stands at a place."""
        for row, one, cell in self.cells():
            if row.labels == tuple(labels) and one.name == column:
                return cell
        return None

    def without_empty(self) -> Table:
        """Only rows in which anything stands."""
        return replace(self, rows=tuple(row for row in self.rows if not all(cell.is_empty for cell in row.cells)))


def of_texts(
    names: Sequence[str | Column],
    rows: Sequence[Sequence[str | Cell]],
    *,
    title: str = "",
    above: str = "",
    note: str = "",
    labels: int = 1,
    align: Align = "right",
    key: str = "",
) -> Table:
    """A table of texts, the first columns of which name the row; those that follow are aligned as is said.

    >>> of_texts(("link", "lost"), [("wifi", "0.1 %")]).find(["wifi"], "lost").text
    '0.1 %'
    """
    columns = [one if isinstance(one, Column) else Column(one, align=align) for one in names[labels:]]
    made = [
        Row(
            tuple(one if isinstance(one, str) else one.text for one in row[:labels]),
            tuple(one if isinstance(one, Cell) else Cell(text=one) for one in row[labels:]),
        )
        for row in rows
    ]
    heads = tuple(one if isinstance(one, str) else one.name for one in names[:labels])
    return Table(title, heads, tuple(columns), tuple(made), note, key, above=above)


def of_findings(
    findings: Sequence[Finding],
    *,
    heads: tuple[str, str, str] = ("where", "what is said", "here"),
    title: str = "",
    key: str = "",
) -> Table:
    """Claims and what came of them, a row each."""
    names = [Column(name, align="left") for name in (*heads, "verdict")]
    rows: list[list[str | Cell]] = [
        [one.claim.source, one.claim.says, one.finds, Cell(text=one.verdict or "", mark=one.verdict)]
        for one in findings
    ]
    return of_texts(names, rows, title=title, key=key)


def shown(value: float | None, digits: int) -> str:
    """A number for people, or a dash where there is none; no minus before a zero.

    >>> shown(-0.04, 1), shown(29385.0, 0), shown(None, 1) == DASH
    ('0.0', '29,385', True)
    """
    if value is None:
        return DASH
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def signed(value: float | None, digits: int) -> str:
    """A difference, with its sign.

    >>> signed(1.25, 1), signed(-0.01, 1), signed(None, 1)
    ('+1.2', '0.0', '')
    """
    if value is None:
        return ""
    text = shown(value, digits)
    return text if float(text.replace(",", "")) == 0 or text.startswith("-") else f"+{text}"
