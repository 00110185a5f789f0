"""Encoding a level so that each segment of it has the mean rate that a preset says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from framewire.errors import InputError
from framewire.movie.ladder.coding import FRAME_RATE, Codec, LevelSpec, Zone, encode

__all__ = ["encode_pinned", "segment_rates"]

TOLERANCE = 0.02
"""Of a segment's mean rate."""
ATTEMPTS = 8
_FACTORS = (0.2, 5.0)
_DITHERED = 4  # frames
_GOLDEN = (5**0.5 - 1) / 2


def segment_rates(sizes: Sequence[int], borders: Sequence[int]) -> list[float]:
    """Mean rate of each segment in bit/s.

    >>> segment_rates([1001, 1001, 3003], [0, 2, 3])
    [192000.0, 576000.0]
    """
    return [
        sum(sizes[first:end]) * 8 * FRAME_RATE[0] / FRAME_RATE[1] / (end - first) for first, end in pairwise(borders)
    ]


def _zones(first: int, end: int, factor: float, spread: float) -> list[Zone]:
    """Frames with a factor in the mean; where quantisers are coarse, with some below and some above it."""
    if spread == 0:
        return [Zone(first, end - 1, factor)]
    starts = range(first, end, _DITHERED)
    # Multiples of the golden ratio, modulo one, are spread evenly however many there are.
    return [
        Zone(start, min(start + _DITHERED, end) - 1, factor * (1 + spread * (2 * (number * _GOLDEN % 1) - 1)))
        for number, start in enumerate(starts)
    ]


def encode_pinned(
    codec: Codec,
    source: Sequence[str],
    spec: LevelSpec,
    wanted: Sequence[float],
    borders: Sequence[int],
    out: Path,
    sizes_of: Callable[[Path], list[int]],
    show: Callable[[str, int], None],
) -> list[str]:
    """Encodes until every segment has its wanted rate in bit/s within the tolerance.

    An encoder gives a segment about as much more as it is asked to; what it misses is asked for the next time.
    """
    factors = [1.0] * len(wanted)
    lengths = [end - first for first, end in pairwise(borders)]
    mean = sum(rate * length for rate, length in zip(wanted, lengths, strict=True)) / sum(lengths)
    target = mean
    rates: list[float] = []
    for attempt in range(ATTEMPTS):
        zones = [
            zone
            for (first, end), factor in zip(pairwise(borders), factors, strict=True)
            for zone in _zones(first, end, factor, codec.spread)
        ]

        def told(turn: str, frame: int, step: str = f", attempt {attempt + 1}" if attempt else "") -> None:
            show(step + turn, frame)

        options = encode(
            codec,
            source,
            spec,
            out,
            told,
            target_bps=target,
            zones=zones,
            passes=(1, 2) if attempt == 0 else (2,),
        )
        sizes = sizes_of(out)
        rates = segment_rates(sizes, borders)
        misses = [rate / aim for rate, aim in zip(rates, wanted, strict=True)]
        if all(abs(miss - 1) <= TOLERANCE for miss in misses):
            return options
        came = sum(sizes) * 8 * FRAME_RATE[0] / FRAME_RATE[1] / len(sizes)
        target *= min(max(mean / came, 0.5), 2.0)
        factors = [
            min(max(factor * came / mean / miss, _FACTORS[0]), _FACTORS[1])
            for factor, miss in zip(factors, misses, strict=True)
        ]
    worst = max(range(len(rates)), key=lambda number: abs(rates[number] / wanted[number] - 1))
    raise InputError(
        f"{spec}: segment {worst} came out at {rates[worst] / 1e3:.0f} instead of {wanted[worst] / 1e3:.0f} kbit/s, "
        f"with this ffmpeg after {ATTEMPTS} attempts"
    )
