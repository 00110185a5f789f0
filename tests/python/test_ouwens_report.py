"""The report of ``framewire reproduce ouwens``, its files and its text."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import ouwens_synthetic as synthetic
import pytest
from rich.console import Console

from framewire.papers.ouwens import page, screen
from framewire.papers.ouwens.comparison import Comparison, compare
from framewire.papers.ouwens.measure import Measured


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """With the retry values that figures show."""
    return compare(synthetic.measured(retries=(1, 2, 3, 4)))


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return page.render(comparison)


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


def test_a_missed_bound_is_marked_and_told() -> None:
    slow = compare(synthetic.measured(retries=(3, 4), duration_factor=1.1), with_figures=False)
    text = page.render(slow)
    assert "0 of 16" not in slow.headline
    assert text.count('class="missed" title="allowed ±5 %"') == 16
    assert "table 3.7, retry 4, 6 Mbit/s: 85.2 there, 93.7 here, +8.5 s (+10.0 %)" in text


def test_nothing_measured_still_makes_a_report(tmp_path: Path) -> None:
    nothing = compare(Measured())
    assert nothing.headline == "Nothing that has a bound was measured."
    path = page.write(nothing, tmp_path / "deep" / "report.html")
    assert "Not drawn: its runs were not measured" in path.read_text()
    assert not list(path.parent.glob(".*"))


def test_csv_and_json_hold_every_number(comparison: Comparison, tmp_path: Path) -> None:
    files = screen.write_csv(comparison, tmp_path)
    assert {file.stem for file in files} >= {"table-3.2", "table-3.7", "table-3.22", "effects"}
    with (tmp_path / "table-3.7.csv").open() as file:
        rows = {(row["row"], row["column"]): row for row in csv.DictReader(file)}
    row = rows["retry value 4, oven no", "6 Mbit/s"]
    assert (float(row["thesis"]), float(row["here"]), row["verdict"]) == (85.2, pytest.approx(85.2), "met")
    assert rows["retry value 4, oven no", "5 Mbit/s"]["thesis"] == ""
    document = json.loads(json.dumps(screen.as_json(comparison)))
    numbers = [number for number in document["numbers"] if number["table"] == "3.7"]
    assert len(numbers) == len(rows)
    assert document["cost"]["simulated_s"] == 40_000


def test_the_text_fits_100_columns_and_ends_with_the_cost(comparison: Comparison) -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    screen.show(comparison, console)
    screen.show_cost(comparison, console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 130
    for number in range(2, 23):
        assert f"3.{number}  " in text
    assert re.search(r"672 movie runs, +40,000 simulated s, +60.0 s now", text)
    assert re.search(r"peak memory +500 MB", text)
