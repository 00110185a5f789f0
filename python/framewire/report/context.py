"""What a decoder's picture of a frame depends on, beside the frame's own bytes.

A decoder makes the same pictures of the same bytes when it comes to them in the same state. In MPEG-1, MPEG-2 and
MPEG-4 part 2 that state is the headers, which come with I frames, and the two reference pictures before (ISO/IEC
13818-2, 6.1.1.11 and 6.3.11). In H.264 and H.265 it is what came since the last IDR picture, and the parameter sets
(ITU-T H.264, 7.4.1.2.1; H.265, 8.3.2); pictures that nothing refers to change nothing of it. So it is known without
decoding which frames of a stream with gaps decode to the movie's own pictures, and which frames of the movie one has to
decode for some of its pictures.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import polars as pl

from framewire.report.cut_stream import H264, H265, CutStream
from framewire.report.nal_units import NalFacts, nal_facts

__all__ = ["Context", "context_of"]

WHOLE = -1
"""The number of a group that is all that was received."""


class Context(Protocol):
    """Frames are numbered in decode order, as in the ledger."""

    def unchanged(self, frames: Sequence[int]) -> set[int]:
        """Of these frames (decode order; a decoder is given them, as they are in the movie, and no others) those whose
        pictures are certainly the movie's."""
        ...

    def closure(self, wanted: Iterable[int]) -> list[int]:
        """Frames of the movie, in decode order, of which a decoder makes the same pictures of the wanted ones as of the
        whole movie."""
        ...

    def groups(self, frames: Sequence[int]) -> dict[int, list[int]]:
        """These frames in groups, by the number of each: what one decodes to depends on no other but the one before."""
        ...

    def carried(self, group: Sequence[int]) -> list[int]:
        """Of a group the frames on which that behind it may depend."""
        ...


def context_of(stream: CutStream, ledger: pl.DataFrame) -> Context:
    """That of a movie as it was sent; columns `frame`, `type` and `gop`."""
    rows = ledger.select("frame", "type", "gop").sort("frame")
    kinds = dict(rows.select("frame", "type").iter_rows())
    if stream.coding.keeps_two_references:
        return _TwoReferences(kinds, dict(rows.select("frame", "gop").iter_rows()), _repeats_headers(stream, kinds))
    facts = nal_facts(stream, list(kinds)) if kinds and stream.coding in (H264, H265) else None
    return _ClosedSequences(facts) if facts is not None else _Everything(list(kinds))


class _Everything:
    """Nothing is known but that the same stream is the same movie."""

    def __init__(self, frames: list[int]) -> None:
        self._frames = frames

    def unchanged(self, frames: Sequence[int]) -> set[int]:
        return {*frames} if [*frames] == self._frames[: len(frames)] else set()

    def closure(self, wanted: Iterable[int]) -> list[int]:
        return self._frames if any(True for _ in wanted) else []

    def groups(self, frames: Sequence[int]) -> dict[int, list[int]]:
        return {WHOLE: [*frames]}

    def carried(self, group: Sequence[int]) -> list[int]:
        return []


