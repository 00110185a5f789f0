"""The axes of a campaign: what is varied, and the grid that they span.

An axis has values; a value has a label, which stands in the results, and settings, which are laid over the scenario as
``--set`` lays them. The first axis varies slowest, and later axes lay their settings over those of earlier ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from framewire.errors import InputError
from framewire.scenario import toml_literal
from framewire.suggestions import guess

__all__ = ["Axis", "Label", "Point", "Value", "axes_of_table", "axis_of_entry", "grid", "grid_size"]

Label = bool | int | float | str
"""What stands for a value in the results: the value itself where it is plain."""


@dataclass(frozen=True)
class Value:
    """One place on an axis."""

    label: Label
    settings: tuple[tuple[str, Any], ...]
    """Keys of the scenario and what they are set to, in order."""

    @property
    def is_plain(self) -> bool:
        """Whether the label is the value of the only key."""
        return len(self.settings) == 1 and self.settings[0][1] == self.label


@dataclass(frozen=True)
class Axis:
    """Something that is varied."""

    name: str
    """Names the column of the results."""
    values: tuple[Value, ...]

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the scenario that some value sets."""
        return frozenset(key for value in self.values for key, _ in value.settings)

    def document(self) -> dict[str, Any]:
        """As an ``[[axis]]`` of a campaign file."""
        values = [{"label": value.label, "set": dict(value.settings)} for value in self.values]
        return {"name": self.name, "values": values}


@dataclass(frozen=True)
class Point:
    """One place in the grid: a value of every axis."""

    axes: tuple[Axis, ...]
    values: tuple[Value, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, in the order in which they are laid over the scenario."""
        return {key: setting for value in self.values for key, setting in value.settings}

    @property
    def labels(self) -> dict[str, Label]:
        """The label on each axis."""
        return {axis.name: value.label for axis, value in zip(self.axes, self.values, strict=True)}

    def __str__(self) -> str:
        return ", ".join(f"{name} = {label}" for name, label in self.labels.items()) or "the only one"


def grid(axes: Sequence[Axis]) -> Iterator[Point]:
    """Every combination; the last axis varies fastest."""
    for values in itertools.product(*(axis.values for axis in axes)):
        yield Point(tuple(axes), values)


def grid_size(axes: Sequence[Axis]) -> int:
    """How many combinations there are."""
    return math.prod(len(axis.values) for axis in axes)


def axes_of_table(table: Mapping[str, Any]) -> list[Axis]:
    """The ``[axes]`` table: a key of the scenario and the list of its values, on each line.

    >>> [axis.name for axis in axes_of_table({"network": {"wifi": {"retry": [0, 1]}}, "flow.*.mtu": [1400]})]
    ['network.wifi.retry', 'flow.*.mtu']
    """
    return [_axis_of_key(key, key, values, f"axes.{key}") for key, values in _paths(table)]


def axis_of_entry(entry: object, index: int) -> Axis:
    """An ``[[axis]]``: a name, and the values of one key or of several keys that are set together."""
    place = f"axis.{index}"
    if not isinstance(entry, Mapping):
        raise InputError(f"{place}: {_shown(entry)} is not allowed; allowed is a table with name and values")
    refuse_unknown_keys(entry, ("name", "key", "values"), place)
    name = entry.get("name", entry.get("key"))
    if not isinstance(name, str) or not name:
        raise InputError(f"{place}.name: {_shown(name)} is not allowed; allowed is a text that names the axis")
    place = f"axis {name}"
    values = entry.get("values")
    if "key" in entry:
        key = entry["key"]
        if not isinstance(key, str) or not key:
            raise InputError(f"{place}: key: {_shown(key)} is not allowed; allowed is a key of the scenario")
        return _axis_of_key(name, key, values, place)
    grouped = [_grouped(value, f"{place}: values.{number}") for number, value in enumerate(_listed(values, place))]
    return _without_repetition(Axis(name, tuple(grouped)), place)


def _axis_of_key(name: str, key: str, values: object, place: str) -> Axis:
    listed = [Value(_label(value, place), ((key, value),)) for value in _listed(values, place)]
    return _without_repetition(Axis(name, tuple(listed)), place)


def _grouped(value: object, place: str) -> Value:
    """A value with a label and settings: ``{ label = "yes", set = { ... } }``."""
    if not isinstance(value, Mapping):
        allowed = "{ label = ..., set = { key = value, ... } }, or a `key` beside the values"
        raise InputError(f"{place}: {_shown(value)} is not allowed; allowed is {allowed}")
    refuse_unknown_keys(value, ("label", "set"), place)
    settings = value.get("set")
    if not isinstance(settings, Mapping):
        raise InputError(f"{place}.set: {_shown(settings)} is not allowed; allowed is a table of keys of the scenario")
    label = value.get("label")
    if not isinstance(label, bool | int | float | str):
        raise InputError(f"{place}.label: {_shown(label)} is not allowed; allowed is a text or a number")
    return Value(label, tuple(_paths(settings)))


def _paths(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of a table and their values.

    In TOML ``network.wifi.retry = 3`` is a table in a table, ``"network.wifi.retry" = 3`` is one key; both are meant to
    be the same. Only under a key without dots is a table looked into, so that ``"network.wire.loss" = { ... }`` sets a
    table as a whole.
    """
    for key, value in table.items():
        path = f"{above}{key}"
        if isinstance(value, Mapping) and "." not in key:
            yield from _paths(value, f"{path}.")
        else:
            yield path, value


def _listed(values: object, place: str) -> Sequence[Any]:
    if not isinstance(values, list | tuple) or not values:
        raise InputError(f"{place}: {_shown(values)} is not allowed; allowed is a list of at least one value")
    return values


def _label(value: object, place: str) -> Label:
    try:
        return value if isinstance(value, bool | int | float | str) else toml_literal(value)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _without_repetition(axis: Axis, place: str) -> Axis:
    """Labels are different, or the results could not be distinguished."""
    labels = [(type(value.label), value.label) for value in axis.values]
    for position, label in enumerate(labels):
        if label in labels[:position]:
            raise InputError(f"{place}: {_shown(label[1])} is there twice; allowed are different values")
    return axis


def refuse_unknown_keys(table: Mapping[str, Any], known: Sequence[str], place: str = "") -> None:
    """Raises InputError for the first key that is not known, with the one that may have been meant."""
    for key in table:
        if key not in known:
            meant = guess(key, known)
            hint = "" if meant is None else f"did you mean `{meant}`? "
            where = f"{place}.{key}" if place else str(key)
            raise InputError(f"{where}: unknown key: {hint}allowed here: {', '.join(known)}")


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    try:
        return toml_literal(value)
    except InputError:
        return repr(value)
