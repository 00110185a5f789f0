"""What comes of a study, and every way to show it: as a page, in a terminal, as Markdown, as JSON and as CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from framewire.report.figures.base import Figure
from framewire.studies import page
from framewire.studies.part_writers import markdown_of_part, terminal_of_part
from framewire.studies.parts import Drawing, Drawings, Part, Section, Text
from framewire.studies.table import Table, of_findings
from framewire.studies.verdicts import Finding
from framewire.studies.writers import records

__all__ = ["Outcome"]

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """What came of a study. A small one says a headline, findings and tables; all else has its place by itself."""

    headline: str = ""
    """The result; on a page its first sentence is the heading."""
    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    method: Sequence[Part] = ()
    """How it was done."""
    failures: Sequence[str] = ()
    """What could not be run, and why."""
    facts: Sequence[tuple[str, str]] = ()
    """What was repeated and at what cost."""
    title: str = ""
    command: str = ""
    """What gives the same numbers."""
    heading: str = ""
    """Of the page, where it is not the title."""
    again: str = "The same seeds give the same numbers"
    """What comes of the command."""
    brand: str = "framewire reproduce"
    """Which command writes the page."""
    overview: Sequence[Part] | None = None
    """What stands below the headline; the claims where nothing is said."""
    sections: Sequence[Section] = ()
    """Of the page, before the tables, figures and method that are named above."""
    summary: Sequence[Part] | None = None
    """What a terminal shows below the headline; the claims where nothing is said."""
    in_full: Sequence[Part] | None = None
    """What a terminal shows on request beside; the whole page where nothing is said."""
    took: Sequence[str] = ()
    """What a terminal shows last: what it cost."""
    numbers: Mapping[str, Any] | None = None
    """What JSON holds beside the headline, the claims and the failures; the tables where nothing is said."""
    files: Mapping[str, Records] | None = None
    """The CSV files; the claims and the tables where nothing is said."""

    @property
    def claims(self) -> Table:
        """The findings as a table."""
        return of_findings(self.findings, title="Claims")

    @property
    def first_sentence(self) -> tuple[str, str]:
        """The headline's, and the rest."""
        first, dot, rest = self.headline.partition(". ")
        return (f"{first}.", rest) if dot else (first, "")

    def every_section(self) -> Iterator[Section]:
        """Of the page, in order."""
        heading, rest = self.first_sentence
        yield Section(heading, [*([rest] if rest else []), *self._below_the_headline()], "overview", "Overview")
        yield from self._other_sections()

    def _below_the_headline(self) -> list[Part]:
        overview: Sequence[Part] = [self.claims] if self.overview is None else self.overview
        return [*overview, *(Text(f"Not measured: {failure}", "caveat") for failure in self.failures)]

    def _other_sections(self) -> Iterator[Section]:
        yield from self.sections
        yield from (Section(one.title, [one], one.key) for one in self.tables)
        if self.figures:
            yield Section("Figures", [Drawings([Drawing(one) for one in self.figures])], "figures-drawn")
        if self.method:
            yield Section("Method", self.method, "method")

    def show(self, console: Console, *, tables: bool) -> None:
        """In a terminal; on request with every table."""
        console.print(self.headline, markup=False, highlight=False, style="bold")
        parts: list[Part] = [self.claims] if self.summary is None else list(self.summary)
        if tables:
            others = (part for section in self._other_sections() for part in section.parts)
            full = [*self._below_the_headline(), *others] if self.in_full is None else self.in_full
            parts += [part for part in full if part not in parts]
        for shown in filter(None, map(terminal_of_part, parts)):
            console.print()
            console.print(shown)
        if self.took:
            console.print()
        for line in self.took:
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    def document(self) -> dict[str, Any]:
        """All numbers, for other programs."""
        own = {"tables": {one.key: records(one) for one in self.tables}} if self.numbers is None else self.numbers
        claims = [one.record() for one in self.findings]
        return {"headline": self.headline, "claims": claims, **own, "failures": list(self.failures)}

    def csv_files(self) -> Iterator[tuple[str, Records]]:
        """Names of files, each with its records."""
        if self.files is not None:
            yield from self.files.items()
            return
        yield "claims.csv", [one.record() for one in self.findings]
        yield from ((f"{one.key}.csv", records(one)) for one in self.tables)

    def html(self) -> str:
        """The page."""
        head = page.Head(self.title, self.heading or self.title, self.facts, self.command, self.again, self.brand)
        return page.render(head, list(self.every_section()))

    def markdown(self) -> str:
        """The page without its figures, for a manual or a note."""
        overview, *rest = self.every_section()
        parts = [f"# {self.heading or self.title}", f"**{overview.title}**" if overview.title else ""]
        parts += [markdown_of_part(part) for part in overview.parts]
        for section in rest:
            parts += [f"## {section.title}"]
            parts += [markdown_of_part(part, section.title) for part in section.parts]
        return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
