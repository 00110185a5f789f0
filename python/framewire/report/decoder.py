"""FFmpeg as a player's decoder: it is given frames, damaged or not, and each picture comes out with its number.

Which picture is which is told by where its frame stood in what the decoder was given: that goes with a picture through
the decoder, whatever order it puts them out in. Times would not do: where they go back, FFmpeg makes up others.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from framewire.report import matroska
from framewire.report.cut_stream import PIPE_BYTES, Coding, StreamError, decoder_of, ffmpeg

__all__ = ["Output", "luma", "pictures"]

# Pictures that are damaged come out, as players ask for; concealment is FFmpeg's own, which is on.
_SHOW_ALL = ["-flags", "output_corrupt"]
_POSITION = re.compile(rb"\] n: *\d+ pts:.* pos: *(-?\d+) ")  # libavfilter/vf_showinfo.c


@dataclass(frozen=True)
class Output:
    """What becomes of each picture that is decoded, and how it is read."""

    filters: str
    """Of FFmpeg, between the decoder and what is written."""
    written: tuple[str, ...]
    """FFmpeg's options that say how."""
    read: Callable[[IO[bytes]], bytes]
    """Reads one of them; what is empty ends them all."""

    @staticmethod
    def of(size: int, filters: str, pixels: str) -> Output:
        """Pixels of this format (FFmpeg's name), so many bytes of them in a picture."""

        def read(source: IO[bytes]) -> bytes:
            picture = source.read(size)
            return picture if len(picture) == size else b""

        return Output(filters, ("-f", "rawvideo", "-pix_fmt", pixels), read)


def luma(width: int, height: int) -> Output:
    """The luma, in this size."""
    return Output.of(width * height, f"extractplanes=y,scale={width}:{height}", "gray")


def pictures(
    coding: Coding, width: int, height: int, frames: Iterable[tuple[int, bytes]], output: Output | None = None
) -> Iterator[tuple[int, bytes]]:
    """Number and picture of each frame, as the decoder puts them out, of numbered frames in decode order; their luma
    where no other output is asked for. ``width`` and ``height`` are those of the frames.

    Raises StreamError where FFmpeg does not say which frame a picture is of.
    """
    output = output or luma(width, height)
    command = [ffmpeg(), "-hide_banner", "-nostats", "-v", "info", "-nostdin", "-threads", "1", "-copyts", *_SHOW_ALL]
    command += [
        "-f",
        "matroska",
        *decoder_of(coding),
        "-max_error_rate",
        "1",
        "-i",
        "pipe:0",
        "-an",
        "-fps_mode",
        "passthrough",
    ]
    command += ["-vf", output.filters, *output.written, "pipe:1"]
    command += ["-an", "-fps_mode", "passthrough", "-vf", "extractplanes=y,crop=16:16:0:0,showinfo", "-f", "null", "-"]
    numbers: dict[int, int] = {}
    with _running(command, lambda sink: _feed(sink, coding, width, height, frames, numbers)) as (out, told):
        came: deque[bytes] = deque()  # FFmpeg writes a picture and says where it is from in the order that it likes
        while picture := output.read(out):
            came.append(picture)
            yield from ((numbers[at], came.popleft()) for at in told.known(len(came)))
        yield from ((numbers[at], came.popleft()) for at in told.rest()[: len(came)])
        if came:
            raise StreamError("ffmpeg does not say of which frames its pictures are")


class _Positions:
    """Where the frames of the pictures stood, as FFmpeg says beside them: neither pipe is to wait for the other."""

    def __init__(self) -> None:
        self._known: list[int] = []
        self._lock = threading.Condition()
        self._over = False

    def read(self, lines: IO[bytes]) -> None:
        """Reads to the end."""
        for line in lines:
            if (found := _POSITION.search(line)) is not None:
                with self._lock:
                    self._known.append(int(found[1]))
        with self._lock:
            self._over = True
            self._lock.notify()

    def known(self, most: int) -> list[int]:
        """Those that are there, in order, up to so many."""
        with self._lock:
            found, self._known = self._known[:most], self._known[most:]
            return found

    def rest(self) -> list[int]:
        """All others, when they are there."""
        with self._lock:
            self._lock.wait_for(lambda: self._over)
            return self._known


@contextmanager
def _running(command: list[str], feed: Callable[[IO[bytes]], None]) -> Iterator[tuple[IO[bytes], _Positions]]:
    """The process with a thread that feeds it and one that reads what it says; all have ended behind the context."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=PIPE_BYTES
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    told = _Positions()
    threads = [
        threading.Thread(target=feed, args=(process.stdin,)),
        threading.Thread(target=told.read, args=(process.stderr,)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield process.stdout, told
    finally:
        process.kill()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()
        process.wait()


def _feed(
    sink: IO[bytes],
    coding: Coding,
    width: int,
    height: int,
    frames: Iterable[tuple[int, bytes]],
    numbers: dict[int, int],
) -> None:
    """Writes the frames, and notes where each stands."""
    with suppress(BrokenPipeError), sink:  # nobody asks any more
        head = matroska.head(coding, width, height)
        sink.write(head)
        written = len(head)
        for number, code in frames:
            block = matroska.block(number, code)
            numbers[written + matroska.place(block, code)] = number
            sink.write(block)
            written += len(block)
