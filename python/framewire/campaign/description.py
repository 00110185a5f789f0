"""``campaign.json``: what a campaign is, which program computed it, and how far it came."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from framewire import files
from framewire.campaign import index
from framewire.campaign.index import IndexedCell, State
from framewire.campaign.store import Store
from framewire.checksums import Checksums, DamagedError, unsealed
from framewire.errors import InputError

__all__ = ["DESCRIPTION", "FORMAT_VERSION", "describe", "is_campaign", "open_description", "tally"]

FORMAT_VERSION = 1
"""The newest version of the dataset that is read here."""

DESCRIPTION = "campaign.json"

WRITTEN_ANEW = "the same `framewire campaign` command writes it anew"
"""What mends a description that is damaged."""


def is_campaign(directory: Path) -> bool:
    """Whether there is a campaign, finished or not."""
    return any((directory / name).is_file() for name in (index.FILE, DESCRIPTION))


def open_description(directory: Path) -> tuple[dict[str, Any], Checksums]:
    """``campaign.json`` of a dataset, and the checksums of its tables.

    Raises InputError where there is none, or it is damaged or of a version not read here.
    """
    if not directory.is_dir():
        raise InputError(f"{directory}: {'not a directory' if directory.exists() else 'no such directory'}")
    file = directory / DESCRIPTION
    try:
        document = files.read_json(file)
    except FileNotFoundError:
        raise InputError(f"{directory}: {_what_else(directory)}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    except ValueError as error:
        raise InputError(f"{file}: is damaged: {error}; {WRITTEN_ANEW}") from None
    version = document.get("format") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"{file}: does not say its format (a whole number from 1)")
    if version > FORMAT_VERSION:
        written = document.get("version", "a newer version")
        raise InputError(
            f"{directory}: has format {version}, written by framewire {written}; this is framewire "
            f"{_own_version()}, which reads formats up to {FORMAT_VERSION}: open it with {written} or newer"
        )
    try:
        return unsealed(document)
    except DamagedError as error:
        raise InputError(f"{file}: {error}; {WRITTEN_ANEW}") from None


def describe(**facts: Any) -> dict[str, Any]:
    """The beginning of every description."""
    return {"format": FORMAT_VERSION, "program": "framewire", "version": _own_version(), **facts}


def _own_version() -> str:
    import framewire

    return framewire.__version__


def tally(store: Store, cells: Sequence[IndexedCell], computed_now: int = 0) -> dict[str, Any]:
    """What became of the cells: counts, seconds, and every failure with its reason and its scenario."""
    distinct = {cell.place.id: cell for cell in cells}.values()
    finished = [cell.finished for cell in distinct if cell.finished is not None]
    failed = [cell for cell in distinct if cell.state is State.FAILED]
    return {
        "cells": {
            "planned": len(cells),
            "distinct": len(distinct),
            "done": sum(cell.finished is not None for cell in cells),
            "failed": len(failed),
            "computed_now": computed_now,
        },
        "simulated_s": sum(cell.simulated_s for cell in finished),
        "computing_s": sum(cell.wall_s for cell in finished),
        "failed": [_failure(store, cell) for cell in [*failed, *(c for c in distinct if c.state is State.FLOW_BROKE)]],
    }


def _failure(store: Store, cell: IndexedCell) -> dict[str, str]:
    if cell.finished is not None:
        reason, scenario = "; ".join(cell.finished.broken_flows), cell.finished.directory / "scenario.toml"
    else:
        reason, scenario = store.reason(cell.place.id), store.failure(cell.place.id)
    path = scenario.relative_to(store.directory).as_posix()
    return {"cell": cell.place.id, "place": str(cell.place), "reason": reason, "scenario": path}


def _what_else(directory: Path) -> str:
    """What a directory is that is not one of a campaign."""
    if (directory / "run.json").is_file():
        return f"a run, not a campaign; `framewire report {directory}` makes its report"
    return f"not a campaign: it has no {DESCRIPTION}"
