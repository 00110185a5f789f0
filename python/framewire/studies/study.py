"""What a study is: a name and options for the command line, and a run that ends in an outcome
(:class:`framewire.studies.outcome.Outcome`).

A study lies in a folder of its own with a module ``study`` that has a :class:`Study` named ``STUDY``, and has its line
in :mod:`framewire.studies.registry`. All else (command, pages, files) is made of what it says here. What a study needs
for its run it imports in there, so that ``--help`` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from framewire.commands import AsJson

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["Options", "Progress", "Study"]

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every study may be asked; a study with options of its own adds fields."""

    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where everything is kept [default: reproduce/NAME OF THE STUDY]."),
    ] = None
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Runs at once [default: one per core].")] = None
    seed: Annotated[int, typer.Option(metavar="N", help="The first seed of all random draws.")] = 1
    repeats: Annotated[int | None, typer.Option(metavar="N", help="Repeats of each setting.")] = None
    quick: Annotated[bool, typer.Option("--quick", help="A small part of the runs.")] = False
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no page.")] = False
    tables: Annotated[bool, typer.Option("--tables", help="Print every table.")] = False
    as_json: AsJson = False


@dataclass(frozen=True)
class Study:
    """A study, as the command line knows it."""

    name: str
    short: str
    """In the list of commands."""
    description: str
    """In its own help."""
    run: Callable[[Any, Path, Progress], Outcome]
    """Measures and compares: by options (of the class below), into a directory."""
    options: type[Options] = Options
    repeats: tuple[int, int] = (1, 1_000)
    """How many may be asked for."""
    check: Callable[[Any, Path], None] = field(default=lambda _options, _out: None)
    """Raises InputError, before anything is run, where the options or the directory cannot be."""
    quick_apart: bool = False
    """Whether ``--quick`` has a directory of its own."""

    def directory(self, options: Options) -> Path:
        """Where everything is kept."""
        name = f"{self.name}-quick" if self.quick_apart and options.quick else self.name
        return options.out or Path("reproduce") / name
