"""Encoding a picture at a mean rate: as often as it takes, until the rate is met and every byte is picture."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from framewire.errors import InputError, MachineError
from framewire.movie import ffmpeg
from framewire.movie.codecs import MPEG2, Codec
from framewire.movie.picture import Picture, Progress

__all__ = ["Encoded", "encode_to_rate"]

TOLERANCE = 0.01  # of the mean rate, where the movie is long enough for it

COARSEST = "31"
"""quantiser_scale_code, ISO/IEC 13818-2 6.3.5: 1 to 31."""

# Zero bytes before a start code; an encoder aligns with fewer. Looked for from the first of them only: where no start
# code follows, behind the last picture, it would otherwise be looked for again from each.
STUFFING = re.compile(rb"(?<!\x00)\x00{8,}(?=\x00\x00\x01)")
STUFFING_ALLOWED = 0.001  # of the bytes


@dataclass(frozen=True)
class Encoded:
    """What came out of the encoder: frames in decode order."""

    path: Path
    types: str
    sizes: list[int]
    psnr_y: list[float | None]  # None where the frame came out as it went in
    options: list[str]
    frame_rate: Fraction

    @property
    def duration_s(self) -> float:
        return len(self.sizes) * self.frame_rate.denominator / self.frame_rate.numerator

    @property
    def mean_rate(self) -> float:
        return sum(self.sizes) * 8 * self.frame_rate.numerator / self.frame_rate.denominator / len(self.sizes)

    def described(self) -> dict[str, Any]:
        by_type = {
            kind: [size for size, of in zip(self.sizes, self.types, strict=True) if of == kind] for kind in "IPB"
        }
        return {
            "frames": len(self.sizes),
            "frame_rate": self.frame_rate.numerator if self.frame_rate.denominator == 1 else float(self.frame_rate),
            "duration_s": self.duration_s,
            "bytes": sum(self.sizes),
            "mean_bitrate_bps": self.mean_rate,
            "frames_by_type": {kind: len(sizes) for kind, sizes in by_type.items()},
            "mean_size_by_type": {kind: sum(sizes) / len(sizes) for kind, sizes in by_type.items() if sizes},
            "encoded_with": self.options,
            "types": self.types,
            "sizes": self.sizes,
            "psnr_y_db": self.psnr_y,
        }


def encode_to_rate(
    codec: Codec, source: list[str], picture: Picture, rate: int, scratch: Path, report: Progress
) -> Encoded:
    """Encodes until the mean rate is within the tolerance and every byte is picture."""
    target, stuffed, error, before = float(rate), False, 0.0, codec.rate_controls[0]
    buffer = codec.vbv_bits(picture.shape, rate)
    options = codec.options_for(picture.shape, rate)
    out = scratch / f"movie{codec.suffix}"
    for number, control in enumerate(codec.rate_controls):
        if control.even and stuffed:
            continue
        if control != before:
            target, before = float(rate), control
            if codec is MPEG2 and error > 0:
                _refuse_below_least(source, picture, options, rate, out)
        least = ["-minrate", f"{target:.0f}"] if control.even else []
        most = target if control.even else max(rate * control.peak, target)
        bits = ["-b:v", f"{target:.0f}", *least, "-maxrate", f"{most:.0f}", "-bufsize", f"{buffer}"]
        step = f"encoding at {rate / 1e6:g} Mbit/s" + (f", attempt {number + 1}" if number else "")
        for turn in range(1, control.passes + 1):
            show = _share_shown(report, step if control.passes == 1 else f"{step}, pass {turn} of 2", picture.expected)
            every = [*options, *bits, *_pass(codec, options, control.passes, turn, scratch)]
            encoded = _encode(source, picture, every, out, show)
        stuffed = codec is MPEG2 and _stuffing(out) > STUFFING_ALLOWED * sum(encoded.sizes)
        error = encoded.mean_rate / rate - 1
        # A movie of a few seconds ends with the encoder's buffer fuller or emptier than it began.
        buffered = buffer / 4 / (rate * encoded.duration_s)
        if abs(error) < max(TOLERANCE * 0.9, buffered) and not stuffed:
            return encoded
        if not stuffed:
            # The same again, aiming to the other side of what was missed.
            target = min(max(target / (1 + error), target / 2), target * 2)
    raise InputError(
        f"{picture.name}: the mean rate came out at {encoded.mean_rate / 1e6:.3f} instead of {rate / 1e6:g} Mbit/s; "
        f"ask for a {'lower' if error < 0 else 'higher'} rate, which this picture can fill, or for a longer movie"
    )


def _refuse_below_least(source: list[str], picture: Picture, options: Sequence[str], rate: int, out: Path) -> None:
    """Raises InputError where even the coarsest quantiser makes more than the rate: no plan of two passes helps."""
    coarsest = ["-qmin", COARSEST, "-qmax", COARSEST, "-q:v", COARSEST]
    least = _encode(source, picture, [*options, *coarsest], out, lambda _frame: None).mean_rate
    if least > rate * (1 + TOLERANCE):
        smaller = "" if picture.shape is None else "a smaller size (size, --size) or "
        raise InputError(
            f"{picture.name}: MPEG-2 takes {math.ceil(least / 1e4) / 100:g} Mbit/s for this picture even with its "
            f"coarsest quantiser, {rate / 1e6:g} Mbit/s cannot be met: ask for a higher rate, {smaller}another codec "
            "(codec, --codec h264)"
        )


def _pass(codec: Codec, options: Sequence[str], passes: int, turn: int, scratch: Path) -> list[str]:
    """Options of one pass of several."""
    if passes == 1:
        return []
    log = str(scratch / "pass")
    if codec.encoder == "libx265":  # which does not listen to ffmpeg's own options
        at = options.index("-x265-params") + 1
        return ["-x265-params", f"{options[at]}:pass={turn}:stats={log}"]
    return ["-pass", str(turn), "-passlogfile", log]


def _stuffing(path: Path) -> int:
    """Bytes of a stream that hold nothing."""
    return sum(len(run.group()) for run in STUFFING.finditer(path.read_bytes()))


def _encode(source: list[str], picture: Picture, options: list[str], out: Path, show: Callable[[int], None]) -> Encoded:
    statistics = out.with_suffix(".vstats")
    limit = [] if picture.frames is None else ["-frames:v", str(picture.frames)]
    options = [*limit, *options]
    ffmpeg.run([*source, *options, "-vstats_file", str(statistics), str(out)], show)
    rows = [_STATISTICS.search(line) for line in statistics.read_text(encoding="ascii").splitlines()]
    found = [row for row in rows if row is not None]
    sizes = [int(row["size"]) for row in found]
    if not found or sum(sizes) != out.stat().st_size:
        raise MachineError(f"ffmpeg's statistics say {sum(sizes)} bytes, its movie has {out.stat().st_size}")
    # Scratch names would make two metadata files of one movie differ.
    stated = [option for option in options if str(out.parent) not in option and option != "-passlogfile"]
    psnr = [float(row["psnr"]) if row["psnr"] not in (None, "inf") else None for row in found]
    return Encoded(out, "".join(row["type"] for row in found), sizes, psnr, stated, picture.frame_rate)


_STATISTICS = re.compile(r"(?:PSNR=\s*(?P<psnr>inf|[\d.]+) )?f_size=\s*(?P<size>\d+) .* type= (?P<type>[IPB])")


def _share_shown(report: Progress, step: str, expected: int) -> Callable[[int], None]:
    return lambda frame: report(step, min(frame / expected, 1.0) if expected else 0.0)
