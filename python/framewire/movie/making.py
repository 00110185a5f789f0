"""A movie as it is asked for: made, found in the cache, or the user's own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from framewire import content_store
from framewire.errors import InputError, MachineError
from framewire.movie import cache, elementary_stream, ffmpeg
from framewire.movie.cache import MadeMovie
from framewire.movie.codecs import MPEG2, Codec, named
from framewire.movie.elementary_stream import as_it_is
from framewire.movie.encoder import encode_to_rate
from framewire.movie.option_values import Rate, Size, parse_bitrate, parse_duration, parse_frame_rate, parse_size
from framewire.movie.picture import FilePicture, LabPicture, Picture, Progress

__all__ = ["check", "make", "prepare"]


def prepare(
    source: str | os.PathLike[str] = "lab",
    bitrate: str | float | None = None,
    duration: str | float | None = None,
    codec: str | None = None,
    *,
    size: Size | None = None,
    frame_rate: Rate | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> MadeMovie:
    """The movie that a scenario's ``[movie]`` table asks for.

    ``source`` is ``lab`` or a path. Of a path without ``bitrate`` the video is used as it is: an elementary stream, or
    what stands in a container, where ``frame_rate`` is of a stream that does not state its own. ``bitrate`` is bit/s,
    or a text such as ``6 Mbit/s``, and asks for an encoding: ``codec`` is a name of ``codecs``, by default MPEG-2,
    ``size`` is width and height, or a text such as ``640x360``, and ``frame_rate`` a fraction, or a text such as
    ``25 Hz``; by default they are those of the file. ``duration`` is seconds, or a text such as ``60 s``.
    """
    rate = None if bitrate is None else parse_bitrate(bitrate)
    seconds = None if duration is None else parse_duration(duration)
    path = None if source == "lab" else Path(source)
    if path is not None and rate is None:
        if codec is not None or size is not None:
            raise InputError(f"{path}: a codec or a size asks for an encoding, which needs a bitrate")
        fraction = None if frame_rate is None else parse_frame_rate(frame_rate)
        return as_it_is(path, seconds, cache_dir, frame_rate=fraction, progress=progress)
    length = 60.0 if path is None and seconds is None else seconds
    return make(
        rate or 6_000_000,
        length,
        path,
        cache_dir,
        progress,
        codec=codec or MPEG2.name,
        size=size,
        frame_rate=frame_rate,
    )


def make(
    bitrate: float,
    duration: float | None = 60.0,
    source: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    codec: str = MPEG2.name,
    size: Size | None = None,
    frame_rate: Rate | None = None,
) -> MadeMovie:
    """Make a movie of a mean rate of ``bitrate`` bit/s within 1 %, or find it in the cache.

    As MPEG-2 IBBPBBPBBPBBPBB, else as ``codecs`` says. ``source`` is any file that ffmpeg reads; by default it is the
    lab's own picture, 720x576 at 25 frames per second. A file keeps its size, shape, frame rate, interlacing and colour
    description as far as the codec can state them (``source``); ``size`` (``640x360``) scales it to fit within that,
    and ``frame_rate`` (``25 Hz``) repeats or leaves out frames. ``duration`` is in seconds; None is the whole of a
    file. A file that is shorter ends where it ends.

    Movies shorter than about 15 seconds may miss the rate by a quarter of the encoder's buffer, 459 kbit in MPEG-2 at
    Main Level.

    Raises InputError for a file that holds no video, a value out of range or a rate that the picture cannot fill, and
    MachineError when ffmpeg is missing or the cache cannot be written.
    """
    rate, coded = parse_bitrate(bitrate), named(codec)
    seconds = None if duration is None else parse_duration(duration)
    report = progress or (lambda _step, _share: None)
    ffmpeg_version = ffmpeg.version_of("ffmpeg")
    picture = _picture(source, seconds, coded, size, frame_rate)
    recipe = {
        "format": cache.FORMAT,
        "ffmpeg": ffmpeg_version,
        "source": picture.identity(report),
        "bitrate_bps": rate,
        "frames_at_most": picture.frames,
        "encoder": list(coded.options_for(picture.shape, rate)),
        "vbv_bits": coded.vbv_bits(picture.shape, rate),
        "rate_controls": [[control.peak, control.even, control.passes] for control in coded.rate_controls],
    }
    store = cache.store(cache_dir)
    name = f"{picture.name}-{rate / 1e6:g}M-{content_store.key(recipe)}{coded.suffix}"

    def make(scratch: Path) -> Path:
        return _make(store.directory / name, scratch, coded, picture, rate, recipe, report)

    try:
        return store.keep(name, cache.find, make, report)
    except OSError as error:
        raise MachineError(f"{store.directory}: the movie cannot be kept here: {error.strerror or error}") from error


def check(
    source: str | os.PathLike[str],
    bitrate: str | float | None,
    duration: str | float | None = None,
    codec: str | None = None,
    *,
    size: Size | None = None,
    frame_rate: Rate | None = None,
) -> None:
    """Whether a file can be encoded, or without a bitrate be used as it is, as far as that is known before.

    Writes nothing. Raises InputError if not.
    """
    seconds = None if duration is None else parse_duration(duration)
    if bitrate is None:
        fraction = None if frame_rate is None else parse_frame_rate(frame_rate)
        elementary_stream.check(Path(source), seconds, frame_rate=fraction)
        return
    coded = named(codec or MPEG2.name)
    coded.options_for(_picture(source, seconds, coded, size, frame_rate).shape, parse_bitrate(bitrate))
    ffmpeg.refuse_undecodable(Path(source))


def _picture(
    source: str | os.PathLike[str] | None,
    seconds: float | None,
    codec: Codec,
    size: Size | None,
    frame_rate: Rate | None,
) -> Picture:
    if source is None:
        if size is not None or frame_rate is not None:
            raise InputError("the lab's picture has a size and a frame rate of its own: others are for a file")
        return LabPicture(seconds)
    return FilePicture(
        Path(source),
        seconds,
        size=None if size is None else parse_size(size),
        frame_rate=None if frame_rate is None else parse_frame_rate(frame_rate),
        fields=codec.fields,
        display_aspects=codec.display_aspects,
    )


def _make(
    path: Path, scratch: Path, codec: Codec, picture: Picture, rate: int, recipe: dict[str, Any], report: Progress
) -> Path:
    """Encodes the movie that is to be at a path, and puts its facts beside that."""
    source = picture.input(path.parent, scratch, report)
    encoded = encode_to_rate(codec, source, picture, rate, scratch, report)
    facts = scratch / "facts.json"
    facts.write_text(json.dumps(recipe | encoded.described() | {"file": path.name}, indent=1), encoding="utf-8")
    facts.replace(cache.facts_of(path))
    return encoded.path
