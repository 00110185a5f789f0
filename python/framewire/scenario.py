"""The scenario file, as the compiled half reads it.

Nothing is validated here: the reader behind :func:`load` is the sole authority, and its messages come through as
:class:`framewire.errors.InputError`.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from framewire import _native, files
from framewire._native import (
    AdaptiveFlow,
    BulkFlow,
    BurstLoss,
    DatagramFlow,
    ExternalFlow,
    Movie,
    Network,
    PathNetwork,
    Playout,
    StreamFlow,
    Wifi,
    Wire,
)
from framewire.errors import InputError

__all__ = [
    "AdaptiveFlow",
    "BulkFlow",
    "BurstLoss",
    "DatagramFlow",
    "ExternalFlow",
    "Flow",
    "Movie",
    "Network",
    "Overrides",
    "PathNetwork",
    "Playout",
    "Scenario",
    "StreamFlow",
    "Wifi",
    "Wire",
    "check_emulated",
    "check_network",
    "check_simulated",
    "load",
    "naming",
    "pairs_of",
    "read",
    "schema",
    "toml_literal",
]

Overrides = Mapping[str, object] | Iterable[str]

Flow = DatagramFlow | StreamFlow | AdaptiveFlow | BulkFlow | ExternalFlow
"""A flow is of one of these families, each with its own settings."""


@dataclass(frozen=True)
class Scenario:
    """A scenario in its resolved form: every default written out.

    >>> scenario = load('[[flow]]\\ntransport = "udp"')
    >>> [flow.name for flow in scenario.flows], scenario.network.path.wire.rate_bps, scenario.movie.bitrate_bps
    (['udp'], 100000000, 6000000)
    """

    parsed: _native.Scenario
    """As the compiled half has it: read once, and checked."""

    @cached_property
    def toml(self) -> str:
        """The resolved form as TOML; it reads back to itself."""
        return self.parsed.toml()

    @cached_property
    def data(self) -> dict[str, Any]:
        """The same as the JSON document that the emulator reads: quantities are texts with units."""
        document: dict[str, Any] = json.loads(self.parsed.json())
        return document

    @property
    def name(self) -> str:
        """Name of the scenario and of its run directories."""
        return self.parsed.name

    @property
    def flows(self) -> list[Flow]:
        """The flows, in order, each of the class of its family."""
        return [*self.parsed.flows]

    @property
    def network(self) -> Network:
        """What lies between sender and receiver."""
        return self.parsed.network

    @property
    def movie(self) -> Movie:
        """What is streamed."""
        return self.parsed.movie

    @property
    def playout(self) -> Playout:
        """The player at the receiver."""
        return self.parsed.playout

    @property
    def together(self) -> bool:
        """Whether all flows share one network."""
        return self.parsed.layout == "together"

    def lasting(self, movie_duration_s: float | None) -> Scenario:
        """The same when the length of the movie, or of a longer ladder, is known: its limit follows from that.

        Raises InputError for a schedule that begins after the movie.
        """
        with _refusals():
            return self if movie_duration_s is None else Scenario(self.parsed.lasting(movie_duration_s))

    def seeded(self, seed: int) -> Scenario:
        """The same with another seed."""
        with _refusals():
            return Scenario(self.parsed.seeded(seed))


def load(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Overrides | None = None,
    movie_duration_s: float | None = None,
    directory: str | os.PathLike[str] | None = None,
) -> Scenario:
    """Read a scenario: the path of a file, its text (a text with a line break or ``=`` in it), or a document as a dict.

    ``set`` lays values over it, as ``--set`` does: ``{"network.wifi.retry": 3}`` or ``["flow.udp.mtu=1400"]``. A text
    as value is read as on the command line: as TOML where it is TOML (``"3"`` is a number), else as it stands.
    ``movie_duration_s`` is the length of the movie where the file does not state it. A relative path of a movie is
    relative to the file; in a text or a document it is relative to ``directory``.

    >>> load({"flow": [{"transport": "tcp"}]}, set={"network.wifi.retry": 7}).data["network"]["wifi"]["retry"]
    7
    """
    if isinstance(scenario, Scenario) and not set:
        return scenario.lasting(movie_duration_s)
    text, is_json, name, home = _source_of(scenario)
    try:
        parsed = _parse(
            text,
            pairs_of(set),
            json=is_json,
            name=name,
            directory=home if home is not None else directory,
            movie_duration_s=movie_duration_s,
        )
    except _native.ScenarioError as error:
        if home is None:
            raise InputError(str(error)) from None
        raise InputError(f"{scenario}: {_what_else(text, scenario) or error}") from None
    return Scenario(parsed)


def read(text: str) -> Scenario:
    """Read the text of a scenario, as that of a run directory.

    Raises InputError for what is no scenario.
    """
    with _refusals():
        return Scenario(_parse(text))


_parse = _native.Scenario.read
"""The only reader of scenarios."""


@contextmanager
def _refusals() -> Iterator[None]:
    """What the compiled half refuses, as an error for the user."""
    try:
        yield
    except _native.ScenarioError as error:
        raise InputError(str(error)) from None


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Puts the path of a file before errors about what is in it; nothing for what is no file."""
    try:
        yield
    except InputError as error:
        is_file = isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source))
        raise InputError(f"{os.fspath(source)}: {error}" if is_file else str(error)) from None  # type: ignore[call-overload]


