"""The page of a campaign: who is ahead, what is drawn, and that the numbers are those of the means."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import fake_simulator
import pytest
from typer.testing import CliRunner

import framewire
from framewire import InputError
from framewire.campaign import page
from framewire.campaign.results import Campaign
from framewire.cli import app

runner = CliRunner()


@pytest.fixture(scope="module")
def computed(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    directory = tmp_path_factory.mktemp("computed")
    (directory / "sweep.toml").write_text(
        f'repeats = 3\nmetrics = ["lost_percent", "duration_s"]\nscenario.movie.source = "{stream}"\n'
        'scenario.flow = [{ transport = "udp" }, { transport = "tcp" }]\n'
        "[axes]\nnetwork.wifi.retry = [0, 2, 4]\nflow.udp.mtu = [1500, 1400]\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        fake_simulator.install(patch)
        return framewire.campaign(directory / "sweep.toml", out=directory / "out")


@pytest.fixture
def html(computed: Campaign, tmp_path: Path) -> str:
    return computed.report(tmp_path / "page.html").read_text()


def figures(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', html, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_a_figure_for_each_metric_and_other_axis_has_the_means_along_the_longest(computed: Campaign, html: str) -> None:
    drawn = figures(html)
    assert sorted(drawn) == ["figure-0-0", "figure-0-1", "figure-1-0", "figure-1-1"]
    means = computed.means()
    for name, place in (("figure-1-0", 1500), ("figure-1-1", 1400)):
        lines, layout = drawn[name]
        assert [line["name"] for line in lines] == ["udp", "tcp"]
        assert layout["xaxis"]["title"]["text"] == "network.wifi.retry"
        for line in lines:
            rows = means.filter(flow=line["name"], **{"flow.udp.mtu": place})
            assert line["x"] == rows["network.wifi.retry"].to_list() == [0, 2, 4]
            assert line["y"] == pytest.approx(rows["duration_s"].to_list(), rel=1e-3)
            reach = [y + more for y, more in zip(line["y"], line["error_y"]["array"], strict=True)]
            assert reach == pytest.approx(rows["duration_s_high"].to_list(), rel=1e-3)


def test_the_head_counts_who_is_ahead(computed: Campaign, html: str) -> None:
    least = [
        min(computed.means("lost_percent").filter(**place).iter_rows(named=True), key=lambda row: row["lost_percent"])
        for place in computed.means().select("network.wifi.retry", "flow.udp.mtu").unique().to_dicts()
    ]
    won = [row["flow"] for row in least]
    headline = re.search(r'<h2 class="headline">(.*?)</h2>', html)
    assert headline and headline[1].startswith("Of 6 combinations, the least lost: ")
    for flow in {*won}:
        assert f"{flow} in {won.count(flow)} (" in headline[1]


@pytest.mark.parametrize(
    ("udp", "tcp", "said"),
    [
        ((10.0, 11.0, 12.0), (5.0, 6.1, 6.9), "clear"),
        ((10.0, 11.0, 12.0), (9.0, 11.5, 11.0), "too close to call"),
        ((10.0, 10.0, 10.0), (5.0, 5.0, 5.0), "the same in each repeat"),
        ((10.0,), (5.0,), "one repeat"),
    ],
)
def test_a_difference_is_clear_where_the_repeats_agree(
    udp: tuple[float, ...],
    tcp: tuple[float, ...],
    said: str,
    stream: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_simulator.install(monkeypatch)
    document = {
        "name": "pairs", "repeats": len(udp), "metrics": ["duration_s"],
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}, {"transport": "tcp"}]},
    }  # fmt: skip
    result = framewire.campaign(document, out=tmp_path / "out")
    values = {"udp": udp, "tcp": tcp}
    frame = result.summary
    result.summary = frame.with_columns(  # as if it had been measured
        latency_p95_ms=frame.select("flow", "repeat").map_rows(lambda row: values[row[0]][row[1] - 1]).to_series()
    )
    result.meta["campaign"]["metrics"] = ["latency_p95_ms"]
    text = page.write(result, tmp_path / "page.html").read_text()
    assert f">{said}</td>" in text
    clear = "1 clear" if said == "clear" else "none clear"
    assert f"the least latency p95: tcp in 1 ({clear})" in text


def test_of_what_neither_way_is_better_nobody_is_ahead(
    stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_simulator.install(monkeypatch)
    document = {
        "name": "one", "metrics": ["duration_s"],
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}, {"transport": "tcp"}]},
    }  # fmt: skip
    text = framewire.campaign(document, out=tmp_path / "out").report().read_text()
    assert "2 flows in 1 combination" in text
    assert list(figures(text)) == ["figure-0-0"]


def test_the_command_line_writes_it_again(computed: Campaign, tmp_path: Path) -> None:
    asked = runner.invoke(app, ["report", str(computed.directory), "--out", str(tmp_path / "again.html")])
    assert asked.exit_code == 0, asked.output
    assert "framewire campaign" in (tmp_path / "again.html").read_text()
    (tmp_path / "nothing").mkdir()
    refused = runner.invoke(app, ["report", str(tmp_path / "nothing")])
    assert refused.exit_code == 2
    assert "no run.json (and no campaign" in refused.output.replace("\n", " ")


def test_a_page_that_cannot_be_written_is_refused_in_words(computed: Campaign, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the report"):
        computed.report(tmp_path / "file" / "page.html")
