"""FFmpeg as a player's decoder: it is given what came, damaged or not, and each picture comes out with its number."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from framewire.as_decoded import matroska
from framewire.report.cut_stream import Coding, ffmpeg

__all__ = ["pictures"]

# Pictures that are damaged come out, as players ask for; concealment is FFmpeg's own, which is on.
_SHOW_ALL = ["-flags", "output_corrupt"]
_TIME_BASE = ["-enc_time_base", "1:1000"]
_NUMBERS = [*_TIME_BASE, "-flush_packets", "1", "-f", "framehash", "-hash", "adler32"]


def pictures(
    coding: Coding, width: int, height: int, frames: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes]]:
    """Display number and luma of each picture, as the decoder puts them out, of numbered frames in decode order."""
    numbers, told = os.pipe()
    command = [ffmpeg(), "-v", "quiet", "-nostdin", "-threads", "1", "-copyts", *_SHOW_ALL, "-f", "matroska"]
    command += ["-i", "pipe:0", "-an", "-fps_mode", "passthrough", "-vf", f"extractplanes=y,scale={width}:{height}"]
    command += [*_TIME_BASE, "-f", "rawvideo", "-pix_fmt", "gray", "pipe:1"]
    command += ["-an", "-fps_mode", "passthrough", "-vf", "extractplanes=y,crop=16:16:0:0", *_NUMBERS, f"pipe:{told}"]
    with os.fdopen(numbers, "r", encoding="ascii") as lines, _running(command, told) as (feed, out):
        feeder = threading.Thread(target=_feed, args=(feed, coding, width, height, frames), daemon=True)
        feeder.start()
        found = _Numbers(lines)
        came: deque[bytes] = deque()  # FFmpeg writes a picture and its number in the order that it likes
        while len(picture := out.read(width * height)) == width * height:
            came.append(picture)
            yield from zip(found.known(len(came)), _taken(came), strict=False)
        yield from zip(found.rest(), _taken(came), strict=False)


class _Numbers:
    """The numbers of the pictures, read beside them: neither pipe is to wait for the other."""

    def __init__(self, lines: IO[str]) -> None:
        self._known: list[int] = []
        self._more = threading.Condition()
        self._over = False
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        with suppress(ValueError, OSError):  # closed, because nobody asks any more
            for line in lines:
                if not line.startswith("#"):
                    with self._more:
                        self._known.append(int(line.split(",")[2]))
                        self._more.notify()
        with self._more:
            self._over = True
            self._more.notify()

    def known(self, most: int) -> list[int]:
        """Those that are there, in order, up to so many."""
        with self._more:
            found, self._known = self._known[:most], self._known[most:]
            return found

    def rest(self) -> list[int]:
        """All others, when they are there."""
        with self._more:
            self._more.wait_for(lambda: self._over)
            return self._known


def _taken(came: deque[bytes]) -> Iterator[bytes]:
    while came:
        yield came.popleft()


@contextmanager
def _running(command: list[str], told: int) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[told])
    os.close(told)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdin, process.stdout
    finally:
        process.kill()
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def _feed(sink: IO[bytes], coding: Coding, width: int, height: int, frames: Iterable[tuple[int, bytes]]) -> None:
    with suppress(BrokenPipeError, ValueError, OSError):  # nobody asks any more
        sink.write(matroska.head(coding, width, height))
        for number, code in frames:
            sink.write(matroska.block(number, code))
        sink.close()
