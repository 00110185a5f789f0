"""Columns of the frames of a movie, in little memory: of a long movie they stay in a file and are read in pieces."""

from __future__ import annotations

import itertools
import tempfile
from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, overload

__all__ = ["ColumnFile", "Columns", "columns"]

Columns = dict[str, Sequence[Any]]

IN_MEMORY = 1 << 18
"""Up to so many frames columns are read at once, as arrays: 15 MB."""

FILE_IN_MEMORY = 1 << 24
"""Up to so many bytes columns do not go to the disk."""

NAMES = ("display", "type", "key", "temporal_reference", "gop", "closed", "broken_link", "time_code", "structure",
         "offset", "size", "decode_ns", "display_ns", "references")  # fmt: skip

HAS_TIME_CODE, DROP_FRAME = 1 << 31, 1 << 24
"""Bits of a time code, as ``crates/python`` writes it."""


class ColumnFile:
    """A file without a name that columns are written to, in memory while it is small. It is open as long as something
    has it.
    """

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(FILE_IN_MEMORY)  # noqa: SIM115, closed with this object

    def read(self, code: str, start: int, count: int) -> array[int]:
        self.file.seek(start)
        values = array(code)
        values.frombytes(self.file.read(count * values.itemsize))
        return values

    def __del__(self) -> None:
        self.file.close()


class _Column(Sequence[Any]):
    """What stands at a place, made when it is asked for."""

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self.at(number) for number in range(len(self))[place]]
        return self.at(range(len(self))[place])

    def __iter__(self) -> Iterator[Any]:
        return map(self.at, range(len(self)))

    @abstractmethod
    def at(self, number: int) -> Any:
        """Of the frame of this number, which there is."""


class _Stored(_Column):
    """Numbers in a file, of which one piece is in memory."""

    def __init__(self, file: ColumnFile, code: str, pieces: Sequence[tuple[int, int]]) -> None:
        self.file, self.code, self.pieces = file, code, pieces
        *self.firsts, self.length = itertools.accumulate((count for _, count in pieces), initial=0)
        self._kept: tuple[int, array[int]] = (-1, array(code))

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self.file.read(self.code, *piece) for piece in self.pieces)

    def at(self, number: int) -> int:
        piece = bisect_right(self.firsts, number) - 1
        if self._kept[0] != piece:
            self._kept = piece, self.file.read(self.code, *self.pieces[piece])
        return self._kept[1][number - self.firsts[piece]]


class _Words(_Column):
    """A word of few, in a byte each."""

    def __init__(self, codes: Sequence[int], words: Sequence[Any]) -> None:
        self.codes, self.words = codes, words

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return map(self.words.__getitem__, self.codes)

    def at(self, number: int) -> Any:
        return self.words[self.codes[number]]


class _TimeCodes(_Column):
    """Time codes as SMPTE writes them; None where a frame has none."""

    def __init__(self, packed: Sequence[int]) -> None:
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[str | None]:
        return map(_time_code, self.packed)

    def at(self, number: int) -> str | None:
        return _time_code(self.packed[number])


class _Lists(_Column):
    """A list of numbers each, one behind the other."""

    def __init__(self, ends: Sequence[int], numbers: Sequence[int]) -> None:
        self.ends, self.numbers = ends, numbers

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[list[int]]:
        numbers, start = iter(self.numbers), 0
        for end in self.ends:
            yield list(itertools.islice(numbers, end - start))
            start = end

    def at(self, number: int) -> list[int]:
        start = self.ends[number - 1] if number else 0
        return list(self.numbers[start : self.ends[number]])


def columns(found: Mapping[str, Any], file: ColumnFile) -> Columns:
    """The columns that ``_native.probe_movie`` wrote to ``file``, by name, in decode order; each is a sequence."""
    count = sum(length for _, length in found["size"][1])

    def numbers(name: str) -> Sequence[int]:
        code, pieces, _ = found[name]
        if count > IN_MEMORY:
            return _Stored(file, code, pieces)
        whole = array(code)
        for piece in pieces:
            whole.extend(file.read(code, *piece))
        return whole

    made: Columns = {"frame": range(count)}
    for name in NAMES:
        if name == "references":
            made[name] = _Lists(numbers("references_end"), numbers(name))
        elif name == "time_code":
            made[name] = _TimeCodes(numbers(name))
        else:
            words = found[name][2]
            made[name] = numbers(name) if words is None else _Words(numbers(name), words)
    return made


def _time_code(packed: int) -> str | None:
    """A semicolon before the pictures marks drop-frame time code.

    >>> _time_code(HAS_TIME_CODE | DROP_FRAME | 1 << 18 | 2 << 12 | 3 << 6 | 4), _time_code(0)
    ('01:02:03;04', None)
    """
    if not packed & HAS_TIME_CODE:
        return None
    hours, minutes, seconds, pictures = (packed >> shift & 63 for shift in (18, 12, 6, 0))
    return f"{hours:02}:{minutes:02}:{seconds:02}{';' if packed & DROP_FRAME else ':'}{pictures:02}"
