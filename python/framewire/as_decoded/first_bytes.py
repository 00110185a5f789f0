"""The first bytes of a frame, as a receiver puts them together of what came of it up to the first gap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from framewire.as_decoded.received_parts import Arrival
from framewire.report.cut_stream import AV1, H264, H265, Coding, CutStream, starts_of
from framewire.report.data import Flow
from framewire.report.reference_pictures import Received
from framewire.transports import parts_of

__all__ = ["AsSent", "beginning"]

# Types of open bitstream units of AV1 (6.2.2).
TEMPORAL_DELIMITER, FRAME_HEADER, FRAME, TILE_LIST = 2, 3, 6, 8


class AsSent:
    """The frames of a movie as a flow sent them.

    Those are the movie's own bytes but behind the dependency queue, which marks parameter sets, and where it gave up
    what others lean on also changes numbers and types of slices (docs/decoders.md). What it made of a parameter set is
    seen in frames that came whole, and that it left slices alone by those that came whole before and behind one.
    """

    def __init__(self, flow: Flow, one: Received, sent: CutStream) -> None:
        self.coding: Coding = sent.coding
        self._sent, self._received = sent, one.stream
        parts = parts_of(flow.transport)
        self._may_change = parts is not None and parts.queue == "dependency"

    def knows(self, frame: int) -> bool:
        """Whether it is known how the frame was sent."""
        if not self._may_change:
            return True
        known, slices_changed, sets = self._whole
        at = bisect_left(known, frame)
        beside = known[max(0, at - 1) : at + 1]
        if not beside or any(one in slices_changed for one in beside):
            return False
        units = _units(self._sent.read(frame), self.coding)
        # A CRA picture of H.265 may have been made to begin a sequence, by itself (8.1.3).
        is_cra = self.coding is H265 and any(unit[0] >> 1 & 0x3F == 21 for unit in units)
        return not is_cra and all(unit in sets for unit in units if _is_sequence_set(unit, self.coding))

    def read(self, frame: int) -> bytes:
        """One frame, of those that are known."""
        code = self._sent.read(frame)
        if self._may_change:
            for unit in _units(code, self.coding):
                if _is_sequence_set(unit, self.coding):
                    code = code.replace(unit, self._whole[2][unit], 1)
        return code

    @cached_property
    def _whole(self) -> tuple[list[int], set[int], dict[bytes, bytes]]:
        """Frames that came whole; those of them with other slices than the movie has; what parameter sets became."""
        known, changed, sets = sorted({*self._received.places} & {*self._sent.places}), set(), {}
        for frame in known:
            before = _units(self._sent.read(frame), self.coding)
            behind = _units(self._received.read(frame), self.coding)
            if len(before) != len(behind):
                changed.add(frame)
                continue
            for unit, came in zip(before, behind, strict=True):
                if _is_sequence_set(unit, self.coding):
                    sets[unit] = came
                elif unit != came:
                    changed.add(frame)
        return known, changed, sets


def beginning(sent: CutStream | AsSent, one: Arrival, largest: int) -> bytes:
    """The first bytes of a frame that came, as its receiver puts them together; empty where it can do nothing with it.

    Of H.264 and H.265, packets carry NAL units without start codes; a unit that does not fit into one, of `largest`
    bytes behind RTP's header, is cut into fragments that carry all but its header (RFC 6184, 5.8; RFC 7798, 4.4.3).
    Of AV1, decoders take whole units only.
    """
    code = sent.read(one.frame)
    if one.payload is None:
        return code
    if sent.coding is AV1:
        return _whole_units(code, one.payload)
    if sent.coding not in (H264, H265):
        return code[: one.payload]
    return code[: _behind(code, [*starts_of(code)], one.payload, largest, 1 if sent.coding is H264 else 2)]


def _whole_units(code: bytes, payload: int) -> bytes:
    """The open bitstream units of a temporal unit of AV1 that so many bytes of payload carry whole.

    They are sent without their sizes, and temporal delimiters and tile lists are not (RTP payload format for AV1, 5).
    Empty where no frame is among them.
    """
    at, whole, has_frame = 0, b"", False
    while at < len(code):
        kind = code[at] >> 3 & 0xF  # AV1 Bitstream & Decoding Process Specification, 5.3.2
        content = at + 1 + (code[at] >> 2 & 1)
        behind, sent = len(code), len(code) - at
        if code[at] & 0b10:
            size, length = _leb128(code[content : content + 8])
            behind, sent = content + length + size, content - at + size
        is_sent = kind not in (TEMPORAL_DELIMITER, TILE_LIST)
        payload -= sent if is_sent else 0
        if payload < 0:
            break
        whole += code[at:behind] if kind != TILE_LIST else b""
        has_frame |= kind in (FRAME_HEADER, FRAME)
        at = behind
    return whole if has_frame else b""


def _leb128(code: bytes) -> tuple[int, int]:
    """A number in little-endian base 128 (4.10.5), and how many bytes it takes."""
    value = 0
    for place, byte in enumerate(code):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, place + 1
    return value, len(code)


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


def _units(code: bytes, coding: Coding) -> list[bytes]:
    """The NAL units of a frame, without start codes; of other codings the frame as the only one."""
    if coding not in (H264, H265):
        return [code]
    starts = [*starts_of(code)]
    return [code[at + 3 : end].rstrip(b"\x00") for at, end in zip(starts, [*starts[1:], len(code)], strict=True)]


def _is_sequence_set(unit: bytes, coding: Coding) -> bool:
    """A sequence parameter set of H.264, whose flag of gaps in frame_num is set (7.4.2.1.1)."""
    return coding is H264 and unit[:1] != b"" and unit[0] & 0x1F == 7
