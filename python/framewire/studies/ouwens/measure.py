"""What is asked of the results of the measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import polars as pl

from framewire.studies import measured

__all__ = ["Measured", "carry_out"]

AFTERNOON = 3
"""The repeat that graphs show, as the thesis' graphs show its third."""


@dataclass
class Measured(measured.Measured):
    """Results by measurement, and the ledgers that graphs show."""

    @cached_property
    def movie_sizes(self) -> dict[int, list[tuple[str, int]]]:
        """Type and size of every frame in decode order, by bitrate in Mbit/s."""
        if "movies" not in self.ledgers:
            return {}
        frames = self.ledgers["movies"]().filter((pl.col("flow") == "tcp") & (pl.col("repeat") == 1))
        once = (
            frames.group_by("bitrate", "frame").agg(pl.col("type", "size").first()).sort("bitrate", "frame").collect()
        )
        return {
            int(bitrate): list(zip(rows["type"], rows["size"], strict=True))
            for (bitrate,), rows in once.group_by("bitrate", maintain_order=True)
        }

    def ledger(self, flow: str, *, bitrate: int, retry: int, oven: str) -> pl.DataFrame:
        """The ledger of the run that graphs show: the last repeat. Empty where it was not measured."""
        table = self._shown_ledgers.get((flow, bitrate, retry, oven))
        return table if table is not None else pl.DataFrame()

    @cached_property
    def _shown_ledgers(self) -> dict[tuple[object, ...], pl.DataFrame]:
        if "movies" not in self.ledgers:
            return {}
        last = min(AFTERNOON, int(self.summaries["movies"]["repeat"].max() or 1))  # type: ignore[arg-type]
        shown = (pl.col("bitrate") == 3) | (pl.col("bitrate") == 6) | (pl.col("retry") == 4)
        shown |= (pl.col("flow") == "udp") & (pl.col("bitrate") == 4)
        frames = (
            self.ledgers["movies"]()
            .filter((pl.col("repeat") == last) & pl.col("retry").is_in([1, 2, 3, 4]) & shown)
            .select(
                "flow", "bitrate", "retry", "oven", "frame", "type", "size", "due_ns", "arrival_rel_ns", "latency_ns",
                "jitter_ns", "bytes_received", "complete",
            )
            .collect()
        )  # fmt: skip
        return dict(frames.partition_by("flow", "bitrate", "retry", "oven", as_dict=True))


carry_out: Callable[..., Measured] = partial(measured.carry_out, into=Measured)
"""Runs the campaigns of the study, see :func:`framewire.studies.measured.carry_out`."""
