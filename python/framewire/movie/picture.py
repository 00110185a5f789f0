"""What a movie is made of: the lab's own picture, or a file of the user's."""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from framewire.errors import InputError
from framewire.movie import ffmpeg, scene
from framewire.movie.cache import alone

__all__ = ["FilePicture", "LabPicture", "Picture", "Progress", "drawn_layers"]

Progress = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 to 1."""

# A file of the user's: square pixels, its aspect kept, black around it.
FIT = (
    f"scale={scene.WIDTH}:{scene.HEIGHT}:force_original_aspect_ratio=decrease:force_divisible_by=2"
    ":flags=bicubic+accurate_rnd+bitexact,setsar=1,"
    f"pad={scene.WIDTH}:{scene.HEIGHT}:(ow-iw)/2:(oh-ih)/2,fps={scene.FPS},format=yuv420p"
)


class Picture(Protocol):
    """What a movie is made of."""

    name: str
    frames: int | None  # how many at most
    expected: int  # how many there will be, for progress; 0 where that is not known

    def identity(self, report: Progress) -> dict[str, Any]:
        """What tells this picture from any other."""

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        """Options of ffmpeg, up to and with the choice of the picture."""


class LabPicture:
    """The picture that ffmpeg draws."""

    name = "lab"

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
    layers = cache / f"lab-layers-{identity}.nut"
    with alone(layers):
        if not layers.exists():
            report("drawing the lab's picture", 0.0)
            _draw_layers(layers)
    return layers


def _draw_layers(layers: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{layers.stem}-", dir=layers.parent) as directory:
        graph, part = Path(directory) / "layers.graph", Path(directory) / "layers.nut"
        graph.write_text(scene.layers_graph(), encoding="ascii")
        maps = [argument for layer in scene.LAYERS for argument in ("-map", f"[{layer.name}]")]
        stored = ["-c:v", "ffv1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "nut", str(part)]
        ffmpeg.run(["-filter_complex_script", str(graph), *maps, *stored], lambda _frame: None)
        part.replace(layers)


class FilePicture:
    """The first video stream of a file."""

    def __init__(self, path: Path, seconds: float | None) -> None:
        self._path = path
        self.name = re.sub(r"[^A-Za-z0-9._-]+", "_", path.stem)[:60] or "movie"
        length = float(ffmpeg.probe(path)["format"].get("duration", 0.0))
        self.frames: int | None = None if seconds is None else round(seconds * scene.FPS)
        self.expected = round(min(seconds or length, length or math.inf) * scene.FPS)

    def identity(self, report: Progress) -> dict[str, Any]:
        report("reading the file", 0.0)
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"kind": "file", "name": self._path.name, "sha256": digest, "filter": FIT}

    def input(self, cache: Path, scratch: Path, report: Progress) -> list[str]:
        return ["-i", f"file:{self._path}", "-map", "0:V:0", "-vf", FIT]
