"""The manual holds together: its links lead somewhere, and the README stays short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from framewire.transports import ADAPTIVE, TRANSPORTS, Transport

REPOSITORY = Path(__file__).parents[2]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]*)\)")
MOST_WORDS = 700
LONG_LINES, LONG_WORDS = 200, 2500
"""A page of more begins with a summary and a figure."""


def text_of(page: Path) -> str:
    """Without blocks of code, in which nothing is a link or a heading."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names that headings have where the pages are shown: lower case, spaces as hyphens, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(text_of(page)):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), link
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), link


def test_every_page_is_in_the_index() -> None:
    index = REPOSITORY / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(text_of(index))}
    assert {page for page in index.parent.glob("*.md") if page != index} <= linked


LONG_PAGES = [
    page
    for page in PAGES
    if len((text := page.read_text(encoding="utf-8")).splitlines()) > LONG_LINES or len(text.split()) > LONG_WORDS
]


@pytest.mark.parametrize("page", LONG_PAGES, ids=lambda page: page.name)
def test_a_long_page_begins_with_a_summary_and_a_figure(page: Path) -> None:
    opening = text_of(page).split("\n## ")[0].splitlines()
    summary = [line for line in opening if line.startswith("**In short.**")]
    assert len(summary) == 1, "one summary before the first heading"
    figures = [line for line in opening if re.match(r"!\[[^]]+\]\([^)]+\)$", line)]
    assert figures, "a figure before the first heading"
    assert opening.index(figures[0]) - opening.index(summary[0]) <= 25


def test_figures_are_drawn_from_their_pages() -> None:
    program = REPOSITORY / "benches" / "figures" / "draw.py"
    ran = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def row_of(transport: Transport) -> str:
    """What the table of transports says of one."""
    assert transport.parts is not None
    words = [word or "wait" for word in transport.parts.words.values()]
    send_buffer, device_queue, unsent_limit = transport.settings
    size = "kernel's" if send_buffer is None else f"{send_buffer // 1024} KiB"
    limit = f"{unsent_limit // 1024} KiB" if unsent_limit else "none" if transport.parts.socket == "stream" else ""
    return " | ".join([f"| `{transport.name}`", *words, size, f"{device_queue:,}", f"{limit} |"])


def test_the_table_of_transports_is_that_of_the_library() -> None:
    listed = re.findall(
        r"^\| `[^`]*` \| .* (?:datagram|stream) \| .*\|$",
        text_of(REPOSITORY / "docs" / "transports.md").replace("| |", "|  |"),
        re.MULTILINE,
    )
    assert listed == [row_of(transport) for transport in TRANSPORTS if transport.parts and transport.is_entry]


def test_the_manual_knows_every_part_and_every_adaptive_transport() -> None:
    page = text_of(REPOSITORY / "docs" / "transports.md")
    rows = dict(re.findall(r"^\| `(queue|format|session|socket|overflow)` \| (.*) \|$", page, re.MULTILINE))
    for transport in TRANSPORTS:
        words = transport.parts.words if transport.parts else {}
        assert [(part, word) for part, word in words.items() if word and f"`{word}`" not in rows[part]] == []
    scenario = (REPOSITORY / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert f"{', '.join(ADAPTIVE)};" in scenario


def test_the_readme_is_short() -> None:
    words = (REPOSITORY / "README.md").read_text(encoding="utf-8").split()
    assert MOST_WORDS / 2 < len(words) <= MOST_WORDS
