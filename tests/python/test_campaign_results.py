"""What is read from the dataset of a campaign, and what the command line says about it."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import fake_simulator
import polars as pl
import pytest
from typer.testing import CliRunner

import framewire
from conftest import REPOSITORY
from framewire import InputError
from framewire.campaign import metrics, provenance
from framewire.campaign.results import Campaign
from framewire.cli import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_simulator.install(monkeypatch)


def write_campaign(path: Path, stream: Path) -> Path:
    path.write_text(
        f'repeats = 3\nmetrics = ["duration_s", "lost_percent"]\nscenario.movie.source = "{stream}"\n'
        'scenario.flow = [{ transport = "udp" }, { transport = "tcp" }]\n'
        "[axes]\nnetwork.wifi.retry = [0, 4]\nflow.udp.mtu = [1500, 1400]\n"
    )
    return path


@pytest.fixture
def campaign_file(tmp_path: Path, stream: Path) -> Path:
    return write_campaign(tmp_path / "sweep.toml", stream)


@pytest.fixture(scope="module")
def computed(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign is finished once, and every test gets a copy of its own."""
    directory = tmp_path_factory.mktemp("computed")
    with pytest.MonkeyPatch.context() as patch:
        fake_simulator.install(patch)
        return framewire.campaign(write_campaign(directory / "sweep.toml", stream), out=directory / "out").directory


@pytest.fixture
def result(computed: Path, tmp_path: Path) -> Campaign:
    return Campaign(shutil.copytree(computed, tmp_path / "out"))


def test_means_are_over_repeats_with_students_t(result: Campaign) -> None:
    means = result.means()
    assert means.columns[:3] == ["network.wifi.retry", "flow.udp.mtu", "flow"]
    assert means.select(pl.col(name).n_unique() for name in means.columns[:3]).row(0) == (2, 2, 2)
    row = means.row(0, named=True)
    where = (pl.col("network.wifi.retry") == 0) & (pl.col("flow.udp.mtu") == 1500) & (pl.col("flow") == "udp")
    values = result.summary.filter(where)["duration_s"].to_list()
    assert len(values) == row["duration_s_n"] == 3
    assert row["duration_s"] == pytest.approx(sum(values) / 3)
    spread = math.sqrt(sum((value - row["duration_s"]) ** 2 for value in values) / 2)
    factor = math.exp(4.302653 * spread / math.sqrt(3) / row["duration_s"])
    assert row["duration_s_low"] == pytest.approx(row["duration_s"] / factor, rel=1e-6)
    assert row["duration_s_high"] == pytest.approx(row["duration_s"] * factor, rel=1e-6)
    lost = result.summary.filter(where)["lost"].to_list()
    assert row["lost_percent"] == pytest.approx(100 * sum(lost) / 3 / fake_simulator.FRAMES)


def test_rows_of_one_repeat_are_one_sample(result: Campaign) -> None:
    """They met the same channel: eight rows of three repeats are three samples, not eight."""
    (row,) = result.means("duration_s", by=[]).to_dicts()
    per_repeat = result.summary.group_by("repeat").agg(pl.col("duration_s").mean())["duration_s"].to_list()
    mean = sum(per_repeat) / 3
    spread = math.sqrt(sum((value - mean) ** 2 for value in per_repeat) / 2)
    assert row["duration_s_n"] == 3
    assert row["duration_s"] == pytest.approx(mean)
    assert row["duration_s_high"] == pytest.approx(mean * math.exp(4.302653 * spread / math.sqrt(3) / mean), rel=1e-6)
    assert result.means("duration_s", by="flow")["duration_s_n"].to_list() == [3, 3]
    by_repeat = result.means("duration_s", by=["repeat"])
    assert by_repeat["duration_s"].to_list() == pytest.approx(per_repeat_in_order(result))
    assert by_repeat["duration_s_low"].to_list() == by_repeat["duration_s_high"].to_list() == [None] * 3


def per_repeat_in_order(result: Campaign) -> list[float]:
    grouped = result.summary.group_by("repeat").agg(pl.col("duration_s").mean()).sort("repeat")
    return [float(value) for value in grouped["duration_s"]]


def test_what_was_not_measured_is_not_zero(result: Campaign) -> None:
    latencies = result.means("latency_p95_ms", by=["network.wifi.retry", "repeat", "flow", "flow.udp.mtu"])
    measured = result.summary["latency_p95_ms"].is_not_null().sum()
    assert 0 < measured < result.summary.height
    assert latencies["latency_p95_ms"].null_count() == result.summary.height - measured
    assert latencies["latency_p95_ms_n"].sum() == measured
    assert result.means("jitter_max_ms")["jitter_max_ms"].null_count() == 8


