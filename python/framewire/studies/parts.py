"""What a page is made of, whatever it is written as: sections of paragraphs, tables, figures and lists.

Words may be emphasised as in Markdown, ``**so**``, and what is typed stands in backticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from framewire.report.figures.base import Figure
from framewire.studies.table import Table

__all__ = ["Drawing", "Drawings", "Folded", "Part", "Points", "Section", "SideBySide", "Text"]


@dataclass(frozen=True)
class Text:
    """A paragraph that is more or less than one."""

    words: str
    style: Literal["hint", "caveat", "absent"] = "hint"
    """Small print, a warning, or what stands in the place of something that is not there."""


@dataclass(frozen=True)
class Points:
    """A list."""

    points: Sequence[str]


@dataclass(frozen=True)
class Drawing:
    """A figure, and what is said of it below its title."""

    figure: Figure
    said: Sequence[tuple[str, str]] = ()
    """Who says it, and what."""


@dataclass(frozen=True)
class Drawings:
    """Figures side by side where there is room."""

    of: Sequence[Drawing]


@dataclass(frozen=True)
class SideBySide:
    """Tables of which narrow ones stand side by side."""

    tables: Sequence[Table]
    across: Sequence[str] = ()
    """Keys of tables of few columns that take the whole width all the same."""

    def is_narrow(self, table: Table) -> bool:
        """Whether another has room beside it."""
        return len(table.columns) <= MOST_NARROW_COLUMNS and table.key not in self.across


MOST_NARROW_COLUMNS = 4


@dataclass(frozen=True)
class Folded:
    """What a page shows on request."""

    summary: str
    parts: Sequence[Part]
    is_open: bool = False


Part = str | Text | Points | Table | Drawings | SideBySide | Folded
"""A paragraph is a string; a table stands below its title."""


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; a table in it that has the same title is not titled again."""

    title: str
    parts: Sequence[Part]
    key: str = ""
    """Its name in links."""
    short: str = ""
    """What leads to it; empty for its title."""
