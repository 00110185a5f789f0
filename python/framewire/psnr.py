"""PSNR with freezes: a frame that is missing is scored as the picture that stands in its place.

What stands where is for others to say (:mod:`framewire.playout` by the ledger); here is what it costs. Before the first
picture the screen is black. Of 8-bit luma, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from framewire import _native

__all__ = ["BLACK", "CAP_DB", "Sources", "black", "decibel", "freeze_errors", "squared_error"]

CAP_DB = 50.0
"""What an undamaged picture counts where a mean is taken: about where an eye sees no difference. A choice, and stated
wherever such a mean is shown."""

BLACK = 16
"""Luma of black (ITU-R BT.601)."""

PEAK = 255.0

Sources = Sequence[int | None]
"""For every display number that of the picture which stands there; None before the first."""


def decibel(mse: float, most: float = math.inf) -> float:
    """PSNR of a mean squared error; that of none is infinite, or the most that is counted.

    >>> round(decibel(65.025), 6), decibel(0.0), decibel(0.0, CAP_DB)
    (30.0, inf, 50.0)
    """
    return min(10 * math.log10(PEAK**2 / mse), most) if mse > 0 else most


def squared_error(one: bytes, other: bytes) -> float:
    """Mean squared difference of the luma of two pictures; the sum is exact, and so the same on every machine.

    >>> squared_error(bytes([1, 2]), bytes([4, 2]))
    4.5
    """
    return _native.squared_difference(one, other) / len(one)


def black(size: int) -> bytes:
    """The luma of a black picture of so many pixels."""
    return bytes([BLACK]) * size


def freeze_errors(pictures: Iterable[bytes], sources: Mapping[str, Sources]) -> Iterator[dict[str, float]]:
    """For every picture of the reference, in display order: the error of what stands there, by the name of the flow.

    Flows that show the picture itself are left out. One walk serves all, and holds one picture for each flow.

    >>> grey = [bytes([value] * 4) for value in (16, 18, 26)]
    >>> list(freeze_errors(grey, {"a": [0, 0, 2], "b": [None, 1, 1]}))
    [{'b': 0.0}, {'a': 4.0}, {'b': 64.0}]
    """
    held: dict[str, bytes] = {}
    nothing = b""
    for slot, picture in enumerate(pictures):
        errors: dict[str, float] = {}
        known: dict[int | None, float] = {}  # several flows often show the same picture
        for name, source in sources.items():
            at = source[slot]
            if at == slot:
                held[name] = picture
                continue
            if at not in known:
                nothing = nothing or black(len(picture))
                known[at] = squared_error(picture, held.get(name, nothing))
            errors[name] = known[at]
        yield errors
