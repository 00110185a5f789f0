"""What stood on the screen: each display slot of the movie shows a frame, the last one shown, or nothing yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Screen:
    """The player of one flow. Lists are indexed by display number."""

    source: list[int | None]
    """The display number of the picture that stands there; None before the first."""
    shown_at_s: list[float | None]
    """When the player put the frame on, counted from its first; None for a frame that was never put on."""

    def frozen_slots(self, slot: int) -> int:
        """For how many slots the picture has stood longer than its own; 0 for a frame shown in its turn."""
        source = self.source[slot]
        return slot + 1 if source is None else slot - source

    def longest_freeze(self, slots: Iterable[int] | None = None) -> int:
        """Longest freeze, in slots, of those given or of all; the time before the first picture counts."""
        looked_at = range(len(self.source)) if slots is None else slots
        return max((self.frozen_slots(slot) for slot in looked_at), default=0)


def live_ledger(ledger: pl.DataFrame, frame_rate: float, startup_s: float) -> pl.DataFrame:
    """The ledger as live viewing would have had it: where the player waited, what came after its slot was late."""
    start = pl.col("arrival_ns").min() + round(startup_s * 1e9)
    slot = start + (pl.col("display") * (1e9 / frame_rate)).round().cast(pl.Int64)
    late = (pl.col("fate") == "shown") & (pl.col("arrival_ns") > pl.col("deadline_ns").fill_null(slot))
    return ledger.with_columns(pl.when(late).then(pl.lit("late")).otherwise(pl.col("fate")).alias("fate"))


def on_screen(ledger: pl.DataFrame, policy: str) -> pl.DataFrame:
    """Of each display slot, in order: `on`, whether its frame is put on; `source`, the slot whose picture stands there
    (null before the first); `arrival_ns`."""
    playable = ["shown", "late"] if policy == "stall" else ["shown"]
    rows = ledger.select("display", "arrival_ns", on=pl.col("fate").is_in(playable)).sort("display")
    slots = rows.select("arrival_ns", "on", slot=pl.int_range(pl.len(), dtype=pl.Int64))
    return slots.with_columns(source=pl.when("on").then("slot").forward_fill())


def longest_freeze(ledger: pl.DataFrame, policy: str, counted: pl.Series) -> int:
    """As :meth:`Screen.longest_freeze` of the slots that are counted, of a movie of any length in little memory."""
    slots = on_screen(ledger, policy).select("slot", frozen=pl.col("slot") - pl.col("source").fill_null(-1))
    return int(slots.filter(pl.col("slot").is_in(counted.implode()))["frozen"].max() or 0)  # type: ignore[arg-type]


def screen(ledger: pl.DataFrame, frame_rate: float, policy: str, startup_s: float = 1.0) -> Screen:
    """Plays the ledger of one flow.

    `live`: a frame is put on at its slot when its fate is `shown`; a late one never is. `stall`: the player starts
    `startup_s` after the first arrival, puts every decodable frame on, and waits where one has not arrived.
    """
    slots = on_screen(ledger, policy)
    start = (slots["arrival_ns"].min() or 0) / 1e9 + startup_s  # type: ignore[operator]
    waited = 0.0
    shown_at: list[float | None] = []
    for slot, on, arrival in slots.select("slot", "on", "arrival_ns").iter_rows():
        if on and policy == "stall" and arrival is not None:
            waited = max(waited, arrival / 1e9 - start - slot / frame_rate)
        shown_at.append(slot / frame_rate + waited if on else None)
    return Screen(slots["source"].to_list(), shown_at)
