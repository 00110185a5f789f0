"""Columns of the frames of a movie that take little memory: of a million frames, some 50 MB."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, overload

__all__ = ["Columns", "columns"]

Columns = dict[str, Sequence[Any]]


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

    @abstractmethod
    def at(self, number: int) -> Any:
        """Of the frame of this number, which there is."""


class _Words(_Column):
    """A word of few, in a byte each."""

    def __init__(self, codes: bytes, words: Sequence[Any]) -> None:
        self.codes, self.words = codes, words

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, number: int) -> Any:
        return self.words[self.codes[number]]


class _Rare(_Column):
    """What few frames have; None of the others."""

    def __init__(self, length: int, values: Mapping[int, Any]) -> None:
        self.length, self.values = length, values

    def __len__(self) -> int:
        return self.length

    def at(self, number: int) -> Any:
        return self.values.get(number)


class _Lists(_Column):
    """A list of numbers each, one behind the other."""

    def __init__(self, ends: array[int], numbers: array[int]) -> None:
        self.ends, self.numbers = ends, numbers

    def __len__(self) -> int:
        return len(self.ends)

    def at(self, number: int) -> list[int]:
        start = self.ends[number - 1] if number else 0
        return self.numbers[start : self.ends[number]].tolist()


def columns(found: Mapping[str, Any]) -> Columns:
    """The columns of ``_native.probe_movie``, by name, in decode order; each is a sequence."""
    count = len(found["size"])
    made: Columns = {"frame": range(count)}
    for name, values in found.items():
        if name == "time_code":
            made[name] = _Rare(count, values)
        elif name == "references":
            made[name] = _Lists(*values)
        else:
            made[name] = _Words(*values) if isinstance(values, tuple) else values
    return made
