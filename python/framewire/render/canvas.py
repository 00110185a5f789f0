"""A picture of the film as the encoder takes it, Y'CbCr with chroma in quarters (4:2:0): what does not change stays.

Pictures of screens come so from their decoders and are copied in. Texts are drawn in RGB, and brought into the same
(ITU-R BT.601, 8 bits of limited range), where they change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from framewire.render.panel import ALARM, BACKGROUND, BORDER, DARK, INK, Grid, Panel
from framewire.report.decoder import Output

__all__ = ["COLOURS", "Canvas", "planar"]

COLOURS = ("-color_range", "tv", "-colorspace", "smpte170m", "-color_primaries", "smpte170m", "-color_trc", "smpte170m")
"""FFmpeg's options that say what the numbers mean: without them players take a large picture for BT.709."""

_LIMITED = [16 + round(value * 219 / 255) for value in range(256)]
_LIMITED += 2 * [128 + round((value - 128) * 224 / 255) for value in range(256)]
"""Of Pillow's Y'CbCr, which is JPEG's, in full range."""

Planes = tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]


def planar(width: int, height: int) -> Output:
    """Pictures of this size, both even, as a canvas takes them."""
    scaled = f"scale=w={width}:h={height}:flags=area:out_color_matrix=bt601:out_range=tv"
    return Output.of(width * height * 3 // 2, scaled, "yuv420p")


class Canvas:
    """One picture of the film after the other."""

    def __init__(self, grid: Grid, *, texts: bool) -> None:
        self._grid, self._texts = grid, texts
        self._font = ImageFont.load_default(grid.text_height)
        wide, high = grid.size
        self._bytes = np.empty(wide * high * 3 // 2, dtype=np.uint8)
        self._planes = _planes(self._bytes, wide, high)
        self._fill(0, 0, wide, high, BACKGROUND)
        self._shown: dict[int, Panel] = {}
        self._said: dict[int, tuple[str, bool]] = {}

    def draw(self, panels: list[Panel], clock: str) -> memoryview:
        """The next picture; without texts the lines below say which screen it is and no more."""
        for place, panel in enumerate(panels):
            before = self._shown.get(place)
            if before is None or before.picture is not panel.picture:
                self._put(place, panel.picture)
            if self._texts and (before is not None and before.is_still) != panel.is_still:
                self._frame(place, ALARM if panel.is_still else BACKGROUND)
            self._shown[place] = panel
            self._say(place, panel, clock if place == 0 else "")
        return self._bytes.data

    def _put(self, place: int, picture: bytes | None) -> None:
        left, top = self._grid.corner(place)
        wide, high = self._grid.width, self._grid.height
        if picture is None:
            self._fill(left, top, wide, high, DARK)
            return
        pixels = _planes(np.frombuffer(picture, dtype=np.uint8), wide, high)
        for plane, pixel, half in zip(self._planes, pixels, (1, 2, 2), strict=True):
            plane[top // half : (top + high) // half, left // half : (left + wide) // half] = pixel

    def _frame(self, place: int, colour: str) -> None:
        left, top = self._grid.corner(place)
        wide, high, edge = self._grid.width, self._grid.height, BORDER
        for side in (
            (left - edge, top - edge, wide + 2 * edge, edge),
            (left - edge, top + high, wide + 2 * edge, edge),
            (left - edge, top, edge, high),
            (left + wide, top, edge, high),
        ):
            self._fill(*side, colour)

    def _say(self, place: int, panel: Panel, clock: str) -> None:
        """The line below a screen, where it says something else than before."""
        caption = panel.caption if self._texts and not clock else ""
        said = "  ".join(part for part in (panel.label, clock, caption) if part)
        alarming = panel.is_still and self._texts
        if self._said.get(place) == (said, alarming):
            return
        self._said[place] = said, alarming
        wide, high = self._grid.width, self._grid.bar
        line = Image.new("RGB", (wide, high), BACKGROUND)
        pen, mark = ImageDraw.Draw(line), self._grid.text_height - 2
        pen.rectangle((0, 3, mark, 3 + mark), fill=panel.colour)
        room = wide - mark - 8
        while len(said) > 4 and pen.textlength(said, font=self._font) > room:
            said = said.rstrip("…")[:-1] + "…"
        pen.text((mark + 6, 0), said, fill=ALARM if alarming else INK, font=self._font)
        left, top = self._grid.corner(place)
        self._paste(left, top + self._grid.height + BORDER, line)

    def _fill(self, left: int, top: int, wide: int, high: int, colour: str) -> None:
        self._paste(left, top, Image.new("RGB", (2, 2), colour), (wide, high))

    def _paste(self, left: int, top: int, image: Image.Image, size: tuple[int, int] | None = None) -> None:
        """All places and sizes are even. One colour fills a larger size."""
        wide, high = size or image.size
        parts = image.convert("YCbCr").point(_LIMITED).split()
        for plane, part, half in zip(self._planes, parts, (1, 2, 2), strict=True):
            pixels = np.asarray(part.reduce(half) if half > 1 else part)
            target = plane[top // half : (top + high) // half, left // half : (left + wide) // half]
            target[:] = pixels if size is None else pixels[0, 0]


def _planes(pixels: NDArray[np.uint8], wide: int, high: int) -> Planes:
    """Luma, and the two of chroma, of half its width and height."""
    luma, chroma = wide * high, wide * high // 4
    return (
        pixels[:luma].reshape(high, wide),
        pixels[luma : luma + chroma].reshape(high // 2, wide // 2),
        pixels[luma + chroma : luma + 2 * chroma].reshape(high // 2, wide // 2),
    )
