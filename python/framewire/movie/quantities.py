"""Bitrates and durations as texts with units."""

from __future__ import annotations

import re
from typing import Any

from framewire.errors import InputError

__all__ = ["RATE_UNITS", "parse_bitrate", "parse_duration"]

BITRATES = (100_000, 15_000_000)  # bit/s; the upper bound is that of Main Profile at Main Level
SHORTEST = 0.2  # seconds: a few frames

RATE_UNITS = {"bit/s": 1, "kbit/s": 1_000, "Mbit/s": 1_000_000, "Gbit/s": 1_000_000_000}
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "min": 60.0}


def parse_bitrate(value: str | float) -> int:
    """Bit/s from a number of them, or from a text with a unit.

    >>> parse_bitrate("5.5 Mbit/s")
    5500000
    """
    rate = _parse(value, "bitrate", RATE_UNITS)
    if not BITRATES[0] <= rate <= BITRATES[1]:
        raise InputError(f"bitrate {value}: {BITRATES[0] / 1e3:g} kbit/s to {BITRATES[1] / 1e6:g} Mbit/s is allowed")
    return round(rate)


def parse_duration(value: str | float) -> float:
    """Seconds from a number of them, or from a text with a unit.

    >>> parse_duration("1.5 min")
    90.0
    """
    seconds = _parse(value, "duration", _TIME_UNITS)
    if not SHORTEST <= seconds <= 86_400:
        raise InputError(f"duration {value}: {SHORTEST:g} s to 1440 min is allowed")
    return seconds


def _parse(value: str | float, what: str, units: dict[str, Any]) -> float:
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-z/]+)\s*", value)
    if match is None or match[2] not in units:
        raise InputError(f'"{value}" is not a {what}: a number and one of {", ".join(units)} is allowed')
    return float(match[1]) * float(units[match[2]])
