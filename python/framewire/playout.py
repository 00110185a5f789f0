"""What a player shows of a flow: when each frame of the ledger, and which picture stands in each slot of the movie.

The model is that of the recording crate, of which the ledger's deadlines and fates and the stalls of the summary are
made, too. Here it is asked with columns of a ledger, for the run's own player or for another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire import _native

__all__ = ["COLUMNS", "Display", "Pause", "Player", "as_sent", "pauses", "play", "replayed", "shown"]

COLUMNS = ("display", "display_ns", "fate", "arrival_ns", "arrival_rel_ns", "ready_ns")
"""Columns of a ledger that a player asks for."""


@dataclass(frozen=True)
class Player:
    """A player at the receiver."""

    policy: Literal["live", "stall"] = "live"
    """``live`` shows a frame when it is due or not at all; ``stall`` waits for it."""
    startup_s: float = 1.0
    """From the first arrival of the flow to the first frame."""
    shows: Literal["decodable", "whole"] = "decodable"
    """Frames that can be decoded, or all that came whole, whatever they refer to."""
    low_mark_s: float = 0.0
    """One that waits pauses where no more than this is left to show; 0: where the next frame is missing."""
    high_mark_s: float = 0.0
    """It goes on when this much is there, or all that still comes; less than the low mark is as much as that."""

    def ready(self) -> pl.Expr:
        """When a frame is there for this player; null for one that it never shows.

        As in the ledger, a live player asks when the frame itself came, and one that waits also for what it refers to.
        """
        if self.shows == "whole":
            return pl.col("arrival_ns")
        decodable = pl.col("fate").is_in(["shown", "late"])
        return pl.when(decodable).then("ready_ns" if self.policy == "stall" else "arrival_ns")

    @property
    def marks_ns(self) -> tuple[int, int]:
        """Low and high mark."""
        return round(self.low_mark_s * 1e9), round(self.high_mark_s * 1e9)


@dataclass(frozen=True)
class Pause:
    """A time at which a player that waits stands still."""

    position_s: float
    """Where in the movie."""
    from_s: float
    """When it begins by the clock of the run, whose origin is when the first frame is due."""
    until_s: float
    """When the player goes on."""


class Display:
    """What stood on a screen. Lists are indexed by display number."""

    def __init__(self, played: _native.Display, start_ns: int | None = None) -> None:
        self._played = played
        self._start_ns = start_ns

    @cached_property
    def source(self) -> list[int | None]:
        """The display number of the picture that stands there; None before the first."""
        return _listed(self._played.sources())

    @cached_property
    def shown_at_s(self) -> list[float | None]:
        """When the player put the frame on, by its clock, which starts at 0; None for a frame that it never did."""
        start = self._start_ns or 0
        return [None if at is None else (at - start) / 1e9 for at in _listed(self._played.shown_ns())]

    @cached_property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the frame itself was put on."""
        return _numbers(self._played.shown_ns()) >= 0

    @cached_property
    def frozen(self) -> NDArray[np.int64]:
        """For how many slots the picture has stood longer than its own; 0 for a frame shown in its turn."""
        return _numbers(self._played.frozen())

    @property
    def freezes(self) -> list[int]:
        """How many slots in a row had no picture of their own, freeze by freeze."""
        return self._played.freezes()

    def longest_freeze(self, slots: pl.Series | Iterable[int] | None = None) -> int:
        """Longest freeze, in slots, of those given or of all; the time before the first picture counts."""
        looked_at = self.frozen if slots is None else self.frozen[np.asarray(list(slots), dtype=np.int64)]
        return int(looked_at.max(initial=0))


def play(ledger: pl.DataFrame, player: Player) -> Display:
    """Plays the ledger of one flow.

    >>> frames = {"display": [0, 1, 2], "display_ns": [0, 40, 80], "fate": ["shown", "lost", "shown"],
    ...           "arrival_ns": [7, None, 99], "arrival_rel_ns": [0, None, 92], "ready_ns": [7, None, 99]}
    >>> play(pl.DataFrame(frames), Player(startup_s=20e-9)).source
    [0, 0, 2]
    >>> play(pl.DataFrame(frames), Player(startup_s=0.0)).source, Player("stall").policy
    ([0, 0, 0], 'stall')
    """
    return _play(ledger, player)[0]


