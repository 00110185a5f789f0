"""docs/specifications.md, compared with what the source has: items, tests, and the specifications that it cites."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "specifications.md"

CITED = re.compile(
    r"(?P<rfc>RFCs? ?\d{3,5})|(?P<iso>ISO/IEC \d+-\d+)|(?P<itu>ITU-T [HPG]\.\d+)|(?P<ieee>IEEE (?:Std )?802\.\d+)"
)

ITEM = r"\b(?:struct|enum|trait|type|fn|const|static|mod|macro_rules!) {0}\b|\bkeywords! \{{[^{{}}]*\b{0} \{{"
"""As Rust declares it, or `units::keywords` does."""

TEST = r"#\[test\]\s*(?:#\[[^\]]*\]\s*|///[^\n]*\n\s*)*fn {}\("


def rows() -> list[list[str]]:
    """The cells of every row that names an item and a test."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if len(row) == 5 and not set(row[0]) <= set("-") and row[0] != "specification"]


@cache
def source(crate: str, *folders: str) -> str:
    files = [file for folder in folders for file in sorted((ROOT / "crates" / crate / folder).rglob("*.rs"))]
    return "\n".join(file.read_text() for file in files)


def missing(name: str, pattern: str, *folders: str) -> str | None:
    """The name, as the page writes it, unless the crate has it."""
    crate, item = name.strip("`").split("::")
    return None if re.search(pattern.format(re.escape(item)), source(crate, *folders)) else name


def specifications(text: str) -> set[str]:
    """RFC 2250 and its like; of IEEE 802.11 the standard without year and letter."""
    found = (re.sub(r"RFCs? ?", "RFC ", match.group()) for match in CITED.finditer(text))
    return {name.replace("Std ", "") for name in found}


def test_every_item_and_every_test_that_the_page_names_is_there() -> None:
    assert len(rows()) > 40
    items = [missing(row[3], ITEM, "src") for row in rows()]
    tests = [missing(row[4], TEST, "src", "tests") for row in rows()]
    assert not list(filter(None, [*items, *tests]))


@pytest.mark.parametrize(
    ("name", "pattern"), [("`tcp::NoSuchItem`", ITEM), ("`tcp::no_such_test`", TEST), ("`tcp::RttEstimator`", TEST)]
)
def test_what_is_not_there_is_noticed(name: str, pattern: str) -> None:
    assert missing(name, pattern, "src", "tests") == name


def test_the_page_has_every_specification_that_the_source_cites_and_no_other() -> None:
    crates = [path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")]
    cited = set().union(*(specifications(source(crate, "src")) for crate in crates))
    named = specifications(PAGE.read_text())
    assert not cited - named, "docs/specifications.md lacks these"
    assert not named - cited, "no source cites these"
