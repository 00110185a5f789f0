"""Elementary streams cut by the ledger, and decoded with ffmpeg."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import polars as pl

from framewire import _native

PIPE_BYTES = 1 << 20
"""Of a pipe to or from ffmpeg: the most that Linux grants anyone (``/proc/sys/fs/pipe-max-size``)."""


@dataclass(frozen=True)
class Coding:
    """How an elementary stream is recognised and fed to ffmpeg."""

    demuxer: str
    """ffmpeg's name of the format."""
    end: bytes
    """Tells a decoder that no picture follows."""
    head: bytes = b""
    """What stands before the first frame in that format."""

    def framed(self, code: bytes, number: int) -> bytes:
        """A frame as it stands in that format."""
        if self is not AV1:
            return code
        return len(code).to_bytes(4, "little") + number.to_bytes(8, "little") + code

    @property
    def keeps_two_references(self) -> bool:
        """B pictures are never referred to, and a P picture refers to the one before (ISO/IEC 13818-2, 14496-2)."""
        return self in (MPEG_VIDEO, MPEG4_PART2)

    def begins_with_headers(self, code: bytes) -> bool:
        """Whether an I frame that begins with these bytes brings all headers that a decoder keeps from frame to frame:
        a sequence header (ISO/IEC 13818-2, 6.2.2.1), or a video object layer (14496-2, 6.2.3)."""
        if self is MPEG_VIDEO:
            return code.startswith(b"\x00\x00\x01\xb3")
        picture = code.find(b"\x00\x00\x01\xb6")
        layer = next((at for at in starts_of(code) if 0x20 <= code[at + 3] <= 0x2F), -1)
        return self is MPEG4_PART2 and 0 <= layer < picture

    def may_begin(self, code: bytes) -> bool:
        """Whether an access unit may begin with these bytes: a start code and two bytes behind it, or a temporal
        delimiter of AV1 (AV1 bitstream, 5.6)."""
        if self is AV1:
            return code.startswith(DELIMITER)
        start = code.find(b"\x00\x00\x01", 0, 4)
        if start not in (0, 1) or len(code) < start + 5:
            return False
        value = code[start + 3]
        if self is MPEG_VIDEO:  # picture, sequence or group header (ISO/IEC 13818-2, table 6-1)
            return start == 0 and value in (0x00, 0xB3, 0xB8)
        if self is H264:  # a slice, SEI, parameter sets, delimiter (ITU-T H.264, table 7-1)
            return value & 0x1F in (1, 2, 5, 6, 7, 8, 9)
        if self is MPEG4_PART2:  # ISO/IEC 14496-2, table 6-3: from video object to VOP
            return value <= 0x2F or value in (0xB0, 0xB2, 0xB3, 0xB5, 0xB6)
        # A slice, parameter sets, delimiter, SEI (ITU-T H.265, table 7-1).
        return value >> 1 & 0x3F in (*range(10), *range(16, 22), 32, 33, 34, 35, 39)


MPEG_VIDEO = Coding("mpegvideo", b"\x00\x00\x01\xb7")
H264 = Coding("h264", b"\x00\x00\x01\x0a\x00\x00\x01\x0b")
H265 = Coding("hevc", b"\x00\x00\x01\x48\x01\x00\x00\x01\x4a\x01")
MPEG4_PART2 = Coding("m4v", b"\x00\x00\x01\xb1")
# FFmpeg's demuxer of bare temporal units ends where a reference is missing: an IVF file says where each one ends.
AV1 = Coding(
    "ivf", b"", b"DKIF\0\0\x20\0AV01" + bytes(4) + (25).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(8)
)
DELIMITER = b"\x12\x00"
CODINGS = {"MPEG video": MPEG_VIDEO, "MPEG-4 part 2": MPEG4_PART2, "H.264": H264, "H.265": H265, "AV1": AV1}
"""By the names that run.json and streaming files have for them."""


def starts_of(code: bytes) -> Iterator[int]:
    """Where start codes stand, of those that are there with the byte behind."""
    at = code.find(b"\x00\x00\x01")
    while 0 <= at < len(code) - 3:
        yield at
        at = code.find(b"\x00\x00\x01", at + 3)


def coding_of(path: Path) -> Coding:
    """What an elementary stream is coded in, by its beginning."""
    with path.open("rb") as source:
        head = source.read(65536)
    if (known := CODINGS.get(_native.stream_codec(path) or "")) is not None:
        return known
    # One that lost its parameter sets: a delimiter or SEI of layer 0 (ITU-T H.265, 7.3.1.2); H.264 has no such pair of
    # bytes.
    start = head.find(b"\x00\x00\x01")
    parameters = head[start + 3 : start + 5] if start >= 0 else b""
    return H265 if parameters in (b"\x40\x01", b"\x42\x01", b"\x44\x01", b"\x46\x01", b"\x4e\x01") else H264


def codec_name(path: Path) -> str | None:
    """What an elementary stream is coded in, by its name and its beginning; None for a file with nothing in it."""
    if path.stat().st_size == 0:
        return None
    if path.suffix == ".obu":
        return "AV1"
    coding = coding_of(path)
    if coding is not MPEG_VIDEO:
        return next(name for name, one in CODINGS.items() if one is coding)
    with path.open("rb") as source:
        head = source.read(65536)
    # A sequence extension follows the sequence header of MPEG-2 at once (ISO/IEC 13818-2, 6.2.2 and table 6-2).
    behind = head.find(b"\x00\x00\x01", head.find(b"\x00\x00\x01\xb3") + 4)
    return "MPEG-2" if head[behind + 3 : behind + 4] == b"\xb5" else "MPEG-1"