def pauses(ledger: pl.DataFrame, player: Player) -> list[Pause]:
    """The pauses of a player that waits, in order.

    >>> frames = {"display": [0, 1], "display_ns": [0, 40], "fate": ["shown", "shown"],
    ...           "arrival_ns": [0, 90], "arrival_rel_ns": [0, 90], "ready_ns": [0, 90]}
    >>> [round(pause.until_s * 1e9) for pause in pauses(pl.DataFrame(frames), Player("stall", startup_s=0.0))]
    [90]
    """
    rows, order, first = _columns(ledger, player)
    if first is None:
        return []
    found = _native.Display.pauses(
        rows["display_ns"].to_numpy()[order].tobytes(),
        rows["ready_ns"].to_numpy()[order].tobytes(),
        startup_ns=round(player.startup_s * 1e9),
        first_arrival_ns=first,
        marks_ns=player.marks_ns,
    )
    return [Pause(*(at / 1e9 for at in pause)) for pause in found]


def _play(ledger: pl.DataFrame, player: Player) -> tuple[Display, NDArray[np.intp]]:
    """What is shown, and the rows of the ledger in display order."""
    rows, order, first = _columns(ledger, player)
    startup = round(player.startup_s * 1e9)
    played = _native.Display.play(
        rows["display_ns"].to_numpy()[order].tobytes(),
        rows["ready_ns"].to_numpy()[order].tobytes(),
        waits=player.policy == "stall",
        startup_ns=startup,
        first_arrival_ns=first,
        marks_ns=player.marks_ns,
    )
    return Display(played, None if first is None else first + startup), order


def _columns(ledger: pl.DataFrame, player: Player) -> tuple[pl.DataFrame, NDArray[np.intp], int | None]:
    """What a player asks of a ledger, its rows in display order, and the first arrival."""
    # At once: every question to polars costs more than this.
    rows = ledger.select(
        "display",
        _whole(pl.col("display_ns")).alias("display_ns"),
        _whole(player.ready()).alias("ready_ns"),
        (pl.col("arrival_ns") - pl.col("arrival_rel_ns")).min().alias("first"),
    )
    order = np.argsort(rows["display"].to_numpy(), kind="stable")
    return rows, order, rows["first"][0] if rows.height else None


def shown(ledger: pl.DataFrame, player: Player) -> pl.Series:
    """Whether each frame of the ledger, in its order, was shown."""
    display, order = _play(ledger, player)
    of_rows = np.empty(ledger.height, dtype=np.bool_)
    of_rows[order] = display.shown
    return pl.Series("shown", of_rows)


def replayed(ledger: pl.DataFrame, player: Player) -> pl.DataFrame:
    """The ledger of one flow with the fates that its frames have with another player."""
    playable = pl.col("fate").is_in(["shown", "late"])
    fate = (
        pl.when(playable)
        .then(pl.when(shown(ledger, player)).then(pl.lit("shown")).otherwise(pl.lit("late")))
        .otherwise("fate")
    )
    return ledger.with_columns(fate.alias("fate"))


def as_sent(ledger: pl.DataFrame) -> Display:
    """A screen on which every frame stands in its turn."""
    display = ledger.sort("display").select(_whole(pl.col("display_ns"))).to_series()
    there = np.zeros(ledger.height, dtype=np.int64)
    played = _native.Display.play(
        display.to_numpy().tobytes(), there.tobytes(), waits=False, startup_ns=0, first_arrival_ns=0, marks_ns=(0, 0)
    )
    return Display(played, 0)


def _whole(column: pl.Expr) -> pl.Expr:
    """As the player takes numbers."""
    return column.cast(pl.Int64).fill_null(-1)


def _numbers(column: bytes) -> NDArray[np.int64]:
    return np.frombuffer(column, dtype=np.int64)


def _listed(column: bytes) -> list[int | None]:
    return [None if number < 0 else number for number in _numbers(column).tolist()]
