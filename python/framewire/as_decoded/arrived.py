"""What came of each frame up to its first gap, by the ledger and the packets of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from framewire import stats
from framewire.report.cut_stream import H264, H265, CutStream, StreamError, starts_of
from framewire.report.data import Flow, ReportRun
from framewire.report.decoding import identical
from framewire.report.originals import Received
from framewire.transports import TRANSPORTS, Parts

__all__ = ["Arrival", "arrivals", "beginning"]


@dataclass(frozen=True)
class Arrival:
    """A frame of which something came, from its beginning on."""

    frame: int
    """In decode order."""
    display: int
    at_ns: int
    """When the last packet of it came that counts here."""
    payload: int | None
    """Bytes in the packets before the first gap, without headers; None where the frame came whole."""


def arrivals(run: ReportRun, flow: Flow) -> list[Arrival]:
    """The frames that came whole, and of the others those whose first packet came; in decode order.

    There are others only in datagrams of RTP: packets of a transport stream are not numbered frame by frame, and those
    of an application are not known so.

    Raises StreamError where packets and ledger do not fit together.
    """
    ledger = run.ledger(flow)
    whole = ledger.filter(pl.col("complete")).select("frame", "display", "arrival_ns")
    found = [Arrival(frame, display, at, None) for frame, display, at in whole.iter_rows()]
    return sorted([*found, *_damaged(run, flow, ledger)], key=lambda one: one.frame)


def _damaged(run: ReportRun, flow: Flow, ledger: pl.DataFrame) -> Iterator[Arrival]:
    packets = run.packets
    if not {"sequence", "headers", "frame"} <= {*packets.columns} or not {"packets", "complete"} <= {*ledger.columns}:
        return
    sent = ledger.filter(pl.col("packets") > 0).sort("frame")
    of_flow = packets.filter(
        (pl.col("flow") == flow.name) & (pl.col("direction") == "forward") & pl.col("headers").is_not_null()
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
            yield Arrival(frame, display, at, size)


def _is_rtp(flow: Flow) -> bool:
    """Its packets carry frames as a payload format of RTP has them, by themselves and in datagrams."""
    parts = _parts(flow)
    return parts is not None and (parts.format, parts.socket) == ("rtp", "datagram")


def _parts(flow: Flow) -> Parts | None:
    return next((one.parts for one in TRANSPORTS if one.name == flow.transport), None)


def beginning(sent: CutStream, one: Arrival, largest: int) -> bytes:
    """The first bytes of a frame that came, as its receiver puts them together.

    Of H.264 and H.265, packets carry NAL units without start codes; a unit that does not fit into one, of `largest`
    bytes behind RTP's header, is cut into fragments that carry all but its header (RFC 6184, 5.8; RFC 7798, 4.4.3).
    """
    code = sent.read(one.frame)
    if one.payload is None:
        return code
    if sent.coding not in (H264, H265):
        return code[: one.payload]
    return code[: _behind(code, [*starts_of(code)], one.payload, largest, 1 if sent.coding is H264 else 2)]


def _behind(code: bytes, starts: Sequence[int], payload: int, largest: int, header: int) -> int:
    """Where what was carried by so many bytes of payload ends."""
    ends = 0
    for start, behind in zip(starts, [*starts[1:], len(code)], strict=True):
        unit = len(code[start + 3 : behind].rstrip(b"\x00"))
        apart = header if unit > largest else 0
        if payload < unit - apart:
            return start + 3 + apart + payload if payload > 0 else ends
        payload -= unit - apart
        ends = start + 3 + unit
    return ends


def is_of_the_movie(flow: Flow, one: Received, sent: CutStream) -> bool:
    """Whether what was sent of frames are the movie's own bytes: the dependency queue may give frames other numbers,
    which stand in their headers (docs/decoders.md), and then has done so in those that came whole, too."""
    parts = _parts(flow)
    return parts is None or parts.queue != "dependency" or identical(one.stream, sent, [*one.stream.places])
