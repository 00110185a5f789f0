"""Every study that ``framewire reproduce`` knows, by the name of its folder."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from framewire.studies.study import Study

__all__ = ["NAMES", "studies"]

NAMES = (
    "ouwens",
    "balk",
    "hybrid",
    "dropping",
)


def studies() -> Iterator[Study]:
    """All of them, in the order of the list."""
    for name in NAMES:
        study: Study = import_module(f"framewire.studies.{name}.study").STUDY
        yield study