def _what_else(text: str, path: object) -> str | None:
    """What a file is that is no scenario, where that can be recognised."""
    from framewire.campaign.spec import KEYS_OF_ITS_OWN

    with suppress(ValueError):
        if any(key in files.read_toml(text) for key in KEYS_OF_ITS_OWN):
            return f"a campaign, not a scenario: `framewire campaign {path}` runs it"
    return None


def check_simulated(scenario: Scenario) -> None:
    """Refuse what the simulated world cannot run, before a movie is made for it.

    Raises InputError with the key, the value and what is allowed.
    """
    with _refusals():
        scenario.parsed.check_simulated()


def check_network(scenario: Scenario) -> None:
    """Refuse a network that cannot be in any world: a missing recording of a link, for instance.

    Raises InputError with the key, the value and what is allowed.
    """
    with _refusals():
        scenario.parsed.check_network()


def check_emulated(scenario: Scenario) -> None:
    """Refuse what only the simulated world has, and a network that cannot be, before anything is made.

    Raises InputError with the key, the value and what is allowed.
    """
    if reason := scenario.parsed.needs_simulation:
        raise InputError(reason)
    check_network(scenario)


def schema() -> dict[str, Any]:
    """The JSON schema of the file, for editors."""
    document: dict[str, Any] = json.loads(_native.scenario_schema())
    return document


def _source_of(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
) -> tuple[str, bool, str | None, Path | None]:
    """Text, whether it is JSON, and the default name and directory of a file."""
    if isinstance(scenario, Scenario):
        return scenario.parsed.json(), True, None, None
    if isinstance(scenario, Mapping):
        return _dumps(scenario), True, None, None
    if isinstance(scenario, str) and not _is_path(scenario):
        return scenario, False, None, None
    path = Path(scenario)
    try:
        text = files.read_text(path)
    except UnicodeDecodeError:
        raise InputError(f"{path}: {_video(path) or 'not a scenario: the file is not UTF-8 text'}") from None
    except OSError as error:
        large = _video(path) if error.errno == errno.EFBIG else None
        raise InputError(f"{path}: {large or f'cannot read the scenario: {error.strerror}'}") from None
    return text, False, path.stem, path.resolve().parent


def _video(path: Path) -> str | None:
    """What is said of a video that is given as a scenario, which names it; None for what does not look like one."""
    with suppress(OSError), path.open("rb") as file:
        is_text = b"\0" not in file.read(1 << 16)
        kind = None if is_text else files.kind_of_video(path)
        if kind is not None:
            source = f"movie.source = {toml_literal(os.fspath(path))}"
            return f"not a scenario: it looks like a video ({kind}); a scenario is a TOML file that names it ({source})"
    return None


def _is_path(text: str) -> bool:
    """Whether a text is the path of a file, and not what is in one."""
    return bool(text) and "\n" not in text and "=" not in text


def _dumps(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document, default=os.fspath)
    except TypeError as error:
        raise InputError(f"the scenario cannot be written as JSON: {error}") from None


def pairs_of(overrides: Overrides | None) -> list[tuple[str, str]]:
    """Overrides as keys and texts, which are read as on the command line."""
    if overrides is None:
        return []
    if isinstance(overrides, Mapping):
        return [(key, _toml_value(value)) for key, value in overrides.items()]
    if isinstance(overrides, str):
        overrides = [overrides]
    pairs = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals:
            raise InputError(f'"{override}" cannot be set: allowed is KEY=VALUE, such as network.wifi.retry=3')
        pairs.append((key.strip(), value.strip()))
    return pairs


def _toml_value(value: object) -> str:
    """A Python value as TOML; a text as it stands.

    >>> _toml_value({"good_to_bad": "1 %", "on": [True, 0.5]})
    '{ "good_to_bad" = "1 %", "on" = [true, 0.5] }'
    """
    return value if isinstance(value, str) else toml_literal(value)


def toml_literal(value: object) -> str:
    """A Python value as TOML; a text in quotes."""
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(k))} = {toml_literal(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_literal, value)) + "]"
    raise InputError(f"{value!r} cannot be set: allowed are texts, numbers, true and false, lists and tables")
