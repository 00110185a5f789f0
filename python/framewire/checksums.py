"""Checksums of results: what is read later is what was written, or it is said that it is not.

A description (``run.json``, ``cell.json``, ``campaign.json``, ``index.json``) carries under ``checksums`` the SHA-256
of the files that it describes, and its own: of its other contents and those checksums, as JSON with sorted keys and
without spaces. Descriptions of earlier versions carry none, and what they describe is read as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from framewire.files import sha256

__all__ = ["KEY", "Checksums", "DamagedError", "sealed", "unsealed", "with_file"]

KEY = "checksums"


class DamagedError(ValueError):
    """Something is not what was written."""


class Checksums:
    """Of the files that a description describes."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)
        """SHA-256 by name, relative to the directory of the description."""
        self._found: dict[Path, tuple[int, ...]] = {}
        """What was as written, and in which state it was then."""

    def vouches_for(self, name: str) -> bool:
        """Whether `check` can detect damage: not where the description has checksums, but none of this file."""
        return not self.files or name in self.files

    def check(self, directory: Path, name: str) -> str | None:
        """Compares a file, and returns its checksum; one that had none in the description is taken as it is.

        It is read once for each state that it is found in, by the file system's word: what a disk damages by itself
        between two readings of one process is not found.

        Raises DamagedError when it is another, and OSError when it cannot be read.
        """
        expected, path = self.files.get(name), directory / name
        if expected is None:
            return None
        # Before it is read: what changes meanwhile is another state.
        state = _state(path)
        if self._found.get(path) != state:
            if sha256(path) != expected:
                raise DamagedError(f"{name} is damaged: it is not what was written (SHA-256)")
            self._found[path] = state
        return expected


def _state(path: Path) -> tuple[int, ...]:
    """Differs when a file was written to or replaced."""
    found = path.stat()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def sealed(document: Mapping[str, Any], directory: Path, names: Iterable[str]) -> dict[str, Any]:
    """The description with checksums of these files and of itself."""
    plain = json.loads(json.dumps({key: value for key, value in document.items() if key != KEY}))
    files = {name: sha256(directory / name) for name in sorted(names)}
    return {**plain, KEY: {"files": files, "document": _of_document(plain, files)}}


def with_file(document: Any, directory: Path, name: str) -> dict[str, Any] | None:
    """A description with the checksum of one more file, all others being as they were; None where it carries none.

    Raises DamagedError when it is not what was written.
    """
    plain, known = unsealed(document)
    if not isinstance(document, dict) or KEY not in document:
        return None
    files = {**known.files, name: sha256(directory / name)}
    return {**plain, KEY: {"files": dict(sorted(files.items())), "document": _of_document(plain, files)}}


def unsealed(document: Any) -> tuple[dict[str, Any], Checksums]:
    """The description without its checksums, and those.

    What is no table is a description that says nothing. Raises DamagedError when it is not what was written.
    """
    plain = dict(document) if isinstance(document, dict) else {}
    carried = plain.pop(KEY, None)
    if carried is None:
        return plain, Checksums({})
    files = carried.get("files") if isinstance(carried, dict) else None
    if not isinstance(files, dict) or carried.get("document") != _of_document(plain, files):
        raise DamagedError("is damaged: it is not what was written (SHA-256)")
    return plain, Checksums(files)


def _of_document(plain: Mapping[str, Any], files: Mapping[str, str]) -> str:
    canonical = json.dumps([plain, files], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
