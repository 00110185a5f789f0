"""The tables of the thesis, and ours in their form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from framewire.studies.table import Column, Row, Table

__all__ = ["ThesisTable", "thesis_table"]


@dataclass(frozen=True, kw_only=True)
class ThesisTable(Table):
    """A table of chapter 3, or one of our own."""

    number: str
    """As in the thesis; of our own tables a word."""
    section: str
    """Of the thesis, or `open` for what it did not measure."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What selects it: `flow`, `bitrate`."""

    @property
    def is_open(self) -> bool:
        """Whether it answers what the thesis left open."""
        return self.section == "open"


def thesis_table(
    number: str,
    title: str,
    section: str,
    row_names: tuple[str, ...],
    columns: tuple[Column, ...],
    rows: tuple[Row, ...],
    note: str = "",
    facts: Mapping[str, str] | None = None,
) -> ThesisTable:
    """A table whose published numbers are the thesis'."""
    return ThesisTable(
        title=title,
        row_names=row_names,
        columns=columns,
        rows=rows,
        note=note,
        key="table-" + number.replace(".", "-").replace(" ", "-"),
        theirs="thesis",
        number=number,
        section=section,
        facts=facts or {},
    )
