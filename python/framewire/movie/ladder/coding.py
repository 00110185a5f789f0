"""Encoding one level: the codecs, how a level's quality is stated, and the options that keep all levels alike.

All levels have a key frame every twelve frames, as FFmpeg's encoders have by default, and no B frames; one thread and
no scene cuts, so that frames are of the same types whatever the level, and the same ffmpeg makes the same bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.option_values import parse_bitrate
from framewire.suggestions import refused

__all__ = ["CODECS", "FRAME_RATE", "GROUP", "Codec", "LevelSpec", "Zone", "encode", "named", "parse_levels"]

FRAME_RATE = (24_000, 1_001)
"""Of the lab's ladders: the paper's 23.976 frames per second (section 6.5 prints 23.975)."""

GROUP = 12
"""Frames from one key frame to the next."""

MOST_LEVELS = 32


@dataclass(frozen=True)
class LevelSpec:
    """What a level is encoded for: quantisers, with a mean rate or without; a constant quality; or a mean rate."""

    quantisers: tuple[int, int] | None = None
    crf: float | None = None
    rate_bps: int | None = None

    def __str__(self) -> str:
        quantisers = None if self.quantisers is None else "quantisers {}-{}".format(*self.quantisers)
        quality = None if self.crf is None else f"CRF {self.crf:g}"
        rate = None if self.rate_bps is None else f"{self.rate_bps / 1e3:g} kbit/s"
        return ", ".join(part for part in (quantisers, quality, rate) if part is not None)


@dataclass(frozen=True)
class Zone:
    """Frames that get more or less of the bits than they would."""

    first: int
    last: int
    factor: float


@dataclass(frozen=True)
class Codec:
    """A codec that ladders are made in."""

    name: str
    encoder: str
    options: tuple[str, ...]
    parameters: str | None  # the option for the encoder's own parameters
    fixed: str  # the encoder's own parameters that never change
    suffix: str
    output: tuple[str, ...]
    spread: float
    """By how much quality has to differ between neighbours for their mean to be any: quantisers are whole numbers."""
    fields: bool
    """It codes interlaced frames as such."""


_BITEXACT = ("-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1")

# The rate follows what the picture needs: -qcomp 1 keeps the quantiser, where 0 would keep the rate; -qdiff lets it
# change at once. AVI keeps every frame, and no time stamps.
_MPEG4 = (
    *("-pix_fmt", "yuv420p", "-g", str(GROUP), "-bf", "0", "-sc_threshold", "1000000000", "-threads", "1"),
    *("-qcomp", "1", "-qdiff", "31", "-vtag", "FMP4"),
)
_X26X = f"keyint={GROUP}:min-keyint={GROUP}:scenecut=0:open-gop=0:bframes=0"

CODECS = (
    Codec("mpeg4", "mpeg4", _MPEG4, None, "", ".avi", ("-f", "avi"), 0.15, fields=True),
    Codec(
        "h264", "libx264", ("-pix_fmt", "yuv420p", "-preset", "fast", "-threads", "1"),
        "-x264-params", f"{_X26X}:threads=1", ".h264", ("-f", "h264"), 0.0, fields=True,
    ),
    Codec(
        "h265", "libx265", ("-pix_fmt", "yuv420p", "-preset", "superfast"),
        "-x265-params", f"{_X26X}:pools=none:frame-threads=1:repeat-headers=1:log-level=error",
        ".h265", ("-f", "hevc"), 0.0, fields=False,
    ),
)  # fmt: skip


def named(name: str) -> Codec:
    """The codec of this name; raises InputError for one that ladders are not made in.

    >>> named("mpeg4").suffix
    '.avi'
    """
    for codec in CODECS:
        if codec.name == name:
            return codec
    raise refused("codec", name, [codec.name for codec in CODECS])


def parse_levels(text: str, codec: str) -> tuple[LevelSpec, ...]:
    """Levels from a text, lowest first: quantiser ranges for mpeg4, constant qualities or rates for the others.

    >>> [str(level) for level in parse_levels("8-31, 4-18, 2-10", "mpeg4")]
    ['quantisers 8-31', 'quantisers 4-18', 'quantisers 2-10']
    >>> [str(level) for level in parse_levels("36, 30, 24", "h264")]
    ['CRF 36', 'CRF 30', 'CRF 24']
    >>> [str(level) for level in parse_levels("125 kbit/s, 450 kbit/s", "h265")]
    ['125 kbit/s', '450 kbit/s']
    """
    coded = named(codec)
    levels = tuple(_parse_level(part.strip(), coded) for part in text.split(","))
    if len(levels) > MOST_LEVELS:
        raise InputError(f"{len(levels)} levels: 1 to {MOST_LEVELS} are allowed")
    for number, (below, level) in enumerate(pairwise(levels), 1):
        if _falls(below, level):
            raise InputError(
                f"level {number} ({level}) is no better than level {number - 1} ({below}): levels are given from the "
                "lowest to the highest"
            )
    return levels


def coarser(codec: Codec, top: LevelSpec, ratio: float, count: int) -> list[LevelSpec]:
    """Levels, lowest first, whose top has about a ``ratio`` less rate than ``top``, a quality; the others half of the
    rate of the next, as far as the codec's coarsest quality leaves room.

    A rate falls about as the quantiser grows, and by half with each 6 of CRF (x264's and x265's quantiser doubles with
    them: ITU-T H.264, 8.5.8). Raises InputError where there is no room for so many levels.

    >>> [str(level) for level in coarser(named("mpeg4"), LevelSpec(quantisers=(2, 10)), 2.0, 3)]
    ['quantisers 31-31', 'quantisers 17-17', 'quantisers 9-9']
    >>> [str(level) for level in coarser(named("h264"), LevelSpec(crf=24.0), 4.0, 3)]
    ['CRF 48', 'CRF 42', 'CRF 36']
    """
    if top.quantisers is not None:
        held = math.prod(top.quantisers) ** 0.5
        first = max(math.floor(held) + 1, math.ceil(held * ratio))
        step = min(2.0, (31 / first) ** (1 / (count - 1)))
        quantisers = [min(31, round(first * step**below)) for below in reversed(range(count))]
        if first <= 31 and len(set(quantisers)) == count:
            return [LevelSpec(quantisers=(one, one)) for one in quantisers]
    elif top.crf is not None:
        best = top.crf + max(1, math.ceil(6 * math.log2(ratio)))
        apart = min(6, (51 - best) // (count - 1))
        if apart >= 1:
            return [LevelSpec(crf=best + apart * below) for below in reversed(range(count))]
    raise InputError(
        f"{codec.name} has no {count} levels of this picture that take no more than the file's own video: ask for "
        "another codec (--codec), a smaller picture (--size) or levels of your own (--levels)"
    )


def _falls(below: LevelSpec, level: LevelSpec) -> bool:
    """Whether a level cannot have more bytes than the one below, as far as what is asked for shows it."""
    if below.rate_bps is not None and level.rate_bps is not None:
        return level.rate_bps <= below.rate_bps
    if below.crf is not None and level.crf is not None:
        return level.crf >= below.crf
    if below.quantisers is not None and level.quantisers is not None and below.rate_bps is level.rate_bps is None:
        return math.prod(level.quantisers) >= math.prod(below.quantisers)
    return False


def _parse_level(text: str, codec: Codec) -> LevelSpec:
    quality, _, rate = (part.strip() for part in text.partition("@"))
    if "bit/s" in quality:
        return LevelSpec(rate_bps=parse_bitrate(quality))
    rate_bps = parse_bitrate(rate) if rate else None
    if codec.name == "mpeg4":
        match = re.fullmatch(r"(\d+)\s*-\s*(\d+)", quality)
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= 31:
            raise InputError(
                f'level "{text}" of mpeg4: a range of quantisers from 1-31 is needed, for instance 2-10, with a rate '
                'behind an @ or without, or a rate such as "450 kbit/s"'
            )
        return LevelSpec(quantisers=(int(match[1]), int(match[2])), rate_bps=rate_bps)
    if rate_bps is not None or re.fullmatch(r"\d+(\.\d+)?", quality) is None or float(quality) > 51:
        raise InputError(
            f'level "{text}" of {codec.name}: a constant quality (CRF) from 0 to 51 or a rate such as "450 kbit/s" is '
            "needed"
        )
    return LevelSpec(crf=float(quality))


def encode(
    codec: Codec,
    source: Sequence[str],
    spec: LevelSpec,
    out: Path,
    show: Callable[[str, int], None],
    *,
    target_bps: float | None = None,
    zones: Sequence[Zone] = (),
    passes: Sequence[int] = (1, 2),
) -> list[str]:
    """Encodes one level, and returns the options that it was encoded with.

    A rate takes two passes; what the first has found out is good for any number of second ones beside it.
    """
    rate = target_bps if target_bps is not None else spec.rate_bps
    quality = _quality(codec, spec, rate)
    if rate is None:
        options = [*_options(codec, [], zones), *quality]
        ffmpeg.run([*source, *options, *_BITEXACT, *codec.output, str(out)], partial(show, ""))
        return options
    log = out.with_suffix(".pass")
    for turn in passes:
        if codec.name == "h265":  # which does not listen to ffmpeg's own options
            options = [*_options(codec, [f"pass={turn}", f"stats={log}"], zones), *quality]
        else:
            options = [*_options(codec, [], zones), *quality, "-pass", str(turn), "-passlogfile", str(log)]
        output = [*codec.output, str(out)] if turn == 2 else ["-f", "null", "-"]
        ffmpeg.run([*source, *options, *_BITEXACT, *output], partial(show, f", pass {turn} of 2"))
    # Where the log was written does not identify a result.
    return [option.replace(str(log), "pass") for option in options]


def _quality(codec: Codec, spec: LevelSpec, rate: float | None) -> list[str]:
    bits = [] if rate is None else ["-b:v", f"{rate:.0f}"]
    if spec.quantisers is not None:
        least, most = spec.quantisers
        # In between in proportion: the rate falls about as the quantiser grows.
        held = ["-q:v", f"{(least * most) ** 0.5:.2f}"] if rate is None else []
        return ["-qmin", str(least), "-qmax", str(most), *held, *bits]
    return bits if spec.crf is None else ["-crf", f"{spec.crf:g}"]


def _options(codec: Codec, parameters: Sequence[str], zones: Sequence[Zone]) -> list[str]:
    options = ["-c:v", codec.encoder, *codec.options]
    if codec.parameters is None:
        percent = [f"{zone.first},{zone.last},{-round(zone.factor * 100)}" for zone in zones]
        return [*options, *(["-rc_override", "/".join(percent)] if percent else [])]
    parts = [f"{zone.first},{zone.last},b={zone.factor:.3f}" for zone in zones]
    own = [codec.fixed, *parameters, *([f"zones={'/'.join(parts)}"] if parts else [])]
    return [*options, codec.parameters, ":".join(own)]
