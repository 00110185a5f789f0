"""What a ladder's frames look like: quantisers from the bit stream, and PSNR against the picture before it was encoded.

A frame that is shown for longer, because the ones behind it did not come, is compared with the picture that belongs
there: PSNR is computed for each frame and for up to :data:`FROZEN` frames later. All of it is kept beside the ladder.
"""

from __future__ import annotations

import json
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from framewire.content_store import ContentStore, key
from framewire.errors import InputError, MachineError
from framewire.files import read_json
from framewire.movie import cache, ffmpeg
from framewire.movie.ladder.build import MadeLadder
from framewire.movie.ladder.picture import LabSource
from framewire.movie.ladder.presets import Preset, named
from framewire.movie.ladder.quantisers import quantisers_of
from framewire.movie.picture import Progress
from framewire.psnr import decibel, squared_error

__all__ = ["FROZEN", "LARGEST_DB", "NAME", "Quality", "measure"]

FROZEN = 12
"""For how many frames after its own a frame is compared: half a second; one that stays longer counts as then."""

LARGEST_DB = 99.0
"""PSNR of what does not differ at all, whose PSNR is infinite."""

NAME = f"quality-{key({'format': 2, 'frozen': FROZEN, 'largest_db': LARGEST_DB})}.json"
"""Of what is kept beside the ladder, by what it is besides the ladder's."""


@dataclass(frozen=True)
class Quality:
    """Of each frame of each level, lowest level first."""

    quantisers: tuple[tuple[int, ...], ...]
    """By level and frame, 1 to 31: the higher the coarser."""
    psnr_db: tuple[tuple[tuple[float, ...], ...], ...]
    """Of luminance, by level, by how many frames later it is still shown (0 to :data:`FROZEN`), and by the frame of the
    source with which it is compared; before the first frame that can be, as that."""

    def shown_db(self, level: int, frame: int, at: int) -> float:
        """PSNR at the place of frame ``at`` when a frame of a level is still shown there."""
        return self.psnr_db[level][min(at - frame, FROZEN)][at]


def measure(made: MadeLadder, progress: Progress | None = None) -> Quality:
    """The quality of a ladder of a preset, measured with ffmpeg or found beside the ladder.

    Raises InputError for a ladder of something else, whose picture before encoding is not at hand, and MachineError
    when ffmpeg is missing or nothing can be written.
    """
    preset = made.description["preset"]
    if preset is None or any(level.suffix != ".avi" for level in made.levels):
        raise InputError(f"{made.directory}: a ladder of a preset in mpeg4 is needed, to compare it with its picture")
    report = progress or (lambda _step, _share: None)

    def make(scratch: Path) -> Path:
        text = json.dumps(asdict(_measured(made, named(preset), scratch, report)))
        kept = scratch / "made"
        kept.write_text(text, encoding="utf-8")
        return kept

    try:
        return ContentStore(made.directory).keep(NAME, _found, make, report)
    except OSError as error:
        raise MachineError(f"{made.directory}: the quality cannot be kept: {error.strerror or error}") from error


def _measured(made: MadeLadder, preset: Preset, scratch: Path, report: Progress) -> Quality:
    source = LabSource(preset, made.description["frames"])
    picture = source.input(cache.cache_directory(), scratch, report)
    psnr = []
    for number, level in enumerate(made.levels):
        report(f"comparing level {number} with the picture", number / len(made.levels))
        psnr.append(_psnr(level, picture, source.frames))
    return Quality(tuple(tuple(quantisers_of(level)) for level in made.levels), tuple(psnr))


def _found(path: Path) -> Quality | None:
    try:
        stored: dict[str, Any] = read_json(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    quantisers = tuple(tuple(level) for level in stored["quantisers"])
    return Quality(quantisers, tuple(tuple(tuple(lag) for lag in level) for level in stored["psnr_db"]))


def _psnr(level: Path, picture: Sequence[str], frames: int) -> tuple[tuple[float, ...], ...]:
    """For each delay, by frame of the source."""
    lags = min(FROZEN, frames - 1) + 1
    by_lag: list[list[float]] = [[] for _ in range(lags)]
    last: deque[bytes] = deque(maxlen=lags)
    for shown, original in _pairs(level, picture):
        last.appendleft(shown)
        for found, one in zip(by_lag, last, strict=False):
            found.append(decibel(squared_error(one, original), LARGEST_DB))
    if len(by_lag[0]) != frames:
        raise MachineError(f"ffmpeg decoded {len(by_lag[0])} frames of {level} and its picture; {frames} were expected")
    return tuple((*[found[0]] * lag, *found) for lag, found in enumerate(by_lag))


def _pairs(level: Path, picture: Sequence[str]) -> Iterator[tuple[bytes, bytes]]:
    """The luma of each frame of a level, and of the picture that it was encoded from."""
    stream = ffmpeg.probe(level)["streams"][0]
    size = stream["width"] * stream["height"]
    planes = ";".join(f"[{number}:v]settb=1/25,setpts=N,extractplanes=y[p{number}]" for number in range(2))
    graph = f"{planes};[p0][p1]vstack=shortest=1,settb=AVTB,setpts=N/FRAME_RATE/TB[both]"
    raw = ["-map", "[both]", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(level), *picture, "-filter_complex", graph, *raw]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            while len(both := process.stdout.read(2 * size)) == 2 * size:
                yield both[:size], both[size:]
        except BaseException:
            process.kill()
            raise
    ffmpeg.refuse_crash("ffmpeg", process.returncode)
