"""What every study shares: the table and its writers, verdicts, and a study from its command to its page."""

from __future__ import annotations

import csv
import io
import json
import re
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from framewire.report.figures.base import Figure
from framewire.studies import cli
from framewire.studies.outcome import Outcome
from framewire.studies.parts import Drawing, Drawings, Folded, Points, Section, SideBySide, Text
from framewire.studies.registry import NAMES, studies
from framewire.studies.study import Options, Study
from framewire.studies.table import Cell, Column, Row, Table, of_texts
from framewire.studies.verdicts import Bounds, Claim, Finding, Number, Verdict, counted
from framewire.studies.writers import html, markdown, records, terminal

LOSSES = Table(
    "Frames lost",
    ("retry", "oven"),
    (Column("I", "%"), Column("total", "%")),
    (
        Row(("1", "no"), (Cell(1.0, (1.5, 2.5), mark=Verdict.FAILS, hint="allowed <±0.5"), Cell(None, (12_000.0,)))),
        Row(("3", "yes"), (Cell(0.1, (0.1, 0.1), mark=Verdict.HOLDS), Cell())),
    ),
    theirs="thesis",
    key="losses",
)


def text_of(table: Table, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(terminal(table))
    return console.export_text()


def test_one_table_is_written_as_html_markdown_records_and_for_a_terminal() -> None:
    shown = html(LOSSES)
    assert '<td class="theirs first">1.0</td><td class="ours">2.0<small>±6.4</small></td>' in shown
    assert '<td class="fails" title="allowed &lt;±0.5">+1.0</td>' in shown
    assert shown.count('<th scope="col" class="first">thesis</th>') == 1, "of the total nothing is published"
    assert "12,000.0" in shown
    assert "| 1 | no | 1.0 / 2.0 | 12,000.0 |" in markdown(LOSSES).splitlines()
    assert "| 3 | yes | 0.1 / 0.1 |  |" in markdown(LOSSES).splitlines()
    first, second, third = records(LOSSES)
    assert (first["row"], first["thesis"], first["here"], first["verdict"]) == (
        "retry 1, oven no",
        1.0,
        2.0,
        "does not hold",
    )
    assert (second["thesis"], second["here"], second["verdict"]) == (None, 12_000.0, None)
    assert third["column"] == "I", "where nothing stands there is no record"
    lines = [line.split() for line in text_of(LOSSES, 60).splitlines()]
    assert lines[0] == ["Frames", "lost:", "thesis", "/", "here"]
    assert ["1", "no", "1.0", "/", "2.0", "12,000.0"] in lines


def test_numbers_go_on_below_and_texts_are_broken_where_a_terminal_is_narrow() -> None:
    narrow = text_of(LOSSES, 24)
    assert max(map(len, narrow.splitlines())) <= 24
    assert narrow.count("retry") == 2, "the rows are named again"
    said = of_texts(("what", Column("says", align="left")), [("a", "many words that do not fit side by side")])
    assert max(map(len, text_of(said, 20).splitlines())) <= 20
    assert not text_of(said, 20).count("\N{HORIZONTAL ELLIPSIS}"), "nothing is cut off"


def test_what_comes_from_others_is_escaped() -> None:
    table = of_texts(("name",), [("<script>",)])
    assert "<script>" not in html(table)
    assert "[bold]" in text_of(of_texts(("name",), [("[bold]x",)]), 40)


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ((0.9, 1.0, 1.1), "undecided"),
        ((0.99, 1.0, 1.01), "holds"),
        ((2.0, 2.01), "does not hold"),
        ((1.0,), "undecided"),
        ((), "not measured"),
    ],
)
def test_a_bound_is_judged_by_the_interval(samples: tuple[float, ...], verdict: str) -> None:
    bounds = Bounds(0.9, 1.1)
    assert bounds.judge(Number.of(samples) if samples else None) == verdict
    assert counted([bounds.judge(None), None])[Verdict.NOT_MEASURED] == 1


def test_old_files_are_read_with_the_words_of_today() -> None:
    assert [Verdict.read(word) for word in ("met", "missed", "excepted", "undecided", None)] == [
        Verdict.HOLDS, Verdict.FAILS, Verdict.EXCEPTED, Verdict.UNDECIDED, None,
    ]  # fmt: skip


def small(failures: tuple[str, ...] = ()) -> Study:
    """A study of one claim and one table, of which nothing has to be run."""

    def run(options: Options, _out: Path, _progress: object) -> Outcome:
        claim = Finding(Claim("section 1", "Little is lost."), f"seed {options.seed}", Verdict.HOLDS)
        return Outcome("Little is lost.", [claim], [LOSSES], method=["By hand."], failures=failures, title="Small",
                       command="framewire reproduce small")  # fmt: skip

    return Study("small", "Short.", "At length.", run, repeats=(1, 3))


