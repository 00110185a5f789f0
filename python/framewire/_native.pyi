"""The compiled half of the package: conversion only."""

from os import PathLike
from pathlib import Path
from typing import Any, final

__all__ = [
    "LoadedMovie",
    "MovieError",
    "ScenarioError",
    "__sources__",
    "__version__",
    "check_network",
    "check_simulated",
    "load_movie",
    "needs_simulation",
    "probe_movie",
    "resolve_scenario",
    "scenario_schema",
    "simulate",
    "simulate_cell",
]

__sources__: str
__version__: str

class ScenarioError(ValueError):
    """A scenario was refused; the text names key, value and what is allowed."""

class MovieError(ValueError):
    """A file is not an MPEG video elementary stream."""

@final
class LoadedMovie:
    """A movie in memory, for any number of simulations on any thread."""

    @property
    def path(self) -> Path: ...
    def __len__(self) -> int: ...

def resolve_scenario(
    text: str,
    overrides: list[tuple[str, str]] = ...,
    *,
    json: bool = False,
    name: str | None = None,
    directory: str | PathLike[str] | None = None,
    movie_duration_s: float | None = None,
) -> tuple[str, str]: ...
def check_network(scenario: str) -> None: ...
def check_simulated(scenario: str) -> None: ...
def needs_simulation(scenario: str) -> str | None: ...
def scenario_schema() -> str: ...
def probe_movie(path: str | PathLike[str]) -> dict[str, dict[str, Any]]: ...
def load_movie(path: str | PathLike[str]) -> LoadedMovie: ...
def simulate(
    scenario: str,
    movie: LoadedMovie,
    directory: str | PathLike[str],
    *,
    packets: bool = False,
    received: bool = True,
) -> str: ...
def simulate_cell(
    scenario: str,
    movie: LoadedMovie,
    directory: str | PathLike[str] | None = None,
    *,
    packets: bool = False,
) -> str: ...
