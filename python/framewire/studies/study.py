"""What a study is: a name and options for the command line, and a run that ends in an :class:`Outcome`.

A study lies in a folder of its own with a module ``study`` that has a :class:`Study` named ``STUDY``, and has its line
in :mod:`framewire.studies.registry`. All else (command, pages, files) is made of what it says here. What a study needs
for its run it imports in there, so that ``--help`` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from framewire.commands import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from framewire.report.figures.base import Figure
    from framewire.studies.table import Table
    from framewire.studies.verdicts import Finding

__all__ = ["Options", "Outcome", "Progress", "Reproduction", "Results", "Study"]

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
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML.")] = False
    tables: Annotated[bool, typer.Option("--tables", help="Print every table.")] = False
    as_json: AsJson = False


class Outcome(Protocol):
    """What came of a study, and every way to show it."""

    @property
    def failures(self) -> Sequence[str]:
        """What could not be run, and why."""

    def show(self, console: Console, *, tables: bool) -> None:
        """In a terminal; on request with every table."""

    def document(self) -> dict[str, Any]:
        """All numbers, for other programs."""

    def csv_files(self) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
        """Names of files, each with its records."""

    def html(self) -> str:
        """The page."""


@dataclass(frozen=True)
class Reproduction:
    """The outcome of a study that has ways of its own to show it."""

    failures: Sequence[str]
    show: Callable[..., None]
    document: Callable[[], dict[str, Any]]
    csv_files: Callable[[], Iterator[tuple[str, Sequence[Mapping[str, Any]]]]]
    html: Callable[[], str]


@dataclass(frozen=True)
class Results:
    """The outcome of a study of few tables, which says no more than this."""

    headline: str = ""
    """The result in a sentence."""
    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    method: Sequence[str] = ()
    """How it was done, in paragraphs."""
    failures: Sequence[str] = ()
    """What could not be run, and why."""
    facts: Sequence[tuple[str, str]] = ()
    """What was repeated and at what cost."""
    title: str = ""
    command: str = ""
    """What gives the same numbers."""

    @property
    def claims(self) -> Table:
        """The findings as a table."""
        from framewire.studies.table import Cell, Column, of_texts

        names = [Column(name, align="left") for name in ("where", "what is said", "here", "verdict")]
        rows: list[list[str | Cell]] = [
            [one.claim.source, one.claim.says, one.finds, Cell(text=str(one.verdict or ""), mark=one.verdict)]
            for one in self.findings
        ]
        return of_texts(names, rows, title="Claims")

    def show(self, console: Console, *, tables: bool) -> None:
        """In a terminal; on request with every table."""
        from framewire.studies.writers import terminal

        console.print(self.headline, markup=False, highlight=False, style="bold")
        for one in [self.claims, *(self.tables if tables else ())]:
            console.print()
            console.print(terminal(one))

    def document(self) -> dict[str, Any]:
        """All numbers, for other programs."""
        from framewire.studies.writers import records

        return {
            "headline": self.headline,
            "claims": records(self.claims),
            "tables": {one.key: records(one) for one in self.tables},
            "failures": list(self.failures),
        }

    def csv_files(self) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
        """Names of files, each with its records."""
        from framewire.studies.writers import records

        yield "claims.csv", records(self.claims)
        yield from ((f"{one.key}.csv", records(one)) for one in self.tables)

    def html(self) -> str:
        """The page."""
        from framewire.studies import page

        head = page.Head(self.title, self.title, self.facts, self.command)
        return page.render(
            head,
            figures=self.figures,
            headline=self.headline,
            claims=self.claims,
            tables=self.tables,
            failures=self.failures,
            method=self.method,
        )

    def markdown(self) -> str:
        """The same for a manual."""
        from framewire.studies.writers import markdown

        parts = [f"# {self.title}\n", f"{self.headline}\n", markdown(self.claims)]
        for one in self.tables:
            parts += [f"## {one.title}\n", markdown(one), *([f"{one.note}\n"] if one.note else [])]
        return "\n".join([*parts, "## Method\n", *(f"{text}\n" for text in self.method)])


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
