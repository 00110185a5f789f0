"""Which frames have to be decoded: what a decoder was given before, and in the same context, it is not given again.

Most of what several flows received is alike: groups of pictures that came whole, or lack the same frames. A decoder
makes the same pictures of the same bytes when it comes to them in the same state. In MPEG-1, MPEG-2 and MPEG-4 part 2
that state is the headers, which come with I frames, and the two reference pictures before (ISO/IEC 13818-2, 6.1.1.11).
So a stream that has every I frame, and every other frame behind the same references as in the movie, has the movie's
pictures; and what a group decodes to depends on its own frames and on the I and P frames of the group before. In H.264
and H.265 more is kept, so there only a stream that is alike from beginning to end is not decoded again.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from dataclasses import dataclass

from framewire.report.cut_stream import CutStream
from framewire.report.originals import Original, Received

__all__ = ["Part", "Plan"]

Key = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Part:
    """What has to be decoded of one flow."""

    frames: list[int]
    """In decode order; with what a group refers to where it is torn from its context."""
    slots: list[int]
    """Display numbers, in the order in which the decoder puts the pictures out."""
    whole: bool
    """It is all that the flow received and can be decoded."""


class Plan:
    """Takes the flows that sent one original in turn, and gives each only what no flow before had."""

    def __init__(self, original: Original) -> None:
        self._original = original
        rows = original.ledger.select("frame", "display", "type", "gop").sort("frame")
        self._display: dict[int, int] = dict(rows.select("frame", "display").iter_rows())
        self._gop: dict[int, int] = dict(rows.select("frame", "gop").iter_rows())
        self._type: dict[int, str] = dict(rows.select("frame", "type").iter_rows())
        self._refers = {frame for frame, kind in self._type.items() if kind != "B"}
        self._intra = [frame for frame, kind in self._type.items() if kind == "I"]
        self._references = self._behind(rows["frame"].to_list())
        self._seen: set[Key] = set()
        self._add(rows["frame"].to_list())

    def part(self, one: Received) -> Part:
        """What has to be decoded of what a flow received."""
        if not identical(one.stream, self._original.stream, one.decodable):
            return Part(one.decodable, one.slots, whole=True)
        if self._original.stream.coding.keeps_two_references and self._has_same_references(one.decodable):
            return Part([], [], whole=not one.decodable)
        frames = self._add(one.decodable)
        slots = sorted(self._display[frame] for frame in frames)
        return Part(frames, slots, whole=frames == one.decodable)

    def _behind(self, decodable: list[int]) -> dict[int, tuple[int, ...]]:
        """The references that each frame finds in a decoder that is given these frames: none, one or two."""
        found: dict[int, tuple[int, ...]] = {}
        last: tuple[int, ...] = ()
        for frame in decodable:
            found[frame] = {"I": (), "P": last[-1:]}.get(self._type[frame], last)
            if frame in self._refers:
                last = (*last, frame)[-2:]
        return found

    def _has_same_references(self, decodable: list[int]) -> bool:
        """Whether a decoder comes to each of these frames as it does in the whole movie."""
        found = self._behind(decodable)
        intra = self._intra[: bisect_right(self._intra, decodable[-1])] if decodable else []
        return all(frame in found for frame in intra) and all(
            references == self._references[frame] for frame, references in found.items()
        )

    def _add(self, decodable: list[int]) -> list[int]:
        """Frames of the groups that are new, each run of them behind the references that it begins with."""
        if not self._original.stream.coding.keeps_two_references:
            everything: Key = (0, tuple(decodable), ())
            new = everything not in self._seen
            self._seen.add(everything)
            return decodable if new else []
        groups: dict[int, list[int]] = {}
        for frame in decodable:
            groups.setdefault(self._gop[frame], []).append(frame)
        wanted: list[int] = []
        last: int | None = None
        for group, frames in groups.items():
            before = [frame for frame in groups.get(group - 1, []) if frame in self._refers]
            key = (group, tuple(frames), tuple(before))
            if key not in self._seen:
                self._seen.add(key)
                wanted += frames if last == group - 1 else before + frames
                last = group
        return wanted


def identical(received: CutStream, sent: CutStream, frames: list[int]) -> bool:
    """Whether these frames are the same bytes in both streams."""
    if any(received.places[frame][1] != sent.places[frame][1] for frame in frames):
        return False
    if not frames:
        return True
    with (
        received.path.open("rb") as one,
        sent.path.open("rb") as other,
        mmap.mmap(one.fileno(), 0, access=mmap.ACCESS_READ) as mine,
        mmap.mmap(other.fileno(), 0, access=mmap.ACCESS_READ) as theirs,
    ):
        places = ((received.places[frame], sent.places[frame]) for frame in frames)
        return all(mine[at : at + size] == theirs[of : of + size] for (at, size), (of, _) in places)
