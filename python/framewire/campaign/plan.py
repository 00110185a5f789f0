"""From a campaign to its cells: every scenario resolved and checked, every movie made, before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import framewire
from framewire import _native, content
from framewire.campaign.axes import Label, Point, grid
from framewire.campaign.index import Place
from framewire.campaign.runner import Kept
from framewire.campaign.spec import Spec
from framewire.content import prepare, streams_movie
from framewire.errors import InputError
from framewire.files import sha256
from framewire.movie.sound import Sound
from framewire.scenario import Scenario, check_simulated, load, naming, toml_literal

__all__ = ["Cell", "Movie", "Progress", "plan", "program_fingerprint", "resolve", "seed_of_repeat"]

Progress = Callable[[str, float], None]
"""Called with what is being prepared and how much of it is done, 0 to 1."""

IDENTITY_FORMAT = 2
"""Changes whenever cells that were computed before must not be used any more."""


@dataclass(frozen=True)
class Movie:
    """What is sent, ready, and what identifies it."""

    path: Path | None
    """Of the movie, where one is sent."""
    ladder: Path | None
    """Of the streaming file, where levels are sent."""
    duration_s: float | None
    digest: str
    sound: Sound | None = None
    """What is sent beside the movie, where it is."""


@dataclass(frozen=True)
class Cell:
    """One scenario, once: a point of the grid and a repeat."""

    id: str
    """Says what is computed, by which program: the same id, the same result."""
    labels: Mapping[str, Label]
    """Where it stands on each axis."""
    repeat: int
    """From 1."""
    scenario: Scenario
    movie: Movie

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return self.scenario.parsed.seed

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.id, self.labels, self.repeat, self.seed)

    def __str__(self) -> str:
        return str(self.place)


def plan(spec: Spec, *, jobs: int = 1, progress: Progress | None = None) -> list[Cell]:
    """Every cell of the campaign, repeats of a point together.

    Raises InputError, which names axis, key, value and what is allowed, before any movie is made.
    """
    with naming(spec.source):
        return _cells(spec, jobs, progress or (lambda _text, _share: None))


def _cells(spec: Spec, jobs: int, progress: Progress) -> list[Cell]:
    points = [(point, _resolve(spec, point)) for point in grid(spec.axes)]
    _check_contents(spec, points, content.check_codec)
    movies = _prepare_movies([scenario for _, scenario in points], jobs, progress)
    program = program_fingerprint()
    cells = []
    for point, scenario in points:
        movie = movies[_wanted(scenario)]
        for repeat in range(1, spec.repeats + 1):
            try:
                seeded = scenario.seeded(seed_of_repeat(scenario.parsed.seed, repeat))
                resolved = seeded.lasting(movie.duration_s)
            except InputError as error:
                raise InputError(_blame(spec, point, str(error))) from None
            identity = _identity(resolved, movie.digest, program, spec.kept)
            cells.append(Cell(identity, point.labels, repeat, resolved, movie))
    return cells


def resolve(spec: Spec) -> list[tuple[Point, Scenario]]:
    """Every point of the grid with its scenario; that all of them are valid is the check of a campaign.

    The movies and ladders have to be there, and of a codec that the flows carry. Raises InputError, which names axis,
    key, value and what is allowed.
    """
    with naming(spec.source):
        points = [(point, _resolve(spec, point)) for point in grid(spec.axes)]
        _check_contents(spec, points, content.check)
        return points


def seed_of_repeat(seed: int, repeat: int) -> int:
    """The seed of a repeat: a hash of the scenario's own seed and the number of the repeat, counted from 1.

    It does not depend on the axes, so that all cells of one repeat meet the same channel and can be compared in pairs.
    It is the first 63 bits of a SHA-256, because whole numbers in TOML have a sign.

    >>> seed_of_repeat(1, 1), seed_of_repeat(1, 2)
    (7218817538360741591, 8263411767214603005)
    """
    digest = hashlib.sha256(f"framewire campaign: seed {seed}, repeat {repeat}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@cache
def program_fingerprint() -> str:
    """Version of the program and a hash of its compiled half: a simulator that was rebuilt computes every cell anew."""
    return f"{framewire.__version__}-{sha256(str(_native.__file__))[:16]}"


def _identity(scenario: Scenario, movie: str, program: str, kept: Kept) -> str:
    """What the result of a cell depends on; not its name, and of files not where they are but what is in them."""
    document = {
        "format": IDENTITY_FORMAT,
        "program": program,
        "movie": movie,
        "packets": kept.packets,
        "scenario": json.loads(scenario.parsed.identity({trace: sha256(trace) for trace in scenario.network.traces})),
        **({"flows": True} if kept.flows else {}),
        **({} if kept.rates_s is None else {"rates_s": kept.rates_s}),
    }
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _resolve(spec: Spec, point: Point) -> Scenario:
    laid = [f"{key}={text}" for key, text in spec.overrides]
    try:
        for value, axis in zip(point.values, point.axes, strict=True):
            laid += [f"{key}={_toml(setting, axis.name, key)}" for key, setting in value.settings]
        resolved = load({"name": spec.name} | dict(spec.scenario), set=laid, directory=spec.directory)
        check_simulated(resolved)
    except InputError as error:
        raise InputError(_blame(spec, point, str(error))) from None
    return resolved


def _check_contents(spec: Spec, points: list[tuple[Point, Scenario]], check: Callable[[Scenario], None]) -> None:
    """Checks what is sent, each distinct movie once with the flows that send it."""
    distinct: dict[object, tuple[Point, Scenario]] = {}
    for point, scenario in points:
        distinct.setdefault((scenario.movie, *content.carriers(scenario)), (point, scenario))
    for point, scenario in distinct.values():
        try:
            check(scenario)
        except InputError as error:
            raise InputError(_blame(spec, point, str(error), check)) from None
        except OSError as error:
            raise InputError(f"movie.source: {scenario.movie.source}: {error.strerror}") from None


def _toml(setting: object, axis: str, key: str) -> str:
    try:
        return toml_literal(setting)
    except InputError as error:
        raise InputError(f"axis {axis}: {key}: {error}") from None


def _blame(spec: Spec, point: Point, message: str, check: Callable[[Scenario], None] = check_simulated) -> str:
    """The message of the scenario's reader or of a check, with the axis and the value that it is about."""
    key = message.partition(": ")[0].partition(" = ")[0].partition(" (")[0]
    to_blame = [
        f"axis {axis.name}, value {value.label}: "
        for axis, value in zip(point.axes, point.values, strict=True)
        if any(_is_about(key, set_key) for set_key, _ in value.settings)
    ]
    if len(to_blame) == 1:
        return to_blame[0] + message
    if message.startswith("axis ") or not point.axes or _fails_alone(spec, message, check):
        return message if message.startswith("axis ") else f"{spec.scenario_source}: {message}"
    return f"the cell with {point}: {message}"


