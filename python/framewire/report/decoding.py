"""Which frames have to be decoded: what a decoder was given before, and in the same context, it is not given again.

Most of what several flows received is alike: groups of pictures that came whole, or lack the same frames. What decodes
to the movie's own pictures is known by their context (`context`). Only groups of pictures with others among them are
decoded, and each only once for all flows: what they decode to depends on their own frames, and on those of the group
before that they may refer to.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

from framewire.report.cut_stream import CutStream
from framewire.report.reference_pictures import Original, Received

__all__ = ["Part", "Plan", "identical"]

MOST_AT_ONCE = 1 << 18
"""Bytes that are compared at a time, where one frame has not more: what caches hold."""

Key = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Part:
    """What has to be decoded of one flow."""

    frames: list[int]
    """In decode order; with what a group refers to where it is torn from its context."""
    slots: list[int]
    """Display numbers, in the order in which the decoder puts the pictures out."""
    takes_over: bool = False
    """More was received that a flow before had in the same context."""


class Plan:
    """Takes the flows that sent one original in turn, and gives each only what no flow before had."""

    def __init__(self, original: Original) -> None:
        self._context = original.context
        self._display: dict[int, int] = dict(original.ledger.select("frame", "display").iter_rows())
        self._seen: set[Key] = set()

    def part(self, one: Received) -> Part:
        """What has to be decoded of what a flow received: the same bytes as in the original."""
        changed = {*one.decodable} - self._context.unchanged(one.decodable)
        if not changed:
            return Part([], [])
        frames: list[int] = []
        takes_over = False
        last: int | None = None
        groups = self._context.groups(one.decodable)
        for group, own in groups.items():
            if changed.isdisjoint(own):
                continue
            before = self._context.carried(groups.get(group - 1, []))
            key = (group, tuple(own), tuple(before))
            if key in self._seen:
                takes_over = True
                continue
            self._seen.add(key)
            frames += own if last == group - 1 else before + own
            last = group
        return Part(frames, sorted(self._display[frame] for frame in frames), takes_over)


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
        return all(mine[at : at + size] == theirs[of : of + size] for at, of, size in stretches(received, sent, frames))


def stretches(received: CutStream, sent: CutStream, frames: list[int]) -> Iterator[tuple[int, int, int]]:
    """Where the frames are in either stream, and how many bytes: as many as lie together in both, up to a limit."""
    at = of = size = 0
    for frame in frames:
        (start, more), (begin, _) = received.places[frame], sent.places[frame]
        if (start, begin) == (at + size, of + size) and size + more <= MOST_AT_ONCE:
            size += more
            continue
        yield at, of, size
        at, of, size = start, begin, more
    yield at, of, size
