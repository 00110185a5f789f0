"""The compiled half of the package: conversion only."""

from os import PathLike
from typing import Any

__all__ = ["MovieError", "ScenarioError", "__version__", "probe_movie", "resolve_scenario", "scenario_schema"]

__version__: str

class ScenarioError(ValueError):
    """A scenario was refused; the text names key, value and what is allowed."""

class MovieError(ValueError):
    """A file is not an MPEG video elementary stream."""

def resolve_scenario(
    text: str,
    overrides: list[tuple[str, str]] = ...,
    *,
    json: bool = False,
    name: str | None = None,
    directory: str | PathLike[str] | None = None,
    movie_duration_s: float | None = None,
) -> tuple[str, str]: ...
def scenario_schema() -> str: ...
def probe_movie(path: str | PathLike[str]) -> dict[str, dict[str, Any]]: ...
