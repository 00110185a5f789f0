"""A video file of the user's: what it holds, and how its picture is brought to what an encoder is given.

Size, shape of the pixels, frame rate, interlacing and colour description are kept. Nothing is scaled unless another
size is asked for, and then the picture keeps its shape. What cannot be kept is reported as a step of the progress:

- a variable frame rate is made constant, as nothing here carries time stamps with its frames: at the rate at which all
  of the file's time stamps fall on frames where that is no more than twice the mean, else at the next usual rate above
  the mean; what the file leaves out is repeated;
- interlaced frames are made progressive for an encoder that knows no fields;
- every movie is 8 bit, 4:2:0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from framewire import files
from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.cut_off import refuse_cut_off
from framewire.movie.mean_frame_rate import has_packets_of_fields, mean_rate_of

__all__ = [
    "ELEMENTARY",
    "Conversion",
    "FieldOrder",
    "Video",
    "convert",
    "field_options",
    "refuse_what_does_not_move",
    "rotation_of",
    "shown_rate",
    "video_of",
]

ELEMENTARY = {
    "mpegvideo": ("mpeg1video", "mpeg2video"),
    "h264": ("h264",),
    "hevc": ("hevc",),
    "m4v": ("mpeg4",),
    "obu": ("av1",),
}
"""ffmpeg's names of elementary streams, and of what they hold."""

_LENGTH_DELIMITED = "av1"
"""ffmpeg's name of annex B, of which FFmpeg 5.1 passes over the last unit and the frame rate that the stream states."""

FieldOrder = Literal["progressive", "top", "bottom"]
"""Frames, or two fields each, of which this one comes first."""

SMALLEST = 16
"""Pixels of a side: a macroblock (ISO/IEC 13818-2, 6.1.3; ITU-T H.264, 3.91)."""

FASTEST_ALLOWED = 1000
"""Frames per second."""

_NTSC = tuple(Fraction(rate * 1000, 1001) for rate in (24, 30, 48, 60, 120))
USUAL_RATES = tuple(sorted((*map(Fraction, (5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 100, 120)), *_NTSC)))
"""Frame rates in use; containers round them to milliseconds, or to two digits."""

_ROUNDED = Fraction(1, 5000)  # a fifth of what is between 30 and 30000/1001
_CONSTANT = Fraction(1, 100)  # the mean of a short file is less exact than its rate
_FASTEST = 120

_FLAGS = "flags=bicubic+accurate_rnd+bitexact"


@dataclass(frozen=True)
class Video:
    """The first video stream of a file, as far as its container and its headers state it."""

    path: Path
    container: str
    """ffmpeg's name of the format."""
    codec: str
    """ffmpeg's name of the codec."""
    width: int
    height: int
    """Upright, where the file says that the picture is to be turned."""
    sample_aspect: Fraction
    """Width of a pixel over its height."""
    frame_rate: Fraction | None
    """At which every frame has a place of its own; None where nothing states it."""
    mean_rate: Fraction | None
    """Frames over the time that they take: the same as the frame rate, but where that is variable."""
    field_order: FieldOrder
    duration_s: float
    """0 where it is not known."""
    start_s: Fraction
    """When the first picture is shown, from the beginning of what begins first in the file, which may be the audio."""
    fields_apart: bool = False
    """Whether packets of its container are fields, of which two make a frame."""

    @property
    def variable(self) -> bool:
        """Whether the frames are not all shown equally long."""
        return self.frame_rate != self.mean_rate


@dataclass(frozen=True)
class Conversion:
    """What is done to the picture on its way into an encoder, and what comes out."""

    filters: str
    frame_rate: Fraction
    width: int
    height: int
    sample_aspect: Fraction
    field_order: FieldOrder
    steps: tuple[str, ...]
    """In words, what is not kept."""


def rotation_of(stream: Mapping[str, Any]) -> int:
    """Degrees by which the container of a stream (as ffprobe describes it) says that players are to turn pictures."""
    return sum(int(data.get("rotation", 0)) for data in stream.get("side_data_list", []))


