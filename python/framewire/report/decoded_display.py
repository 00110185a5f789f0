"""What stands on a screen, slot by slot, of numbered pictures as a decoder puts them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

__all__ = ["HELD_BACK", "Screen"]

HELD_BACK = 16
"""Pictures that a decoder may put out behind later ones: as many as it may hold (ITU-T H.264 and H.265, A.4)."""


class Screen:
    """The pictures that are planned for each slot, as far as they come: where one does not, the one before stays.

    >>> screen = Screen([None, 0, 0, 2, 3], iter([(0, b"a"), (1, b"b"), (3, b"d"), (2, b"c")]))
    >>> [screen.at(slot) for slot in range(5)], screen.on_screen
    ([None, b'a', b'a', b'c', b'd'], [None, 0, 0, 2, 3])
    """

    def __init__(self, planned: Sequence[int | None], came: Iterator[tuple[int, bytes]]) -> None:
        """``planned`` has numbers that do not go back."""
        self.on_screen: list[int | None] = []
        """By slot, the number of the picture that stands there; None before the first."""
        self._planned = planned
        self._came = came
        self._waiting: list[tuple[int, bytes]] = []
        self._held: tuple[int, bytes] | None = None

    def at(self, slot: int) -> bytes | None:
        """Slots in order; None before the first picture. What comes behind a later one than its slot is not shown."""
        self._take()
        planned = self._planned[slot]
        while planned is not None and self._waiting and self._waiting[0][0] <= planned:
            number, picture = heappop(self._waiting)
            if number == planned:
                self._held = number, picture
            self._take()
        self.on_screen.append(None if self._held is None else self._held[0])
        return None if self._held is None else self._held[1]

    def _take(self) -> None:
        """As many as a decoder may put out in another order, so that the next one is among them."""
        while len(self._waiting) <= HELD_BACK and (following := next(self._came, None)) is not None:
            heappush(self._waiting, following)
