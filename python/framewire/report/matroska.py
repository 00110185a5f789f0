"""Frames for a decoder, each by itself and with its number: the least of Matroska that a demuxer takes (RFC 9559).

A raw stream has no bounds of frames but what its parser makes of the bytes, and no numbers that come out with the
pictures: of damaged frames nobody could tell which picture is which.
"""

from __future__ import annotations

from framewire.report.cut_stream import AV1, H264, H265, MPEG4_PART2, MPEG_VIDEO, Coding

__all__ = ["block", "head", "place"]

CODECS = {
    MPEG_VIDEO: b"V_MPEG2",
    H264: b"V_MPEG4/ISO/AVC",
    H265: b"V_MPEGH/ISO/HEVC",
    MPEG4_PART2: b"V_MPEG4/ISO/ASP",
    AV1: b"V_AV1",
}
"""Identifiers of RFC 9559's codec mappings; units with start codes, as they are without CodecPrivate."""

UNKNOWN = b"\x01" + b"\xff" * 7
"""The size of an element that ends with the file (RFC 8794, 6.2)."""

MILLISECOND_NS = 1_000_000


def head(coding: Coding, width: int, height: int) -> bytes:
    """What stands before the first frame."""
    ebml = _element(
        0x1A45DFA3,
        _number(0x4286, 1), _number(0x42F7, 1), _number(0x42F2, 4), _number(0x42F3, 8),
        _element(0x4282, b"matroska"), _number(0x4287, 4), _number(0x4285, 2),
    )  # fmt: skip
    info = _element(0x1549A966, _number(0x2AD7B1, MILLISECOND_NS), _element(0x4D80, b"f"), _element(0x5741, b"f"))
    video = _element(0xE0, _number(0xB0, width), _number(0xBA, height))
    track = [_number(0xD7, 1), _number(0x73C5, 1), _number(0x83, 1), _number(0x9C, 0), _element(0x86, CODECS[coding])]
    return ebml + _id(0x18538067) + UNKNOWN + info + _element(0x1654AE6B, _element(0xAE, *track, video))


_BLOCK = b"\x81\x00\x00\x80"
"""What stands before a frame: the track, no time beside the cluster's, and that it can be decoded by itself."""


def block(number: int, frame: bytes) -> bytes:
    """One frame in a cluster of its own; its presentation time is its number, in milliseconds."""
    simple = _BLOCK + frame
    return _element(0x1F43B675, _number(0xE7, number), _element(0xA3, simple))


def place(block: bytes, frame: bytes) -> int:
    """Where a demuxer sees this frame in its block: where the content of the element SimpleBlock begins."""
    return len(block) - len(frame) - len(_BLOCK)


def _id(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _number(identifier: int, value: int) -> bytes:
    return _element(identifier, value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))


def _element(identifier: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return _id(identifier) + b"\x01" + len(content).to_bytes(7, "big") + content
