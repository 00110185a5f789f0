"""The campaign file: a scenario, axes, repeats and metrics.

Only the campaign's own keys are checked here. Whatever an axis sets is checked by the reader of scenarios, for every
cell, before anything runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from framewire import files
from framewire.campaign import metrics as metrics_module
from framewire.campaign.axes import Axis, axes_of_table, axis_of_entry, grid_size, refuse_unknown_keys
from framewire.campaign.runner import Kept
from framewire.errors import InputError
from framewire.scenario import Overrides, naming, pairs_of

__all__ = ["KEYS_OF_ITS_OWN", "MOST_CELLS", "VERSION", "Source", "Spec", "read"]

VERSION = 1
"""Version of the campaign file."""

MOST_REPEATS = 10_000
MOST_CELLS = 100_000
"""Bounds the memory of a campaign: a cell takes a few kilobytes while it is planned."""

SHORTEST_RATES_S, LONGEST_RATES_S = 0.001, 60.0

KEYS_OF_ITS_OWN = ("scenario", "axes", "axis", "repeats", "metrics", "packets", "flows", "rates", "parts")
"""Keys that no scenario has."""
KEYS = ("version", "name", *KEYS_OF_ITS_OWN)
KEYS_OF_SCENARIOS = ("flow", "network", "movie", "playout", "seed", "layout", "limit")
NAME = re.compile(r"[A-Za-z0-9+_-]+")

Source = str | os.PathLike[str] | Mapping[str, Any]
"""The path of a campaign file, or the same document as a dict."""


@dataclass(frozen=True)
class Spec:
    """A campaign as its file states it."""

    name: str
    source: str
    """Path of its file, for messages; empty for a document."""
    scenario: Mapping[str, Any]
    """The scenario that the axes are laid over, as written: its defaults depend on what is laid over it."""
    scenario_source: str
    """What messages call it: ``scenario``, and its path where it has a file of its own."""
    directory: Path | None
    """What relative paths of the scenario are relative to."""
    overrides: tuple[tuple[str, str], ...]
    """Laid over the scenario before the axes."""
    axes: tuple[Axis, ...]
    repeats: int
    metrics: tuple[str, ...]
    """Columns of the summary, or quantities made from them, that are shown as means."""
    kept: Kept
    """The tables that are kept beside ledgers and summaries."""
    parts: bool = True
    """Whether the tables of the cells, beside the summary, are put together in the dataset."""

    def document(self) -> dict[str, Any]:
        """The campaign as one document, in the form in which it is kept beside the results."""
        return {
            "version": VERSION,
            "name": self.name,
            "scenario": dict(self.scenario),
            "set": dict(self.overrides),
            "axis": [axis.document() for axis in self.axes],
            "repeats": self.repeats,
            "metrics": list(self.metrics),
            "packets": self.kept.packets,
            **({"flows": True} if self.kept.flows else {}),
            **({} if self.kept.rates_s is None else {"rates": f"{self.kept.rates_s:g} s"}),
            **({} if self.parts else {"parts": False}),
        }


def read(source: Source, *, set: Overrides | None = None, repeats: int | None = None) -> Spec:
    """Read a campaign; ``set`` is laid over its scenario, ``repeats`` replaces that of the file.

    Raises InputError, which names the key, the value and what is allowed.
    """
    if isinstance(source, Mapping):
        return _with(_spec_of(source, "", None, "campaign"), set, repeats)
    path = Path(source)
    document = _toml_of(path, "campaign")
    with naming(str(path)):
        _refuse_scenario(document, path)
        return _with(_spec_of(document, str(path), path.resolve().parent, _file_name(path.stem)), set, repeats)


def _refuse_scenario(document: Mapping[str, Any], path: Path) -> None:
    """A file that was taken for a campaign by mistake."""
    if not any(key in document for key in KEYS_OF_ITS_OWN) and any(key in document for key in KEYS_OF_SCENARIOS):
        raise InputError(
            f"a scenario, not a campaign: `framewire run {path}` runs it; "
            f'a campaign names it (scenario = "{path.name}") and has axes'
        )


def _spec_of(document: Mapping[str, Any], source: str, directory: Path | None, default_name: str) -> Spec:
    refuse_unknown_keys(document, KEYS)
    if document.get("version", VERSION) != VERSION:
        raise InputError(f"version: {document['version']!r} is not allowed; allowed is {VERSION}")
    scenario, scenario_source, scenario_directory = _scenario_of(document.get("scenario"), directory)
    axes = _axes_of(document)
    return Spec(
        name=_name_of(document.get("name", default_name)),
        source=source,
        scenario=scenario,
        scenario_source=scenario_source,
        directory=scenario_directory,
        overrides=(),
        axes=axes,
        repeats=_repeats_of(document.get("repeats", 1)),
        metrics=_metrics_of(document.get("metrics")),
        kept=Kept(
            packets=_flag_of(document, "packets"),
            flows=_flag_of(document, "flows"),
            rates_s=_rates_of(document.get("rates")),
        ),
        parts=_flag_of(document, "parts", default=True),
    )


def _with(spec: Spec, overrides: Overrides | None, repeats: int | None) -> Spec:
    pairs = tuple(pairs_of(overrides))
    for key, _ in pairs:
        for axis in spec.axes:
            if key in axis.keys:
                raise InputError(f"{key} cannot be set: it is varied by axis {axis.name}")
    changed = replace(spec, overrides=pairs, repeats=spec.repeats if repeats is None else _repeats_of(repeats))
    cells = grid_size(changed.axes) * changed.repeats
    if cells > MOST_CELLS:
        raise InputError(f"axes and repeats make {cells} cells: at most {MOST_CELLS} are allowed")
    return changed


def _scenario_of(scenario: object, directory: Path | None) -> tuple[Mapping[str, Any], str, Path | None]:
    """The scenario's document, what messages call it, and what its paths are relative to."""
    if isinstance(scenario, Mapping):
        return scenario, "scenario", directory
    if isinstance(scenario, str | os.PathLike):
        path = (directory or Path()) / scenario
        document = {"name": _file_name(path.stem)} | _toml_of(path, "scenario")
        return document, f"scenario {os.fspath(scenario)}", path.resolve().parent
    said = "is missing" if scenario is None else f"{scenario!r} is not allowed"
    raise InputError(f"scenario: {said}; allowed is the path of a scenario file, or a table [scenario]")


