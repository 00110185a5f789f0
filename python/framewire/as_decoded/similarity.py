"""FFmpeg's structural similarity (SSIM) of two sequences of luma, picture by picture."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from contextlib import ExitStack, suppress
from queue import Queue

from framewire.report.cut_stream import StreamError, ffmpeg

__all__ = ["Similarity"]

AHEAD = 4
"""Pictures that wait for FFmpeg, of either sequence."""


class Similarity:
    """A context that is given pictures in pairs."""

    def __init__(self, width: int, height: int) -> None:
        self._geometry = ["-probesize", "32", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{height}"]
        self._queues: list[Queue[bytes | None]] = []
        self._threads: list[threading.Thread] = []
        self._count = 0

    def __enter__(self) -> Similarity:
        with ExitStack() as stack:
            self._told = stack.enter_context(tempfile.TemporaryFile())
            pairs = [os.pipe(), os.pipe()]
            command = [ffmpeg(), "-v", "error", "-nostdin", "-threads", "1"]
            for reading, _ in pairs:
                command += [*self._geometry, "-i", f"pipe:{reading}"]
            command += ["-lavfi", "[0:v][1:v]ssim=stats_file=-", "-f", "null", "-"]
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
            queue.put(picture)

    def values(self) -> list[float]:
        """One for each pair; raises StreamError where FFmpeg gives others. Nothing can be taken any more."""
        self._end()
        self._process.wait()
        self._told.seek(0)
        found = [float(line.split(b"All:")[1].split()[0]) for line in self._told]
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
