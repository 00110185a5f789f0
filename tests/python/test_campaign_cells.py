"""Cells of a campaign: named by where they stand, and looked at before the campaign has finished."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import fake_simulator
import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

import framewire
from conftest import REPOSITORY
from framewire import InputError, report
from framewire.campaign.results import Campaign
from framewire.campaign.table import cells_table, means_table
from framewire.cli import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_simulator.install(monkeypatch)


def described(stream: Path) -> dict[str, Any]:
    """Six points, two repeats, two flows."""
    oven = [{"label": "off", "set": {}}, {"label": "on", "set": {"network.wifi.oven.on": [["0.2 s", "0.8 s"]]}}]
    return {
        "name": "sweep",
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}, {"transport": "tcp"}]},
        "axes": {"network.wifi.retry": [0, 3, 4]},
        "axis": [{"name": "oven", "values": oven}],
        "repeats": 2,
        "metrics": ["duration_s", "latency_p95_ms"],
    }


@pytest.fixture
def document(stream: Path) -> dict[str, Any]:
    return described(stream)


@pytest.fixture(scope="module")
def computed(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It is finished once, and every test gets a copy of its own."""
    with pytest.MonkeyPatch.context() as patch:
        fake_simulator.install(patch)
        return framewire.campaign(described(stream), out=tmp_path_factory.mktemp("computed") / "out").directory


@pytest.fixture
def result(computed: Path, tmp_path: Path) -> Campaign:
    return Campaign(shutil.copytree(computed, tmp_path / "out"))


@pytest.fixture
def interrupted(document: dict[str, Any], tmp_path: Path) -> Campaign:
    """One that ended after three cells."""

    def interrupt(event: dict[str, Any]) -> None:
        if event.get("computed") == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        framewire.campaign(document, out=tmp_path / "out", jobs=1, progress=interrupt)
    return Campaign(tmp_path / "out")


def test_every_cell_is_listed_with_what_became_of_it(result: Campaign, document: dict[str, Any]) -> None:
    cells = result.cells
    assert cells.columns == ["cell", "network.wifi.retry", "oven", "repeat", "seed", "state"]
    assert cells.height == 12
    assert cells["state"].unique().to_list() == ["done"]
    assert cells["cell"].to_list() == result.summary["cell"].unique(maintain_order=True).to_list()
    broken = document | {"axes": {"network.wifi.retry": [13, 17, 4]}, "axis": [], "repeats": 1}
    states = framewire.campaign(broken, out=result.directory).cells["state"].to_list()
    assert states == ["failed", "flow broke", "done"]


def test_an_unfinished_campaign_is_shown_as_far_as_it_came(interrupted: Campaign, document: dict[str, Any]) -> None:
    counts = {"planned": 12, "distinct": 12, "done": 3, "failed": 0, "computed_now": 0}
    assert (interrupted.finished, interrupted.meta["cells"]) == (False, counts)
    by_repeat = interrupted.cells.sort("repeat", maintain_order=True)
    assert by_repeat["state"].to_list() == ["done"] * 3 + ["not computed"] * 9, "every setting once, then again"
    assert interrupted.summary.height == 6
    assert interrupted.means()["duration_s_n"].to_list() == [1] * 6
    with pytest.raises(InputError, match="has not finished: only its summary"):
        _ = interrupted.frames
    shown = runner.invoke(app, ["campaign", "show", str(interrupted.directory)])
    assert shown.exit_code == 0, shown.output
    assert "3 of 12 cells" in shown.stdout
    assert "has not finished" in shown.stdout
    whole = framewire.campaign(document, out=interrupted.directory)
    assert whole.finished
    first = set(interrupted.summary["cell"])
    assert whole.summary.filter(whole.summary["cell"].is_in(list(first))).equals(interrupted.summary)
    assert json.loads(runner.invoke(app, ["campaign", "show", str(whole.directory), "--json"]).stdout)["finished"]


