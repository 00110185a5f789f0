"""The audio of a file, for a streaming file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.picture import Progress
from framewire.suggestions import refused

__all__ = ["CODECS", "Audio", "Sound"]

CODECS = {"mp3": "libmp3lame", "aac": "aac", "mp2": "mp2"}
"""Codecs by the name that a file of each ends with, and FFmpeg's encoders."""

_FORMATS = {
    "mp3": ["-write_xing", "0", "-id3v2_version", "0", "-f", "mp3"],
    "aac": ["-f", "adts"],
    "mp2": ["-f", "mp2"],
}
_RATES = (16_000, 384_000)


@dataclass(frozen=True)
class Sound:
    """The audio of a file that belongs to its picture."""

    path: Path
    start_s: Fraction
    """Where the picture begins, from the beginning of the file."""
    end_s: Fraction | None
    """How long the picture is, where it is cut."""


@dataclass(frozen=True)
class Audio:
    """How audio is encoded: the codec, and bits per second of both channels."""

    codec: str = "mp3"
    rate_bps: int = 128_000

    def __post_init__(self) -> None:
        if self.codec not in CODECS:
            raise refused("audio codec", self.codec, list(CODECS))
        least, most = _RATES
        if not least <= self.rate_bps <= most:
            raise InputError(f"audio rate {self.rate_bps} bit/s: {least} to {most} bit/s are allowed")

    def options(self, start: Fraction, end: Fraction | None) -> list[str]:
        """Options of ffmpeg: two channels from second ``start`` of a file, with silence where it has none yet, for
        ``end`` seconds.
        """
        limit = [] if end is None else ["-t", f"{float(end):.6f}"]
        shift = f"asetpts=PTS-{float(start):.6f}/TB," if start else ""
        coded = ["-c:a", CODECS[self.codec], "-b:a", str(self.rate_bps), "-ac", "2", "-bitexact"]
        return ["-vn", "-af", f"{shift}aresample=async=1:first_pts=0", *limit, *coded, *_FORMATS[self.codec]]

    def encode(self, sound: Sound, out: Path, report: Progress) -> None:
        """Encodes the first stream of audio of a file; raises InputError when ffmpeg cannot."""
        report("encoding the audio", 0.0)
        heard = ["-i", f"file:{sound.path}", "-map", "0:a:0"]
        ffmpeg.run([*heard, *self.options(sound.start_s, sound.end_s), str(out)], lambda _frame: None)
