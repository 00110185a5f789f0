"""What came of a stream, judged by FFmpeg's decoder."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .codecs import Codec
from .programs import first_line


@dataclass(frozen=True)
class Outcome:
    """Frames that are the movie's, of how many, and what was said where not all of them are."""

    frames: int
    of: int
    said: str = ""

    @property
    def is_whole(self) -> bool:
        """Every frame came, and no other."""
        return 0 < self.frames == self.of and not self.said


def decoded(path: Path, codec: Codec) -> list[str]:
    """The MD5 of every frame that FFmpeg's decoder shows; none of a file that is not there."""
    if not path.exists() or not path.stat().st_size:
        return []
    if path.read_bytes()[:1] == b"#":  # FFmpeg has decoded it already
        return md5s(path.read_text())
    command = ["ffmpeg", "-v", "quiet", "-f", codec.demuxer, "-i", str(path), "-f", "framemd5", "-"]
    return md5s(subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout)


def md5s(shown: str) -> list[str]:
    """The last column of FFmpeg's framemd5."""
    return [line.rsplit(",", 1)[1].strip() for line in shown.splitlines() if line and not line.startswith("#")]


def compared(received: Path, sent: Path, codec: Codec, said: str, kept: int = 0) -> Outcome:
    """How many frames of the movie came as they were sent.

    `kept` of the last may be in the peer still, and it may be that it began the movie once more.
    """
    wanted = decoded(sent, codec)
    found = decoded(received, codec)[: len(wanted)]
    same = len(set(wanted) & set(found))
    if len(found) >= len(wanted) - kept and found == wanted[: len(found)]:
        return Outcome(len(wanted), len(wanted))
    return Outcome(same, len(wanted), first_line(said) or f"{len(found)} frames came")
