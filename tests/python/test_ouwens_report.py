"""The report of ``framewire reproduce ouwens``, its files and its text."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import markupsafe
import ouwens_synthetic as synthetic
import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

from framewire.cli import app
from framewire.report import file
from framewire.studies.ouwens import bounds, claims, measure, summary
from framewire.studies.ouwens.comparison import Comparison, compare
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.outcome import outcome
from framewire.studies.verdicts import Finding, Verdict
from framewire.studies.writers import write_csv


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """With the retry values that figures show."""
    return compare(synthetic.measured(retries=(1, 2, 3, 4)))


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return outcome(comparison).html()


def test_the_page_has_every_table_and_figure_of_chapter_3(html: str) -> None:
    for number in range(1, 23):
        assert f'id="table-3-{number}"' in html
        assert f"Table 3.{number}: " in html
    for number in range(5, 63):
        assert f'id="figure-3-{number}"' in html
    assert "Not drawn" not in html


def test_the_page_stands_alone_and_is_small(html: str) -> None:
    assert len(html) < 5_000_000
    shell = html[: html.index('id="plotly"')]
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", shell)
    assert "default-src 'none'" in shell
    drawn = json.loads(html.split('id="figures">')[1].split("</script>")[0])
    assert len(drawn) == 58 + 2
    assert all(trace["x"] and len(trace["x"]) == len(trace["y"]) for traces, _ in drawn.values() for trace in traces)


def test_what_is_not_published_is_called_a_prediction(html: str) -> None:
    table = html[html.index('id="table-3-9"') :].split("</table>")[0]
    assert "Not published here: every number is our prediction." in table
    assert "thesis</th>" not in table
    both = html[html.index('id="table-3-7"') :].split("</table>")[0]
    assert both.count('class="first">thesis</th>') == 2, "3 and 6 Mbit/s are published, 4 and 5 are not"


def test_the_page_in_markdown_has_every_table(comparison: Comparison) -> None:
    lines = outcome(comparison).markdown().splitlines()
    assert lines[0] == "# MPEG-2 over 802.11b: the thesis, repeated"
    for number in range(1, 23):
        assert any(line.startswith(f"### Table 3.{number}: ") for line in lines)
    assert "## Statements of the text" in lines
    assert "Not published here: every number is our prediction." in lines


def test_a_missed_bound_is_marked_and_told() -> None:
    slow = compare(synthetic.measured(retries=(3, 4), duration_factor=1.1), with_figures=False)
    text = outcome(slow).html()
    assert "0 of 16" not in slow.headline
    assert text.count('class="fails" title="allowed ±5 %"') == 16
    assert "table 3.7, retry 4, 6 Mbit/s: 85.2 there, 93.7 here, +8.5 s (+10.0 %)" in text


def test_nothing_measured_still_makes_a_report(tmp_path: Path) -> None:
    nothing = compare(Measured())
    assert nothing.headline == "Nothing that has a bound was measured."
    path = file.write(outcome(nothing).html(), tmp_path / "deep" / "report.html")
    assert "Not drawn: its runs were not measured" in path.read_text()
    assert not list(path.parent.glob(".*"))


def test_csv_and_json_hold_every_number(comparison: Comparison, tmp_path: Path) -> None:
    files = [write_csv(tmp_path / name, rows) for name, rows in outcome(comparison).csv_files()]
    assert {file.stem for file in files} >= {"table-3.2", "table-3.7", "table-3.22", "effects"}
    with (tmp_path / "tables" / "table-3.7.csv").open() as file:
        rows = {(row["row"], row["column"]): row for row in csv.DictReader(file)}
    row = rows["retry value 4, oven no", "6 Mbit/s"]
    assert (float(row["thesis"]), float(row["here"]), row["verdict"]) == (85.2, pytest.approx(85.2), "holds")
    assert rows["retry value 4, oven no", "5 Mbit/s"]["thesis"] == ""
    document = json.loads(json.dumps(outcome(comparison).document()))
    numbers = [number for number in document["numbers"] if number["table"] == "3.7"]
    assert len(numbers) == len(rows)
    assert document["cost"]["simulated_s"] == 40_000


def test_the_short_text_is_a_screenful_with_a_line_for_each_table(comparison: Comparison) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    replace(outcome(comparison), took=()).show(console, tables=False)
    text = console.export_text()
    assert text.startswith(comparison.headline[:40])
    assert len(text.splitlines()) < 40
    assert max(map(len, text.splitlines())) <= 100
    by_number = {line.table.number: line for line in summary.lines(comparison)}
    assert set(by_number) == {table.number for table in comparison.tables if table.published_cells}
    for number, line in by_number.items():
        assert re.search(rf"^{re.escape(number)} +{line.table.title.split()[0]}", text, re.MULTILINE)
    bounded = [one for one in comparison.bounds if one.bound.key != "stream-5.5"]
    assert sum(line.bounded for line in by_number.values()) == sum(one.holds + one.fails for one in bounded)
    assert sum(line.holds for line in by_number.values()) == sum(one.holds for one in bounded)
    assert "predicted here, not published here: 3.4, 3.5, 3.9, 3.10, 3.15, 3.16, 3.20, 3.21" in text.replace("\n", " ")


def test_the_short_text_names_the_number_that_is_farthest_off() -> None:
    slow = compare(synthetic.measured(retries=(3, 4), duration_factor=1.1), with_figures=False)
    line = next(line for line in summary.lines(slow) if line.table.number == "3.7")
    assert (line.holds, line.bounded) == (0, 8)
    assert re.fullmatch(r"retry [34](, oven)?, [36] Mbit/s: [0-9.]+, [0-9.]+ s", line.worst)
    assert not list(summary.lines(compare(Measured(), with_figures=False)))


def test_the_report_says_what_is_met_without_a_model(comparison: Comparison, html: str) -> None:
    assert bounds.worth(comparison.bounds) in comparison.headline
    overview = html[html.index('id="overview"') : html.index("Durations, told from other settings")]
    told = markupsafe.Markup(overview).striptags()
    assert " ".join(comparison.headline.split()) in told, "its first sentence as a heading, and the rest"
    assert "nothing lost</th>" in overview
    durations = next(one for one in comparison.bounds if one.bound.key == "duration")
    assert re.search(rf"<td[^>]* class=\"number\"[^>]*>{durations.baseline.nothing_lost}<", overview)
    for name in ("mean", "factors", "nearest", "other bitrate"):
        assert f'<th scope="col">{name}</th>' in overview
    assert [one.rows for one in comparison.duration_errors] == ["1", "2", "3 and more"]
    assert "Durations, told from other settings" in html
    assert "one of 5 to 10 counts as 5" in html


def test_the_whole_text_fits_100_columns_and_ends_with_the_cost(comparison: Comparison) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    outcome(comparison).show(console, tables=True)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 130
    for number in range(2, 23):
        assert f"Table 3.{number}: " in text
    assert re.search(r"672 movie runs, +40,000 simulated s, +60.0 s now", text)
    assert re.search(r"peak memory +500 MB", text)


def test_what_is_said_of_whole_frames_is_held_against_the_ledger() -> None:
    def claim(of_five: float) -> Finding:
        measured = synthetic.measured(retries=(4,))
        share = pl.col("bitrate").replace_strict({3: 1.0, 4: 1.0, 5: of_five, 6: 0.1})
        frames = measured.ledgers["movies"]().with_columns(complete=pl.col("frame") * 7 % 100 < 100 * share)
        measured.ledgers = {"movies": lambda: frames}
        return next(one for one in claims.claims(measured) if "whole frames" in one.claim.says)

    assert claim(0.3).verdict == Verdict.HOLDS
    assert claim(1.0).verdict == Verdict.FAILS
    assert claim(0.12).verdict == Verdict.FAILS
    assert len(re.findall(r"[0-9.]+ of [3-6]", claim(0.3).finds)) == 4


def test_the_command_writes_shows_and_draws_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def carry_out(*_arguments: object, **_options: object) -> Measured:
        return synthetic.measured(retries=(3, 4))

    monkeypatch.setattr(measure, "carry_out", carry_out)
    short, long, as_json = (
        CliRunner().invoke(app, ["reproduce", "ouwens", f"--out={tmp_path}", *options])
        for options in ([], ["--tables", "--no-report"], ["--json"])
    )
    assert [one.exit_code for one in (short, long, as_json)] == [0, 0, 0]
    assert re.search(r"3\.7 +Mean duration .* 8 of 8", short.stdout)
    assert "Table 3.7: Mean duration" in long.stdout
    assert re.search(r"672 movie runs, +40,000 simulated s", long.stdout)
    assert f"report   {tmp_path / 'report.html'}" in short.stdout
    assert "report " not in long.stdout
    document = json.loads(as_json.stdout)
    assert document.pop("report") == str(tmp_path / "report.html")
    assert document == json.loads((tmp_path / "results.json").read_text())
    assert {path.name for path in (tmp_path / "tables").iterdir()} >= {"table-3.7.csv", "table-3.22.csv"}
