"""How screens stand in a picture of the film: a grid of panels, each with a line of text below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFont

__all__ = ["Grid", "Panel"]

GAP = 8
BACKGROUND = "#ffffff"
INK = "#22272b"
ALARM = "#b3261e"
WIDEST = 1920
"""Pixels of the whole picture, unless a panel is asked to be wider."""
TALLEST = 1080


@dataclass(frozen=True)
class Panel:
    """One screen in one picture of the film."""

    label: str
    colour: str
    picture: Image.Image | None
    """None where nothing stands there yet."""
    caption: str
    is_still: bool
    """It stands still for want of a picture."""


@dataclass(frozen=True)
class Grid:
    """Where panels of one size stand."""

    columns: int
    rows: int
    width: int
    """Of a panel's picture, in pixels; as its height, even."""
    height: int
    foot: int = 0
    """Pixels below all: where players put their controls over a film that stands still."""

    @classmethod
    def of(cls, count: int, aspect: float, width: int | None) -> Grid:
        """For so many pictures of this ratio of width to height: the grid in which they are largest.

        >>> Grid.of(8, 16 / 9, None)
        Grid(columns=3, rows=3, width=570, height=320, foot=0)
        >>> Grid.of(2, 4 / 3, 320)
        Grid(columns=2, rows=1, width=320, height=240, foot=0)
        """
        found = []
        for columns in range(1, count + 1):
            rows = math.ceil(count / columns)
            wide = (WIDEST - GAP * (columns + 1)) / columns
            high = (TALLEST - GAP - rows * (GAP + _bar(wide))) / rows
            found.append((min(wide, high * aspect), -columns * rows, columns, rows))
        fits, _, columns, rows = max(found)
        even = 2 * int((width or fits) / 2)
        return cls(columns, rows, even, 2 * round(even / aspect / 2))

    @property
    def size(self) -> tuple[int, int]:
        """Of the whole picture, both even, as most encodings want it."""
        wide = GAP + self.columns * (self.width + GAP)
        high = GAP + self.rows * (self.height + _bar(self.width) + GAP)
        high += self.foot
        return wide + wide % 2, high + high % 2

    def draw(self, panels: Sequence[Panel], clock: str, *, texts: bool) -> Image.Image:
        """One picture of the film; without ``texts`` the lines below say which screen it is and no more."""
        whole = Image.new("RGB", self.size, BACKGROUND)
        pen, font = ImageDraw.Draw(whole), _font(_text_height(self.width))
        for place, panel in enumerate(panels):
            row, column = divmod(place, self.columns)
            left = GAP + column * (self.width + GAP)
            top = GAP + row * (self.height + _bar(self.width) + GAP)
            box = (left, top, left + self.width, top + self.height)
            if panel.picture is None:
                pen.rectangle(box, fill="#16191b")
            else:
                sized = panel.picture.size == (self.width, self.height)
                whole.paste(panel.picture if sized else panel.picture.resize((self.width, self.height)), box[:2])
            if panel.is_still and texts:
                pen.rectangle((left - 2, top - 2, box[2] + 1, box[3] + 1), outline=ALARM, width=3)
            self._line(pen, font, panel, left, box[3] + 4, clock if place == 0 else "", texts=texts)
        return whole

    def _line(
        self,
        pen: ImageDraw.ImageDraw,
        font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
        panel: Panel,
        left: int,
        top: int,
        clock: str,
        *,
        texts: bool,
    ) -> None:
        mark = _text_height(self.width) - 2
        pen.rectangle((left, top + 1, left + mark, top + 1 + mark), fill=panel.colour)
        said = "  ".join(part for part in (panel.label, clock, panel.caption if texts and not clock else "") if part)
        room = self.width - mark - 8
        while len(said) > 4 and pen.textlength(said, font=font) > room:
            said = said.rstrip("…")[:-1] + "…"
        pen.text((left + mark + 6, top - 2), said, fill=ALARM if panel.is_still and texts else INK, font=font)


def _text_height(width: float) -> int:
    return int(min(20, max(11, width / 28)))


def _bar(width: float) -> int:
    return _text_height(width) + 8


@cache
def _font(height: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(height)
