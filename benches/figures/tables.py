"""Tables of the manual, as they stand on its pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str, first: str) -> list[list[str]]:
    """The rows of the table whose heading begins so, as their cells without marks of emphasis."""
    lines = _lines(page)
    begin, end = _place(page, lines, first)
    return [[cell.strip().replace("**", "") for cell in line.strip("|").split("|")] for line in lines[begin:end]]


def replace(page: str, first: str, rows: Sequence[Sequence[str]]) -> None:
    """Writes other rows below the heading that begins so.

    Raises SystemExit where a row has not as many cells as the heading.
    """
    lines = _lines(page)
    begin, end = _place(page, lines, first)
    columns = lines[begin - 1].strip("|").count("|") + 1
    if uneven := next((row for row in rows if len(row) != columns), None):
        raise SystemExit(f"docs/{page}: the table {first!r} has {columns} columns; not so {uneven}")
    _write(page, [*lines[:begin], *(f"| {' | '.join(row)} |" for row in rows), *lines[end:]])


def replace_line(page: str, first: str, line: str) -> None:
    """Writes another line in the place of the one that begins so."""
    _write(page, [line if one.startswith(first) else one for one in _lines(page)])


def _lines(page: str) -> list[str]:
    return (DOCS / page).read_text(encoding="utf-8").splitlines()


def _write(page: str, lines: Sequence[str]) -> None:
    (DOCS / page).write_text("\n".join([*lines, ""]), encoding="utf-8")


def _place(page: str, lines: Sequence[str], first: str) -> tuple[int, int]:
    """Where the rows of the table begin, and where they have ended."""
    heading = next((number for number, line in enumerate(lines) if line.startswith(first)), None)
    if heading is None:
        raise SystemExit(f"docs/{page}: has no table that begins with {first!r}")
    begin = heading + 2
    return begin, next((at for at in range(begin, len(lines)) if not lines[at].startswith("|")), len(lines))


def number(cell: str) -> float:
    """The number with which a cell begins.

    >>> number("99.3 %"), number("93 (103, calibrated)")
    (99.3, 93.0)
    """
    return float(cell.split()[0].replace(",", ""))
