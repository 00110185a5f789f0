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


def screen(ledger: pl.DataFrame, frame_rate: float, policy: str, startup_s: float = 1.0) -> Screen:
    """Plays the ledger of one flow.

    `live`: a frame is put on at its slot when its fate is `shown`; a late one never is. `stall`: the player starts
    `startup_s` after the first arrival, puts every decodable frame on, and waits where one has not arrived.
    """
    rows = ledger.sort("display").select("fate", "arrival_ns")
    playable = {"shown", "late"} if policy == "stall" else {"shown"}
    start = (rows["arrival_ns"].min() or 0) / 1e9 + startup_s  # type: ignore[operator]
    waited = 0.0
    current: int | None = None
    source: list[int | None] = []
    shown_at: list[float | None] = []
    for slot, (fate, arrival) in enumerate(rows.iter_rows()):
        on = fate in playable
        if on:
            current = slot
            if policy == "stall" and arrival is not None:
                waited = max(waited, arrival / 1e9 - start - slot / frame_rate)
        source.append(current)
        shown_at.append(slot / frame_rate + waited if on else None)
    return Screen(source, shown_at)
