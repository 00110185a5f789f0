"""The codecs that movies are made in, each with the options of its encoder.

All but MPEG-2 have a key frame every two seconds, as live streams do, and every group closed. One thread and no scene
cuts: the same bits from the same ffmpeg, and frame types in a fixed order whatever the picture holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from framewire.errors import InputError
from framewire.movie.levels import DISPLAY_ASPECTS, level_for
from framewire.movie.source import Conversion, field_options
from framewire.suggestions import refused

__all__ = ["CODECS", "LAB_VBV_BITS", "MPEG2", "Codec", "RateControl", "named"]

LAB_VBV_BITS = 1_835_000
"""The buffer of MPEG-2 Main Profile at Main Level, as the lab's movie has it."""


@dataclass(frozen=True)
class RateControl:
    """How the encoder may spend its bits."""

    peak: float  # over the mean
    even: bool  # the rate is bounded from below as well
    passes: int


@dataclass(frozen=True)
class Codec:
    """A codec and how it is encoded."""

    name: str  # in scenario files
    encoder: str  # of ffmpeg
    options: tuple[str, ...]  # at 25 frames/s
    suffix: str  # of an elementary stream's file
    rate_controls: tuple[RateControl, ...]  # tried in this order until the mean rate fits without stuffing
    vbv_seconds: float | None  # the decoder's buffer at the mean rate; None: that of the level of MPEG-2
    fields: bool  # it codes interlaced frames as such
    display_aspects: tuple[Fraction, ...] = ()  # shapes of a picture that it can state; none: all

    def options_for(self, picture: Conversion | None, rate: int) -> tuple[str, ...]:
        """Options for a picture at a mean rate in bit/s; None is the lab's.

        Raises InputError for what the codec cannot hold.
        """
        if picture is None:
            return self.options
        group = round(2 * picture.frame_rate)
        options = tuple(option.replace(_GROUP, f"keyint={group}:min-keyint={group}") for option in self.options)
        if self.name == "mpeg4":
            options = (*options, "-g", str(group))
        if self.name == "mpeg2":
            level = level_for(picture.width, picture.height, picture.frame_rate, rate)
            options = (*options, "-profile:v", "main", "-level:v", str(level.code))
        return (*options, *field_options(picture))

    def vbv_bits(self, picture: Conversion | None, rate: int) -> int:
        """Size of the decoder's buffer that the encoder keeps to."""
        if self.vbv_seconds is not None:
            return round(rate * self.vbv_seconds)
        if picture is None:
            return LAB_VBV_BITS
        return level_for(picture.width, picture.height, picture.frame_rate, rate).vbv_bits


_GROUP = "keyint=50:min-keyint=50"  # two seconds

_BITEXACT = ("-threads", "1", "-fflags", "+bitexact", "-map_metadata", "-1")

# IBBPBBPBBPBBPBB whatever the picture holds. The finest quantiser (ffmpeg holds it back unless lmin allows it too) lets
# an easy scene fill its rate with picture; a larger share of the buffer than the default third lets I pictures at high
# rates grow as far beyond the others as they need.
_MPEG2_OPTIONS = (
    *("-c:v", "mpeg2video", "-pix_fmt", "yuv420p", "-g", "15", "-bf", "2", "-b_strategy", "0"),
    *("-sc_threshold", "1000000000", "-qmin", "1", "-lmin", "1", "-rc_max_vbv_use", "0.4"),
    *("-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact+psnr", "-map_metadata", "-1"),
    *("-f", "mpeg2video"),
)


# "Even" also bounds the rate from below, which makes the most regular stream; where the picture is too simple for that,
# ffmpeg stuffs, and the bits go to where they are of use instead.
_EVEN, _UNEVEN, _FREE = RateControl(1.0, True, 1), RateControl(1.5, False, 2), RateControl(2.5, False, 2)

MPEG2 = Codec(
    "mpeg2",
    "mpeg2video",
    _MPEG2_OPTIONS,
    ".m2v",
    (_EVEN, _EVEN, _UNEVEN, _FREE, _FREE, _FREE),
    None,
    fields=True,
    display_aspects=DISPLAY_ASPECTS,
)


def _x264(name: str, pyramid: str) -> Codec:
    parameters = f"{_GROUP}:scenecut=0:open-gop=0:bframes=3:b-adapt=0:b-pyramid={pyramid}:threads=1"
    options = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "fast", "-x264-params", parameters)
    return Codec(name, "libx264", (*options, *_BITEXACT, "-f", "h264"), ".h264", (_UNEVEN,) * 4, 1.0, fields=True)


_X265_PARAMETERS = f"{_GROUP}:scenecut=0:open-gop=0:bframes=3:b-adapt=0:b-pyramid=1:pools=none:frame-threads=1"
_X265_OPTIONS = ("-c:v", "libx265", "-pix_fmt", "yuv420p", "-preset", "superfast", "-x265-params", _X265_PARAMETERS)

# As MPEG-2 with a longer group.
_MPEG4_OPTIONS = (
    *("-c:v", "mpeg4", "-pix_fmt", "yuv420p", "-g", "50", "-bf", "2", "-b_strategy", "0"),
    *("-sc_threshold", "1000000000", "-flags:v", "+bitexact+cgop", *_BITEXACT, "-f", "m4v"),
)

CODECS = (
    MPEG2,
    _x264("h264", "none"),
    _x264("h264-pyramid", "normal"),
    Codec("h265", "libx265", (*_X265_OPTIONS, *_BITEXACT, "-f", "hevc"), ".h265", (_UNEVEN,) * 4, 1.0, fields=False),
    Codec("mpeg4", "mpeg4", _MPEG4_OPTIONS, ".m4v", (_UNEVEN,) * 4, 1.0, fields=True),
)


def named(name: str) -> Codec:
    """The codec of this name; raises InputError for one that movies are not made in.

    >>> named("h264").suffix
    '.h264'
    """
    for codec in CODECS:
        if codec.name == name:
            return codec
    if name == "av1":
        names = ", ".join(codec.name for codec in CODECS)
        raise InputError(
            f'codec: "av1" is not allowed; allowed is one of {names}; a file in AV1 is sent as it is, without a bitrate'
        )
    raise refused("codec", name, [codec.name for codec in CODECS])
