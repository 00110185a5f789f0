"""Video of the user's, sent as it is: an elementary stream, or what ffmpeg takes out of a container without encoding.

Everything here has a constant frame rate. That of an elementary stream is the one that it states, or else the one
that is asked for; that of H.264 and H.265 in a container is the container's, in the mean where it varies. Where the
stream does not state that rate, it is written into its parameter sets, and nothing else is changed. MPEG video and
MPEG-4 part 2 state their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from framewire import _native, content_store
from framewire.errors import InputError, MachineError
from framewire.files import sha256
from framewire.movie import cache, ffmpeg
from framewire.movie.cache import FORMAT, MadeMovie
from framewire.movie.picture import Progress
from framewire.movie.source import ELEMENTARY, Video, refuse_what_does_not_move, shown_rate, video_of

__all__ = [
    "TAKEN_OUT",
    "Output",
    "as_it_is",
    "carried",
    "check",
    "codec_of",
    "copy",
    "look_into",
    "stated_frame_rate",
    "uneven_rate_of",
    "with_frame_rate",
    "without_headers",
]

TRANSCODE = "; state a bitrate to have it transcoded (movie.bitrate, and movie.codec for another codec than MPEG-2)"
"""What a scenario can do for a codec that is not carried."""


@dataclass(frozen=True)
class Output:
    """How ffmpeg writes an elementary stream of a codec without encoding."""

    name: str
    """What the codec is called."""
    suffix: str
    muxer: str
    filters: tuple[str, ...] = ()
    """Bit stream filters: start codes instead of lengths, and headers wherever decoding can begin."""
    timing: str | None = None
    """The bit stream filter that writes a frame rate, with a place for ticks; None: the codec always states it."""
    ticks: int = 1
    """In a frame, as the codec counts them."""


TAKEN_OUT = {
    "mpeg1video": Output("MPEG-1", ".m1v", "mpeg1video"),
    "mpeg2video": Output("MPEG-2", ".m2v", "mpeg2video"),
    # AVI files of DivX and Xvid have B pictures in the chunks of others, and a container may have the headers once for
    # the whole stream.
    "mpeg4": Output("MPEG-4 part 2", ".m4v", "m4v", ("mpeg4_unpack_bframes", "dump_extra=freq=keyframe")),
    # num_units_in_tick is of a field (ITU-T H.264, E.2.1).
    "h264": Output("H.264", ".h264", "h264", ("h264_mp4toannexb",), "h264_metadata=tick_rate={ticks}", 2),
    "hevc": Output("H.265", ".h265", "hevc", ("hevc_mp4toannexb",), "hevc_metadata=tick_rate={ticks}"),
    "av1": Output(
        "AV1", ".obu", "obu", ("av1_metadata=td=insert",), "av1_metadata=tick_rate={ticks}:num_ticks_per_picture=1"
    ),
}
"""By ffmpeg's name of the codec."""


def carried(word: str = "and") -> str:
    """The codecs that flows carry, for people.

    >>> carried("or")
    'MPEG-1, MPEG-2, MPEG-4 part 2, H.264, H.265 or AV1'
    """
    *others, last = (output.name for output in TAKEN_OUT.values())
    return f"{', '.join(others)} {word} {last}"


def as_it_is(
    path: Path,
    seconds: float | None,
    cache_dir: Path | None,
    *,
    frame_rate: Fraction | None = None,
    progress: Progress | None = None,
) -> MadeMovie:
    """The video of a file, or the beginning of it, without a frame encoded; kept in the cache where it is not the file.

    ``frame_rate`` is for streams that do not state their own. Raises InputError for another codec, a frame rate that is
    not known or is another one, and what ffmpeg cannot read.
    """
    report = progress or (lambda _step, _share: None)
    found = _find(path, seconds, frame_rate)
    if found.is_ready:
        loaded = _loaded(path, path)
        if found.frames is None or found.frames >= len(loaded):
            return _described(path, path, loaded)
    if (uneven := uneven_rate_of(found.video)) is not None:
        report(_evened(found, uneven), 0.0)
    stream = _taken_out(found, cache_dir, report)
    return _described(path, stream, _loaded(path, stream))


def uneven_rate_of(video: Video) -> Fraction | None:
    """Frames per second in the mean, where a container shows them at uneven distances; None where these are even."""
    return video.mean_rate if video.variable and video.container not in ELEMENTARY else None


