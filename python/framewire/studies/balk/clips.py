"""The two clips that are streamed in place of the paper's, as sizes of frames at three levels.

The paper's clips cannot be had. What it says of them is their rates and how these change, which is all that an
experiment with a sending plan sees; the presets of ``framewire movie ladder`` have these rates. A clip is such a movie
as it was encoded, or sizes of frames with the same scenes and the same mean rate in each segment of the plan: those
need no encoder.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from framewire.movie.ladder import build, presets, quality
from framewire.movie.ladder.coding import FRAME_RATE

__all__ = ["CLIPS", "FRAME_RATE", "GROUP", "PRE_SEND_S", "QUANTISERS", "SEGMENTS", "Clip", "encoded", "made_up"]

CLIPS = {"mild": "Atlantis", "strong": "TRON"}
"""Which clip of the paper each stands for."""

SEGMENTS = 10
"""Of the sending plan, all of one length (section 5.2)."""

PRE_SEND_S = 5.0
"""t_j of both clips (section 5.3)."""

GROUP = 12
"""Frames from one I frame to the next: FFmpeg's default, then and now. No B frames, as the presets."""

I_FRAME_WEIGHT = 3.0
"""Mean size of an I frame over that of a P frame, in made-up sizes."""

FRAME_SPREAD = 0.2
"""Standard deviation of the logarithm of a frame's size beside its neighbours, in made-up sizes."""

LEVEL_RATIOS = (125 / 450, 260 / 450, 1.0)
"""Of the levels' mean rates. The ends are printed for Atlantis (section 6.2), the middle one is geometrically between
them but for rounding; TRON was encoded with the same ranges of quantisers."""

TOP_QUANTISER = 6.0
"""Mean quantiser of the top level: the middle of the printed range, 2 to 10."""

QUANTISERS = tuple(TOP_QUANTISER / ratio for ratio in LEVEL_RATIOS)
"""Mean quantiser of each level where sizes are made up, by the rule of first order that the rate falls as the quantiser
grows (T. Chiang and Y.-Q. Zhang, "A new rate control scheme using quadratic rate distortion model", IEEE Trans. CSVT 7,
1997)."""


@dataclass(frozen=True)
class Clip:
    """Sizes of frames in bytes, lowest level first; all levels have the same frames."""

    name: str
    """``mild`` or ``strong``."""
    sizes: tuple[tuple[int, ...], ...]
    source: str
    """Where they are from."""
    quality: quality.Quality | None = field(default=None, compare=False, repr=False)
    """Quantisers and PSNR of the frames; None for made-up sizes, of which there is no picture."""

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.sizes[0])

    @property
    def duration_s(self) -> float:
        """All frames, each for its period."""
        return self.frames * FRAME_RATE[1] / FRAME_RATE[0]

    @property
    def mean_quantisers(self) -> tuple[float, ...]:
        """Mean quantiser of each level: from the bit stream, or by rule where sizes are made up."""
        if self.quality is None:
            return QUANTISERS
        return tuple(math.fsum(level) / len(level) for level in self.quality.quantisers)

    def mean_kbps(self, level: int) -> float:
        """Mean rate of a level."""
        return sum(self.sizes[level]) * 8e-3 / self.duration_s

    def rates_kbps(self, level: int, window_s: float = 1.0) -> list[float]:
        """Rate of a level in windows from the beginning on, the last one where it is whole."""
        per_window = round(window_s * FRAME_RATE[0] / FRAME_RATE[1])
        sizes = self.sizes[level]
        return [
            sum(sizes[start : start + per_window]) * 8e-3 * FRAME_RATE[0] / FRAME_RATE[1] / per_window
            for start in range(0, len(sizes) - per_window + 1, per_window)
        ]


def encoded(name: str, progress: Callable[[str, float | None], None] | None = None) -> Clip:
    """The preset as it is encoded with FFmpeg; made once, and then found in the cache of movies."""
    made = build.make(preset=name, progress=progress)
    sizes = tuple(tuple(level["sizes"]) for level in made.description["levels"])
    return Clip(name, sizes, "encoded as MPEG-4 part 2", quality.measure(made, progress))


@cache
def made_up(name: str) -> Clip:
    """Sizes with the preset's scenes, drawn with the preset's own seed, which no experiment's seed changes."""
    preset = presets.named(name)
    draw = random.Random(preset.seed)
    weights = [
        scene.kbps * (I_FRAME_WEIGHT if frame % GROUP == 0 else 1.0) * draw.lognormvariate(0, FRAME_SPREAD)
        for scene in preset.scenes()
        for frame in range(scene.first, scene.first + scene.frames)
    ]
    levels = []
    for ratio in LEVEL_RATIOS:
        own = [weight * draw.lognormvariate(0, 0.05) for weight in weights]
        levels.append(_sizes(own, [mean * ratio for mean in preset.segments], preset.borders))
    return Clip(name, tuple(levels), "made up of its scenes")


def _sizes(weights: Sequence[float], kbps: Sequence[float], borders: Sequence[int]) -> tuple[int, ...]:
    """Bytes of each frame: each segment has its mean rate, which its frames divide by weight."""
    sizes: list[int] = []
    for mean, first, end in zip(kbps, borders, borders[1:], strict=False):
        budget = mean * 125 * (end - first) * FRAME_RATE[1] / FRAME_RATE[0]
        scale = budget / math.fsum(weights[first:end])
        sizes += (max(1, round(weight * scale)) for weight in weights[first:end])
    return tuple(sizes)
