"""What the paper says, claim by claim: figure, section, its number, and between which values ours agrees.

A claim is ``stated`` by the paper's text, ``read`` off what its text tells of a plot, or ``asked``: a bound of this
project's own where the paper gives a direction only. What was ``calibrated`` is told apart: alpha was set by it. Values
are the project's reading; texts are in our words.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Published", "published"]

Basis = Literal["stated", "read", "asked"]


@dataclass(frozen=True)
class Published:
    """A claim."""

    key: str
    figure: int
    section: str
    says: str
    theirs: str
    low: float | None
    """Ours agrees from here on; None for no such bound."""
    high: float | None
    unit: str
    basis: Basis
    calibrated: bool = False
    """Whether something that the paper leaves open was set by it, so that it is no independent check."""

    @property
    def allowed(self) -> str:
        """The bounds in words.

        >>> published()["fair-8"].allowed
        '0.85 to 1.15'
        >>> published()["strong-under"].allowed
        'at most 1.05'
        """
        if self.low is None:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"


@cache
def published() -> dict[str, Published]:
    """All claims by key, in the order of the figures."""
    text = files("framewire.papers.balk").joinpath("published", "claims.csv").read_text(encoding="utf-8")
    return {row["key"]: _read(row) for row in csv.DictReader(text.splitlines())}


def _read(row: dict[str, str]) -> Published:
    basis: Basis = "stated" if row["basis"] == "stated" else "read" if row["basis"] == "read" else "asked"
    low, high = (float(row[name]) if row[name] else None for name in ("low", "high"))
    return Published(
        row["key"],
        int(row["figure"]),
        row["section"],
        row["says"],
        row["theirs"],
        low,
        high,
        row["unit"],
        basis,
        row["calibrated"] == "yes",
    )