def test_a_campaign_that_is_changed_is_unfinished_until_it_has_run(result: Campaign, document: dict[str, Any]) -> None:
    """The dataset of before is not shown for the new plan."""
    wider = document | {"axes": {"network.wifi.retry": [0, 3, 4, 7]}}

    def interrupt(event: dict[str, Any]) -> None:
        if event["event"] == "cells":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        framewire.campaign(wider, out=result.directory, progress=interrupt)
    changed = Campaign(result.directory)
    assert (changed.finished, changed.meta["cells"]["done"], changed.meta["cells"]["planned"]) == (False, 12, 16)
    back = framewire.campaign(document, out=result.directory)
    assert back.finished
    assert back.hashes == result.hashes


def test_one_without_a_finished_cell_says_so(interrupted: Campaign) -> None:
    for cell in (interrupted.directory / "cells").iterdir():
        shutil.rmtree(cell)
    empty = Campaign(interrupted.directory)
    with pytest.raises(InputError, match="has no results: none of its cells is computed yet"):
        _ = empty.summary
    shown = runner.invoke(app, ["campaign", "show", str(empty.directory)])
    assert (shown.exit_code, "0 of 12 cells" in shown.stdout) == (0, True), shown.output


def test_an_index_that_is_damaged_is_named(result: Campaign) -> None:
    for text in ("", "{", "[]", "{}", '{"index_format": 1}'):
        (result.directory / "index.json").write_text(text)
        with pytest.raises(InputError, match=r"index\.json: cannot be read: .*mends it"):
            Campaign(result.directory)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [({"network.wifi.retry": 3}, 4), ({"retry": "3", "repeat": 1}, 2), ({"oven": "on", "retry": 0, "repeat": "2"}, 1)],
)
def test_cells_are_named_by_where_they_stand(wanted: dict[str, object], count: int, result: Campaign) -> None:
    assert result.cells_at(wanted).height == count
    words = [f"{name}={value}" for name, value in wanted.items()]
    listed = runner.invoke(app, ["campaign", "cells", str(result.directory), *words, "--json"])
    assert listed.exit_code == 0, listed.output
    assert [row["cell"] for row in json.loads(listed.stdout)] == result.cells_at(wanted)["cell"].to_list()


def test_a_cell_that_is_run_again_says_what_it_found(
    result: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the simulator itself
    out = tmp_path / "cell"
    place = ["retry=3", "oven=on", "repeat=1"]
    ended = runner.invoke(app, ["campaign", "cell", str(result.directory), *place, "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    shown = [line.split()[0] for line in lines if line.startswith(("udp ", "tcp "))]
    assert shown == ["udp", "tcp"], "a row for each flow"
    assert f"report   {out / 'report.html'}" in lines
    assert " ".join(lines[-3:]).count(report.judge(out).sentence.split(":")[0]) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["retry=3", "oven=on"], "retry = 3, oven = on: 2 cells are there; say more, or the id of one:\n  "),
        (["oven=on"], "6 cells are there"),
        (
            ["retry=5", "repeat=1"],
            "network.wifi.retry = 5: no cell is there; the values of network.wifi.retry are 0, 3, 4",
        ),
        (["overn=on"], "overn: not an axis of this campaign; did you mean `oven`?"),
        (["flow=udp"], "flow: not an axis of this campaign; allowed are network.wifi.retry, oven, repeat, seed"),
        (["retry=3", "3f2a"], "'3f2a': allowed is the beginning of one id, or AXIS=VALUE"),
        (["retry=3", "retry=4"], "retry is there twice"),
        (["zzz"], "'zzz' is not a cell of this campaign"),
    ],
)
def test_a_place_with_no_cell_or_several_is_named(words: list[str], message: str, result: Campaign) -> None:
    ended = runner.invoke(app, ["campaign", "cell", str(result.directory), *words])
    assert ended.exit_code == 2, ended.output
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_cell_that_is_not_computed_yet_is_told(interrupted: Campaign) -> None:
    with pytest.raises(InputError, match="is not computed yet; the same"):
        interrupted.run_cell({"retry": 4, "oven": "on", "repeat": 2})


