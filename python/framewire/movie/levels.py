"""What MPEG-2 video can state and hold (ISO/IEC 13818-2): frame rates, shapes of the picture, and levels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from framewire.errors import InputError
from framewire.movie.source import shown_rate

__all__ = ["DISPLAY_ASPECTS", "FRAME_RATES", "LEVELS", "Level", "level_for"]

FRAME_RATES = (
    Fraction(24_000, 1001), Fraction(24), Fraction(25), Fraction(30_000, 1001),
    Fraction(30), Fraction(50), Fraction(60_000, 1001), Fraction(60),
)  # fmt: skip
"""Of Main Profile (table 6-4; 8.4.1: the extensions of the frame rate are 0)."""

DISPLAY_ASPECTS = (Fraction(4, 3), Fraction(16, 9), Fraction(221, 100))
"""Beside square pixels (table 6-3)."""


@dataclass(frozen=True)
class Level:
    """A level of Main Profile (tables 8-2 and 8-11 to 8-14)."""

    name: str
    code: int
    width: int
    height: int
    frame_rate: int
    luma_samples: int
    """In a second."""
    bitrate_bps: int
    vbv_bits: int


LEVELS = (
    Level("Main", 8, 720, 576, 30, 10_368_000, 15_000_000, 1_835_008),
    Level("High 1440", 6, 1440, 1152, 60, 47_001_600, 60_000_000, 7_340_032),
    Level("High", 4, 1920, 1152, 60, 62_668_800, 80_000_000, 9_781_248),
)


def level_for(width: int, height: int, frame_rate: Fraction, bitrate_bps: int) -> Level:
    """The lowest level that holds a picture; raises InputError, which says what to ask for instead, for none.

    >>> level_for(1280, 720, Fraction(30), 6_000_000).name
    'High 1440'
    """
    if frame_rate not in FRAME_RATES:
        rates = ", ".join(map(shown_rate, FRAME_RATES))
        raise InputError(
            f"MPEG-2 has no {shown_rate(frame_rate)} frames/s, only {rates}: ask for one of these (frame_rate, "
            "--frame-rate), or for another codec"
        )
    for level in LEVELS:
        fits = width <= level.width and height <= level.height and frame_rate <= level.frame_rate
        samples = width * height * frame_rate
        if fits and samples <= level.luma_samples and bitrate_bps <= level.bitrate_bps:
            return level
    highest = LEVELS[-1]
    raise InputError(
        f"MPEG-2 cannot hold {width}x{height} at {shown_rate(frame_rate)} frames/s (Main Profile: up to "
        f"{highest.width}x{highest.height} and {highest.luma_samples:,} pixels a second): ask for another size (size, "
        "--size), another frame rate (frame_rate, --frame-rate) or another codec"
    )
