"""What a movie is made of: the lab's own picture, or a file of the user's."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from framewire.content_store import ContentStore, existing
from framewire.errors import InputError
from framewire.files import sha256
from framewire.movie import ffmpeg, scene
from framewire.movie.source import Conversion, convert, video_of

__all__ = ["FilePicture", "LabPicture", "Picture", "Progress", "drawn_layers"]

Progress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 to 1."""


class Picture(Protocol):
    """What a movie is made of."""

    name: str
    frame_rate: Fraction
    shape: Conversion | None  # what comes out of the file of a user's; None: the lab's picture
    expected: int  # how many there will be, for progress; 0 where that is not known

    @property
    def frames(self) -> int | None:
        """How many at most; None for all."""

    def identity(self, report: Progress) -> dict[str, Any]:
        """What identifies this picture."""

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        """Options of ffmpeg, up to and with the choice of the picture."""


class LabPicture:
    """The picture that ffmpeg draws."""

    name = "lab"
    frame_rate = Fraction(scene.FPS)
    shape: Conversion | None = None

    def __init__(self, seconds: float | None) -> None:
        if seconds is None:
            raise InputError("the lab's own movie needs a duration, for instance 60 s")
        self.expected = round(seconds * scene.FPS)
        self.frames: int | None = self.expected

    def identity(self, report: Progress) -> dict[str, Any]:
        drawn = hashlib.sha256((scene.layers_graph() + scene.scene_graph()).encode())
        for picture in scene.counter_pictures(scene.FPS + 1):
            drawn.update(picture)
        return {"kind": "lab", "sha256": drawn.hexdigest()}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        width, height = scene.COUNTER_SIZE
        counter, graph = scratch / "counter.gray", scratch / "scene.graph"
        graph.write_text(scene.scene_graph(), encoding="ascii")
        with counter.open("wb") as file:
            file.writelines(scene.counter_pictures(self.expected))
        raw = ["-f", "rawvideo", "-pixel_format", "gray", "-video_size", f"{width}x{height}"]
        counted = [*raw, "-framerate", str(scene.FPS), "-i", str(counter)]
        layers = drawn_layers(cache, report)
        return [*counted, "-i", str(layers), "-filter_complex_script", str(graph), "-map", "[scene]"]


def drawn_layers(cache: Path, report: Progress) -> Path:
    """The layers of the lab's picture: drawn once, then used for every movie."""
    identity = hashlib.sha256(f"{ffmpeg.version_of('ffmpeg')}\n{scene.layers_graph()}".encode()).hexdigest()[:16]

    def draw(scratch: Path) -> Path:
        report("drawing the lab's picture", 0.0)
        return _draw_layers(scratch)

    return ContentStore(cache).keep(f"lab-layers-{identity}.nut", existing, draw, report)


def _draw_layers(scratch: Path) -> Path:
    graph, layers = scratch / "layers.graph", scratch / "layers.nut"
    graph.write_text(scene.layers_graph(), encoding="ascii")
    maps = [argument for layer in scene.LAYERS for argument in ("-map", f"[{layer.name}]")]
    # As they are: 16 MB, which to read anew for each pass of each movie would take 0.3 s if they were compressed.
    stored = ["-c:v", "rawvideo", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "nut", str(layers)]
    ffmpeg.run(["-filter_complex_script", str(graph), *maps, *stored], lambda _frame: None)
    return layers


class FilePicture:
    """The first video stream of a file, as it is but for what is asked for otherwise."""

    def __init__(
        self,
        path: Path,
        seconds: float | None,
        *,
        size: tuple[int, int] | None = None,
        frame_rate: Fraction | None = None,
        fields: bool = True,
        display_aspects: Sequence[Fraction] = (),
    ) -> None:
        self.path = path
        self.name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.stem)[:60] or "movie"
        self.video = video_of(path)
        shape = convert(self.video, size=size, frame_rate=frame_rate, fields=fields, display_aspects=display_aspects)
        self.shape: Conversion | None = shape
        self.conversion = shape
        self.frame_rate = shape.frame_rate
        self.limit = None if seconds is None else max(1, round(seconds * self.frame_rate))
        whole = self.video.duration_s or self._counted_s()
        self.expected = round(min(seconds or whole, whole or math.inf) * self.frame_rate)

    @property
    def frames(self) -> int | None:
        """As many as are asked for; None for all."""
        return self.limit

    def _counted_s(self) -> float:
        """The length of a file that does not state it, as no elementary stream does: its packets are counted."""
        rate = self.video.mean_rate or self.frame_rate
        return float(ffmpeg.packets_of(self.path) / rate)

    def identity(self, report: Progress) -> dict[str, Any]:
        report("reading the file", 0.0)
        of_file = {"kind": "file", "name": self.path.name, "sha256": sha256(self.path)}
        return of_file | {"filter": self.conversion.filters}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        for step in self.conversion.steps:
            report(step, 0.0)
        return ["-i", f"file:{self.path}", "-map", "0:V:0", "-vf", self.conversion.filters]
