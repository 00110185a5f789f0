"""Datagrams that were lost because whole frames left in one burst: said beside the results, with what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framewire.scenario import DatagramFlow, Scenario

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TO_A_FULL_QUEUE", "notes"]

TO_A_FULL_QUEUE = "to a full queue"
"""In every note."""

QUEUE_FULL = "queue full"
"""A root cause of the ledger, docs/results.md."""
FEW = 0.01
"""Less than this part of a flow's frames is not worth a word."""


def notes(scenario: Scenario, frames: pl.DataFrame) -> list[str]:
    """A sentence for each flow of datagrams that does not spread its frames, where most of the frames that were lost,
    or refer to what was, go back to a full queue. The ledger records it; the table of packets, which grows with every
    packet, is not needed.

    >>> import polars as pl
    >>> ledger = {"flow": ["udp"] * 4, "fate": ["lost", "undecodable", "shown", "lost"],
    ...           "root_cause": ["queue full", "queue full", None, "random loss"]}
    >>> from framewire.scenario import load
    >>> [note] = notes(load({"flow": [{"transport": "udp"}]}), pl.DataFrame(ledger))
    >>> note.partition(": ")[0]
    'of 4 frames of udp 3 were lost or could not be decoded, 2 of them because of what was lost to a full queue'
    >>> [note] = notes(load({"layout": "together", "flow": [{"transport": "udp"}, {"transport": "bulk"}]}),
    ...                pl.DataFrame(ledger | {"fate": ["lost", "undecodable", "not offered", "lost"]}))
    >>> note[:14], "what shares the network with it fills the queue" in note
    ('of 3 frames of', True)
    >>> notes(load({"flow": [{"transport": "udp"}]}), pl.DataFrame(ledger | {"root_cause": ["random loss"] * 4}))
    []
    >>> notes(load({"flow": [{"transport": "udp", "spread": "frame-interval"}]}), pl.DataFrame(ledger))
    []
    """
    import polars as pl

    from framewire import stats

    flows = unspread(scenario)
    if not flows or not {"flow", "fate", "root_cause"} <= set(frames.columns):
        return []
    missing = pl.col("fate").is_in(["lost", "undecodable"])
    counts = (
        frames.lazy()
        .filter(pl.col("flow").is_in(flows))
        .group_by("flow", maintain_order=True)
        .agg(stats.offered().sum().alias("frames"), missing.sum().alias("missing"),
             (missing & (pl.col("root_cause") == QUEUE_FULL)).sum().alias("full"))
        .filter((pl.col("full") > pl.col("missing") / 2) & (pl.col("full") >= FEW * pl.col("frames")))
        .collect()
    )  # fmt: skip
    shared = scenario.together and len(scenario.flows) > 1
    others = ", what shares the network with it fills the queue" if shared else ""
    return [
        f"of {total:,} frames of {flow} {gone:,} were lost or could not be decoded, {full:,} of them because of what "
        f"was lost {TO_A_FULL_QUEUE}: the movie needs more than the link carries{others}, or a large frame, of "
        "which all packets leave in one burst, does not fit into the queue; there "
        f"--set 'flow.{flow}.spread=\"frame-interval\"' helps, which sends them over the time of the frame"
        for flow, total, gone, full in counts.iter_rows()
    ]


def unspread(scenario: Scenario) -> list[str]:
    """The names of the flows of datagrams that send all packets of a frame at once; those of constant rate do not."""
    flows = [flow for flow in scenario.flows if isinstance(flow, DatagramFlow) and flow.ts_rate is None]
    return [flow.name for flow in flows if flow.spread == "none"]
