"""The two movies of the paper's kind, drawn by the lab: one whose rate varies mildly, one whose rate varies strongly.

The paper's clips cannot be had. What it says of them is how their rates change (sections 5.2, 5.3, 6.1 and 6.2), and
these movies have such rates: each segment of the sending plan has its own mean rate, at every level.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from framewire.movie.ladder.coding import FRAME_RATE, LevelSpec
from framewire.suggestions import refused

__all__ = ["PRESETS", "Preset", "Scene", "named"]


@dataclass(frozen=True)
class Scene:
    """Frames that take about as many bits each."""

    first: int
    frames: int
    kbps: float
    """Rate of the top level that is aimed at."""


@dataclass(frozen=True)
class Preset:
    """A movie by its rates."""

    name: str
    frames: int
    segments: tuple[float, ...]
    """Mean rate of the top level in each segment of the plan, kbit/s."""
    levels: tuple[LevelSpec, ...]
    scene_s: float
    spread: float
    """Standard deviation of the logarithm of a scene's rate within its segment."""
    bounds_kbps: tuple[float, float]
    """Of a scene's rate."""
    seed: int

    @property
    def borders(self) -> list[int]:
        """First frame of each segment, and the end, by the rule of the plan: frames that begin in it."""
        count = len(self.segments)
        return [-(-place * self.frames // count) for place in range(count + 1)]

    def scenes(self) -> list[Scene]:
        """What is drawn: scenes within the segments. Each segment keeps its mean."""
        draw = random.Random(self.seed)
        scenes: list[Scene] = []
        borders = self.borders
        period = FRAME_RATE[1] / FRAME_RATE[0]
        for number, mean in enumerate(self.segments):
            first, end = borders[number], borders[number + 1]
            lengths = _parts(end - first, round(self.scene_s / period), draw)
            weights = [draw.lognormvariate(0.0, self.spread) for _ in lengths]
            scale = (end - first) / sum(weight * length for weight, length in zip(weights, lengths, strict=True))
            least, most = self.bounds_kbps
            for weight, length in zip(weights, lengths, strict=True):
                scenes.append(Scene(first, length, min(max(mean * weight * scale, least), most)))
                first += length
        return scenes


def _parts(frames: int, usual: int, draw: random.Random) -> list[int]:
    """Lengths from half to one and a half of the usual one, that make up so many frames."""
    parts: list[int] = []
    while frames > 0:
        part = round(usual * draw.uniform(0.5, 1.5))
        # What would be left alone joins the last one.
        part = frames if frames - part < usual // 2 else part
        parts.append(part)
        frames -= part
    return parts


def _levels(rates: tuple[float, float, float]) -> tuple[LevelSpec, ...]:
    """Quantisers 2 to 10 are the paper's for the top level (section 5.3).

    The rate falls about as the quantiser grows, so that a level of half the rate has about twice the quantisers.
    """
    return tuple(
        LevelSpec(quantisers=quantisers, rate_bps=round(rate * 1e3))
        for quantisers, rate in zip(((8, 31), (4, 18), (2, 10)), rates, strict=True)
    )


_MILD_SEGMENTS = (400.0, 385.0, 490.0, 490.5, 430.0, 530.0, 510.0, 460.0, 430.0, 374.5)
_STRONG_SEGMENTS = (1000.0, 600.0, 1600.0, 1100.0, 700.0, 900.0, 1250.0, 600.0, 1300.0, 800.0)

PRESETS = (
    # As the trailer of "Atlantis": 125, 260 and 450 kbit/s (section 6.2), up by 100 kbit/s at 14 and at 35 s.
    Preset(
        "mild", 1678, _MILD_SEGMENTS, _levels((125, 260, 450)),
        scene_s=3.0, spread=0.12, bounds_kbps=(250, 900), seed=14,
    ),
    # As the scene of "TRON": 16 MB in 130 s, 0.5 to 4.5 Mbit/s by second, at most 1.6 Mbit/s in the plan, which
    # rises by 1 Mbit/s once.
    Preset(
        "strong", 3117, _STRONG_SEGMENTS, _levels((274, 569, 985)),
        scene_s=4.0, spread=1.0, bounds_kbps=(450, 4600), seed=53,
    ),
)  # fmt: skip


def named(name: str) -> Preset:
    """The preset of this name; raises InputError where there is none.

    >>> named("mild").borders[:3]
    [0, 168, 336]
    """
    for preset in PRESETS:
        if preset.name == name:
            return preset
    raise refused("preset", name, [preset.name for preset in PRESETS])
