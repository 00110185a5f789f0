"""Tables of the manual, as they stand on its pages."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str, first: str) -> list[list[str]]:
    """The rows of the table whose heading begins so, as their cells without marks of emphasis."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith(first)), None)
    if begin is None:
        raise SystemExit(f"docs/{page}: has no table that begins with {first!r}, of which a figure is drawn")
    found = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip().replace("**", "") for cell in line.strip("|").split("|")])
    return found


def number(cell: str) -> float:
    """The number with which a cell begins.

    >>> number("99.3 %"), number("93 (103, calibrated)")
    (99.3, 93.0)
    """
    return float(cell.split()[0].replace(",", ""))