@files.remembered
def video_of(path: Path) -> Video:
    """Reads what a file holds.

    Raises InputError for a file without video, and for one that is cut off, as far as its container states it.
    """
    probed = ffmpeg.probe(path)
    stream, container = probed["streams"][0], probed["format"]
    if container["format_name"] == _LENGTH_DELIMITED:
        raise InputError(
            f"{path}: AV1 in the length-delimited format (annex B of its specification), and the low-overhead format "
            "(section 5) is read, which aomenc writes with --annexb=0 and ffmpeg with -f av1 -i FILE -c copy NEW.obu"
        )
    width, height, aspect = int(stream["width"]), int(stream["height"]), _aspect(stream)
    if rotation_of(stream) % 180:
        width, height, aspect = height, width, 1 / aspect
    field_order = "progressive" if stream.get("field_order") == "progressive" else _field_order(path)
    least, mean = _fraction(stream.get("r_frame_rate")), _fraction(stream.get("avg_frame_rate"))
    ffmpeg.refuse_encrypted(path, "V:0", "video")
    refuse_cut_off(path, container["format_name"], {"duration": container.get("duration")} | stream, mean)
    elementary = container["format_name"] in ELEMENTARY
    # Chunks of an AVI file have no times; where one has two pictures and another none, packets do not show its rate.
    is_packed = container["format_name"] == "avi" and stream.get("codec_name") == "mpeg4"
    if not elementary and not is_packed and not _has_exact_index(container["format_name"], stream):
        mean = _counted(mean, mean_rate_of(path))
    fields_apart = (
        not elementary
        and stream.get("codec_name") == "h264"
        and stream.get("field_order") != "progressive"
        and has_packets_of_fields(path)
    )
    frame_rate, mean_rate = _rates(least, mean, field_order, fields_apart=fields_apart)
    return Video(
        path=path,
        container=container["format_name"],
        codec=stream.get("codec_name", "unknown"),
        width=width,
        height=height,
        sample_aspect=aspect,
        frame_rate=frame_rate,
        mean_rate=mean_rate,
        field_order=field_order,
        duration_s=float(container.get("duration", 0.0)),
        start_s=max(_seconds(stream) - _seconds(container), Fraction(0)),
        fields_apart=fields_apart,
    )


def convert(
    video: Video,
    *,
    size: tuple[int, int] | None = None,
    frame_rate: Fraction | None = None,
    fields: bool = True,
    display_aspects: Sequence[Fraction] = (),
) -> Conversion:
    """How a picture is brought to an encoder.

    ``size`` is a width and a height within which the picture is to fit; ``frame_rate`` another rate; ``fields`` says
    whether the encoder knows interlaced frames, and ``display_aspects`` which shapes of the whole picture it can state
    beside square pixels (empty: all). Raises InputError for a still picture, one that is too small, and a frame rate
    that is not known.
    """
    refuse_what_does_not_move(video)
    rate = frame_rate or video.frame_rate
    if rate is None:
        raise InputError(f"{video.path}: its frame rate is not known; state one (frame_rate, --frame-rate)")
    if rate > FASTEST_ALLOWED:
        raise InputError(f"{video.path}: {shown_rate(rate)} frames/s; up to {FASTEST_ALLOWED} are allowed")
    if min(video.width, video.height) < SMALLEST:
        raise InputError(
            f"{video.path}: a picture of {video.width}x{video.height}; {SMALLEST}x{SMALLEST} and more is needed"
        )
    steps: list[str] = []
    if video.variable and frame_rate is None:
        mean = f"{shown_rate(video.mean_rate)} in the mean" if video.mean_rate else "unknown"
        steps.append(f"making the variable frame rate ({mean}) constant: {shown_rate(rate)} frames/s")
    # From 0 on, whatever comes first in the file: an AVI file would otherwise begin with frames that are not there.
    filters = ["setpts=PTS-STARTPTS"]
    if video.container == "avi" and video.frame_rate is not None and not video.variable:
        # It has decoding times only, and those of the last frames are guessed a slot too early.
        filters = [f"setpts=N/({video.frame_rate})/TB"]
    order = video.field_order
    if order != "progressive" and not fields:
        filters.append(f"bwdif=mode=send_frame:parity={'tff' if order == 'top' else 'bff'}:deint=all")
        steps.append("making the interlaced frames progressive, as this encoder knows no fields")
        order = "progressive"
    width, height, aspect = _shape(video, size, display_aspects)
    interlaced = "" if order == "progressive" else ":interl=1"
    if (width, height) != (video.width - video.width % 2, video.height - video.height % 2):
        filters.append(f"scale={width}:{height}:{_FLAGS}{interlaced},setsar=1")
    else:
        if (width, height) != (video.width, video.height):
            filters.append(f"crop={width}:{height}:0:0")
        filters.append(f"scale={_FLAGS}{interlaced}")
    filters.append(f"fps={rate},format=yuv420p")
    return Conversion(",".join(filters), rate, width, height, aspect, order, tuple(steps))


def field_options(picture: Conversion) -> list[str]:
    """Options of an encoder that keep the frames interlaced, in a codec that can; nothing for progressive ones."""
    if picture.field_order == "progressive":
        return []
    return ["-flags:v", "+ildct+ilme", "-top", "1" if picture.field_order == "top" else "0"]


def shown_rate(rate: Fraction) -> str:
    """A frame rate for people.

    >>> shown_rate(Fraction(30000, 1001)), shown_rate(Fraction(25))
    ('29.97', '25')
    """
    return f"{float(rate):.5g}"


def _field_order(path: Path) -> FieldOrder:
    """That of the first frame, decoded: what is said of the stream names the wrong field of H.264 (FFmpeg 5.1)."""
    frames = ffmpeg.probe(path, first_frame=True).get("frames", [])
    if not frames or not frames[0].get("interlaced_frame"):
        return "progressive"
    return "top" if frames[0].get("top_field_first") else "bottom"


