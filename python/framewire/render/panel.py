"""How screens stand in a picture of the film: a grid of panels, each with a line of text below it.

Everything begins and ends at even pixels, as chroma has one for two of each direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Grid", "Panel"]

GAP = 8
BACKGROUND = "#ffffff"
DARK = "#16191b"
INK = "#22272b"
ALARM = "#b3261e"
BORDER = 4
"""Pixels around a screen that stands still."""
WIDEST = 1920
"""Pixels of the whole picture, unless a panel is asked to be wider."""
TALLEST = 1080


@dataclass(frozen=True)
class Panel:
    """One screen in one picture of the film."""

    label: str
    colour: str
    picture: bytes | None
    """As a canvas takes it; None where nothing stands there yet."""
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
    def of(cls, count: int, aspect: float, width: int | None, foot: int = 0) -> Grid:
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
        return cls(columns, rows, even, 2 * round(even / aspect / 2), foot)

    @property
    def size(self) -> tuple[int, int]:
        """Of the whole picture, both even, as most encodings want it."""
        high = GAP + self.rows * (self.height + self.bar + GAP) + self.foot
        return GAP + self.columns * (self.width + GAP), high + high % 2

    @property
    def text_height(self) -> int:
        """Of the line below a screen."""
        return _text_height(self.width)

    @property
    def bar(self) -> int:
        """Room for that line."""
        return _bar(self.width)

    def corner(self, place: int) -> tuple[int, int]:
        """Where the picture of a screen begins: left and top, both even."""
        row, column = divmod(place, self.columns)
        return GAP + column * (self.width + GAP), GAP + row * (self.height + self.bar + GAP)


def _text_height(width: float) -> int:
    return int(min(20, max(11, width / 28)))


def _bar(width: float) -> int:
    return 2 * ((_text_height(width) + 9) // 2)