def _evened(found: _Found, uneven: Fraction) -> str:
    """What becomes of frames at uneven distances: their stream carries a rate, and no times."""
    if found.output.timing is not None:
        return f"sending the frames evenly, at the mean of their variable rate: {shown_rate(found.rate)} frames/s"
    return (
        f"sending the frames evenly, at the rate that their stream states, which is not the mean of "
        f"{shown_rate(uneven)} frames/s in the file: it plays at another speed (a bitrate has it transcoded)"
    )


FEW = 50
"""Frames that are taken out for a check."""


def check(path: Path, seconds: float | None, *, frame_rate: Fraction | None = None) -> None:
    """Whether the video of a file can be used as it is, as far as that is known without taking it out; writes nothing.

    The first frames are, for a moment. Raises InputError as :func:`as_it_is` does.
    """
    found = _find(path, seconds, frame_rate)
    if found.is_ready:
        _loaded(path, path)
        return
    with tempfile.TemporaryDirectory(prefix="framewire-check-") as scratch:
        begin = Path(scratch) / f"movie{found.output.suffix}"
        limit = ["-frames:v", str(FEW)]
        copy(path, found.output, begin, lambda _frame: None, limit=limit)


def look_into(video: Video, scratch: Path, frame_rate: Fraction | None) -> tuple[Path, Fraction | None]:
    """The video of a container as an elementary stream in a directory, as flows or a level of a ladder would send it.

    With it its frame rate, where it is known; ``frame_rate`` is asked for where it is not. Raises InputError for a
    codec that neither flows nor ladders carry, and for what ffmpeg cannot read.
    """
    path = video.path
    output = TAKEN_OUT.get(video.codec)
    if output is None:
        raise InputError(
            f"{path}: {video.codec} in {video.container}, and the lab carries {carried()}; framewire movie make and "
            "movie ladder encode it anew"
        )
    known = video.mean_rate is not None or frame_rate is not None
    rate = _frame_rate(video, False, frame_rate, None) if known else None
    stream = scratch / f"movie{output.suffix}"
    copy(path, output, stream, lambda _frame: None)
    if rate is not None:
        with_frame_rate(stream, output, rate, path)
    return stream, rate


@dataclass(frozen=True)
class _Found:
    """What a file holds, and how it becomes an elementary stream."""

    video: Video
    output: Output
    rate: Fraction
    frames: int | None
    """At most so many are wanted."""
    is_ready: bool
    """It is an elementary stream that states its rate, and is sent as it is unless a part of it is wanted."""


def _find(path: Path, seconds: float | None, frame_rate: Fraction | None) -> _Found:
    """Reads what the headers of a file state."""
    video = video_of(path)
    output = TAKEN_OUT.get(video.codec)
    elementary = video.codec in ELEMENTARY.get(video.container, ())
    if output is None:
        refuse_what_does_not_move(video)
        raise InputError(f"{path}: {video.codec} in {video.container}, and flows carry {carried()}{TRANSCODE}")
    if elementary and _native.stream_codec(path) is None:
        raise without_headers(path, output.name)
    rate = _frame_rate(video, elementary, frame_rate, stated_frame_rate(path) if elementary else None)
    frames = None if seconds is None else max(1, round(seconds * rate))
    is_ready = elementary and (output.timing is None or stated_frame_rate(path) == rate)
    return _Found(video, output, rate, frames, is_ready)


def without_headers(path: Path, codec: str) -> InputError:
    """An elementary stream that lacks what a decoder begins with."""
    return InputError(
        f"{path}: an elementary stream of {codec} without the headers that a decoder begins with (parameter sets, a "
        "sequence header, a video object layer): a container may have kept them apart; have ffmpeg take the video out "
        "of that, which puts them in"
    )


def _loaded(path: Path, stream: Path) -> _native.LoadedMovie:
    """The stream as flows send it; an error names the user's file."""
    try:
        return _native.load_movie(stream)
    except _native.MovieError as error:
        raise InputError(str(error).replace(str(stream), str(path))) from None


def _described(path: Path, stream: Path, loaded: _native.LoadedMovie) -> MadeMovie:
    frames, duration, size = len(loaded), loaded.duration_s, stream.stat().st_size
    metadata = {
        "format": FORMAT,
        "source": {"kind": "file", "name": path.name},
        "frames": frames,
        "frame_rate": round(frames / duration, 6),
        "duration_s": duration,
        "bytes": size,
        "mean_bitrate_bps": size * 8 / duration,
    }
    return MadeMovie(stream, metadata)


