"""Video elementary streams of the user's, sent as they are."""

from __future__ import annotations

import hashlib
import tempfile
from fractions import Fraction
from pathlib import Path

from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.cache import FORMAT, MadeMovie, cache_directory

__all__ = ["as_it_is"]

FORMATS = {
    "mpegvideo": ("mpeg1video", "mpeg2video"),
    "h264": ("h264",),
    "hevc": ("hevc",),
    "m4v": ("mpeg4",),
}
"""ffmpeg's names of elementary streams, and of what they hold."""


def as_it_is(path: Path, seconds: float | None, cache_dir: Path | None) -> MadeMovie:
    """An elementary stream of the user's, or the beginning of it."""
    forced = ("-f", "mpegvideo") if _is_mpeg_video(path) else ()
    probed = ffmpeg.probe(path, *forced)
    codec, container = probed["streams"][0]["codec_name"], probed["format"]["format_name"]
    if codec not in FORMATS.get(container, ()):
        raise InputError(
            f"{path}: {codec} in {container}, not an elementary stream of MPEG video, H.264 or H.265; "
            "state a bitrate to have it transcoded, or take the stream out with ffmpeg -i FILE -c copy"
        )
    stream = ffmpeg.probe(path, "-count_packets", *forced)["streams"][0]
    frame_rate = Fraction(stream["r_frame_rate"])
    frames = int(stream["nb_read_packets"])
    if seconds is not None and (limit := round(seconds * frame_rate)) < frames:
        path, frames = _beginning(path, container, limit, cache_dir), limit
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


def _beginning(path: Path, container: str, frames: int, cache_dir: Path | None) -> Path:
    """The first frames of an elementary stream in decode order, bit for bit, kept in the cache."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    cache = cache_dir or cache_directory()
    beginning = cache / f"{path.stem}-{frames}-{digest}{path.suffix or '.bin'}"
    cache.mkdir(parents=True, exist_ok=True)
    if not beginning.exists():
        with tempfile.TemporaryDirectory(prefix=f".{beginning.stem}-", dir=cache) as scratch:
            part, muxer = Path(scratch) / "movie", {"mpegvideo": "mpeg2video"}.get(container, container)
            copy = ["-c", "copy", "-frames:v", str(frames), "-fflags", "+bitexact", "-f", muxer, str(part)]
            ffmpeg.run(["-f", container, "-i", f"file:{path}", *copy], lambda _frame: None)
            part.replace(beginning)
    return beginning
