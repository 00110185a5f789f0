"""Where a run comes from that is a cell of a campaign: kept beside it, so that its report can say which cell it is."""

from __future__ import annotations

import json
from pathlib import Path

from framewire import files
from framewire.campaign.index import Place

__all__ = ["FILE", "read", "write"]

FILE = "cell.json"


def write(run: Path, campaign: str, directory: Path, place: Place | None) -> None:
    """Says in a run directory which cell it is; nothing where the campaign does not know that any more."""
    if place is None:
        return
    facts = {"campaign": campaign, "directory": str(directory), "cell": place.id}
    document = facts | {"labels": dict(place.labels), "repeat": place.repeat}
    (run / FILE).write_text(json.dumps(document, indent=1), encoding="utf-8")


def read(run: Path) -> str | None:
    """The cell in words, such as ``retries: network.wifi.retry = 4, repeat 1``; None for a run that is no cell.

    What cannot be read is no reason to have no report.
    """
    try:
        document = files.read_json(run / FILE)
        labels = "".join(f"{name} = {label}, " for name, label in document["labels"].items())
        return f"{document['campaign']}: {labels}repeat {document['repeat']}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