def _is_about(key: str, set_key: str) -> bool:
    """Whether an error at ``key`` is about what was set at ``set_key``: there, or within.

    >>> _is_about("flow.0.mtu", "flow.*.mtu"), _is_about("flow.0.mtu", "flow"), _is_about("network", "network.kind")
    (True, True, False)
    """
    parts, set_parts = key.split("."), set_key.split(".")
    if parts[0] == set_parts[0] == "flow":  # flows are set by name, number or *, and named by number in messages
        parts[1:2], set_parts[1:2] = [], []
    return parts[: len(set_parts)] == set_parts


def _fails_alone(spec: Spec, message: str, check: Callable[[Scenario], None]) -> bool:
    """Whether the scenario has this fault without any axis."""
    try:
        laid = [f"{key}={text}" for key, text in spec.overrides]
        check(load({"name": spec.name} | dict(spec.scenario), set=laid, directory=spec.directory))
    except InputError as error:
        return str(error) == message
    return False


_Wanted = tuple[framewire.scenario.Movie, bool]


def _wanted(scenario: Scenario) -> _Wanted:
    """What has to be made for a scenario: equal for others that need the same."""
    return scenario.movie, streams_movie(scenario)


def _prepare_movies(scenarios: list[Scenario], jobs: int, progress: Progress) -> dict[_Wanted, Movie]:
    """Makes each distinct movie once, or finds it in the cache."""
    distinct = {_wanted(scenario): scenario for scenario in reversed(scenarios)}
    wanted = list(reversed(distinct))
    made: dict[_Wanted, Movie] = {}
    # The first alone: what all of them are made from is then there.
    for movie in _in_parallel([distinct[which] for which in wanted[:1]], 1):
        made[wanted[0]] = movie
    for which, movie in zip(wanted[1:], _in_parallel([distinct[w] for w in wanted[1:]], jobs), strict=True):
        progress("preparing the movies", len(made) / len(wanted))
        made[which] = movie
    progress("preparing the movies", 1.0)
    return made


def _in_parallel(scenarios: list[Scenario], jobs: int) -> Iterator[Movie]:
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        yield from pool.map(_prepare_movie, scenarios)


def _prepare_movie(scenario: Scenario) -> Movie:
    digest = hashlib.sha256()
    try:
        sent = prepare(scenario)
        for path in sent.paths:
            with path.open("rb") as file:
                if path == sent.ladder:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
                else:
                    # Into the same one, piece by piece.
                    hashlib.file_digest(file, lambda: digest)
    except InputError as error:
        raise InputError(f"movie: {error}" if not str(error).startswith("movie") else str(error)) from None
    except OSError as error:
        raise InputError(f"movie.source: {scenario.movie.source}: {error.strerror}") from None
    if sent.facts:
        digest.update(json.dumps(sent.facts, sort_keys=True).encode())
    return Movie(sent.movie, sent.ladder, sent.duration_s, digest.hexdigest(), sent.sound)