def test_shares_of_sound_are_of_its_packets(result: Campaign) -> None:
    names = ["sound_lost_percent", "sound_late_percent"]
    nothing = pl.DataFrame(
        {"flow": ["a"], **{f"sound_{fate}": [None] for fate in ("shown", "late", "lost", "not_offered")}}
    )
    some = {"sound_shown": [150], "sound_late": [10], "sound_lost": [20], "sound_not_offered": [20]}
    result.summary = result.summary.drop([*some], strict=False).join(
        pl.concat(
            [nothing.with_columns(flow=pl.lit("udp")), pl.DataFrame({"flow": ["tcp"], **some})], how="vertical_relaxed"
        ),
        on="flow",
    )
    means = result.means(names, by=["flow"]).sort("flow")
    assert means.select(names).rows() == [(10.0, 5.0), (None, None)]
    assert [metrics.more_is_better(name) for name in names] == [False, False]


def test_metrics_may_be_expressions(result: Campaign) -> None:
    goodput = (pl.col("frame_throughput_bps") / 1e6).alias("goodput_mbps")
    means = result.means([goodput, "lost"], by="flow")
    assert means["goodput_mbps"].to_list() == pytest.approx([4.0, 4.0], abs=0.05)
    assert means.columns == [
        "flow",
        "goodput_mbps",
        "goodput_mbps_low",
        "goodput_mbps_high",
        "goodput_mbps_n",
        "lost",
        "lost_low",
        "lost_high",
        "lost_n",
        "cut",
    ]


def test_the_interval_of_a_share_is_one_of_shares(tmp_path: Path, stream: Path) -> None:
    """Of few repeats a symmetric interval would be wider than all that a share can be."""
    document = {
        "repeats": 6,
        "axes": {"network.wifi.retry": [0, 4]},
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}]},
    }
    campaign = framewire.campaign(document, out=tmp_path / "shares")
    share = (100 * (pl.col("lost") - 10) / 4).clip(0, 100).alias("made_up_percent")
    means = campaign.means([share, "lost_percent"])
    assert means["made_up_percent_low"].drop_nulls().min() >= 0  # type: ignore[operator]
    assert means["made_up_percent_high"].drop_nulls().max() <= 100  # type: ignore[operator]
    spread = means.filter(pl.col("lost_percent_high") > pl.col("lost_percent_low"))
    assert spread.height > 0
    assert (spread["lost_percent_low"] < spread["lost_percent"]).all()
    assert (spread["lost_percent_high"] > spread["lost_percent"]).all()


def test_the_interval_of_a_latency_stays_above_0_unless_frames_are_sent_ahead(
    result: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def means(latencies: list[float]) -> dict[str, float]:
        values = pl.col("repeat").replace_strict([1, 2, 3], latencies)
        summary = result.summary.with_columns(latency_p50_ms=values, latency_p95_ms=values + 1.0)
        monkeypatch.setitem(vars(result), "summary", summary)
        return result.means(["latency_p50_ms", "latency_p95_ms"], by="flow").row(0, named=True)

    skewed = means([1.0, 2.0, 90.0])
    assert 0 < skewed["latency_p50_ms_low"] < skewed["latency_p50_ms"] == pytest.approx(31.0)
    assert skewed["latency_p50_ms_high"] > 160
    ahead = means([-0.5, 2.0, 91.5])
    for name in ("latency_p50_ms", "latency_p95_ms"):
        low, mean, high = (ahead[f"{name}{ending}"] for ending in ("_low", "", "_high"))
        assert low < 0, "Student's interval, as wide to both sides"
        assert mean - low == pytest.approx(high - mean)


def test_runs_that_ended_at_their_limit_are_counted_beside_the_mean(tmp_path: Path, stream: Path) -> None:
    document = {
        "repeats": 3,
        "axes": {"network.wifi.retry": [4, 19]},
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}, {"transport": "tcp"}]},
    }
    campaign = framewire.campaign(document, out=tmp_path / "out")
    assert campaign.means("duration_s")["cut"].to_list() == [0, 0, 3, 0]
    assert campaign.means("duration_s", by="flow")["cut"].to_list() == [3, 0]
    assert campaign.means("duration_s", by=[])["cut"].to_list() == [3]
    shown = runner.invoke(app, ["campaign", "show", str(tmp_path / "out"), "--metric", "duration_s"])
    assert shown.stdout.count("3, 3 cut") == 1, shown.stdout
    assert "ended at its limit" in shown.stdout
    others = runner.invoke(app, ["campaign", "show", str(tmp_path / "out"), "--metric", "duration_s", "--by", "repeat"])
    assert others.stdout.count("1, 1 cut") == 3, others.stdout


