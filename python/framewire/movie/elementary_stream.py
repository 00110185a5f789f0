"""MPEG-1/2 video elementary streams of the user's, sent as they are."""

from __future__ import annotations

import hashlib
import tempfile
from fractions import Fraction
from pathlib import Path

from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.cache import FORMAT, MadeMovie, cache_directory

__all__ = ["as_it_is"]


def as_it_is(path: Path, seconds: float | None, cache_dir: Path | None) -> MadeMovie:
    """An elementary stream of the user's, or the beginning of it."""
    probed = ffmpeg.probe(path, "-count_packets", "-f", "mpegvideo") if _is_mpeg_video(path) else ffmpeg.probe(path)
    codec, container = probed["streams"][0]["codec_name"], probed["format"]["format_name"]
    if container != "mpegvideo" or codec not in ("mpeg1video", "mpeg2video"):
        raise InputError(
            f"{path}: {codec} in {container}, not an MPEG-2 video elementary stream; "
            "state a bitrate to have it transcoded"
        )
    stream = probed["streams"][0]
    frame_rate = Fraction(stream["r_frame_rate"])
    frames = int(stream["nb_read_packets"])
    if seconds is not None and (limit := round(seconds * frame_rate)) < frames:
        path, frames = _beginning(path, limit, cache_dir), limit
    size = path.stat().st_size
    duration = float(frames / frame_rate)
    metadata = {
        "format": FORMAT,
        "source": {"kind": "file", "name": path.name},
        "frames": frames,
        "frame_rate": float(frame_rate),
        "duration_s": duration,
        "bytes": size,
        "mean_bitrate_bps": size * 8 / duration,
    }
    return MadeMovie(path, metadata)


def _is_mpeg_video(path: Path) -> bool:
    """Whether a sequence header stands near the beginning, and no container around it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(65536)
    return b"\x00\x00\x01\xb3" in head and ffmpeg.probe(path)["format"]["format_name"] == "mpegvideo"


def _beginning(path: Path, frames: int, cache_dir: Path | None) -> Path:
    """The first frames of an elementary stream in decode order, bit for bit, kept in the cache."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    cache = cache_dir or cache_directory()
    beginning = cache / f"{path.stem}-{frames}-{digest}.m2v"
    cache.mkdir(parents=True, exist_ok=True)
    if not beginning.exists():
        with tempfile.TemporaryDirectory(prefix=f".{beginning.stem}-", dir=cache) as scratch:
            part = Path(scratch) / "movie.m2v"
            copy = ["-c", "copy", "-frames:v", str(frames), "-fflags", "+bitexact", "-f", "mpeg2video", str(part)]
            ffmpeg.run(["-f", "mpegvideo", "-i", f"file:{path}", *copy], lambda _frame: None)
            part.replace(beginning)
    return beginning
