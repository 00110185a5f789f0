"""A ladder of levels that were encoded before: taken out of their containers, checked frame by frame, never encoded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

from framewire import content_store
from framewire.errors import InputError
from framewire.files import sha256
from framewire.movie import cache, ffmpeg
from framewire.movie.elementary_stream import TAKEN_OUT, Output, carried, copy, stated_frame_rate, with_frame_rate
from framewire.movie.ladder import build, same_movie
from framewire.movie.ladder.coding import MOST_LEVELS
from framewire.movie.ladder.install import DESCRIPTION, MadeLadder, kept_and_copied
from framewire.movie.ladder.sound import Audio, Sound
from framewire.movie.picture import Progress
from framewire.movie.source import video_of

__all__ = ["join"]

_AS_THEY_ARE = {"avi": ".avi", "mpegvideo": ".m2v", "h264": ".h264", "hevc": ".h265", "m4v": ".m4v"}
"""FFmpeg's names of what a level may be, and what its file's name ends with."""

_TIMED = {output.suffix: output for output in TAKEN_OUT.values() if output.timing is not None}
"""Streams that may state no frame rate."""


def join(
    sources: Sequence[Path],
    out: Path | None = None,
    *,
    frame_rate: Fraction | None = None,
    payload: int = build.PAYLOAD,
    plan: build.Plan | None = None,
    audio: Audio | None = build.AUDIO,
    replace: bool = False,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> MadeLadder:
    """Makes a ladder of files that are its levels already, lowest first, or finds it in the cache.

    Each is an elementary stream, an AVI file, or a container out of which ffmpeg takes one; no frame is encoded.
    ``frame_rate`` is that of streams that do not state their own, where no container does. The audio is that of the
    highest level that has some, encoded as ``audio`` says; None leaves it out.

    Raises InputError for files that hold no such video, and for levels that are not aligned or show another movie, with
    the level and the frame, and MachineError when ffmpeg is missing or a directory cannot be written.
    """
    if len(sources) > MOST_LEVELS:
        raise InputError(f"{len(sources)} levels: 1 to {MOST_LEVELS} are allowed")
    report, plan = progress or (lambda _step, _share: None), plan or build.Plan()
    build.check_options(payload, plan)
    shapes = [_shape(path, frame_rate) for path in sources]
    heard = next((path for path in reversed(sources) if ffmpeg.has_audio(path)), None) if audio is not None else None
    recipe = {
        "format": build.FORMAT,
        "ffmpeg": ffmpeg.version_of("ffmpeg"),
        "levels": [[path.name, _digest(path, report)] for path in sources],
        "frame_rates": [str(shape.frame_rate) for shape in shapes],
        "payload": payload,
        "plan": asdict(plan),
        "alike": same_movie.LEAST_CORRELATION,
        "audio": None if heard is None or audio is None else [asdict(audio), sources.index(heard)],
    }

    def fill(scratch: Path) -> Path:
        made = scratch / "kept"
        made.mkdir()
        _fill(made, sources, shapes, payload, plan, (heard, audio), report)
        return made

    name = f"ladder-given-{content_store.key(recipe)}"
    return kept_and_copied(cache.store(cache_dir), name, fill, out, replace=replace, report=report)


@dataclass(frozen=True)
class _Shape:
    """How a level comes out of its file."""

    suffix: str
    output: Output | None
    """How ffmpeg writes it; None where the file is one as it stands."""
    frame_rate: Fraction | None
    """That of the container, or that which is asked for."""


def _shape(path: Path, frame_rate: Fraction | None) -> _Shape:
    if path.suffix == ".vtp":
        raise InputError(f"{path}: a streaming file, which is a whole ladder; a level is needed beside other levels")
    video = video_of(path)
    if video.container in _AS_THEY_ARE:
        return _Shape(_AS_THEY_ARE[video.container], None, None if video.container == "avi" else frame_rate)
    if video.codec not in TAKEN_OUT:
        raise InputError(f"{path}: {video.codec} video; levels are of {carried('or')}")
    output = TAKEN_OUT[video.codec]
    return _Shape(output.suffix, output, video.mean_rate or frame_rate)


def _digest(path: Path, report: Progress) -> str:
    report(f"reading {path.name}", 0.0)
    return sha256(path)


def _fill(
    place: Path,
    sources: Sequence[Path],
    shapes: Sequence[_Shape],
    payload: int,
    plan: build.Plan,
    sound: tuple[Path | None, Audio | None],
    report: Progress,
) -> None:
    """Puts levels, audio, streaming file and description into a directory."""
    files = []
    for number, (path, shape) in enumerate(zip(sources, shapes, strict=True)):
        report(f"taking level {number} out of {path.name}", number / len(sources))
        level = place / f"level{number}{shape.suffix}"
        if shape.output is None:
            shutil.copyfile(path, level)
        else:
            copy(path, shape.output, level, lambda _frame: None)
        output = shape.output or _TIMED.get(shape.suffix)
        # What a stream states of itself is kept; no rate is refused where the levels are read.
        if output is not None and shape.frame_rate is not None and stated_frame_rate(level) is None:
            with_frame_rate(level, output, shape.frame_rate, path)
        files.append(level)
    heard, audio = sound
    track = None
    if heard is not None and audio is not None:
        track = place / f"audio.{audio.codec}"
        audio.encode(Sound(heard, video_of(heard).start_s, None), track, report)
    report("checking the levels frame by frame", 0.0)
    try:
        description = build.written(files, place / build.STREAMING_FILE, payload, plan, track)
        same_movie.compare(files, description, report)
    except InputError as error:
        raise InputError(_of_sources(str(error), files, sources)) from None
    description |= {"name": sources[-1].stem, "preset": None}
    for level_facts, file, path in zip(description["levels"], files, sources, strict=True):
        level_facts |= {"file": file.name, "source": path.name}
    description["files"] = {path.name: path.stat().st_size for path in sorted(place.iterdir())}
    (place / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")


def _of_sources(told: str, files: Sequence[Path], sources: Sequence[Path]) -> str:
    """An error with the user's own files in it: by name where it is of one, else with all that have a number."""
    for file, path in zip(files, sources, strict=True):
        if str(file) in told:
            return told.replace(str(file), str(path))
    return f"{told} ({', '.join(f'level {number}: {path}' for number, path in enumerate(sources))})"
