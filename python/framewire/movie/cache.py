"""The cache: where movies are kept, and how a whole one is found again.

Beside a movie lies a JSON file of the same name with its facts; a movie without it, or of another size, is not whole.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire.content_store import ContentStore
from framewire.files import read_json

__all__ = ["FORMAT", "MadeMovie", "cache_directory", "facts_of", "find", "store"]

FORMAT = 1  # of the JSON beside a movie


@dataclass(frozen=True)
class MadeMovie:
    """A movie that is ready to be sent."""

    path: Path
    metadata: dict[str, Any]

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return float(self.metadata["duration_s"])

    @property
    def bitrate_bps(self) -> float:
        """Mean rate in bit/s, as it came out."""
        return float(self.metadata["mean_bitrate_bps"])


def cache_directory() -> Path:
    """Where movies are kept: in ``$FRAMEWIRE_CACHE``, or ``framewire`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    if own := os.environ.get("FRAMEWIRE_CACHE"):
        return Path(own) / "movies"
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "framewire" / "movies"


def store(directory: str | os.PathLike[str] | None = None) -> ContentStore:
    """The movies of a directory; by default of the cache."""
    return ContentStore(cache_directory() if directory is None else directory)


def facts_of(path: Path) -> Path:
    """The JSON file beside a movie."""
    return path.with_suffix(".json")


def find(path: Path) -> MadeMovie | None:
    """The movie that was made before, if it is whole."""
    try:
        metadata = read_json(facts_of(path))
        whole = path.stat().st_size == metadata["bytes"]
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return MadeMovie(path, metadata) if whole else None
