"""What a decoder that conceals damage makes of what came of one flow, and when it stands on the screen."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from framewire.as_decoded.first_bytes import AsSent, beginning
from framewire.as_decoded.received_parts import Arrival, arrivals
from framewire.playout import Display, play
from framewire.report.data import Flow, ReportRun
from framewire.report.decoder import Output, pictures
from framewire.report.reference_pictures import Original, Received

__all__ = ["Concealed", "decoded"]


@dataclass(frozen=True)
class Concealed:
    """One flow as FFmpeg's decoder shows it that is given all that came."""

    original: Original
    received: Received
    came: list[Arrival]
    """Frames of which something came that a decoder can be given, and whose bytes are known."""
    left_out: int
    """Frames of which something came, and whose bytes are not known."""
    played: Display
    """What the run's player would have on the screen, were each frame shown of which something came; one that waits
    also waits for all before it in decode order."""
    _sent: AsSent
    _largest: int

    @staticmethod
    def of(run: ReportRun, flow: Flow, original: Original, received: Received) -> Concealed:
        """Raises StreamError where packets and ledger do not fit together."""
        sent = AsSent(flow, received, original.stream)
        every = arrivals(run, flow)
        known = [one for one in every if one.payload is None or sent.knows(one.frame)]
        largest = _largest_payload(flow)
        came = [one for one in known if one.payload is None or beginning(sent, one, largest)]
        played = _played(run, flow, came)
        return Concealed(original, received, came, len(every) - len(known), played, sent, largest)

    def pictures(self, output: Output | None = None) -> Iterator[tuple[int, bytes]]:
        """Display number and picture of each, as the decoder puts them out."""
        frames = ((one.display, self._code(one)) for one in self.came)
        return decoded(self.original, frames, output)

    def wanted(self, wanted: Collection[int], output: Output) -> Iterator[tuple[int, bytes]]:
        """The same, of these display numbers, as far as they come. The decoder is given all before them, as for the
        scores: what it conceals with depends on that."""
        last = max((place for place, one in enumerate(self.came) if one.display in wanted), default=-1)
        frames = ((one.display, self._code(one)) for one in self.came[: last + 1])
        return (pair for pair in decoded(self.original, frames, output) if pair[0] in wanted)

    def _code(self, one: Arrival) -> bytes:
        is_kept = one.payload is None
        return self.received.stream.read(one.frame) if is_kept else beginning(self._sent, one, self._largest)


def decoded(
    original: Original, frames: Iterator[tuple[int, bytes]], output: Output | None = None
) -> Iterator[tuple[int, bytes]]:
    """The pictures of a decoder that is given these frames, but for those of which there is nothing."""
    given = ((display, code) for display, code in frames if code)
    return pictures(original.stream.coding, original.width, original.height, given, output)


def _largest_payload(flow: Flow) -> int:
    """Bytes behind the header of RTP that a packet of the flow has room for."""
    headers_of_ip_udp_rtp = 20 + 8 + 12
    return (1500 if flow.described is None else flow.described.mtu) - headers_of_ip_udp_rtp


def _played(run: ReportRun, flow: Flow, came: list[Arrival]) -> Display:
    ledger = run.ledger(flow)
    at = [arrival.at_ns for arrival in came]
    known = pl.DataFrame(
        {"display": [arrival.display for arrival in came], "at": at, "ready": np.maximum.accumulate(at)},
        schema={"display": pl.Int32, "at": pl.Int64, "ready": pl.Int64},
    )
    first = ledger.select((pl.col("arrival_ns") - pl.col("arrival_rel_ns")).min()).item()
    rows = ledger.select("frame", "display", "display_ns").join(known, on="display", how="left", maintain_order="left")
    shown = rows.with_columns(
        fate=pl.when(pl.col("at").is_null()).then(pl.lit("lost")).otherwise(pl.lit("shown")),
        arrival_ns="at",
        arrival_rel_ns=pl.col("at") - (min(at, default=0) if first is None else first),
        ready_ns="ready",
    )
    return play(shown, run.player(flow))
