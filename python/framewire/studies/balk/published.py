"""What the paper says, claim by claim: figure, section, its number, and between which values ours agrees.

A claim is ``stated`` by the paper's text, ``read`` off what its text says of a plot, or ``asked``: one that this
project makes where the paper gives a direction only. A bound is the paper's where that says so (``over 1``, ``at most
1``, ``falls``, ``3 to 5``). Where it gives a number or a word such as *near perfect*, it gives no tolerance: how far
ours may be off is this project's, set by hand, and ``project`` says of which side. What a claim is worth is its
:data:`Kind`. Values are the project's reading; texts are in our words.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

from framewire.studies.verdicts import Bounds, Claim

__all__ = ["FORMER_KEYS", "Basis", "Kind", "Published", "Side", "current_key", "published", "read"]

Basis = Literal["stated", "read", "asked"]

Side = Literal["", "low", "high", "both"]

Kind = Literal["independent", "calibrated", "by-construction", "same-as"]
"""What a verdict is worth. ``independent``: it could have come out otherwise. ``calibrated``: something that the paper
leaves open was set by it. ``by-construction``: it follows from the stand-in clips or from a rule of the code, without
any network. ``same-as``: another claim is judged by the same runs and the same number."""


@dataclass(frozen=True, kw_only=True)
class Published(Claim):
    """A claim of the paper; its source is a section."""

    key: str
    figure: int
    theirs: str
    bounds: Bounds
    """Between which values ours agrees."""
    of_project: Side = ""
    """Which of the bounds this project set; the others are the paper's."""
    unit: str
    basis: Basis
    kind: Kind = "independent"
    same_as: str | None = None
    """The key of the claim that it repeats."""
    reason: str = ""
    """Why it is of that kind; of an independent one, which of its bounds cannot fail."""
    exact: bool = False
    """Whether no draw enters, so that one value is the whole truth."""

    @property
    def is_asked(self) -> bool:
        """Whether it is a bound of this project and no claim of the paper."""
        return self.basis == "asked"

    @property
    def bounds_in_words(self) -> str:
        """The bounds, and whose they are where they are not the paper's.

        >>> [published()[key].bounds_in_words for key in ("loss-tcp", "fair-8", "fair-32", "strong-under")]
        ['at least 1', '0.85 to 1.15 (both ours)', '1 to 1.7 (the upper ours)', 'at most 1.05 (ours)']
        """
        if not self.of_project:
            return str(self.bounds)
        is_range = self.bounds.low is not None and self.bounds.high is not None
        which = {"low": "the lower ours", "high": "the upper ours", "both": "both ours"}[self.of_project]
        return f"{self.bounds} ({which if is_range else 'ours'})"

    @property
    def is_independent(self) -> bool:
        """Whether it is counted."""
        return self.kind == "independent"

    @property
    def worth(self) -> str:
        """Its kind in words.

        >>> published()["k-5"].worth
        'the same as fair-8'
        """
        return f"the same as {self.same_as}" if self.kind == "same-as" else self.kind.replace("-", " ")


FORMER_KEYS = {"frames-better": "frames-hybrid"}
"""Keys of claims in files of earlier versions, what ``claims.csv`` and ``--json`` say, and what they are called now."""


@cache
def published() -> dict[str, Published]:
    """All claims by key, in the order of the figures."""
    text = files("framewire.studies.balk").joinpath("published", "claims.csv").read_text(encoding="utf-8")
    return read(text.splitlines())


def read(lines: Iterable[str]) -> dict[str, Published]:
    """Claims from CSV. Raises ValueError for one of no known kind, or without the reason that its kind needs."""
    claims = {claim.key: claim for claim in map(_read, csv.DictReader(lines))}
    for claim in claims.values():
        if claim.same_as is not None and claim.same_as not in claims:
            raise ValueError(f"claims.csv: {claim.key}: kind: there is no claim {claim.same_as!r} to be the same as")
    return claims


def current_key(key: str) -> str:
    """What a claim's key is now, in a file of any version.

    >>> current_key("frames-better"), current_key("fair-8")
    ('frames-hybrid', 'fair-8')
    """
    return FORMER_KEYS.get(key, key)


def _read(row: dict[str, str]) -> Published:
    kind, _, same_as = row["kind"].partition("=")
    for name, value, allowed in (("basis", row["basis"], get_args(Basis)), ("kind", kind, get_args(Kind))):
        if value not in allowed:
            raise ValueError(f"claims.csv: {row['key']}: {name} is {value!r}; allowed is {', '.join(allowed)}")
    if (kind == "same-as") != bool(same_as):
        raise ValueError(f"claims.csv: {row['key']}: kind is {row['kind']!r}; same-as=KEY names a claim, others do not")
    if kind != "independent" and not row["reason"]:
        raise ValueError(f"claims.csv: {row['key']}: reason is missing; every kind but independent needs one")
    low, high = (float(row[name]) if row[name] else None for name in ("low", "high"))
    of_project = row["project"]
    if of_project not in get_args(Side):
        raise ValueError(f"claims.csv: {row['key']}: project is {of_project!r}; allowed is low, high, both, or nothing")
    sides = {"low": low, "high": high}
    needed = [name for name in sides if of_project in (name, "both")]
    if any(sides[name] is None for name in needed):
        raise ValueError(f"claims.csv: {row['key']}: project is {of_project!r}, and there is no such bound")
    if row["basis"] == "asked" and any(sides[name] is not None and name not in needed for name in sides):
        raise ValueError(f"claims.csv: {row['key']}: it is asked by this project, and so are all its bounds")
    return Published(
        source=row["section"],
        says=row["says"],
        key=current_key(row["key"]),
        figure=int(row["figure"]),
        theirs=row["theirs"],
        bounds=Bounds(low, high),
        of_project=cast(Side, of_project),
        unit=row["unit"],
        basis=cast(Basis, row["basis"]),
        kind=cast(Kind, kind),
        same_as=current_key(same_as) if same_as else None,
        reason=row["reason"],
        exact=row["exact"] == "yes",
    )
