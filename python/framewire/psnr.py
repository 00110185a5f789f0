"""PSNR with freezes: a frame that is missing is scored as the picture that stands in its place.

What stands where is for others to say (:mod:`framewire.playout` by the ledger); here is what it costs. Before the first
picture the screen is black. Of 8-bit luma, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from framewire import _native

__all__ = ["BLACK", "CAP_DB", "FreezeErrors", "Sources", "black", "decibel", "squared_error"]

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


class FreezeErrors:
    """The errors of frozen pictures of several flows that sent one movie, in one walk through its pictures.

    It is given the pictures in display order: all, or those that it names. One picture is held for each flow, at most.
    Of a part of the movie only the errors in the slots of that part are asked for.

    >>> freezes = FreezeErrors({"a": [0, 0, 2], "b": [None, 1, 1]}, pixels=4)
    >>> freezes.take([0, 1, 2], b"".join(bytes([value] * 4) for value in (16, 18, 26)))
    >>> sorted(freezes.slots), {name: errors.tolist() for name, errors in freezes.errors().items()}
    ([0, 1, 2], {'a': [nan, 4.0, nan], 'b': [0.0, nan, 64.0]})
    """

    def __init__(self, sources: Mapping[str, Sources], pixels: int, part: range | None = None) -> None:
        self._sources = sources
        self._pixels = pixels
        pairs = {(slot, -1 if at is None else at) for source in sources.values() for slot, at in enumerate(source)
                 if at != slot and (part is None or slot in part)}  # fmt: skip
        self._pairs = sorted(pairs)
        slots, stand = _column(slot for slot, _ in self._pairs), _column(at for _, at in self._pairs)
        self._sums = _native.FreezeSums(pixels, BLACK, slots, stand)

    @property
    def slots(self) -> set[int]:
        """Display numbers of the pictures that are asked for."""
        return {slot for pair in self._pairs for slot in pair if slot >= 0}

    def take(self, slots: Iterable[int], pictures: bytes) -> None:
        """The next pictures, one behind the other, and their display numbers. Holds no lock of Python's meanwhile."""
        self._sums.take(_column(slots), pictures)

    def errors(self) -> dict[str, NDArray[np.float64]]:
        """Mean squared errors by display number; not a number where a flow shows the picture itself, where one of the
        two did not come, and outside of the part."""
        sums = np.frombuffer(self._sums.sums(), dtype=np.int64)
        known = dict(zip(self._pairs, np.where(sums < 0, np.nan, sums / self._pixels).tolist(), strict=True))
        return {
            name: np.array([known.get((slot, -1 if at is None else at), math.nan) for slot, at in enumerate(source)])
            for name, source in self._sources.items()
        }


def _column(numbers: Iterable[int]) -> bytes:
    """As the native module takes numbers."""
    return np.fromiter(numbers, dtype=np.int64).tobytes()
