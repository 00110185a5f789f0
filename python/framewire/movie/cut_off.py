"""Files that end before their container says: a download that stopped, a copy onto a full disk.

FFmpeg reads what is there and calls it a success, also where an index before the pictures names all of them. So the
outermost elements are asked where they end, which takes a few bytes of each; packets are counted only in a file that
ends earlier. Nothing is known of containers that promise nothing: MPEG-TS, and what was written into a pipe.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from framewire.errors import InputError
from framewire.movie import ffmpeg

__all__ = ["refuse_cut_off"]

MOST_BOXES = 1_000_000
"""Outermost elements of a file that are read: five hours at 25 frames per second have as many where each frame is a
fragment of its own, of two."""

_EBML, _SEGMENT = 0x1A45DFA3, 0x18538067  # RFC 8794, 11.2.1; RFC 9559, 5.1


def refuse_cut_off(path: Path, container: str, stream: dict[str, Any], rate: Fraction | None) -> None:
    """Raises InputError for a file that ends before its container says and lacks frames by that.

    ``container`` is ffmpeg's name of the format, ``stream`` what ffprobe says of the video, and ``rate`` its frames
    per second, where it is known.
    """
    end_of = next((end for name, end in _ENDS.items() if name in container.split(",")), None)
    if end_of is None:
        return
    size = path.stat().st_size
    with path.open("rb") as file:
        end = end_of(file, size)
    if end <= size:
        return
    # Edit lists hide frames that the index counts.
    every = ("-ignore_editlist", "1") if end_of is _end_of_boxes else ()
    there = ffmpeg.packets_of(path, *every, "-fflags", "+discardcorrupt")
    stated = int(stream.get("nb_frames") or 0)
    promised = stated or round(Fraction(stream.get("duration") or 0) * (rate or 0))
    if promised and there >= promised:  # what is missing lies behind the frames
        return
    frames = f"{there} {'frame is' if there == 1 else 'frames are'} there"
    if promised:
        frames += f", and its index promises {promised}" if stated else f", and it promises about {promised}"
    raise InputError(
        f"{path}: the file is cut off: {frames} ({size} bytes of {end}); get the whole file, or have ffmpeg take what "
        "is there into a new one (ffmpeg -i FILE -c copy NEW)"
    )


def _end_of_boxes(file: BinaryIO, size: int) -> int:
    """Where the last top-level box of media ends (ISO/IEC 14496-12, 4.2)."""
    place = 0
    for number in count():
        if place >= size:
            break
        _refuse_too_many(file, number)
        file.seek(place)
        head = file.read(16)
        length, kind = int.from_bytes(head[:4], "big"), head[4:8]
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        if length < 8:  # 0: to the end of the file; else no box
            break
        place += length
        if place > size:
            # Others hold no frames, and what is no box is padding or was appended.
            return place if kind in (b"mdat", b"moof") else size
    return size


def _end_of_chunks(file: BinaryIO, size: int) -> int:
    """Where the last RIFF chunk ends; the first of a large file is followed by others (OpenDML)."""
    place = 0
    for number in count():
        if place >= size:
            break
        _refuse_too_many(file, number)
        file.seek(place)
        head = file.read(8)
        length = int.from_bytes(head[4:], "little")
        if head[:4] != b"RIFF" or length in (0, 0xFFFFFFFF):  # never filled in
            break
        place += 8 + length
        if place > size:
            return place
        place += length % 2
    return size


def _refuse_too_many(file: BinaryIO, number: int) -> None:
    """Raises InputError for a file of elements without end: each of them takes a reading, and no player's file has so
    many."""
    if number >= MOST_BOXES:
        raise InputError(
            f"{file.name}: more than {MOST_BOXES:,} boxes or chunks at its outermost level: no film is kept like this; "
            "have ffmpeg take it into a new file (ffmpeg -i FILE -c copy NEW)"
        )


def _end_of_segment(file: BinaryIO, size: int) -> int:
    """Where the segment of a Matroska file ends (RFC 8794, 5 and 6)."""
    file.seek(0)
    while True:
        identity, length = _variable(file, with_marker=True), _variable(file, with_marker=False)
        if identity is None or length is None:
            return size
        if identity == _SEGMENT:
            return file.tell() + length
        if identity != _EBML:
            return size
        file.seek(length, 1)


def _variable(file: BinaryIO, *, with_marker: bool) -> int | None:
    """A variable-size integer; None for none, and for a size that is all ones, which is not known."""
    first = file.read(1)
    if not first or first[0] == 0:
        return None
    width = 9 - first[0].bit_length()
    value = int.from_bytes(first + file.read(width - 1), "big")
    if with_marker:
        return value
    value &= (1 << 7 * width) - 1
    return None if value == (1 << 7 * width) - 1 else value


_ENDS: dict[str, Callable[[BinaryIO, int], int]] = {
    "mov": _end_of_boxes,
    "avi": _end_of_chunks,
    "matroska": _end_of_segment,
}
"""By ffmpeg's names of containers."""