def test_unknown_metrics_and_groups_are_named(result: Campaign) -> None:
    with pytest.raises(InputError, match="did you mean `duration_s`"):
        result.means("duration")
    with pytest.raises(InputError, match=r"by: 'retry' is not allowed; allowed are network\.wifi\.retry"):
        result.means(by=["retry"])
    with pytest.raises(InputError, match="has no table packets; `packets = true`"):
        _ = result.packets


def test_the_metrics_are_the_numbers_of_the_summary() -> None:
    schema = pl.read_parquet_schema(fake_simulator.GOLDEN / "summary.parquet")
    assert set(metrics.COLUMNS) == {name for name, dtype in schema.items() if dtype.is_numeric()}
    assert set(metrics.RESERVED) >= set(schema)


def test_labels_keep_their_type(tmp_path: Path, stream: Path) -> None:
    axes = [
        {"name": "whole", "key": "network.wifi.retry", "values": [1, 2]},
        {"name": "mixed", "key": "network.wire.queue", "values": ["10 packets", "50 ms"]},
        {"name": "real", "values": [{"label": 1, "set": {}}, {"label": 2.5, "set": {"flow.0.mtu": 1400}}]},
        {"name": "anything", "values": [{"label": 1, "set": {}}, {"label": "two", "set": {"playout.startup": "2 s"}}]},
        {"name": "truth", "values": [{"label": True, "set": {}}]},
    ]
    document = {"axis": axes, "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}]}}
    result = framewire.campaign(document, out=tmp_path / "out")
    kinds = {name: result.summary.schema[name] for name in result.axes}
    expected = {"whole": pl.Int64, "mixed": pl.String, "real": pl.Float64, "anything": pl.String, "truth": pl.Boolean}
    assert kinds == expected
    assert result.frames.collect_schema()["real"] == pl.Float64
    assert result.summary["anything"].unique(maintain_order=True).to_list() == ["1", "two"]


def test_a_dataset_says_which_version_it_needs(result: Campaign) -> None:
    file = result.directory / "campaign.json"
    meta = json.loads(file.read_text())
    file.write_text(json.dumps(meta | {"format": 2, "version": "9.1.0"}))
    with pytest.raises(InputError, match=r"format 2, written by framewire 9\.1\.0.*open it with 9\.1\.0 or newer"):
        Campaign(result.directory)
    for broken in ("{}", "[]", '{"format": "1"}', "{", ""):
        file.write_text(broken)
        with pytest.raises(InputError, match="campaign.json"):
            Campaign(result.directory)


def test_what_is_no_campaign_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, problem in (("file", "not a directory"), ("empty", "not a campaign"), ("absent", "no such directory")):
        with pytest.raises(InputError, match=f"{name}: {problem}"):
            Campaign(tmp_path / name)


def test_the_command_line_runs_shows_and_continues(
    campaign_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = runner.invoke(app, ["campaign", str(campaign_file)])
    assert ran.exit_code == 0, ran.output
    assert max(map(len, ran.stdout.splitlines())) <= 100
    assert "12 of 12 cells, 12 computed now" in ran.stdout
    assert "results  campaigns/sweep" in ran.stdout
    assert len(re.findall(r" \[[\d.]+, [\d.]+\]", ran.stdout)) == 8 * 2
    assert "12 of 12 cells" in ran.stderr
    again = runner.invoke(app, ["campaign", "run", str(campaign_file), "--jobs", "1", "--json"])
    document = json.loads(again.stdout)
    assert document["cells"]["computed_now"] == 0
    assert len(document["means"]) == 8
    assert "every repeat measured the same" not in ran.stdout
    same = runner.invoke(app, ["campaign", "show", "campaigns/sweep", "--by", "flow", "--metric", "frames"])
    assert same.stdout.count("25.0 [-]") == 2, same.stdout
    assert "every repeat measured the same" in same.stdout
    shown = runner.invoke(app, ["campaign", "show", "campaigns/sweep", "--by", "flow", "--metric", "stalls"])
    assert shown.exit_code == 0, shown.output
    assert [line.split()[0] for line in shown.stdout.splitlines()[3:5]] == ["udp", "tcp"], shown.stdout
    assert json.loads(runner.invoke(app, ["campaign", "schema"]).stdout)["title"] == "Campaign"


def test_a_failed_cell_is_told_with_its_scenario(campaign_file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(campaign_file.read_text().replace("[0, 4]", "[13, 4]"))
    ran = runner.invoke(app, ["campaign", str(broken), "--out", str(tmp_path / "out"), "--repeats", "1"])
    assert ran.exit_code == 1
    errors = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2
    assert all("retry 13 brings bad luck" in line and "its scenario: " in line for line in errors)
    assert "2 of 4 cells, 2 computed now, 2 failed" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["campaign", "absent.toml"], "absent.toml: cannot read the campaign"),
        (["campaign", "FILE", "--jobs", "0"], "jobs: 0"),
        (["campaign", "FILE", "--set", "flow.udp.mtu=1400"], "varied by axis flow.udp.mtu"),
        (["campaign", "FILE", "--set", "network.wifi.retrys=1"], "scenario: network.wifi.retrys"),
        (["campaign", "show", "absent"], "absent: no such directory"),
        (["campaign", "cell", "absent", "0"], "absent: no such directory"),
    ],
)
def test_wrong_input_ends_with_code_2(
    arguments: list[str], message: str, campaign_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = runner.invoke(app, [str(campaign_file) if word == "FILE" else word for word in arguments])
    assert ended.exit_code == 2
    assert message in ended.stderr
    assert ended.stdout == ""
    assert not (tmp_path / "campaigns").exists()


@pytest.mark.parametrize("prefix", ["", "zzz"])
def test_an_id_that_is_none_is_named(prefix: str, result: Campaign) -> None:
    with pytest.raises(InputError, match=r"not a cell of this campaign|begins 12 ids"):
        result.run_cell(prefix)


def test_a_cell_is_run_again_alone(result: Campaign, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def run(scenario: Path, **options: Any) -> framewire.Run:
        asked.append((scenario, options))
        options["out"].mkdir()
        return framewire.Run(options["out"], "complete")

    monkeypatch.setattr(framewire, "run", run)
    cell = result.summary.row(5, named=True)
    result.run_cell(cell["cell"][:12], out=tmp_path / "alone")
    ((scenario, options),) = asked
    said = provenance.read(tmp_path / "alone")
    assert said == f"sweep: network.wifi.retry = 0, flow.udp.mtu = 1500, repeat {cell['repeat']}"
    assert framewire.load(scenario).data["seed"] == cell["seed"]
    assert options == {"world": "simulated", "out": tmp_path / "alone", "progress": None}


def test_datasets_of_every_format_open() -> None:
    result = Campaign(REPOSITORY / "tests/golden/campaign-format-1")
    assert (result.name, result.axes, result.metrics) == (
        "golden",
        ["network.wifi.retry"],
        ["duration_s", "lost_percent"],
    )
    assert result.summary.height == 8
    assert result.frames.select(pl.len()).collect().item() == 8 * 25
    lost = result.means()["lost_percent"].to_list()
    assert lost == pytest.approx([22.0, 0.0, 0.0, 0.0])
    assert result.failures == []
    assert sorted(result.hashes) == ["flows", "frames", "summary"]


@pytest.mark.parametrize("metric", ["not_offered", "not_offered_percent", "srtt_mean_ms", "offered_b"])
def test_what_a_dataset_of_before_does_not_record_is_not_measured(metric: str) -> None:
    """And not zero: nothing says that all was offered, or that no time passed."""
    golden = REPOSITORY / "tests/golden/campaign-format-1"
    assert "not_offered" not in pl.read_parquet(golden / "summary.parquet").columns
    means = Campaign(golden).means(["lost_percent", metric])
    assert means["lost_percent_n"].to_list() == [2] * 4
    assert means[metric].to_list() == means[f"{metric}_low"].to_list() == [None] * 4
    assert means[f"{metric}_n"].to_list() == [0] * 4
    shown = CliRunner().invoke(app, ["campaign", "show", str(golden), "--metric", metric])
    rows = [line.split() for line in shown.stdout.splitlines() if {"udp", "tcp"} & {*line.split()}]
    assert shown.exit_code == 0 and len(rows) == 4, shown.output
    assert all(row[-1] == "-" for row in rows)
    as_json = CliRunner().invoke(app, ["campaign", "show", str(golden), "--metric", metric, "--json"])
    assert [row[metric] for row in json.loads(as_json.stdout)["means"]] == [None] * 4


def test_a_transport_of_before_has_the_name_of_now(tmp_path: Path) -> None:
    golden = shutil.copytree(REPOSITORY / "tests/golden/campaign-format-1", tmp_path / "golden")
    written = pl.read_parquet(golden / "summary.parquet")
    written.with_columns(pl.col("transport").replace("tcp", "better")).write_parquet(golden / "summary.parquet")
    result = Campaign(golden)
    assert {*result.summary["transport"]} == {"udp", "vtp-hybrid"}
    assert result.means("lost_percent", by="transport")["transport"].to_list() == ["udp", "vtp-hybrid"]
