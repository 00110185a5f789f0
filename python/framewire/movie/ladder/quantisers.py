"""The quantiser of each frame, as MPEG-4 part 2 has it in its bit stream (ISO/IEC 14496-2).

``vop_quant`` (6.3.5) is the quantiser that a VOP begins with; FFmpeg's encoder keeps it for the whole VOP unless it is
asked for adaptive quantisation, which ladders are not encoded with. A test compares with what FFmpeg's decoder says of
every macroblock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from framewire.errors import InputError

__all__ = ["quantisers_of"]

_VOL, _VOP = range(0x20, 0x30), 0xB6


def quantisers_of(path: Path) -> list[int]:
    """vop_quant of each frame of an AVI file, in the order in which they are coded.

    Raises InputError for what is no AVI file, or holds no MPEG-4 part 2 of a rectangular, progressive picture.
    """
    layer: _Layer | None = None
    found: list[int] = []
    for number, chunk in enumerate(_video_chunks(path)):
        of_frame: list[int] = []
        try:
            for code, start in _units(chunk):
                if code in _VOL:
                    layer = _layer(_Bits(chunk, start))
                elif code == _VOP:
                    of_frame.append(_vop_quant(_Bits(chunk, start), layer))
        except (ValueError, IndexError) as error:
            told = str(error) if isinstance(error, ValueError) else "it is cut off"
            raise InputError(f"{path}: frame {number}: no quantiser can be read: {told}") from None
        if len(of_frame) != 1:
            raise InputError(f"{path}: frame {number} has {len(of_frame)} VOPs; one in each chunk is needed")
        found += of_frame
    return found


def _video_chunks(path: Path) -> Iterator[bytes]:
    """Chunks of the first video stream, in order: what stands in ``movi`` as 00dc or 00db."""
    data = path.read_bytes()
    if data[:4] != b"RIFF" or data[8:12] != b"AVI ":
        raise InputError(f"{path}: it is no AVI file")
    yield from _chunks(memoryview(data), 12, len(data))


def _chunks(data: memoryview, start: int, end: int) -> Iterator[bytes]:
    while start + 8 <= end:
        name, size = bytes(data[start : start + 4]), int.from_bytes(data[start + 4 : start + 8], "little")
        begin, stop = start + 8, min(start + 8 + size, end)
        if name == b"LIST" and bytes(data[begin : begin + 4]) in (b"movi", b"rec "):
            yield from _chunks(data, begin + 4, stop)
        elif name in (b"00dc", b"00db"):
            yield bytes(data[begin:stop])
        start = begin + size + size % 2


def _units(data: bytes) -> Iterator[tuple[int, int]]:
    """Start codes with the place behind them."""
    place = data.find(b"\x00\x00\x01")
    while 0 <= place < len(data) - 3:
        yield data[place + 3], place + 4
        place = data.find(b"\x00\x00\x01", place + 3)


class _Bits:
    """Bits, the most significant first."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._place = data, 8 * start

    def take(self, count: int) -> int:
        value = 0
        for _ in range(count):
            value = 2 * value + (self._data[self._place // 8] >> (7 - self._place % 8) & 1)
            self._place += 1
        return value


@dataclass(frozen=True)
class _Layer:
    """What a VOP's header cannot be read without."""

    time_bits: int
    quantiser_bits: int


def _layer(bits: _Bits) -> _Layer:
    """Video object layer, 6.2.3."""
    bits.take(1 + 8)  # random_accessible_vol, video_object_type_indication
    version = 1
    if bits.take(1):  # is_object_layer_identifier
        version = bits.take(4)
        bits.take(3)
    if bits.take(4) == 15:  # aspect_ratio_info: extended_PAR
        bits.take(16)
    if bits.take(1):  # vol_control_parameters
        bits.take(2 + 1)
        if bits.take(1):  # vbv_parameters
            bits.take(79)
    if bits.take(2) != 0:
        raise ValueError("the video object is not rectangular")
    bits.take(1)
    resolution = bits.take(16)  # vop_time_increment_resolution
    time_bits = max(1, (resolution - 1).bit_length())
    bits.take(1)
    if bits.take(1):  # fixed_vop_rate
        bits.take(time_bits)
    bits.take(1 + 13 + 1 + 13 + 1)  # width and height, between markers
    if bits.take(1):
        raise ValueError("the picture is interlaced")
    bits.take(1)  # obmc_disable
    if bits.take(1 if version == 1 else 2):
        raise ValueError("the video object has sprites")
    quantiser_bits = 5
    if bits.take(1):  # not_8_bit
        quantiser_bits = bits.take(4)
    return _Layer(time_bits, quantiser_bits)


def _vop_quant(bits: _Bits, layer: _Layer | None) -> int:
    """Video object plane, 6.2.5."""
    if layer is None:
        raise ValueError("a VOP comes before the first video object layer")
    kind = bits.take(2)  # vop_coding_type: I, P, B, S
    if kind == 3:
        raise ValueError("the VOP is a sprite")
    while bits.take(1):  # modulo_time_base
        pass
    bits.take(1 + layer.time_bits + 1)
    if not bits.take(1):  # vop_coded
        raise ValueError("the VOP is not coded")
    if kind == 1:
        bits.take(1)  # vop_rounding_type
    bits.take(3)  # intra_dc_vlc_thr
    return bits.take(layer.quantiser_bits)
