"""Frames before the first key frame that came whole: nothing can show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["UndecodableStart"]

_CHUNK_BYTES = 1 << 20


class UndecodableStart:
    """Listens to a client, and takes what came before the first whole key frame out of what was written."""

    def __init__(self) -> None:
        self._whole = self._lost = self._bytes = 0
        self._ends = False

    def __call__(self, event: dict[str, Any]) -> None:
        """Events come in the order of frames."""
        if self._ends:
            return
        match event["event"]:
            case "frame" if event["key"]:
                self._ends = True
            case "frame":
                self._whole += 1
                self._bytes += event["bytes"]
            case "lost":
                self._lost += event["count"]

    def settle(self, viewed: dict[str, Any], path: Path | None) -> None:
        """Adds ``frames_before_key``, those of them that were lost, and takes the others out of the file.

        Both are None where no key frame came whole; the file then stays as it is.

        Raises:
            OSError: when the file cannot be changed.
        """
        viewed["frames_before_key"] = self._whole + self._lost if self._ends else None
        viewed["frames_lost_before_key"] = self._lost if self._ends else None
        if self._ends and self._bytes and path is not None and path.is_file():
            _behead(path, self._bytes)
            viewed["bytes"] -= self._bytes


def _behead(path: Path, size: int) -> None:
    """Moves the rest of a file to its beginning, in the file itself: there may be no room for another."""
    with path.open("r+b") as file:
        at = 0
        while True:
            file.seek(at + size)
            chunk = file.read(_CHUNK_BYTES)
            if not chunk:
                break
            file.seek(at)
            file.write(chunk)
            at += len(chunk)
        file.truncate(at)