def invoke(study: Study, *arguments: str | Path) -> Any:
    """The study as the only command."""
    app = typer.Typer()
    app.callback()(lambda: None)
    cli.add(app, study)
    return CliRunner().invoke(app, [study.name, *map(str, arguments)])


def test_a_small_study_has_options_files_a_page_and_its_exit_code(tmp_path: Path) -> None:
    ended = invoke(small(), "--out", tmp_path, "--seed", "7", "--tables")
    assert ended.exit_code == 0, ended.output
    assert "Frames lost: thesis / here" in ended.stdout
    assert re.search(r"section 1 +Little is lost\. +seed 7 +holds", ended.stdout)
    with (tmp_path / "losses.csv").open() as file:
        assert [row["here"] for row in csv.DictReader(file)] == ["2.0", "12000.0", "0.1"]
    document = json.loads((tmp_path / "results.json").read_text())
    assert [one["verdict"] for one in document["claims"]] == ["holds"]
    page = (tmp_path / "report.html").read_text()
    assert "Frames lost" in page
    assert "By hand." in page
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", page)
    assert not list(tmp_path.glob(".*")), "nothing half written is left"
    assert "| section 1 | Little is lost. | seed 7 | holds |" in (tmp_path / "report.md").read_text().splitlines()


EVERY_PART = (
    "**Bold**, `typed` and <plain>.",
    Text("Small.", "hint"),
    Points(("one", "two")),
    LOSSES,
    SideBySide((replace(LOSSES, title="Beside", above="Above it."),)),
    Drawings((Drawing(Figure("curve", "A curve", "How to read it.", absent="nothing came"), (("Here", "Flat."),)),)),
    Folded("More", (of_texts(("a", "b"), [("min |x|", "2")]),)),
)


def test_every_part_of_a_page_is_html_markdown_and_text() -> None:
    told = Outcome("It works. And more.", title="Parts", sections=[Section("All", EVERY_PART, "all")], took=["1 s"])
    page = told.html()
    assert '<h2 class="headline">It works.</h2>' in page
    assert '<a href="#all">All</a>' in page
    assert "<p><b>Bold</b>, <code>typed</code> and &lt;plain&gt;.</p>" in page
    for shown in ('<p class="hint">Small.</p>', "<li>two</li>", '<h3 id="losses">Frames lost</h3>', "Above it.",
                  '<div class="narrow">', "Not drawn: nothing came.", "<b>Here:</b> Flat.",
                  "<summary>More</summary>"):  # fmt: skip
        assert shown in page
    lines = told.markdown().splitlines()
    assert lines[:4] == ["# Parts", "", "**It works.**", ""]
    for line in ("And more.", "## All", EVERY_PART[0], "- two", "### Frames lost", "Above it.", "**More**",
                 r"| min \|x\| | 2 |", "- *A curve* How to read it. Here: Flat. not drawn: nothing came."):  # fmt: skip
        assert line in lines
    for tables in (False, True):
        console = Console(width=60, record=True, file=io.StringIO())
        told.show(console, tables=tables)
        text = console.export_text()
        assert text.startswith("It works. And more.\n")
        assert text.endswith("1 s\n")
        assert ("Bold, typed and <plain>." in text, "min |x|" in text, "A curve" in text) == (tables, tables, False)


def test_failures_and_options_out_of_range_end_with_an_error(tmp_path: Path) -> None:
    failed = invoke(small(("a cell broke",)), "--out", tmp_path, "--json", "--no-report")
    assert failed.exit_code == 1
    assert "a cell broke" in failed.stderr
    assert json.loads(failed.stdout)["failures"] == ["a cell broke"]
    assert not (tmp_path / "report.html").exists()
    refused = invoke(small(), "--repeats", "4")
    assert (refused.exit_code, "--repeats: 4 is not allowed; allowed is 1 to 3" in refused.stderr) == (2, True)


def test_every_study_in_the_list_is_a_command_with_help() -> None:
    assert [study.name for study in studies()] == list(NAMES)
    shown = CliRunner().invoke(cli.app, ["--help"]).stdout
    for study in studies():
        assert study.short in shown
        assert "--quick" in CliRunner().invoke(cli.app, [study.name, "--help"]).stdout


def test_the_study_of_the_manual_is_one(lab_cache: Path, tmp_path: Path) -> None:
    """The first block of code of docs/reproduce.md, in a file of its own, and nothing else."""
    manual = Path(__file__).parents[2] / "docs" / "reproduce.md"
    example = manual.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    study = tmp_path / "study.py"
    study.write_text(example, encoding="utf-8")
    found = runpy.run_path(str(study))["STUDY"]
    assert lab_cache.is_dir()
    result = invoke(found, "--out", tmp_path / "out", "--jobs", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("What came of TCP.")
    claims = (tmp_path / "out" / "claims.csv").read_text().splitlines()
    assert len(claims) == 3 and all("TCP keeps up." in line for line in claims[1:])
    assert "How long it takes" in (tmp_path / "out" / "report.html").read_text()
