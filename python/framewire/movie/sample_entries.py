"""How the index of an MP4 or MOV file describes the samples of its tracks, as far as ffprobe does not say it.

ffprobe names the codec of a track that is encrypted, and takes the first description of one that has several: a film
that is encrypted behind a beginning in the clear looks to it as one that is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["ENCRYPTED", "entries_of"]

ENCRYPTED = frozenset((b"encv", b"enca", b"drmi", b"drms"))
"""Of video and of sound by Common Encryption (ISO/IEC 14496-12, 8.12.1; ISO/IEC 23001-7, 4.2), and by FairPlay, as
FFmpeg's table has it (libavformat/isom.c)."""

_HEADER = 8
_MOST_BOXES = 100_000
"""Of one level: those before the index of a file in pieces, for instance."""


def entries_of(path: Path, handler: bytes) -> list[tuple[int, list[bytes]]]:
    """Of each track of this kind (``vide`` or ``soun``) its number among all and the types of its sample entries.

    None of a file without an index, or of what is not one: others say what is wrong with it.
    """
    with path.open("rb") as file:
        end = file.seek(0, 2)
        tracks = _inside(file, [(0, end)], b"moov", b"trak")
        numbered = [(number, track) for number, track in enumerate(tracks) if _handler(file, track) == handler]
        return [(number, _entries(file, track)) for number, track in numbered]


Place = tuple[int, int]
"""Where the inside of a box begins and ends."""


def _boxes(file: IO[bytes], place: Place) -> Iterator[tuple[bytes, Place]]:
    """The boxes in a box (ISO/IEC 14496-12, 4.2), as far as they make sense."""
    at, end = place
    for _ in range(_MOST_BOXES):
        file.seek(at)
        head = file.read(2 * _HEADER) if at + _HEADER <= end else b""
        if len(head) < _HEADER:
            return
        length, inner = int.from_bytes(head[:4]), at + _HEADER
        if length == 1:  # eight bytes of length follow
            length, inner = int.from_bytes(head[_HEADER:]), at + 2 * _HEADER
        elif length == 0:  # up to the end
            length = end - at
        if not inner - at <= length <= end - at:
            return
        at += length
        yield head[4:_HEADER], (inner, at)


def _inside(file: IO[bytes], places: list[Place], *kinds: bytes) -> list[Place]:
    """All boxes of the last kind in boxes of the kind before it, and so on."""
    for kind in kinds:
        places = [inner for place in places for found, inner in _boxes(file, place) if found == kind]
    return places


def _handler(file: IO[bytes], track: Place) -> bytes:
    """What a track is (8.4.3): behind version, flags and a field of four bytes."""
    for begin, _ in _inside(file, [track], b"mdia", b"hdlr"):
        file.seek(begin + 8)
        return file.read(4)
    return b""


def _entries(file: IO[bytes], track: Place) -> list[bytes]:
    """The entries (8.5.2): behind version, flags and their number."""
    tables = _inside(file, [track], b"mdia", b"minf", b"stbl", b"stsd")
    return [kind for begin, end in tables for kind, _ in _boxes(file, (begin + 8, end))]
