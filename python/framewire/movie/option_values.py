"""Bitrates, durations, frame rates and sizes, as texts where they do not come as what they are."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from framewire import _native
from framewire.errors import InputError
from framewire.movie.levels import LEVELS

__all__ = ["RATE_UNITS", "Rate", "Size", "parse_bitrate", "parse_duration", "parse_frame_rate", "parse_size"]

BITRATES = (100_000, LEVELS[-1].bitrate_bps)
"""Bit/s; the most is that of the highest level of MPEG-2, and good for the other codecs, too."""
SHORTEST = 0.2  # seconds: a few frames

RATE_UNITS = {"bit/s": 1, "kbit/s": 1_000, "Mbit/s": 1_000_000, "Gbit/s": 1_000_000_000}
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "min": 60.0}

Size = tuple[int, int] | str
"""Width and height in pixels."""
Rate = Fraction | str
"""Frames in a second."""


def parse_bitrate(value: str | float) -> int:
    """Bit/s from a number of them, or from a text with a unit.

    >>> parse_bitrate("5.5 Mbit/s")
    5500000
    """
    rate = _parse(value, "bitrate", RATE_UNITS)
    if not BITRATES[0] <= rate <= BITRATES[1]:
        shown = value if isinstance(value, str) else f"{value / 1e6:g} Mbit/s"
        raise InputError(f"bitrate {shown}: {BITRATES[0] / 1e3:g} kbit/s to {BITRATES[1] / 1e6:g} Mbit/s is allowed")
    return round(rate)


def parse_duration(value: str | float) -> float:
    """Seconds from a number of them, or from a text with a unit.

    >>> parse_duration("1.5 min")
    90.0
    """
    seconds = _parse(value, "duration", _TIME_UNITS)
    if not SHORTEST <= seconds <= 86_400:
        shown = value if isinstance(value, str) else f"{value:g} s"
        raise InputError(f"duration {shown}: {SHORTEST:g} s to 1440 min is allowed")
    return seconds


def parse_frame_rate(text: Rate) -> Fraction:
    """Frames in a second: a number or a fraction, with Hz or without; the rates of NTSC may be rounded to two digits.

    >>> parse_frame_rate("25 Hz"), parse_frame_rate("29.97"), parse_frame_rate("24000/1001 Hz")
    (Fraction(25, 1), Fraction(30000, 1001), Fraction(24000, 1001))
    >>> parse_frame_rate("5.0"), parse_frame_rate("1.0")
    (Fraction(5, 1), Fraction(1, 1))
    """
    if isinstance(text, Fraction):
        return text
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6}|/\d{1,6})?)\s*(?:Hz)?\s*", text)
    numerator, _, denominator = match[1].partition("/") if match is not None else ("0", "", "")
    rate = Fraction(numerator) / int(denominator or 1) if int(denominator or 1) else Fraction(0)
    if not 1 <= rate <= 1000:
        raise InputError(
            f'frame rate "{text}": 1 to 1000 Hz are allowed, as a number or a fraction: 25 Hz, 29.97 Hz, 30000/1001 Hz'
        )
    nearby = Fraction(round(rate * Fraction(1001, 1000)) * 1000, 1001)
    return nearby if rate.denominator > 1 and "." in text and abs(rate - nearby) < Fraction(1, 200) else rate


def parse_size(text: Size) -> tuple[int, int]:
    """Width and height in pixels, even both.

    >>> parse_size("640x360")
    (640, 360)
    """
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if match is None or any(int(part) < 16 or int(part) % 2 for part in match.groups()):
        raise InputError(f'size "{text}": even numbers from 16 to 9998 are allowed, for instance 640x360')
    return int(match[1]), int(match[2])


def _parse(value: str | float, what: str, units: dict[str, Any]) -> float:
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z/]+)\s*", value)
    if match is None or match[2] not in units:
        meant = _native.meant_quantity(value, "rate" if units is RATE_UNITS else "duration")
        hint = "" if meant is None else f' (did you mean "{meant}"?)'
        raise InputError(f'"{value}" is not a {what}: a number and one of {", ".join(units)} is allowed{hint}')
    return float(match[1]) * float(units[match[2]])
