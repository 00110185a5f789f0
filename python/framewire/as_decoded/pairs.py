"""Two sequences of luma, compared by a filter of FFmpeg picture by picture."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from queue import Queue

from framewire.report.cut_stream import StreamError, ffmpeg

__all__ = ["Measure", "Pairs", "ssim"]

AHEAD = 4
"""Pictures that wait for FFmpeg, of either sequence."""


@dataclass(frozen=True)
class Measure:
    """What a pair of pictures is compared by."""

    program: str
    """The path of an ffmpeg that has the filter."""
    filters: str
    """From the pictures compared, ``[0:v]``, and those that they are held against, ``[1:v]``; they write what they find
    to the standard output."""
    read: Callable[[bytes], list[float]]
    """Of what it wrote, a number for each pair."""
    with_chroma: bool = False
    """It takes no luma alone, though it looks at no more: chroma without colour stands beside it, in quarters."""

    def command(self, width: int, height: int, pipes: tuple[int, int]) -> list[str]:
        """The program with its options; pictures of this size come by pipes of these numbers."""
        pixels = "yuv420p" if self.with_chroma else "gray"
        # Raw pictures have nothing to find out; FFmpeg would wait for more of them for it.
        geometry = ["-probesize", "32", "-f", "rawvideo", "-pix_fmt", pixels, "-s", f"{width}x{height}"]
        inputs = [word for pipe in pipes for word in (*geometry, "-i", f"pipe:{pipe}")]
        return [
            self.program,
            "-v",
            "error",
            "-nostdin",
            "-threads",
            "1",
            *inputs,
            "-lavfi",
            self.filters,
            "-f",
            "null",
            "-",
        ]


def ssim() -> Measure:
    """Structural similarity."""
    return Measure(ffmpeg(), "[0:v][1:v]ssim=stats_file=-", _similarities)


def _similarities(told: bytes) -> list[float]:
    """Of lines as ``n:1 Y:0.9 All:0.9 (10)`` (libavfilter/vf_ssim.c)."""
    return [float(line.split(b"All:")[1].split()[0]) for line in told.splitlines() if b"All:" in line]


class Pairs:
    """A context that is given pictures in pairs."""

    def __init__(self, measure: Measure, width: int, height: int) -> None:
        self._measure, self._size = measure, (width, height)
        quarter = ((width + 1) // 2) * ((height + 1) // 2)
        self._beside = bytes([128]) * (2 * quarter) if measure.with_chroma else b""
        self._queues: list[Queue[bytes | None]] = []
        self._threads: list[threading.Thread] = []
        self._count = 0

    def __enter__(self) -> Pairs:
        with ExitStack() as stack:
            self._told = stack.enter_context(tempfile.TemporaryFile())
            pairs = [os.pipe(), os.pipe()]
            (one, _), (other, _) = pairs
            command = self._measure.command(*self._size, (one, other))
            ours = [reading for reading, _ in pairs]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._told, pass_fds=ours)
            for reading in ours:
                os.close(reading)
            # FFmpeg reads either when it likes: a thread for each, so that neither waits for the other.
            for _, writing in pairs:
                queue: Queue[bytes | None] = Queue(AHEAD)
                self._threads.append(threading.Thread(target=_write, args=(queue, writing)))
                self._threads[-1].start()
                self._queues.append(queue)
            self._stack = stack.pop_all()
        return self

    def take(self, *pair: bytes) -> None:
        """The next picture of either."""
        self._count += 1
        for queue, picture in zip(self._queues, pair, strict=True):
            queue.put(picture + self._beside if self._beside else picture)

    def values(self) -> list[float]:
        """One for each pair; raises StreamError where FFmpeg gives others. Nothing can be taken any more."""
        self._end()
        self._process.wait()
        self._told.seek(0)
        found = self._measure.read(self._told.read())
        if len(found) != self._count:
            raise StreamError(f"ffmpeg compared {len(found):,} pictures of {self._count:,}")
        return found

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._end()
        self._stack.close()

    def _end(self) -> None:
        for queue in self._queues:
            queue.put(None)
        for thread in self._threads:
            thread.join()
        self._queues, self._threads = [], []


def _write(queue: Queue[bytes | None], pipe: int) -> None:
    """Goes on to take pictures where nobody reads them any more, so that what puts them does not wait."""
    with os.fdopen(pipe, "wb") as sink:
        while (picture := queue.get()) is not None:
            with suppress(BrokenPipeError):
                sink.write(picture)
