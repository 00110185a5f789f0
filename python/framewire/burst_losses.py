"""Datagrams that were lost because whole frames left in one burst: said beside the results, with what helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from framewire.transports import DATAGRAM

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "TO_A_FULL_QUEUE", "notes", "unspread"]

COLUMNS = ("flow", "packet", "direction", "outcome", "cause")
"""Of the table of packets, what is looked at."""
TO_A_FULL_QUEUE = "to a full queue"
"""In every note."""

QUEUE_FULL = "queue full"
"""A cause of the packet table, docs/results.md."""
FEW = 0.001
"""Less than this part of a flow's packets is not worth a word."""


def notes(scenario: Mapping[str, Any], packets: pl.DataFrame) -> list[str]:
    """A sentence for each flow of datagrams that does not spread its frames, most of whose losses are at a full queue.

    >>> import polars as pl
    >>> drops = {"flow": ["udp"] * 4, "packet": [1, 2, 3, 4], "direction": ["forward"] * 4,
    ...          "outcome": ["dropped", "dropped", "delivered", "dropped"],
    ...          "cause": ["queue full", "queue full", None, "random loss"]}
    >>> [note] = notes({"flow": [{"name": "udp", "transport": "udp"}]}, pl.DataFrame(drops))
    >>> note.partition(": ")[0]
    'of 4 packets of udp 3 were lost, 2 of them to a full queue'
    >>> notes({"flow": [{"name": "udp", "transport": "udp", "spread": "frame-interval"}]}, pl.DataFrame(drops))
    []
    """
    import polars as pl

    flows = unspread(scenario)
    if not flows or not {*COLUMNS} <= set(packets.columns):
        return []
    lost = pl.col("outcome") == "dropped"
    counts = (
        packets.lazy()
        .filter(pl.col("flow").is_in(flows) & (pl.col("direction") == "forward"))
        .group_by("flow", maintain_order=True)
        .agg(pl.col("packet").n_unique(), lost.sum().alias("lost"),
             (lost & (pl.col("cause") == QUEUE_FULL)).sum().alias("full"))
        .filter((pl.col("full") > pl.col("lost") / 2) & (pl.col("full") >= FEW * pl.col("packet")))
        .collect()
    )  # fmt: skip
    return [
        f"of {sent:,} packets of {flow} {gone:,} were lost, {full:,} of them {TO_A_FULL_QUEUE}: without spread, all "
        "packets of a frame leave in one burst, and a large frame may not fit into the queue; "
        f"--set 'flow.{flow}.spread=\"frame-interval\"' sends them over the time of the frame"
        for flow, sent, gone, full in counts.iter_rows()
    ]


def unspread(scenario: Mapping[str, Any]) -> list[str]:
    """The names of the flows of datagrams that send all packets of a frame at once."""
    return [
        str(flow["name"])
        for flow in scenario.get("flow", [])
        if flow.get("transport") in DATAGRAM and flow.get("spread", "none") == "none" and "name" in flow
    ]
