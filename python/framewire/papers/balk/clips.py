"""The paper's two clips, by their statistics: sizes of frames at three levels.

Neither clip can be had. What the paper says of them (sections 5.2, 5.3, 6.1 and 6.5) is their rates and how these
change, which is all that an experiment with a sending plan sees. A clip here has sizes of frames with these statistics,
drawn with a seed of its own that no experiment's seed changes. Where the paper says nothing, one rule holds for both.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

__all__ = ["FRAME_RATE", "GROUP", "PRE_SEND_S", "QUANTISERS", "SEGMENTS", "Clip", "Statistics", "clip"]

FRAME_RATE = (24_000, 1_001)
"""23.976 frames per second; section 6.5 prints 23.975."""

SEGMENTS = 10
"""Of the sending plan, all of one length (section 5.2)."""

PRE_SEND_S = 5.0
"""t_j of both clips (section 5.3)."""

GROUP = 12
"""Frames from one I frame to the next: what the clips' encoders of the time had as default (FFmpeg's ``-g``). No B
frames: the paper's figure 1 shows them as part of the standard, and neither encoder made them by default."""

I_FRAME_WEIGHT = 3.0
"""Mean size of an I frame over that of a P frame."""

LEVEL_RATIOS = (125 / 450, 260 / 450, 1.0)
"""Of the levels' mean rates. The ends are printed for Atlantis (section 6.2), the middle one is geometrically between
them but for rounding; TRON was encoded with the same ranges of quantisers."""

TOP_QUANTISER = 6.0
"""Mean quantiser of the top level: the middle of the printed range, 2 to 10."""

QUANTISERS = tuple(TOP_QUANTISER / ratio for ratio in LEVEL_RATIOS)
"""Mean quantiser of each level, by the rule of first order that the rate falls as the quantiser grows (T. Chiang and
Y.-Q. Zhang, "A new rate control scheme using quadratic rate distortion model", IEEE Trans. CSVT 7, 1997)."""


@dataclass(frozen=True)
class Statistics:
    """What is known of a clip."""

    name: str
    paper_name: str
    duration_s: float
    mean_kbps: float
    """Of the top level."""
    profile: tuple[float, ...]
    """Mean rate of each segment of the plan over the mean of all."""
    scene_spread: float
    """Standard deviation of the logarithm of a scene's rate: how much the rate varies within a segment."""
    frame_spread: float
    """The same of a frame beside its neighbours."""
    scene_s: float
    """Mean length of a scene."""
    seed: int


@dataclass(frozen=True)
class Clip:
    """Sizes of frames in bytes, lowest level first; all levels have the same frames."""

    statistics: Statistics
    sizes: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """``mild`` or ``strong``."""
        return self.statistics.name

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.sizes[0])

    @property
    def duration_s(self) -> float:
        """All frames, each for its period."""
        return self.frames * FRAME_RATE[1] / FRAME_RATE[0]

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


ATLANTIS = Statistics(
    name="mild",
    paper_name="Atlantis",
    # The plan's steps at 14, 21 and 34 s (section 6.1) are multiples of 7 s but for the last, which is printed as an
    # about.
    duration_s=70.0,
    mean_kbps=450.0,
    # Up by 100 kbit/s at 14 s and at 35 s, and no step up to speak of at 21 s.
    profile=tuple(rate / 450 for rate in (400, 385, 490, 490.5, 430, 530, 510, 460, 430, 374.5)),
    scene_spread=0.12,
    frame_spread=0.15,
    scene_s=3.0,
    seed=14,
)
"""Trailer of "Atlantis", encoded with FFmpeg: mild variation."""

TRON = Statistics(
    name="strong",
    paper_name="TRON",
    duration_s=130.0,
    # 16 MB in 130 s (section 5.2).
    mean_kbps=16e6 * 8e-3 / 130,
    # A peak of 1.6 Mbit/s (section 5.3) and a step up of 1 Mbit/s (section 6.2).
    profile=tuple(rate / 985 for rate in (1000, 600, 1600, 1100, 700, 900, 1250, 600, 1300, 800)),
    # Of windows of a second: 0.5 to 4.5 Mbit/s (figure 13).
    scene_spread=0.5,
    frame_spread=0.25,
    scene_s=2.0,
    seed=13,
)
"""A scene of "TRON", encoded with DivX: strong variation."""


@cache
def _made(statistics: Statistics) -> Clip:
    draw = random.Random(statistics.seed)
    count = round(statistics.duration_s * FRAME_RATE[0] / FRAME_RATE[1])
    weights = _weights(statistics, count, draw)
    levels = []
    for ratio in LEVEL_RATIOS:
        own = [weight * draw.lognormvariate(0, 0.05) for weight in weights]
        levels.append(_sizes(own, statistics.mean_kbps * ratio, statistics.profile))
    return Clip(statistics, tuple(levels))


def _weights(statistics: Statistics, count: int, draw: random.Random) -> list[float]:
    """What a frame takes beside the others of its segment: its scene, its type and itself."""
    weights = []
    scene, left = 1.0, 0
    for frame in range(count):
        if left == 0:
            scene = draw.lognormvariate(0, statistics.scene_spread)
            left = max(1, round(draw.expovariate(FRAME_RATE[1] / FRAME_RATE[0] / statistics.scene_s)))
        left -= 1
        kind = I_FRAME_WEIGHT if frame % GROUP == 0 else 1.0
        weights.append(scene * kind * draw.lognormvariate(0, statistics.frame_spread))
    return weights


def _sizes(weights: Sequence[float], mean_kbps: float, profile: Sequence[float]) -> tuple[int, ...]:
    """Bytes of each frame: each segment has its share of the whole, which its frames divide by weight."""
    count = len(weights)
    period_s = FRAME_RATE[1] / FRAME_RATE[0]
    sizes: list[int] = []
    for segment, factor in enumerate(profile):
        first, end = (math.ceil(place * count / len(profile)) for place in (segment, segment + 1))
        budget = mean_kbps * factor * 125 * period_s * (end - first)
        scale = budget / math.fsum(weights[first:end])
        sizes += (max(1, round(weight * scale)) for weight in weights[first:end])
    return tuple(sizes)


STATISTICS = {one.name: one for one in (ATLANTIS, TRON)}


def clip(name: str) -> Clip:
    """The clip ``mild`` or ``strong``."""
    return _made(STATISTICS[name])
