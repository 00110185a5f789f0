"""What a ladder is made of: a file, or the lab's picture at a third of its size with as much grain as a scene needs.

The grain is coarse and moves: what it adds to the rate, it adds at every quantiser, as motion does.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from framewire.movie import ffmpeg, scene
from framewire.movie.ladder.coding import FRAME_RATE
from framewire.movie.ladder.presets import Preset, Scene
from framewire.movie.ladder.sound import Sound
from framewire.movie.picture import FilePicture, Progress, drawn_layers
from framewire.movie.source import field_options

__all__ = ["HEIGHT", "WIDTH", "FileSource", "LabSource", "grain_strength"]

DIVISOR = 3
WIDTH, HEIGHT = scene.WIDTH // DIVISOR, scene.HEIGHT // DIVISOR
GRAIN = 2  # pixels

_STILL_KBPS = 400.0
_STRENGTHS = ((1.0, 0), (1.22, 6), (2.0, 12), (3.9, 25), (6.5, 50), (8.4, 80), (9.3, 100))
"""How many times the rate of the picture without grain, and the strength of the noise filter that makes it: measured
with FFmpeg's mpeg4 at quantiser 6. It only has to be about right: rates are pinned by the encoder."""


def grain_strength(kbps: float) -> int:
    """Strength of the grain of a scene of such a rate.

    >>> [grain_strength(rate) for rate in (100, 400, 1180, 9000)]
    [0, 0, 19, 100]
    """
    ratio = kbps / _STILL_KBPS
    for (low, weaker), (high, stronger) in pairwise(_STRENGTHS):
        if ratio < high:
            return weaker + round(max(ratio - low, 0.0) / (high - low) * (stronger - weaker))
    return _STRENGTHS[-1][1]


def _grain(scenes: Sequence[Scene]) -> str:
    """Grey pictures with the grain of each scene, out of ``[grain]``."""
    size = f"{WIDTH // GRAIN}x{HEIGHT // GRAIN}"
    graph = [f"color=c=gray:s={size}:r={scene.FPS},format=yuv420p,lutyuv=y=128"]
    for number, one in enumerate(scenes):
        strength = grain_strength(one.kbps)
        if strength:
            when = f"between(n\\,{one.first}\\,{one.first + one.frames - 1})"
            graph.append(f"noise=c0s={strength}:c0f=t:c0_seed={number + 1}:enable='{when}'")
    graph.append(f"scale={WIDTH}:{HEIGHT}:flags=bicubic+accurate_rnd+bitexact[grain]")
    return ",".join(graph)


class LabSource:
    """The lab's picture for a preset, or without grain for so many frames."""

    def __init__(self, preset: Preset | None, frames: int) -> None:
        self.name = "lab" if preset is None else preset.name
        self.frames = frames
        self.frame_rate = Fraction(*FRAME_RATE)
        self._scenes = [] if preset is None else preset.scenes()

    def _graph(self) -> str:
        merge = "[scene][grain]blend=all_mode=grainmerge:shortest=1,"
        rate = f"settb={FRAME_RATE[1]}/{FRAME_RATE[0]},setpts=N[picture]"
        grain = f"{_grain(self._scenes)};\n{merge}" if self._scenes else "[scene]"
        return f"{scene.scene_graph(DIVISOR)};\n{grain}{rate}"

    def sound(self) -> Sound | None:
        """None: the lab's picture has no audio."""
        return None

    def identity(self, report: Progress) -> dict[str, Any]:
        """What identifies this picture."""
        drawn = hashlib.sha256((scene.layers_graph() + self._graph()).encode())
        return {"kind": "lab", "frames": self.frames, "sha256": drawn.hexdigest()}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        """Draws the picture once, for all levels and passes: options of ffmpeg up to the choice of the picture."""
        width, height = scene.COUNTER_SIZE
        counter, graph, picture = scratch / "counter.gray", scratch / "scene.graph", scratch / "picture.nut"
        graph.write_text(self._graph(), encoding="ascii")
        with counter.open("wb") as file:
            file.writelines(scene.counter_pictures(self.frames))
        raw = ["-f", "rawvideo", "-pixel_format", "gray", "-video_size", f"{width}x{height}"]
        counted = [*raw, "-framerate", str(scene.FPS), "-i", str(counter), "-i", str(drawn_layers(cache, report))]
        stored = ["-c:v", "ffv1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "nut", str(picture)]
        rate = ["-r", f"{FRAME_RATE[0]}/{FRAME_RATE[1]}"]
        ffmpeg.run(
            [*counted, "-filter_complex_script", str(graph), "-map", "[picture]", *rate, *stored],
            lambda frame: report("drawing the picture", min(frame / self.frames, 1.0)),
        )
        return ["-i", str(picture)]


class FileSource(FilePicture):
    """The first video stream of a file, as it is but for what is asked for otherwise."""

    @property
    def frames(self) -> int:
        """As many as there are, or as are asked for."""
        return self.expected

    def identity(self, report: Progress) -> dict[str, Any]:
        """What identifies this picture."""
        return super().identity(report) | {"limit": self.limit, "field_order": self.conversion.field_order}

    @property
    def rate_bps(self) -> float:
        """The mean rate of the file's video, all of it; infinite where its length is not known."""
        seconds = self.video.duration_s or self._counted_s()
        return ffmpeg.bits_of(self.path) / seconds if seconds else math.inf

    def sound(self) -> Sound | None:
        """The audio of the file; None where it has none."""
        end = None if self.limit is None else self.limit / self.frame_rate
        return Sound(self.path, self.video.start_s, end) if ffmpeg.has_audio(self.path) else None

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        """Options of ffmpeg, up to and with the choice of the picture."""
        limit = [] if self.limit is None else ["-frames:v", str(self.limit)]
        return [*super().input(cache, scratch, report), *limit, *field_options(self.conversion)]
