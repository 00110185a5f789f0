"""Numbers as they stand in tables and sentences: with their interval, in no more digits than it leaves."""

from __future__ import annotations

import math

from framewire.confidence import Estimate
from framewire.report.figures.base import significant
from framewire.studies.table import DASH
from framewire.studies.verdicts import Number

__all__ = ["estimated", "formatted", "rounded_up", "short_unit"]

UNITS = ("%", "dB", "kB", "kbit/s", "s", "times")
"""What stands beside a number."""


def short_unit(unit: str) -> str:
    """What of a claim's unit stands beside a number: how it is counted, not of what.

    >>> [short_unit(unit) for unit in ("kB", "% of the clip", "kbit/s (least second)", "s of a run")]
    ['kB', '%', 'kbit/s', 's']
    >>> [short_unit(unit) for unit in ("of the fair share", "kbit/s per point of loss", "slope per doubling of k")]
    ['', '', '']
    """
    first, _, rest = unit.partition(" ")
    return first if first in UNITS and not rest.startswith("per ") else ""


def formatted(ours: Number | None, unit: str = "") -> str:
    """Our number with its interval, in a unit that is shown short.

    >>> formatted(Number(1.114, 1.11, 1.118, 20)), formatted(Number(-0.19, -2.425, 2.045, 20))
    ('1.11 ± 0.01', '-0.2 ± 2.3')
    >>> formatted(Number(100.0, 61.0, 100.0, 6)), formatted(Number(2.0, None, None, 1))
    ('100 (61 to 100)', '2')
    >>> formatted(Number(-0.19, -2.425, 2.045, 20), "dB"), formatted(Number(100.0, 61.0, 100.0, 6), "% of frames")
    ('-0.2 ± 2.3 dB', '100 % (61 to 100)')
    """
    if ours is None:
        return DASH
    counted = f" {short_unit(unit)}".rstrip()
    text = f"{significant(ours.value, 3):g}{counted}"
    if ours.low is None or ours.high is None:
        return text
    below, above = ours.value - ours.low, ours.high - ours.value
    # Repeats that found the same may differ by rounding.
    if max(below, above) <= 1e-9 * abs(ours.value):
        return text
    if math.isclose(below, above, rel_tol=1e-6):
        # Three digits that count, or two of the reach where that is a tenth of the value or more.
        leading = above / 10 if above >= abs(ours.value) / 10 else abs(ours.value) / 100
        digits = max(0, -math.floor(math.log10(leading)))
        return f"{ours.value:,.{digits}f} ± {rounded_up(above, digits)}{counted}"
    return f"{text} ({significant(ours.low, 3):g} to {significant(ours.high, 3):g})"


def rounded_up(value: float, digits: int) -> str:
    """A reach is never printed smaller than it is, so that it does not read as none.

    >>> rounded_up(0.0004, 2), rounded_up(0.123, 2), rounded_up(0.12, 2)
    ('0.01', '0.13', '0.12')
    """
    scale = 10**digits
    return f"{math.ceil(value * scale - 1e-6) / scale:,.{digits}f}"


def estimated(one: Estimate | None, digits: int = 2) -> str:
    """A mean with its interval, which is left out where all values are alike.

    >>> estimated(Estimate(1.0, 0.123, 20)), estimated(Estimate(1.0, 0.0, 20))
    ('1.00 ± 0.13', '1.00')
    """
    if one is None:
        return DASH
    reach = one.half_width or 0.0
    return f"{one.mean:,.{digits}f}" + (f" ± {rounded_up(reach, digits)}" if reach > 1e-9 * abs(one.mean) else "")