class StreamError(Exception):
    """The stream is not what the ledger says, or cannot be decoded; the text says how."""


@dataclass(frozen=True)
class CutStream:
    """Where each frame of the ledger is in an elementary stream."""

    path: Path
    places: dict[int, tuple[int, int]]
    """Frame number in decode order -> (offset, size)."""
    coding: Coding = MPEG_VIDEO

    def read(self, frame: int) -> bytes:
        """One frame."""
        offset, size = self.places[frame]
        with self.path.open("rb") as source:
            source.seek(offset)
            return source.read(size)

    def feed(self, frames: Sequence[int], sink: IO[bytes]) -> None:
        """Writes the named frames, in the order given, then the end of the sequence."""
        sink.write(self.coding.head)
        with self.path.open("rb") as source:
            for number, frame in enumerate(frames):
                offset, size = self.places[frame]
                source.seek(offset)
                sink.write(self.coding.framed(source.read(size), number))
        sink.write(self.coding.end)


def cut(path: Path, frames: pl.DataFrame, coding: Coding, *, whole_file: bool) -> CutStream:
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
    if offset > length or (whole_file and length - offset > len(coding.end)):
        raise StreamError(f"{path.name} has {length:,} bytes where the ledger names frames of {offset:,} bytes")
    if not places or not length:
        return CutStream(path, places, coding)
    with path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as code:
        for frame, (at, _) in places.items():
            if not coding.may_begin(code[at : at + 6]):
                raise StreamError(f"{path.name}: byte {at:,} is not the beginning of frame {frame} of the ledger")
    return CutStream(path, places, coding)


def ffmpeg() -> str:
    """The path of ffmpeg."""
    found = shutil.which("ffmpeg")
    if found is None:
        raise StreamError("ffmpeg is not installed")
    return found


_AV1_DECODERS = ("libdav1d", "libaom-av1")
"""ffmpeg's names of the decoders that show pictures of AV1 behind a loss, the better one first (docs/decoders.md)."""


def decoder_of(coding: Coding) -> list[str]:
    """Options of ffmpeg that choose a decoder, where its own choice would not do.

    Of AV1 that is dav1d, which shows all that can be decoded as long as it has one thread; with more, dav1d 1.0 may
    decode nothing behind an error. Where ffmpeg lacks it libaom takes its place, and leaves out some pictures.
    """
    if coding is not AV1:
        return []
    named = next((name for name in _AV1_DECODERS if name in _decoders()), None)
    return [] if named is None else ["-c:v", named, "-threads", "1"]


@cache
def _decoders() -> frozenset[str]:
    """ffmpeg's names of its decoders."""
    said = subprocess.run([ffmpeg(), "-v", "error", "-decoders"], capture_output=True, text=True, check=False).stdout
    return frozenset(line.split()[1] for line in said.splitlines() if len(line.split()) > 1)


class Decoder:
    """One ffmpeg process that decodes the given frames; its output is read from `stdout`.

    Pictures come in display order, one for each that was decoded: no picture is repeated or dropped to keep a rate.
    """

    def __init__(
        self, stream: CutStream, frames: Sequence[int], output: Sequence[str], filters: str, threads: int = 1
    ) -> None:
        command = [ffmpeg(), "-v", "error", "-nostdin", "-threads", str(threads), "-f", stream.coding.demuxer]
        command += [*decoder_of(stream.coding), "-i", "pipe:0", "-an"]
        command += ["-fps_mode", "passthrough", "-vf", f"{filters},setpts=N", *output, "pipe:1"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=PIPE_BYTES,
            pipesize=PIPE_BYTES,
        )
        self._feeder = threading.Thread(target=self._feed, args=(stream, frames), daemon=True)
        self._feeder.start()

    def _feed(self, stream: CutStream, frames: Sequence[int]) -> None:
        assert self._process.stdin is not None
        try:
            stream.feed(frames, self._process.stdin)
            self._process.stdin.close()
        except (BrokenPipeError, OSError):
            pass  # the decoder ended early, which the number of pictures will show

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


def luma_pictures(
    stream: CutStream, frames: Sequence[int], width: int, height: int, threads: int = 1
) -> Iterator[bytes]:
    """The luma of each picture in display order, one at a time."""
    yield from luma_batches(stream, frames, width, height, threads, batch=1)


def luma_batches(
    stream: CutStream, frames: Sequence[int], width: int, height: int, threads: int = 1, *, batch: int
) -> Iterator[bytes]:
    """The luma of whole pictures in display order, one behind the other: as many at a time, but for the last."""
    size = width * height
    with Decoder(stream, frames, ["-f", "rawvideo", "-pix_fmt", "gray"], "extractplanes=y", threads) as decoder:
        while whole := len(pictures := decoder.stdout.read(batch * size)) // size * size:
            yield pictures if whole == len(pictures) else pictures[:whole]


def luma_checksums(stream: CutStream, frames: Sequence[int]) -> list[int]:
    """Adler-32 of the luma of each picture in display order: cheap to compute and to compare, nothing to store."""
    with Decoder(stream, frames, ["-f", "framehash", "-hash", "adler32"], "extractplanes=y") as decoder:
        return [int(line.rsplit(b",", 1)[1], 16) for line in decoder.stdout if not line.startswith(b"#")]
