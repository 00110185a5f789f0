"""Which cell is meant: by its id, or by where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from framewire import files
from framewire.campaign.axes import Label
from framewire.campaign.index import Place
from framewire.errors import InputError
from framewire.suggestions import guess

__all__ = ["coordinates", "matching", "the_one"]

MOST_LISTED = 8
"""Cells that an error lists."""


def coordinates(words: Sequence[str]) -> dict[str, str]:
    """``AXIS=VALUE`` words as pairs.

    >>> coordinates(["network.wifi.retry=3", "repeat=1"])
    {'network.wifi.retry': '3', 'repeat': '1'}
    """
    pairs: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{word!r}: allowed is the beginning of one id, or AXIS=VALUE, as often as it takes")
        if name.strip() in pairs:
            raise InputError(f"{word!r}: {name.strip()} is there twice")
        pairs[name.strip()] = value.strip()
    return pairs


def matching(places: Sequence[Place], wanted: Mapping[str, object]) -> list[Place]:
    """The cells that stand there.

    ``wanted`` has axes (their names, or as much behind a dot as identifies them), ``repeat`` or ``seed``, each with
    its label or the text that shows it. Raises InputError for an axis or a value that there is none of.
    """
    found = list(places)
    for name, value in wanted.items():
        axis = _axis(places, name)
        if not any(_is(_at(place, axis), value) for place in places):
            values = dict.fromkeys(str(_at(place, axis)) for place in places)
            raise InputError(f"{axis} = {value}: no cell is there; the values of {axis} are {', '.join(values)}")
        found = [place for place in found if _is(_at(place, axis), value)]
    return found


def the_one(places: Sequence[Place], wanted: Mapping[str, object]) -> Place:
    """The only cell that stands there; raises InputError, with those that do, where there are more, or none."""
    found = list({place.id: place for place in matching(places, wanted)}.values())
    if len(found) == 1:
        return found[0]
    said = ", ".join(f"{name} = {value}" for name, value in wanted.items())
    if not found:
        raise InputError(f"{said}: no cell is there, though each of the values is: not all of them together")
    listed = "".join(f"\n  {place}" for place in found[:MOST_LISTED])
    more = f"\n  ... and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    raise InputError(f"{said}: {len(found)} cells are there; say more, or the id of one:{listed}{more}")


def _at(place: Place, axis: str) -> Label:
    return {**place.labels, "repeat": place.repeat, "seed": place.seed}[axis]


def _axis(places: Sequence[Place], name: str) -> str:
    """The axis of that name, or the only one whose name ends so."""
    names: list[str] = [*(places[0].labels if places else ()), "repeat", "seed"]
    if name in names:
        return name
    ending = [known for known in names if known.endswith(f".{name}")]
    if len(ending) == 1:
        return ending[0]
    meant = guess(name, names)
    hint = "" if meant is None else f"did you mean `{meant}`? "
    raise InputError(f"{name}: not an axis of this campaign; {hint}allowed are {', '.join(names)}")


def _is(label: Label, wanted: object) -> bool:
    """Whether a label is meant, by itself, by the text that shows it, or in the notation of TOML.

    >>> _is(3, "3"), _is(True, "true"), _is(0.5, "0.50"), _is("5 Mbit/s", "5 Mbit/s"), _is(True, 1), _is("3", 3)
    (True, True, True, True, False, False)
    """
    if not isinstance(wanted, str):
        return isinstance(label, bool) == isinstance(wanted, bool) and label == wanted
    if str(label) == wanted:
        return True
    try:
        read = files.read_toml(f"value = {wanted}")["value"]
    except (ValueError, KeyError):
        return False
    return isinstance(label, bool) == isinstance(read, bool) and bool(label == read)