class _TwoReferences:
    """I, P and B pictures, of which B pictures are never referred to."""

    def __init__(self, kinds: Mapping[int, str], gops: Mapping[int, int], repeats_headers: bool) -> None:
        self._kinds = kinds
        self._gops = gops
        self._repeats_headers = repeats_headers
        self._intra = [frame for frame, kind in kinds.items() if kind == "I"]
        self._references = behind(kinds, kinds)
        self._headers = dict(self._last_intra(kinds))

    def unchanged(self, frames: Sequence[int]) -> set[int]:
        """Those behind the same headers and the same references, which are unchanged themselves."""
        intra = self._intra[: bisect_right(self._intra, frames[-1])] if frames else []
        if not self._repeats_headers and not {*intra} <= {*frames}:
            return set()
        # A sequence header resets what the ones before have set (6.3.11).
        same_headers = {frame for frame, last in self._last_intra(frames) if last == self._headers[frame]}
        found: set[int] = set()
        for frame, references in behind(self._kinds, frames).items():
            if frame in same_headers and references == self._references[frame] and found.issuperset(references):
                found.add(frame)
        return found

    def closure(self, wanted: Iterable[int]) -> list[int]:
        if not self._repeats_headers:
            return _Everything([*self._kinds]).closure(wanted)
        needed: set[int] = set()
        missing = [*wanted]
        while missing:
            frame = missing.pop()
            if frame not in needed:
                needed.add(frame)
                missing += self._references[frame]
        return sorted(needed)

    def groups(self, frames: Sequence[int]) -> dict[int, list[int]]:
        """Groups of pictures; all together where one may need headers that another brings."""
        if not self._repeats_headers:
            return {WHOLE: [*frames]}
        found: dict[int, list[int]] = {}
        for frame in frames:
            found.setdefault(self._gops[frame], []).append(frame)
        return found

    def carried(self, group: Sequence[int]) -> list[int]:
        return [frame for frame in group if self._kinds[frame] != "B"]

    def _last_intra(self, frames: Iterable[int]) -> Iterator[tuple[int, int | None]]:
        last: int | None = None
        for frame in frames:
            last = frame if self._kinds[frame] == "I" else last
            yield frame, last


def behind(kinds: Mapping[int, str], frames: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """The references that each frame finds in a decoder that is given these frames: none, one or two."""
    found: dict[int, tuple[int, ...]] = {}
    last: tuple[int, ...] = ()
    for frame in frames:
        found[frame] = {"I": (), "P": last[-1:]}.get(kinds[frame], last)
        if kinds[frame] != "B":
            last = (*last, frame)[-2:]
    return found


class _ClosedSequences:
    """Coded video sequences that each begin with an IDR picture and bring their parameter sets."""

    def __init__(self, facts: NalFacts) -> None:
        self._begins = sorted(facts.begins)
        self._ignored = facts.not_referred_to

    def unchanged(self, frames: Sequence[int]) -> set[int]:
        """In each sequence those before the first gap that is more than pictures that nothing refers to."""
        found: set[int] = set()
        expected: int | None = None
        for frame in frames:
            if self._begin(frame) == frame:
                expected = frame
            if expected is None or any(one not in self._ignored for one in range(expected, frame)):
                expected = None
                continue
            found.add(frame)
            expected = frame + 1
        return found

    def closure(self, wanted: Iterable[int]) -> list[int]:
        """Each sequence from its beginning to the last that is wanted."""
        until: dict[int, int] = {}
        for frame in wanted:
            begin = self._begin(frame)
            until[begin] = max(until.get(begin, begin), frame)
        return [frame for begin, last in sorted(until.items()) for frame in range(begin, last + 1)]

    def groups(self, frames: Sequence[int]) -> dict[int, list[int]]:
        """The sequences, by the frame that each begins with; all together where one begins otherwise."""
        found: dict[int, list[int]] = {}
        for frame in frames:
            found.setdefault(self._begin(frame), []).append(frame)
        return found if all(begin == group[0] for begin, group in found.items()) else {WHOLE: [*frames]}

    def carried(self, group: Sequence[int]) -> list[int]:
        return []

    def _begin(self, frame: int) -> int:
        return self._begins[bisect_right(self._begins, frame) - 1]


def _repeats_headers(stream: CutStream, kinds: Mapping[int, str]) -> bool:
    """Whether a sequence header, or that of a video object layer, comes with every I frame."""
    intra = [frame for frame, kind in kinds.items() if kind == "I"]
    if not intra:
        return False
    with stream.path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as code:
        begins = (stream.places[frame][0] for frame in intra)
        return all(stream.coding.begins_with_headers(code[at : at + HEAD]) for at in begins)


HEAD = 1024
"""Bytes of an access unit in which its headers are looked for: those of MPEG-2 have at most some hundred before the
picture's, with matrices."""
