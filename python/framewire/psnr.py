"""PSNR with freezes: a frame that is missing is scored as the picture that stands in its place.

What stands where is for others to say (:mod:`framewire.playout` by the ledger); here is what it costs. Before the first
picture the screen is black. Of 8-bit luma, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLACK", "CAP_DB", "Luma", "Sources", "decibel", "freeze_errors", "luma", "squared_error"]

CAP_DB = 50.0
"""What an undamaged picture counts where a mean is taken: about where an eye sees no difference. A choice, and stated
wherever such a mean is shown."""

BLACK = 16.0
"""Luma of black (ITU-R BT.601)."""

PEAK = 255.0

Luma = NDArray[np.float32]

Sources = Sequence[int | None]
"""For every display number that of the picture which stands there; None before the first."""


def decibel(mse: float, most: float = math.inf) -> float:
    """PSNR of a mean squared error; that of none is infinite, or the most that is counted.

    >>> round(decibel(65.025), 6), decibel(0.0), decibel(0.0, CAP_DB)
    (30.0, inf, 50.0)
    """
    return min(10 * math.log10(PEAK**2 / mse), most) if mse > 0 else most


def squared_error(a: Luma, b: Luma) -> float:
    """Mean squared difference."""
    difference = a - b
    return float(np.dot(difference, difference)) / difference.size


def luma(picture: bytes) -> Luma:
    """The points of a picture as numbers."""
    return np.frombuffer(picture, dtype=np.uint8).astype(np.float32)


def freeze_errors(pictures: Iterable[Luma], sources: Mapping[str, Sources]) -> Iterator[dict[str, float]]:
    """For every picture of the reference, in display order: the error of what stands there, by the name of the flow.

    Flows that show the picture itself are left out. One walk serves all, and holds one picture for each flow.

    >>> grey = [np.full(4, value, dtype=np.float32) for value in (16, 18, 26)]
    >>> list(freeze_errors(grey, {"a": [0, 0, 2], "b": [None, 1, 1]}))
    [{'b': 0.0}, {'a': 4.0}, {'b': 64.0}]
    """
    held: dict[str, Luma] = {}
    for slot, picture in enumerate(pictures):
        errors: dict[str, float] = {}
        known: dict[int | None, float] = {}  # several flows often show the same picture
        for name, source in sources.items():
            at = source[slot]
            if at == slot:
                held[name] = picture
                continue
            if at not in known:
                known[at] = squared_error(picture, held[name] if name in held else np.full_like(picture, BLACK))
            errors[name] = known[at]
        yield errors
