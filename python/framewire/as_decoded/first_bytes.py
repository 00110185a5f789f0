"""The first bytes of a frame, as a receiver puts them together of what came of it up to the first gap."""

from __future__ import annotations

from collections.abc import Sequence

from framewire.as_decoded.received_parts import Arrival
from framewire.report.cut_stream import AV1, H264, H265, CutStream, starts_of
from framewire.report.data import Flow
from framewire.report.decoding import identical
from framewire.report.reference_pictures import Received
from framewire.transports import parts_of

__all__ = ["beginning", "is_of_the_movie"]


def beginning(sent: CutStream, one: Arrival, largest: int) -> bytes:
    """The first bytes of a frame that came, as its receiver puts them together; empty where it can do nothing with it.

    Of H.264 and H.265, packets carry NAL units without start codes; a unit that does not fit into one, of `largest`
    bytes behind RTP's header, is cut into fragments that carry all but its header (RFC 6184, 5.8; RFC 7798, 4.4.3).
    """
    code = sent.read(one.frame)
    if one.payload is None:
        return code
    if sent.coding is AV1:  # decoders take whole units only, and packets do not have their sizes
        return b""
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
    parts = parts_of(flow.transport)
    return parts is None or parts.queue != "dependency" or identical(one.stream, sent, [*one.stream.places])
