"""Elementary streams cut by the ledger, and decoded with ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

START_CODES = {0x00, 0xB3, 0xB8}
"""What an access unit may begin with: picture, sequence or group header (ISO/IEC 13818-2, table 6-1)."""

SEQUENCE_END = b"\x00\x00\x01\xb7"


class StreamError(Exception):
    """The stream is not what the ledger says, or cannot be decoded; the text says how."""


@dataclass(frozen=True)
class CutStream:
    """Where each frame of the ledger is in an elementary stream."""

    path: Path
    places: dict[int, tuple[int, int]]
    """Frame number in decode order -> (offset, size)."""

    def feed(self, frames: Sequence[int], sink: IO[bytes]) -> None:
        """Writes the named frames, in the order given, then the end of the sequence."""
        with self.path.open("rb") as source:
            for frame in frames:
                offset, size = self.places[frame]
                source.seek(offset)
                sink.write(source.read(size))
        sink.write(SEQUENCE_END)


def cut(path: Path, frames: pl.DataFrame, *, whole_file: bool) -> CutStream:
    """Finds the frames (decode order; columns `frame`, `size`) in the file and checks that each begins like one.

    With `whole_file` the frames must fill the file; without, it may go on behind them.
    """
    if not path.is_file():
        raise StreamError(f"{path} is not there")
    length = path.stat().st_size
    places: dict[int, tuple[int, int]] = {}
    offset = 0
    for frame, size in frames.select("frame", "size").iter_rows():
        places[frame] = (offset, size)
        offset += size
    if offset > length or (whole_file and length - offset > len(SEQUENCE_END)):
        raise StreamError(f"{path.name} has {length:,} bytes where the ledger names frames of {offset:,} bytes")
    with path.open("rb") as source:
        for frame, (at, _) in places.items():
            source.seek(at)
            start = source.read(4)
            if start[:3] != b"\x00\x00\x01" or start[3] not in START_CODES:
                raise StreamError(f"{path.name}: byte {at:,} is not the beginning of frame {frame} of the ledger")
    return CutStream(path, places)


def ffmpeg() -> str:
    """The path of ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise StreamError("ffmpeg is not installed")
    return found


class Decoder:
    """One ffmpeg process that decodes the given frames; its output is read from `stdout`.

    Pictures come in display order, one for each that was decoded: no picture is repeated or dropped to keep a rate.
    """

    def __init__(self, stream: CutStream, frames: Sequence[int], output: Sequence[str], filters: str) -> None:
        command = [ffmpeg(), "-v", "error", "-nostdin", "-threads", "1", "-f", "mpegvideo", "-i", "pipe:0", "-an"]
        command += ["-fps_mode", "passthrough", "-vf", f"{filters},setpts=N", *output, "pipe:1"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=1 << 20
        )
        self._feeder = threading.Thread(target=self._feed, args=(stream, frames), daemon=True)
        self._feeder.start()

    def _feed(self, stream: CutStream, frames: Sequence[int]) -> None:
        assert self._process.stdin is not None
        try:
            stream.feed(frames, self._process.stdin)
            self._process.stdin.close()
        except (BrokenPipeError, OSError):
            pass  # the decoder ended early: the number of pictures will tell

    @property
    def stdout(self) -> IO[bytes]:
        """What ffmpeg writes."""
        assert self._process.stdout is not None
        return self._process.stdout

    def close(self) -> None:
        """Ends the process, whether it is done or not."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._feeder.join()
        self.stdout.close()

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def luma_pictures(stream: CutStream, frames: Sequence[int], width: int, height: int) -> Iterator[bytes]:
    """The luma of each picture in display order, one at a time."""
    size = width * height
    with Decoder(stream, frames, ["-f", "rawvideo", "-pix_fmt", "gray"], "extractplanes=y") as decoder:
        while len(picture := decoder.stdout.read(size)) == size:
            yield picture


def luma_checksums(stream: CutStream, frames: Sequence[int]) -> list[int]:
    """CRC-32 of the luma of each picture in display order: cheap to compare, nothing to store."""
    with Decoder(stream, frames, ["-f", "framehash", "-hash", "CRC32"], "extractplanes=y") as decoder:
        return [int(line.rsplit(b",", 1)[1], 16) for line in decoder.stdout if not line.startswith(b"#")]


def small_pictures(stream: CutStream, frames: Sequence[int], width: int) -> Iterator[tuple[int, int, bytes]]:
    """Each picture in display order, scaled to this width and square pixels: (width, height, RGB)."""
    scale = f"scale=w={width}:h='trunc({width}/dar/2)*2':flags=area,setsar=1"
    with Decoder(stream, frames, ["-f", "image2pipe", "-c:v", "ppm"], scale) as decoder:
        while (magic := decoder.stdout.readline()) == b"P6\n":
            columns, rows = (int(number) for number in decoder.stdout.readline().split())
            decoder.stdout.readline()
            yield columns, rows, decoder.stdout.read(columns * rows * 3)
        if magic:
            raise StreamError("ffmpeg did not write PPM pictures")


def by_display(frames: pl.DataFrame) -> list[int]:
    """Display numbers of the frames, in the order in which a decoder puts the pictures out."""
    return frames["display"].sort().to_list()