def refuse_what_does_not_move(video: Video) -> None:
    """Raises InputError for a still picture: two packets are looked for, however long the file is."""
    counted = ffmpeg.probe(video.path, "-count_packets", "-read_intervals", "%+#2")["streams"][0]
    found = int(counted.get("nb_read_packets") or 0)
    if found == 0 and files.is_container(video.path):
        raise ffmpeg.damaged(video.path, "no frame is in it")
    if found < 2:
        raise InputError(f"{video.path}: a still picture ({video.codec}, one frame); a movie is needed")


def _shape(
    video: Video, size: tuple[int, int] | None, display_aspects: Sequence[Fraction]
) -> tuple[int, int, Fraction]:
    """Width and height, even both, and the shape of the pixels."""
    across = video.width * video.sample_aspect
    if size is not None:
        share = min(size[0] / across, Fraction(size[1], video.height))
        width, height = _even(across * share), _even(video.height * share)
        if min(width, height) < SMALLEST:
            raise InputError(
                f"size {size[0]}x{size[1]}: the picture would be {width}x{height}, as it keeps its shape; "
                f"{SMALLEST}x{SMALLEST} and more is needed"
            )
        return width, height, Fraction(1)
    shape = across / video.height
    stated = [aspect for aspect in display_aspects if abs(shape / aspect - 1) < Fraction(1, 40)]
    if display_aspects and video.sample_aspect != 1 and not stated:
        return _even(across), _even(Fraction(video.height)), Fraction(1)
    return video.width - video.width % 2, video.height - video.height % 2, video.sample_aspect


def _even(length: Fraction) -> int:
    return max(2, 2 * round(length / 2))


def _has_exact_index(container: str, stream: Mapping[str, Any]) -> bool:
    """Whether ffprobe's mean rate is that of the frames themselves: MP4 and MOV list each with its duration."""
    return "mov" in container.split(",") and bool(stream.get("nb_frames"))


def _counted(stated: Fraction | None, counted: Fraction | None) -> Fraction | None:
    """The mean rate: that of the packets, unless it differs only as much as rounded and few times do."""
    if stated is None or counted is None:
        return stated or counted
    return stated if abs(counted / stated - 1) < _CONSTANT else counted


def _rates(
    least: Fraction | None, mean: Fraction | None, field_order: FieldOrder, *, fields_apart: bool = False
) -> tuple[Fraction | None, Fraction | None]:
    """The frame rate and the mean one, of the rate that all time stamps fit (``r_frame_rate``) and the mean rate.

    ``fields_apart`` says that these are of fields, which may stand among whole frames.

    >>> _rates(Fraction(30), Fraction(30), "progressive")
    (Fraction(30, 1), Fraction(30, 1))
    >>> _rates(Fraction(50), Fraction(25), "top")
    (Fraction(25, 1), Fraction(25, 1))
    >>> _rates(Fraction(2997, 100), Fraction(2990, 100), "progressive")
    (Fraction(30000, 1001), Fraction(30000, 1001))
    >>> _rates(Fraction(90000), Fraction(2812, 100), "progressive")
    (Fraction(30000, 1001), Fraction(703, 25))
    >>> _rates(Fraction(30), Fraction(20), "progressive")
    (Fraction(30, 1), Fraction(20, 1))
    >>> _rates(Fraction(50), Fraction(40), "top", fields_apart=True)
    (Fraction(25, 1), Fraction(25, 1))
    >>> _rates(Fraction(90000), None, "progressive")
    (None, None)
    """
    if mean is None and least is not None and least > FASTEST_ALLOWED:  # it is the clock's: nothing has times
        return None, None
    if fields_apart and (of_fields := least or mean) is not None:
        return _usual(of_fields / 2), _usual(of_fields / 2)
    if least is None or mean is None:
        only = least or mean
        return (None, None) if only is None else (_usual(only), _usual(only))
    if field_order != "progressive" and abs(least / mean / 2 - 1) < _CONSTANT:
        least /= 2  # the rate of the fields
    if abs(least / mean - 1) < _CONSTANT:
        return _usual(least), _usual(least)
    if mean < least <= min(2 * mean * (1 + _CONSTANT), Fraction(_FASTEST)):
        return _usual(least), _usual(mean)
    above = next((rate for rate in USUAL_RATES if rate >= mean * (1 - _ROUNDED)), Fraction(math.ceil(mean)))
    return above, _usual(mean)


def _usual(rate: Fraction) -> Fraction:
    """The usual rate that was rounded, or a fraction that MPEG-4 part 2 can state: 16 bits (ISO/IEC 14496-2, 6.3.3)."""
    near = next((usual for usual in USUAL_RATES if abs(rate / usual - 1) < _ROUNDED), None)
    return near or rate.limit_denominator(max(1, 65_535 // math.ceil(rate)))


def _fraction(text: Any) -> Fraction | None:
    """A number or fraction as ffprobe writes it; None for "0/0" and "N/A"."""
    try:
        return Fraction(str(text)) or None
    except (ValueError, ZeroDivisionError):
        return None


def _seconds(told: dict[str, Any]) -> Fraction:
    return _fraction(told.get("start_time")) or Fraction(0)


def _aspect(stream: dict[str, Any]) -> Fraction:
    return _fraction(str(stream.get("sample_aspect_ratio", "1:1")).replace(":", "/")) or Fraction(1)
