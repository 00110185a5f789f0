"""How far the pictures of a movie are from each other, kept from one report to the next.

What a freeze costs depends on nothing but the movie: on the picture that should stand there and the one that does. So
the errors of an original are kept in the cache beside movies, and it is decoded again only for pairs of pictures that
no report before has asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from framewire import files
from framewire.content_store import key, replacing
from framewire.errors import FramewireError
from framewire.movie import ffmpeg
from framewire.movie.cache import cache_directory
from framewire.report.originals import Original

__all__ = ["Errors", "KnownErrors", "Pair"]

Pair = tuple[int, int | None]
"""A display number, and that of the picture that stands in its place; None for a black screen."""

Errors = dict[Pair, float]
"""Mean squared errors of luma."""

FORMAT = 1
MOST = 500_000
"""Pairs that are kept of a movie, 16 bytes each: a report that asks for more begins anew."""

ROW = np.dtype([("slot", "<i4"), ("source", "<i4"), ("error", "<f8")])


class KnownErrors:
    """Those of one original. A cache that cannot be read or written only costs the time."""

    def __init__(self, original: Original) -> None:
        self._path = _place(original)
        self._known = _read(self._path)

    def of(self, pairs: set[Pair]) -> Errors | None:
        """The errors of these pairs; None where one is not known."""
        return {pair: self._known[pair] for pair in pairs} if pairs <= self._known.keys() else None

    def add(self, errors: Mapping[Pair, float]) -> None:
        """Keeps these too."""
        together = {**self._known, **errors}
        self._known = together if len(together) <= MOST else dict(errors)
        if self._path is not None and len(self._known) <= MOST:
            _write(self._path, self._known)


def _place(original: Original) -> Path | None:
    """Of what the errors depend on: the bytes that are decoded, the pictures' size, and the decoder."""
    try:
        recipe = {
            "format": FORMAT,
            "stream": files.sha256(original.stream.path),
            "sizes": hashlib.sha256(original.ledger["size"].to_numpy().tobytes()).hexdigest(),
            "picture": [original.width, original.height],
            "decoder": ffmpeg.version_of("ffmpeg"),
        }
    except (OSError, FramewireError):
        return None
    return cache_directory().with_name("pictures") / f"errors-{key(recipe)}"


def _read(path: Path | None) -> Errors:
    try:
        content = b"" if path is None else path.read_bytes()
    except OSError:
        return {}
    digest, rows = content[:32], content[32:]
    if hashlib.sha256(rows).digest() != digest or len(rows) % ROW.itemsize:
        return {}
    table = np.frombuffer(rows, dtype=ROW)
    slots, sources, errors = (table[name].tolist() for name in ("slot", "source", "error"))
    return {
        (slot, None if source < 0 else source): error
        for slot, source, error in zip(slots, sources, errors, strict=True)
    }


def _write(path: Path, errors: Errors) -> None:
    rows = [(slot, -1 if source is None else source, error) for (slot, source), error in errors.items()]
    content = np.array(rows, dtype=ROW).tobytes()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_bytes(hashlib.sha256(content).digest() + content)
    except OSError:
        return
