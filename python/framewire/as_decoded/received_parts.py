"""What came of each frame up to its first gap, by the ledger and the packets of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from framewire import stats
from framewire.report.cut_stream import StreamError
from framewire.report.data import Flow, ReportRun
from framewire.transports import parts_of

__all__ = ["Arrival", "arrivals", "counts_damaged", "hands_on", "keeps_gaps"]


@dataclass(frozen=True)
class Arrival:
    """A frame of which something came, from its beginning on."""

    frame: int
    """In decode order."""
    display: int
    at_ns: int
    """When the last packet of it came that counts here."""
    payload: int | None
    """Bytes in the packets before the first gap, without headers; None where the frame came whole, and where what came
    of it was handed on: the received movie has it."""
    whole: bool = True


def arrivals(run: ReportRun, flow: Flow) -> list[Arrival]:
    """The frames that came whole, and of the others those whose first packet came; in decode order.

    There are others only in datagrams of RTP, and of a transport stream where its receiver handed them on: its packets
    are not numbered frame by frame, and those of an application are not known so.

    Raises StreamError where packets and ledger do not fit together.
    """
    ledger = run.ledger(flow)
    whole = ledger.filter(pl.col("complete")).select("frame", "display", "arrival_ns")
    found = [Arrival(frame, display, at, None) for frame, display, at in whole.iter_rows()]
    damaged = _damaged(run, flow, ledger)
    if hands_on(flow):
        handed_on = ledger.filter(~pl.col("complete") & (pl.col("handed_on") > 0))
        if _is_rtp(flow):
            frames = {*handed_on["frame"]}
            damaged = (replace(one, payload=None) for one in damaged if one.frame in frames)
        else:
            damaged = _handed_on(run, flow, handed_on)
    return sorted([*found, *damaged], key=lambda one: one.frame)


def counts_damaged(flow: Flow) -> bool:
    """Whether it is known which frames came with a gap: of packets of RTP, of what was handed on, and of a byte stream,
    which has no gaps."""
    parts = parts_of(flow.transport)
    return parts is not None and (parts.socket == "stream" or _is_rtp(flow) or hands_on(flow))


def keeps_gaps(flow: Flow) -> bool:
    """Whether what came of a frame with a gap is kept. Of a transport stream in datagrams it is not where its receiver
    discards such a frame, and a decoder of what arrived would have had it."""
    parts = parts_of(flow.transport)
    return parts is None or parts.socket == "stream" or not parts.format.startswith("ts") or hands_on(flow)


def hands_on(flow: Flow) -> bool:
    """Whether its receiver hands on what came of a damaged frame, by the scenario (``damaged = "pass"``)."""
    return getattr(flow.described, "damaged", "discard") == "pass"


def _damaged(run: ReportRun, flow: Flow, ledger: pl.DataFrame) -> Iterator[Arrival]:
    packets = run.packets
    if not {"sequence", "headers", "frame"} <= {*packets.columns} or not {"packets", "complete"} <= {*ledger.columns}:
        return
    sent = ledger.filter(pl.col("packets") > 0).sort("frame")
    of_flow = packets.filter(
        (pl.col("flow") == flow.name)
        & (pl.col("direction") == "forward")
        & pl.col("headers").is_not_null()
        & (pl.col("sequence") < stats.FIRST_OF_SOUND)
    )
    if sent.is_empty() or of_flow.is_empty() or not _is_rtp(flow):
        return
    came = (
        stats.arrived_packets(of_flow)
        .sort("sequence", "finished_ns")
        .unique("sequence", keep="first", maintain_order=True)
    )
    counts = sent["packets"].to_numpy()
    first = np.cumsum(counts) - counts  # packets are numbered without a gap over the frames that were sent
    sequence = came["sequence"].to_numpy()
    place = np.searchsorted(first, sequence, side="right") - 1
    if (sent["frame"].to_numpy()[place] != came["frame"].to_numpy()).any():
        raise StreamError(f"the packets of {flow.name} are not numbered as its ledger counts them")
    payload = (came["payload"] - came["headers"]).to_numpy()
    finished = came["finished_ns"].to_numpy()
    begins = np.searchsorted(sequence, first)
    for row, (frame, display, complete) in enumerate(sent.select("frame", "display", "complete").iter_rows()):
        begin = int(begins[row])
        end = int(np.searchsorted(sequence, first[row] + counts[row]))
        own = sequence[begin:end] - first[row]
        leading = begin + int(np.argmax(np.append(own != np.arange(len(own)), True)))
        if not complete and leading > begin:
            at, size = int(finished[begin:leading].max()), int(payload[begin:leading].sum())
            yield Arrival(frame, display, at, size, whole=False)


def _handed_on(run: ReportRun, flow: Flow, ledger: pl.DataFrame) -> Iterator[Arrival]:
    """Frames of a transport stream: what was handed on of one is what the first of its packets carry that came."""
    if ledger.is_empty():
        return
    came = stats.arrived_packets(
        run.packets.filter(
            (pl.col("flow") == flow.name) & (pl.col("direction") == "forward") & pl.col("headers").is_not_null()
        )
    ).sort("sequence", "finished_ns")
    came = came.unique("sequence", keep="first", maintain_order=True).with_columns(
        before=(pl.col("payload") - pl.col("headers")).cum_sum().over("frame") - pl.col("payload") + pl.col("headers")
    )
    counted = came.join(ledger.select("frame", "display", "handed_on"), on="frame")
    leading = counted.filter(pl.col("before") < pl.col("handed_on"))
    last = leading.group_by("frame", "display").agg(pl.col("finished_ns").max()).sort("frame")
    for frame, display, at in last.iter_rows():
        yield Arrival(frame, display, at, None, whole=False)


def _is_rtp(flow: Flow) -> bool:
    """Its packets carry frames as a payload format of RTP has them, by themselves and in datagrams."""
    parts = parts_of(flow.transport)
    return parts is not None and (parts.format, parts.socket) == ("rtp", "datagram")
