"""Where the results of this study may go."""

from __future__ import annotations

from pathlib import Path

from framewire.errors import InputError

__all__ = ["CAMPAIGNS", "check"]

_OWN = ("report.html", "report.md", "claims.csv", "results.json")
"""All files that a directory of results holds."""

CAMPAIGNS = "campaigns"
"""Where the cells are kept, below the results."""


def check(directory: Path) -> None:
    """Says whether results may go to a directory: one to be made, an empty one, or one with results only.

    Raises InputError with the name of something else in it, before anything is simulated.
    """
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: a directory is needed, and this is a file")
    strange = min(
        (path for path in directory.iterdir() if not (_is_own(path) or (path.name == CAMPAIGNS and path.is_dir()))),
        default=None,
    )
    if strange is not None:
        raise InputError(
            f"{directory}: holds {strange.name}, which is no result of this command; allowed are a directory to be "
            f"made, an empty one, or one that holds nothing but {', '.join(_OWN)}, which are replaced, and {CAMPAIGNS}"
        )


def _is_own(path: Path) -> bool:
    """Whether it is a result, or what a page is before it is whole."""
    return path.is_file() and (path.name in _OWN or path.match(".report.*.part"))