def _frame_rate(video: Video, elementary: bool, asked: Fraction | None, stated: Fraction | None) -> Fraction:
    """The rate at which the frames are sent."""
    known = stated if elementary else video.mean_rate
    if known is None and asked is None:
        raise InputError(
            f"{video.path}: the stream does not tell its frame rate; state it (movie.frame_rate, --frame-rate), for "
            'instance "25 Hz"'
        )
    if known is not None and asked is not None and abs(asked / known - 1) > Fraction(1, 2000):
        raise InputError(
            f"{video.path}: the file states {shown_rate(known)} frames/s, so that {shown_rate(asked)} would play it at "
            "another speed; another frame rate needs a bitrate, which has it transcoded"
        )
    rate = known or asked
    assert rate is not None
    return rate


def codec_of(path: Path) -> str:
    """ffmpeg's name of the codec of a file's video; raises InputError for a file without video."""
    return str(ffmpeg.probe(path)["streams"][0].get("codec_name", "unknown"))


def stated_frame_rate(path: Path) -> Fraction | None:
    """The frame rate that an elementary stream states in its first headers; None where it states none."""
    stated = _native.stated_frame_rate(path)
    return None if stated is None else Fraction(*stated)


def _taken_out(found: _Found, cache_dir: Path | None, report: Progress) -> Path:
    """The stream in the cache, or its first frames in decode order, as they are but for a missing rate."""
    video, output, rate, frames = found.video, found.output, found.rate, found.frames
    report(f"reading {video.path.name}", 0.0)
    recipe = {
        "format": FORMAT,
        "ffmpeg": ffmpeg.version_of("ffmpeg"),
        "sha256": sha256(video.path),
        "output": [output.muxer, *output.filters, output.timing],
        "frame_rate": [rate.numerator, rate.denominator],
        "frames_at_most": frames,
    }
    store = cache.store(cache_dir)

    def take_out(scratch: Path) -> Path:
        part = scratch / f"movie{output.suffix}"
        limit = [] if frames is None else ["-frames:v", str(frames)]
        if frames is not None and video.fields_apart:  # ffmpeg counts packets
            limit = ["-t", f"{float(frames / rate):.6f}"]
        expected = frames or round(video.duration_s * rate)
        step = f"taking the video out of {video.path.name}"

        def show(frame: int) -> None:
            report(step, min(frame / expected, 1.0) if expected else 0.0)

        copy(video.path, output, part, show, limit=limit)
        return with_frame_rate(part, output, rate, video.path)

    name = f"{video.path.stem}-as-it-is-{content_store.key(recipe)}{output.suffix}"
    try:
        return store.keep(name, content_store.existing, take_out, report)
    except OSError as error:
        raise MachineError(f"{store.directory}: the movie cannot be kept here: {error.strerror or error}") from error


def copy(
    source: Path,
    output: Output,
    out: Path,
    show: ffmpeg.Show,
    *,
    limit: Sequence[str] = (),
) -> None:
    """Writes the first video stream of a file as an elementary stream, without encoding."""
    filters = ["-bsf:v", ",".join(output.filters)] if output.filters else []
    chosen = ["-map", "0:V:0", "-c", "copy", *filters, "-fflags", "+bitexact", "-map_metadata", "-1", *limit]
    ffmpeg.run(["-i", f"file:{source}", *chosen, "-f", output.muxer, str(out)], show, source)
    if out.stat().st_size == 0:
        raise ffmpeg.damaged(source, "no frame is in it")


def with_frame_rate(stream: Path, output: Output, rate: Fraction, source: Path) -> Path:
    """Writes a frame rate into the parameter sets of a stream that states none, or another one, and returns it.

    ``source`` is the file that it was taken out of.
    """
    if output.timing is None or stated_frame_rate(stream) == rate:
        return stream
    before = stream.with_name(f"untimed{stream.suffix}")
    stream.replace(before)
    filters = output.timing.format(ticks=rate * output.ticks)
    chosen = ["-c", "copy", "-bsf:v", filters, "-fflags", "+bitexact", "-map_metadata", "-1", "-f", output.muxer]
    ffmpeg.run(["-f", output.muxer, "-i", f"file:{before}", *chosen, str(stream)], lambda _frame: None, source)
    before.unlink()
    if (stated := stated_frame_rate(stream)) != rate:
        told = "none" if stated is None else shown_rate(stated)
        raise InputError(
            f"{stream.name}: its frame rate of {shown_rate(rate)} could not be written into its parameter sets ({told} "
            "is there); state a bitrate to have it transcoded"
        )
    return stream
