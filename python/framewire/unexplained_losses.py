"""Lost frames whose cause is not known, and beside them what the network dropped of their flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framewire.scenario import ExternalFlow, Scenario

if TYPE_CHECKING:
    import polars as pl

__all__ = ["notes"]


def notes(scenario: Scenario, frames: pl.DataFrame, packets: pl.DataFrame) -> list[str]:
    """A sentence for each flow of applications with lost frames of which the ledger does not say why.

    Which frame a packet carries cannot be read where an application packs or encrypts it in a way of its own. That the
    network dropped packets of the flow is known all the same.

    >>> import polars as pl
    >>> from framewire.scenario import load
    >>> ends = {"sender": {"command": ["send", "{movie}"]}, "receiver": {"command": ["receive"]}}
    >>> flows = load({"flow": [{"name": "srt", **ends}]})
    >>> frames = pl.DataFrame({"flow": ["srt"] * 3, "fate": ["shown", "lost", "lost"], "root_cause": [None, None, "x"]})
    >>> drops = {"flow": ["srt"] * 4, "packet": [1, 2, 3, 4], "direction": ["forward"] * 4,
    ...          "outcome": ["dropped", "dropped", "delivered", "dropped"],
    ...          "cause": ["random loss", "queue full", None, "random loss"]}
    >>> [note] = notes(flows, frames, pl.DataFrame(drops))
    >>> note.partition("; ")[0]
    'of 1 lost frame of srt the cause is not known'
    >>> note.partition("; ")[2]
    'the network dropped 3 packets on their way to its receiver (2 random loss, 1 queue full)'
    >>> notes(flows, frames.reverse(), pl.DataFrame(drops))[0].partition("; ")[0]
    'of 1 lost frame of srt the cause is not known'
    >>> notes(flows, frames.head(2), pl.DataFrame(drops))[0].partition("; ")[0]
    'of 1 lost frame of srt, the last of the movie, the cause is not known'
    >>> notes(flows, frames.head(2).tail(1), pl.DataFrame(drops))[0].partition("; ")[0]
    'of 1 lost frame of srt the cause is not known'
    >>> notes(flows, frames.head(1), pl.DataFrame(drops))
    []
    """
    import polars as pl

    theirs = [flow.name for flow in scenario.flows if isinstance(flow, ExternalFlow)]
    if not theirs or frames.is_empty() or not {"flow", "fate", "root_cause"} <= set(frames.columns):
        return []
    unknown = frames.filter((pl.col("fate") == "lost") & pl.col("root_cause").is_null() & pl.col("flow").is_in(theirs))
    counts = unknown.group_by("flow", maintain_order=True).len()
    return [_note(flow, _known(flow, count, frames), packets) for flow, count in counts.iter_rows()]


def _known(flow: str, count: int, frames: pl.DataFrame) -> str:
    """What the ledger says of them. At the end of a movie an application may keep frames that came, as
    docs/applications.md says of FFmpeg."""
    import polars as pl

    own = frames.filter(pl.col("flow") == flow)
    last = own.tail(count)
    are_last = count < own.height and (last["fate"].eq("lost") & last["root_cause"].is_null()).all()
    which = ", the last of the movie," if are_last else ""
    return f"of {count:,} lost frame{'s' if count > 1 else ''} of {flow}{which} the cause is not known"


def _note(flow: str, known: str, packets: pl.DataFrame) -> str:
    import polars as pl

    if not {"flow", "direction", "outcome", "cause"} <= set(packets.columns):
        return known
    forward = packets.filter((pl.col("flow") == flow) & (pl.col("direction") == "forward"))
    dropped = forward.filter(pl.col("outcome") == "dropped")
    if dropped.is_empty():
        return f"{known}; the network dropped no packet on its way to the receiver"
    causes = dropped.group_by("cause").len().sort("len", "cause", descending=[True, False])
    listed = ", ".join(f"{number:,} {cause}" for cause, number in causes.iter_rows())
    packets_of = f"{dropped.height:,} packet{'s' if dropped.height > 1 else ''}"
    return f"{known}; the network dropped {packets_of} on their way to its receiver ({listed})"