def test_a_dataset_without_an_index_still_opens() -> None:
    golden = Campaign(REPOSITORY / "tests/golden/campaign-format-1")
    assert golden.finished
    with pytest.raises(InputError, match=r"has no index\.json"):
        _ = golden.cells
    with pytest.raises(InputError, match="can only be named by its id"):
        golden.run_cell({"repeat": 1})


@pytest.mark.parametrize("width", [40, 80, 120])
def test_tables_are_cut_and_not_cropped(width: int, result: Campaign) -> None:
    many = result.means(["duration_s", "latency_p95_ms", "lost", "shown_percent", "lost_percent", "frames", "shown"])
    for table, texts in (
        (means_table(many), ["25.0 [-]"]),
        (cells_table(result.cells), result.cells["cell"].to_list()),
    ):
        console = Console(width=width)
        with console.capture() as captured:
            console.print(table)
        lines = captured.get().splitlines()
        assert max(map(len, lines)) <= width
        assert "…" not in captured.get()
        assert all(text in captured.get() for text in texts)


def test_a_mean_of_fewer_repeats_says_of_how_many(result: Campaign) -> None:
    means = result.means()
    fewer = means.with_columns(latency_p95_ms_n=pl.lit(1, pl.Int32))
    console = Console(width=100)
    with console.capture() as captured:
        console.print(means_table(fewer))
    assert captured.get().count("(n 1)") == 12
    with console.capture() as captured:
        console.print(means_table(means.with_columns(latency_p95_ms_n=pl.col("duration_s_n"))))
    assert "(n " not in captured.get()


@pytest.mark.parametrize("command", [["campaign"], ["campaign", "check"]])
def test_a_scenario_that_is_given_for_a_campaign_is_recognised(command: list[str], scenario_file: Path) -> None:
    ended = runner.invoke(app, [*command, str(scenario_file)])
    assert ended.exit_code == 2
    assert f"{scenario_file}: a scenario, not a campaign: `framewire run {scenario_file}` runs it" in ended.stderr


@pytest.mark.parametrize("command", [["run"], ["scenario", "check"], ["scenario", "resolve"]])
def test_a_campaign_that_is_given_for_a_scenario_is_recognised(command: list[str], tmp_path: Path) -> None:
    campaign = tmp_path / "sweep.toml"
    campaign.write_text('scenario = "small.toml"\naxes.seed = [1, 2]\n')
    ended = runner.invoke(app, [*command, str(campaign)])
    assert ended.exit_code == 2
    assert f"{campaign}: a campaign, not a scenario: `framewire campaign {campaign}` runs it" in ended.stderr


def test_a_run_that_is_given_for_a_campaign_is_recognised() -> None:
    with pytest.raises(InputError, match="a run, not a campaign; `framewire report"):
        Campaign(REPOSITORY / "tests/golden/format-1")


def test_errors_name_the_file(tmp_path: Path, stream: Path) -> None:
    scenario, campaign = tmp_path / "base.toml", tmp_path / "sweep.toml"
    scenario.write_text(f'movie.source = "{stream}"\nnetwork.wifi.retry = 300\nflow = [{{ transport = "udp" }}]\n')
    campaign.write_text('scenario = "base.toml"\naxes."flow.*.mtu" = [1400]\n')
    with pytest.raises(InputError, match=r"sweep\.toml: scenario base\.toml: network\.wifi\.retry: 300"):
        framewire.campaign(campaign, out=tmp_path / "out")
    scenario.write_text(scenario.read_text().replace("300", "3"))
    campaign.write_text('scenario = "base.toml"\naxes.network.wifi.retry = [300]\n')
    with pytest.raises(InputError, match=r"sweep\.toml: axis network\.wifi\.retry, value 300"):
        framewire.campaign(campaign, out=tmp_path / "out")
    scenario.write_text(scenario.read_text() + 'network.wire.outages = [["30 s", "31 s"]]\n')
    with pytest.raises(InputError, match=r"base\.toml: network\.wire\.outages: .*lasts 1 s"):
        framewire.run(scenario, world="simulated", out=tmp_path / "run")
