"""What a ladder's frames look like: quantisers from the bit stream, and PSNR against the picture before it was encoded.

A frame that is shown for longer, because the ones behind it did not come, is compared with the picture that belongs
there: PSNR is computed for each frame and for up to :data:`FROZEN` frames later. All of it is kept beside the ladder.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from framewire.content_store import replacing
from framewire.errors import InputError, MachineError
from framewire.files import read_json
from framewire.movie import cache, ffmpeg
from framewire.movie.ladder.build import MadeLadder
from framewire.movie.ladder.picture import LabSource
from framewire.movie.ladder.presets import named
from framewire.movie.ladder.quantisers import quantisers_of
from framewire.movie.picture import Progress
from framewire.psnr import decibel

__all__ = ["FROZEN", "LARGEST_DB", "QUALITY", "Quality", "measure"]

FORMAT = 1
QUALITY = "quality.json"

FROZEN = 12
"""For how many frames after its own a frame is compared: half a second; one that stays longer counts as then."""

LARGEST_DB = 99.0
"""PSNR of what does not differ at all, whose PSNR is infinite."""

_LINE = re.compile(r"^n:(\d+) .*\bmse_y:([0-9.]+)", re.MULTILINE)


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
    kept = made.directory / QUALITY
    found = _found(kept)
    if found is not None:
        return found
    preset = made.description["preset"]
    if preset is None or any(level.suffix != ".avi" for level in made.levels):
        raise InputError(f"{made.directory}: a ladder of a preset in mpeg4 is needed, to compare it with its picture")
    report = progress or (lambda _step, _share: None)
    try:
        with tempfile.TemporaryDirectory(prefix=".quality-", dir=made.directory.parent) as scratch:
            source = LabSource(named(preset), made.description["frames"])
            picture = source.input(cache.cache_directory(), Path(scratch), report)
            psnr = []
            for number, level in enumerate(made.levels):
                report(f"comparing level {number} with the picture", number / len(made.levels))
                psnr.append(_psnr(level, picture, Path(scratch), source.frames))
        quality = Quality(tuple(tuple(quantisers_of(level)) for level in made.levels), tuple(psnr))
        text = json.dumps({"format": FORMAT, **asdict(quality)})
        with replacing(kept) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{kept}: the quality cannot be kept: {error.strerror or error}") from error
    return quality


def _found(path: Path) -> Quality | None:
    try:
        stored: dict[str, Any] = read_json(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if stored.get("format") != FORMAT:
        return None
    quantisers = tuple(tuple(level) for level in stored["quantisers"])
    return Quality(quantisers, tuple(tuple(tuple(lag) for lag in level) for level in stored["psnr_db"]))


def _psnr(level: Path, picture: Sequence[str], scratch: Path, frames: int) -> tuple[tuple[float, ...], ...]:
    """For each delay, by frame of the source; one run of ffmpeg for all of them."""
    lags = range(min(FROZEN, frames - 1) + 1)
    files = [scratch / f"psnr{lag}.txt" for lag in lags]
    count = len(lags)
    graph = [
        f"[0:v]settb=1/25,setpts=N,split={count}" + "".join(f"[a{lag}]" for lag in lags),
        f"[1:v]settb=1/25,setpts=N,split={count}" + "".join(f"[b{lag}]" for lag in lags),
    ]
    for lag in lags:
        graph.append(f"[b{lag}]trim=start_frame={lag},setpts=N[c{lag}]")
        graph.append(f"[a{lag}][c{lag}]psnr=stats_file={_escaped(files[lag])}:shortest=1:eof_action=endall[o{lag}]")
    outputs = [option for lag in lags for option in ("-map", f"[o{lag}]", "-f", "null", "-")]
    script = scratch / "psnr.graph"
    script.write_text(";".join(graph), encoding="ascii")
    ffmpeg.run(["-i", str(level), *picture, "-filter_complex_script", str(script), *outputs], lambda _frame: None)
    return tuple(tuple(_by_source_frame(file.read_text("ascii"), lag, frames)) for lag, file in enumerate(files))


def _escaped(path: Path) -> str:
    """A path as an option's value in a graph of filters (ffmpeg-filters(1), "Notes on filtergraph escaping").

    >>> _escaped(Path("/tmp/a:b"))
    '/tmp/a\\\\\\\\:b'
    """
    once = re.sub(r"([\\':])", r"\\\1", str(path))
    return re.sub(r"([\\'\[\],;])", r"\\\1", once)


def _by_source_frame(text: str, lag: int, frames: int) -> list[float]:
    values = [decibel(float(mse), LARGEST_DB) for _, mse in _LINE.findall(text)]
    if len(values) != frames - lag:
        raise MachineError(f"ffmpeg compared {len(values)} frames with a delay of {lag}; {frames - lag} were expected")
    return [values[0]] * lag + values