def _toml_of(path: Path, what: str) -> dict[str, Any]:
    try:
        return files.read_toml(files.read_text(path))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a {what}: the file is not UTF-8 text") from None
    except OSError as error:
        raise InputError(f"{path}: cannot read the {what}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not TOML: {str(error).removeprefix('not TOML: ')}") from None


def _axes_of(document: Mapping[str, Any]) -> tuple[Axis, ...]:
    table, entries = document.get("axes", {}), document.get("axis", [])
    if not isinstance(table, Mapping):
        raise InputError(f"axes: {table!r} is not allowed; allowed is a table [axes] of keys and lists of values")
    if not isinstance(entries, list | tuple):
        raise InputError(f"axis: {entries!r} is not allowed; allowed are tables [[axis]] with name and values")
    axes = [*axes_of_table(table), *(axis_of_entry(entry, index) for index, entry in enumerate(entries))]
    names: dict[str, Axis] = {}
    setters: dict[str, str] = {}
    for axis in axes:
        if axis.name in names:
            raise InputError(f"axis {axis.name}: is there twice; allowed are different names")
        if axis.name in metrics_module.RESERVED:
            raise InputError(f"axis {axis.name}: the results have a column of this name; give the axis another `name`")
        names[axis.name] = axis
        for key in axis.keys:
            if key in setters:
                raise InputError(f"axis {axis.name}: sets {key}, which axis {setters[key]} sets already")
            setters[key] = axis.name
    return tuple(axes)


def _name_of(name: object) -> str:
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise InputError(f"name: {name!r} is not allowed; allowed are letters, digits, + - _")


def _file_name(stem: str) -> str:
    """A file's name as the name of a scenario."""
    return re.sub(r"[^A-Za-z0-9+_-]", "-", stem)


def _repeats_of(repeats: object) -> int:
    if isinstance(repeats, int) and not isinstance(repeats, bool) and 1 <= repeats <= MOST_REPEATS:
        return repeats
    raise InputError(f"repeats: {repeats!r} is not allowed; allowed is a whole number from 1 to {MOST_REPEATS}")


def _metrics_of(names: object) -> tuple[str, ...]:
    if names is None:
        return metrics_module.DEFAULT
    if not isinstance(names, list | tuple) or not names:
        raise InputError(f"metrics: {names!r} is not allowed; allowed is a list of names, such as duration_s")
    for name in names:
        metrics_module.check(name)
    return tuple(names)


def _flag_of(document: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    flag = document.get(key, default)
    if isinstance(flag, bool):
        return flag
    raise InputError(f"{key}: {flag!r} is not allowed; allowed is true or false")


def _rates_of(interval: object) -> float | None:
    """Seconds between two looks."""
    if interval is None:
        return None
    match = (
        re.fullmatch(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(ms|s)\s*", interval) if isinstance(interval, str) else None
    )
    seconds = 0.0 if match is None else float(match[1]) * (1e-3 if match[2] == "ms" else 1.0)
    if SHORTEST_RATES_S <= seconds <= LONGEST_RATES_S:
        return seconds
    raise InputError(f'rates: {interval!r} is not allowed; allowed is a time from "1 ms" to "60 s"')
