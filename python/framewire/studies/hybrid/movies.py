"""The movies that are streamed: sizes of frames, in scenes of 3 to 10 s and groups whose first frame is large."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from framewire import _native
from framewire.content_store import ContentStore, existing, key

__all__ = ["FRAMES", "GROUP", "MILD", "STRONG", "Movie"]

FRAME_RATE = (24_000, 1_001)
GROUP = 12
FRAMES = 240 * GROUP
"""Two minutes."""
PAYLOAD = 1_000
"""Bytes of video in a packet: the paper's kbyte (section 6.1)."""

SCENES = (
    (15, 0.18165939344734494), (15, 0.4672212655875988), (18, 0.5189524241064314), (17, 0.943369339315519),
    (9, 0.9068644330900222), (14, 0.8978572491649282), (6, 0.7274499418985423), (15, 0.871504095151117),
    (17, 0.2195712826576245), (15, 0.889655071759448), (15, 0.7615031289692921), (14, 0.6600531074342183),
    (16, 0.4181209140032287), (16, 0.9459582221341145), (16, 0.3780352196334861), (10, 0.8043187298638206),
    (15, 0.5228273861306477),
)  # fmt: skip
"""Of each scene the groups and a draw from [0, 1), by which its rate is off the mean: drawn once (seed 5), the same in
every movie."""

FIRST, OTHER, WHOLE = 36.0, 12.0, 14.0
"""A first frame of three parts and eleven of one: 14 parts in a group of 12."""


@dataclass(frozen=True)
class Movie:
    """What a movie asks for."""

    kbps: tuple[float, float, float]
    """Mean rates of its levels."""
    spread: float = 0.25
    """What the rate of a scene is off the mean by at most, to either side."""

    @property
    def player_bytes(self) -> int:
        """What the player holds: 18 s of the highest level."""
        return int(1e6 * self.kbps[2] / MILD.kbps[2])

    def sizes(self) -> list[list[int]]:
        """Bytes of each frame, by level."""
        scales = [
            1.0 - self.spread + 2.0 * self.spread * draw for groups, draw in SCENES for _ in range(groups * GROUP)
        ]
        return [[self._size(kbps, scales[frame], frame) for frame in range(FRAMES)] for kbps in self.kbps]

    @staticmethod
    def _size(kbps: float, scale: float, frame: int) -> int:
        mean = kbps * 1e3 / 8.0 * FRAME_RATE[1] / FRAME_RATE[0]
        return int(mean * scale * (OTHER if frame % GROUP else FIRST) / WHOLE)

    def streaming_file(self, directory: Path) -> Path:
        """It as it is streamed, with the paper's plan; made once."""
        sizes = self.sizes()

        def make(scratch: Path) -> Path:
            made = scratch / "made"
            _native.write_ladder_of_sizes(sizes, FRAME_RATE, GROUP, made, PAYLOAD, _native.PlanSettings())
            return made

        name = f"movie-{key([sizes, FRAME_RATE, GROUP, PAYLOAD])}.vtp"
        return ContentStore(directory.resolve()).keep(name, existing, make)


MILD = Movie((125.0, 260.0, 450.0))
STRONG = Movie((274.0, 569.0, 985.0), 0.6)
"""Its plan rises to 1.6 Mbit/s."""
