"""Writes docs/dropping.md from the page of the study, and docs/dropping-programs.md where the programs were run.

    make dropping [TRACES=DIR] [APPLICATIONS=--applications]
    .venv/bin/python benches/dropping.py target/dropping/report.md

The study (`framewire reproduce dropping`) says everything that stands there; here lines are broken, the figure of the
manual stands in the place of the page's own, and what was measured in real time gets a page of its own.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
WIDTH = 120
DRAWINGS = "- *Frames shown in time, start-up"
PROGRAMS = "## The programs themselves"
AGREEMENT = "Where element and lab ought to agree"
HOW = (
    "`make dropping TRACES=DIR` computes this page again. What programs came to in real time is measured apart: "
    "[dropping-programs.md](dropping-programs.md)."
)
HOW_IN_REAL_TIME = (
    "`make dropping TRACES=DIR APPLICATIONS=--applications` measures it again, in an hour; "
    "[dropping.md](dropping.md) says what is compared, and has the same in virtual time."
)


def main(report: Path) -> None:
    """Writes both pages, the second one where the report has its section."""
    text = report.read_text(encoding="utf-8")
    before, found, rest = text.partition(f"\n{PROGRAMS}\n")
    programs, _, after = rest.partition("\n## ")
    if found:
        _write("dropping-programs.md", "\n".join(_of_programs(programs.strip("\n"))))
    _write("dropping.md", "\n".join(_of_all(f"{before}\n## {after}" if found else text)))


def _of_all(text: str) -> Iterator[str]:
    """With its opening as the pages of the manual have it."""
    heading, bold, rest = text.rstrip("\n").split("\n\n", 2)
    opening, _, sections = rest.partition("\n## ")
    yield from (heading, "", f"**In short.** {bold.strip('*')} {HOW}", "")
    yield from ("![Frames shown in time and latency, case by case](images/dropping.svg)", "")
    yield opening[: opening.index(DRAWINGS)]
    yield f"## {sections}"


def _of_programs(section: str) -> Iterator[str]:
    words, rest = section.split("\n\n", 1)
    means = rest[: rest.index("\n**")]
    shown = {name: float(share) for name, share in re.findall(r"^\| ([^|]+?) \| \**([\d.]+)", means, re.MULTILINE)}
    ours = shown["ifdsink"]
    others = {name: share for name, share in shown.items() if not name.startswith(("ifd", "the lab's"))}
    best = max(others, key=lambda name: others[name])
    yield from ("# Frame-aware dropping by programs", "")
    yield (
        f"**In short.** In the mean `ifdsink` shows {ours:.1f} % of the frames in time, the best of the others "
        f"(`{best}`) {others[best]:.1f} %. {HOW_IN_REAL_TIME}"
    )
    yield from ("", words, "", "![Frames shown and latency by programs](images/dropping-programs.svg)", "")
    yield from ("## The means", "", means.strip("\n"), "", "## Every movie over every link", "")
    yield rest[len(means) :].strip("\n").replace(f"**{AGREEMENT}**", f"## {AGREEMENT}")


def _write(name: str, text: str) -> None:
    """Paragraphs and points in lines of the width of the sources; tables and headings as they are."""
    lines = (line for long in text.splitlines() for line in _broken(long))
    (DOCS / name).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def _broken(line: str) -> list[str]:
    if len(line) <= WIDTH or line.startswith(("|", "#", "!")):
        return [line]
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
