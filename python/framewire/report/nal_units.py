"""What NAL units say of the frames of an H.264 or H.265 stream: which begin anew, and which no other refers to.

Clauses are those of ITU-T H.264 and H.265 of 2021.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from framewire.report.cut_stream import H264, CutStream, starts_of

__all__ = ["NalFacts", "nal_facts", "unpacked_size"]

START = b"\x00\x00\x01"
HEAD = 4096
"""Bytes of an access unit in which its first slice is looked for: before it stand parameter sets and messages. A frame
whose first slice begins later is one of which nothing is known."""


@dataclass(frozen=True)
class NalFacts:
    """Of a movie whose coded video sequences can be decoded each by itself."""

    begins: frozenset[int]
    """Frames that are IDR pictures."""
    not_referred_to: frozenset[int]
    """Frames that a decoder needs for no other one."""


def nal_facts(stream: CutStream, frames: Sequence[int]) -> NalFacts | None:
    """What is known of a movie; None where it does not begin with an IDR picture, or where not every IDR picture comes
    with the same parameter sets, and with all that there are in the stream.
    """
    kind = _H264() if stream.coding is H264 else _H265()
    with stream.path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as code:
        begins: set[int] = set()
        free: set[int] = set()
        layers: dict[int, int] = {}
        for frame in frames:
            at, size = stream.places[frame]
            first, last = _first_slice(kind, code[at : at + min(size, HEAD)]), _last_slice(kind, code, at, at + size)
            if first is None or last is None:
                return None
            layers[frame] = kind.layer(first)
            if kind.is_idr(first):
                begins.add(frame)
            if kind.is_free(first) and kind.is_free(last):  # of a frame of two fields they are of either
                free.add(frame)
        if not frames or frames[0] not in begins or not _repeats_parameter_sets(kind, stream, code, frames, begins):
            return None
    top = max(layers.values())
    return NalFacts(frozenset(begins), frozenset(frame for frame in free if layers[frame] == top))


def unpacked_size(stream: CutStream, frame: int) -> int:
    """Bytes of a frame as they come out of RTP packets, which carry NAL units and no start codes.

    Start codes are then of four bytes before the first unit and before parameter sets, of three before all others
    (docs/transports.md, *RTP payloads*).
    """
    kind = _H264() if stream.coding is H264 else _H265()
    with stream.path.open("rb") as source:
        at, size = stream.places[frame]
        source.seek(at)
        code = source.read(size)
    starts = [*starts_of(code)]
    total = 0
    for start, behind in zip(starts, [*starts[1:], len(code)], strict=True):
        unit = code[start + 3 : behind].rstrip(b"\x00")  # no unit ends so (7.4.1 of H.264, 7.4.2.1 of H.265)
        if unit:
            total += len(unit) + (4 if total == 0 or unit.startswith(kind.parameter_sets) else 3)
    return total


class _H264:
    """The header is a byte (7.3.1)."""

    parameter_sets = tuple(bytes([importance << 5 | kind]) for kind in (7, 8) for importance in (1, 2, 3))

    def is_slice(self, header: bytes) -> bool:
        return header[0] & 0x1F in (1, 2, 3, 4, 5)

    def is_idr(self, header: bytes) -> bool:
        return header[0] & 0x1F == 5

    def is_free(self, header: bytes) -> bool:
        """``nal_ref_idc`` is 0 (7.4.1)."""
        return header[0] & 0x60 == 0

    def layer(self, header: bytes) -> int:
        return 0


class _H265:
    """The header is two bytes (7.3.1.2)."""

    parameter_sets = tuple(bytes([kind << 1]) for kind in (32, 33, 34))

    def is_slice(self, header: bytes) -> bool:
        return header[0] >> 1 < 32

    def is_idr(self, header: bytes) -> bool:
        return header[0] >> 1 in (19, 20)

    def is_free(self, header: bytes) -> bool:
        """A sub-layer non-reference picture (table 7-1): none of its own temporal sub-layer refers to it."""
        return header[0] >> 1 in range(0, 16, 2)

    def layer(self, header: bytes) -> int:
        return header[1] & 0x07


Kind = _H264 | _H265


def _first_slice(kind: Kind, head: bytes) -> bytes | None:
    """The header of the first unit that is a slice."""
    headers = (head[at + 3 : at + 5] for at in starts_of(head))
    return next((header for header in headers if len(header) == 2 and kind.is_slice(header)), None)


def _last_slice(kind: Kind, code: mmap.mmap, begin: int, end: int) -> bytes | None:
    """The header of the last unit that is a slice."""
    at = code.rfind(START, begin, end)
    while at >= 0:
        header = code[at + 3 : at + 5]
        if len(header) == 2 and kind.is_slice(header):
            return header
        at = code.rfind(START, begin, at)
    return None


def _repeats_parameter_sets(
    kind: Kind, stream: CutStream, code: mmap.mmap, frames: Sequence[int], begins: set[int]
) -> bool:
    """Whether each IDR picture comes with the same parameter sets, and no others are in the stream: a decoder has the
    same behind any."""
    starts = [stream.places[frame][0] for frame in frames]
    end = sum(stream.places[frames[-1]])
    brought: dict[int, list[tuple[int, bytes]]] = {frame: [] for frame in begins}
    others: set[bytes] = set()
    for header in kind.parameter_sets:
        at = code.find(START + header, 0, end)
        while at >= 0:
            behind = code.find(START, at + 3, end)
            unit = code[at : behind if behind >= 0 else end].rstrip(b"\x00")
            frame = frames[bisect_right(starts, at) - 1]
            if frame in begins:
                brought[frame].append((at - stream.places[frame][0], unit))
            else:
                others.add(unit)
            at = code.find(START + header, at + 3, end)
    sets = [[unit for _, unit in sorted(units)] for units in brought.values()]
    return bool(sets[0]) and all(one == sets[0] for one in sets) and others <= {*sets[0]}
