"""The index of a campaign: what it is, which cells it has, and where each stands.

It is written when the campaign is planned, before anything is computed: so an unfinished campaign can be looked at, and
cells can be named by what was varied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from framewire import files
from framewire.campaign.axes import Label
from framewire.campaign.store import FinishedCell, Store
from framewire.checksums import sealed, unsealed
from framewire.content_store import replacing
from framewire.errors import InputError

__all__ = ["FILE", "Index", "IndexedCell", "Place", "State", "digest_of", "read", "states", "write"]

FILE = "index.json"
FORMAT = 1


@dataclass(frozen=True)
class Place:
    """Where a cell stands, and its id: what identifies its results."""

    id: str
    labels: Mapping[str, Label]
    """On each axis."""
    repeat: int
    seed: int

    def __str__(self) -> str:
        place = "".join(f"{name} = {label}, " for name, label in self.labels.items())
        return f"{self.id} ({place}repeat {self.repeat})"


@dataclass(frozen=True)
class Index:
    """What was planned."""

    description: dict[str, Any]
    """The program and the campaign as one document, as ``campaign.json`` has them."""
    places: Sequence[Place]
    """In the order of the grid, repeats of a point together."""

    @property
    def labels(self) -> dict[str, list[Label]]:
        """The labels on each axis."""
        axes = self.description["campaign"]["axis"]
        return {axis["name"]: [value["label"] for value in axis["values"]] for axis in axes}


class State(StrEnum):
    """What became of a cell, in the words of the command line."""

    DONE = "done"
    FLOW_BROKE = "flow broke"
    """It is done, and one of its flows broke."""
    FAILED = "failed"
    OPEN = "not computed"


@dataclass(frozen=True)
class IndexedCell:
    """A cell that was planned, and what became of it."""

    place: Place
    state: State
    finished: FinishedCell | None


def write(store: Store, description: Mapping[str, Any], places: Sequence[Place]) -> None:
    """Keeps the index; what was there is replaced when the new one is whole."""
    cells = [[place.id, list(place.labels.values()), place.repeat, place.seed] for place in places]
    document = {**description, "index_format": FORMAT, "index": cells}
    with replacing(store.directory / FILE) as part:
        part.write_text(json.dumps(sealed(document, store.directory, ())), encoding="utf-8")


def read(directory: Path) -> Index | None:
    """The index of a campaign; None where there is none: a dataset alone, or one of an earlier version.

    Raises InputError for one that cannot be read.
    """
    file = directory / FILE
    try:
        document, _ = unsealed(files.read_json(file))
        if document.pop("index_format") != FORMAT:
            return None  # of another version, which says with `campaign.json` what it needs
        index = Index(document, [])
        places = [
            Place(cell_id, dict(zip(index.labels, labels, strict=True)), repeat, seed)
            for cell_id, labels, repeat, seed in document.pop("index")
        ]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: cannot be read: {error}; the same `framewire campaign` command mends it") from None
    return Index(document, places)


def digest_of(places: Sequence[Place]) -> str:
    """Tells whether a dataset was made of exactly this plan."""
    digest = hashlib.sha256()
    for place in places:
        digest.update(json.dumps([place.id, dict(place.labels), place.repeat]).encode() + b"\n")
    return digest.hexdigest()


def states(store: Store, places: Sequence[Place]) -> list[IndexedCell]:
    """What became of each cell until now."""
    found = {place.id: store.finished(place.id) for place in places}
    return [IndexedCell(place, _state(store, place.id, found[place.id]), found[place.id]) for place in places]


def _state(store: Store, cell_id: str, finished: FinishedCell | None) -> State:
    if finished is not None:
        return State.FLOW_BROKE if finished.broken_flows else State.DONE
    return State.FAILED if store.failure(cell_id).is_file() else State.OPEN
