"""Run directories: the golden ones are read, and what is not a run is refused with one clear message."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import framewire
from framewire.errors import InputError
from framewire.results import FORMAT_VERSION, TABLES, RunDirectory

GOLDEN = Path(__file__).parents[1] / "golden"
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "results.md"
FLOWS = ["udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of a golden run, to be damaged."""
    return Path(shutil.copytree(GOLDEN / "format-1", tmp_path / "run"))


def refusal(path: Path, table: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        opened = RunDirectory(path)
        if table is not None:
            opened.table(table)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_every_version_of_the_format_has_a_golden_run_that_is_read(version: int) -> None:
    run = RunDirectory(GOLDEN / f"format-{version}")
    assert run.meta["format"] == version
    for name in TABLES:
        assert run.table(name).height > 0
    assert set(run.frames["track"]) == {0}, "all that older versions wrote is video"


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_the_golden_run_tells_what_it_told_when_it_was_written(version: int) -> None:
    run = RunDirectory(GOLDEN / f"format-{version}")
    assert (run.status, run.meta["movie"]["frames"]) == ("complete", 18)
    assert run.summary["flow"].to_list() == FLOWS
    fates = run.summary.select("flow", "shown", "late", "undecodable", "lost").rows()
    assert {row[0]: row[1:] for row in fates} == {
        "udp-blocking": (18, 0, 0, 0),
        "udp": (1, 0, 1, 16),
        "udp-whole": (1, 0, 6, 11),
        "udp+ifd": (9, 0, 0, 9),
        "tcp": (18, 0, 0, 0),
        "tcp+ifd": (16, 0, 0, 2),
        "tcp+ifd-optimised": (16, 0, 0, 2),
    }
    assert run.frames.height == 18 * len(FLOWS)
    assert 'transport = "tcp+ifd"' in run.scenario


def ended_early(path: Path, **description: object) -> RunDirectory:
    """The golden run of format 4 as if its stream over TCP had ended before frame 12, where frame 11 was lost."""
    shutil.copytree(GOLDEN / "format-4", path)
    meta = json.loads((path / "run.json").read_text()) | {"status": "partial", "ended_by": "time limit", **description}
    (path / "run.json").write_text(json.dumps(meta))
    tcp, left = pl.col("flow") == "tcp", pl.col("frame") >= 12
    lost = tcp & (pl.col("frame") >= 11)
    values = {"fate": "lost", "root_cause": "run ended", "root_cause_place": "sender-pipeline", "complete": False}
    frames = pl.read_parquet(path / "frames.parquet").with_columns(
        *(pl.when(lost).then(pl.lit(value)).otherwise(name).alias(name) for name, value in values.items()),
        pl.when(tcp & left).then(None).otherwise("offered_ns").alias("offered_ns"),
    )
    frames.write_parquet(path / "frames.parquet")
    kinds = frames.filter(lost)["type"].to_list()
    counts = {"shown": 11, "lost": 7, "lost_sender_pipeline": 7, "frame_runs_1": 0, "frame_runs_5_10": 1}
    counts |= {f"lost_{kind.lower()}": kinds.count(kind) for kind in "IPB"}
    summary = pl.read_parquet(path / "summary.parquet").with_columns(
        pl.when(tcp).then(pl.lit(count, pl.Int32)).otherwise(name).alias(name) for name, count in counts.items()
    )
    summary.write_parquet(path / "summary.parquet")
    return RunDirectory(path)


def test_what_an_earlier_version_called_lost_because_the_run_ended_was_not_offered(tmp_path: Path) -> None:
    run = ended_early(tmp_path / "early")
    tcp = run.frames.filter(pl.col("flow") == "tcp")
    assert tcp["fate"].to_list() == ["shown"] * 11 + ["lost"] + ["not offered"] * 6
    assert tcp.filter(pl.col("fate") == "not offered")["root_cause"].null_count() == 6
    row = run.summary.row(by_predicate=pl.col("flow") == "tcp", named=True)
    assert (row["frames"], row["offered"], row["not_offered"], row["lost"]) == (18, 12, 6, 1)
    assert row["lost_sender_pipeline"] == 1
    assert (row["frame_runs_1"], row["frame_runs_5_10"]) == (1, 0)
    for kind in "ipb":
        of_kind = tcp.filter((pl.col("type") == kind.upper()) & (pl.col("frame") < 12))
        assert row[f"offered_{kind}"] == of_kind.height
        assert row[f"lost_{kind}"] == of_kind.filter(pl.col("fate") == "lost").height
    others = run.summary.filter(pl.col("flow") != "tcp")
    untouched = RunDirectory(GOLDEN / "format-4").summary.filter(pl.col("flow") != "tcp")
    assert others.select(untouched.columns).equals(untouched) and others["not_offered"].sum() == 0


@pytest.mark.parametrize(
    "description", [{"status": "complete"}, {"ended_by": None, "flows": [{"name": "tcp", "failure": "reset"}]}]
)
def test_what_a_flow_did_not_send_for_another_reason_stays_lost(description: dict[str, Any], tmp_path: Path) -> None:
    run = ended_early(tmp_path / "early", **description)
    assert "not offered" not in run.frames["fate"]
    row = run.summary.row(by_predicate=pl.col("flow") == "tcp", named=True)
    assert (row["offered"], row["not_offered"], row["lost"]) == (18, 0, 7)


def test_where_the_ledger_is_gone_nothing_is_known_of_what_was_offered(tmp_path: Path) -> None:
    run = ended_early(tmp_path / "early")
    (run.path / "frames.parquet").unlink()
    summary = run.summary
    columns = [name for name in summary.columns if "offered" in name]
    assert {*columns} == {"offered", "offered_i", "offered_p", "offered_b", "not_offered"}
    assert summary.select(columns).null_count().row(0) == (summary.height,) * 5
    assert summary.row(by_predicate=pl.col("flow") == "tcp", named=True)["lost"] == 7, "as it was written"


def test_summary_and_ledger_agree() -> None:
    run = RunDirectory(GOLDEN / "format-1")
    for row in run.summary.iter_rows(named=True):
        ledger = run.frames.filter(pl.col("flow") == row["flow"])
        fates = dict(ledger.group_by("fate").len().iter_rows())
        assert sum(fates.values()) == row["frames"]
        assert fates == {fate: row[fate] for fate in ("shown", "late", "undecodable", "lost") if row[fate]}


def test_tables_have_the_columns_and_types_that_the_documentation_lists() -> None:
    run = RunDirectory(GOLDEN / f"format-{FORMAT_VERSION}")
    types = {"string": pl.String, "int32": pl.Int32, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}
    for name in TABLES:
        section = DOCUMENTATION.read_text().split(f"\n## {name}.parquet\n")[1].split("\n## ")[0]
        rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
        documented = [(column.strip(" `"), row[1].strip()) for row in rows for column in row[0].split(",")]
        table = run.table(name)
        assert table.columns == [column for column, _ in documented]
        for column, kind in documented:
            assert table.schema[column] == types[kind.rstrip("?")], f"{name}.{column}"
            assert kind.endswith("?") or table[column].null_count() == 0, f"{name}.{column} is never null"


def test_tables_carry_the_version_of_the_format() -> None:
    for version in range(1, FORMAT_VERSION + 1):
        for name in TABLES:
            metadata = pl.read_parquet_metadata(GOLDEN / f"format-{version}" / f"{name}.parquet")
            assert metadata["framewire.format"] == str(version)


def test_connections_are_summed_up_as_their_samples_say() -> None:
    run = RunDirectory(GOLDEN / "format-2")
    for row in run.summary.iter_rows(named=True):
        samples = run.flows.filter(pl.col("flow") == row["flow"])
        assert row["retransmissions"] == samples["retransmissions"].max()
        assert row["timeouts"] == samples["timeouts"].max()
        mean = samples["srtt_ns"].mean()
        assert (row["srtt_mean_ms"] is None) == (mean is None) == row["flow"].startswith("udp")
        if mean is not None:
            assert row["srtt_mean_ms"] == pytest.approx(mean / 1e6)


def test_a_table_is_read_once() -> None:
    run = RunDirectory(GOLDEN / "format-1")
    assert run.frames is run.frames


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere") == f"{tmp_path / 'nowhere'}: does not exist"
    file = tmp_path / "movie.m2v"
    file.write_bytes(b"\0")
    assert refusal(file) == f"{file}: not a run directory but a file"
    assert refusal(tmp_path) == f"{tmp_path}: not a run directory: it has no run.json"


def test_a_newer_format_is_refused_and_says_so(run: Path) -> None:
    meta = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(meta | {"format": FORMAT_VERSION + 1}))
    newer = f"format {FORMAT_VERSION + 1}, this one reads up to {FORMAT_VERSION}"
    assert refusal(run) == f"{run}: written by a newer framewire: {newer}"


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "1"}', '{"format": 0}', '{"format": true}', "null"])
def test_a_description_without_a_format_is_refused(run: Path, text: str) -> None:
    (run / "run.json").write_text(text)
    assert refusal(run) == f"{run / 'run.json'}: does not say its format (a whole number from 1)"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_a_damaged_description_is_refused(run: Path, content: bytes) -> None:
    (run / "run.json").write_bytes(content)
    assert refusal(run).startswith(f"{run / 'run.json'}: cannot be read: ")


def test_a_missing_table_is_named_and_the_others_are_read(run: Path) -> None:
    (run / "packets.parquet").unlink()
    assert refusal(run, "packets") == f"{run}: has no packets.parquet"
    assert RunDirectory(run).frames.height > 0


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"not a table at all"])
def test_a_damaged_table_is_named(run: Path, damage: bytes) -> None:
    (run / "frames.parquet").write_bytes(damage)
    assert refusal(run, "frames").startswith(f"{run / 'frames.parquet'}: cannot be read as a table: ")


def test_a_truncated_table_is_named(run: Path) -> None:
    file = run / "summary.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    assert refusal(run, "summary").startswith(f"{file}: cannot be read as a table: ")


def test_an_unknown_table_is_refused_with_what_is_allowed(run: Path) -> None:
    assert (
        refusal(run, "frame")
        == "frame: not a table of a run; allowed are frames, packets, flows, accuracy, summary, rtcp, as_decoded"
    )


def test_a_missing_scenario_is_named(run: Path) -> None:
    (run / "scenario.toml").unlink()
    with pytest.raises(InputError, match="has no scenario.toml"):
        _ = RunDirectory(run).scenario


def test_a_directory_with_pattern_characters_in_its_name_is_read(run: Path) -> None:
    odd = run.rename(run.with_name("run [6 Mbit*s]"))
    assert RunDirectory(odd).frames.height > 0


def test_a_flipped_bit_in_a_run_is_named(tmp_path: Path, stream: Path) -> None:
    """In anything of it that is read again."""
    draw = random.Random(5)
    scenario = {"movie": {"source": str(stream)}, "flow": [{"transport": "tcp"}]}
    run = framewire.run(scenario, world="simulated", out=tmp_path / "run").directory
    names = ["run.json", "scenario.toml", *(f"{name}.parquet" for name in TABLES), "received/tcp.m2v"]
    for name in names * 3:
        file = run / name
        whole = bytearray(file.read_bytes())
        place = draw.randrange(len(whole) * 8)
        changed = whole.copy()
        changed[place // 8] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(InputError, match=r"damaged|cannot be read|format"):
            results = RunDirectory(run)
            results.check(file)
            _ = results.scenario if name == "scenario.toml" else results.table(file.stem)
        file.write_bytes(whole)
    assert {table: RunDirectory(run).table(table).height for table in TABLES}["frames"] > 0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("flows", [{"name": [[]]}], "a list of tables, each with a text as `name`"),
        ("kernel", "NaN", "allowed is a table"),
        ("movie", 7, "allowed is a table"),
        ("interference", [[1, "x"]], "pairs of seconds"),
        ("status", {"a": "b" * 200}, "allowed is a text"),
    ],
)
def test_a_description_of_another_shape_is_refused_by_key_and_value(
    key: str, value: object, said: str, run: Path
) -> None:
    described = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(described | {key: value}))
    message = refusal(run)
    assert message.startswith(f"{run / 'run.json'}: {key}: ") and said in message and len(message) < 400


@pytest.mark.parametrize(
    ("name", "column", "changed", "said"),
    [
        ("flows", "at_ns", pl.lit(None, pl.Int64), "at_ns has rows without a value"),
        (
            "summary",
            "packet_throughput_bps",
            pl.lit("x"),
            "packet_throughput_bps is of type String; numbers are needed",
        ),
        ("frames", "complete", pl.lit(1), "complete is of type Int32; true and false are needed"),
        ("frames", "fate", pl.lit(1), "fate is of type Int32; texts are needed"),
    ],
)
def test_a_table_of_other_columns_is_refused_by_column(
    name: str, column: str, changed: pl.Expr, said: str, run: Path
) -> None:
    file = run / f"{name}.parquet"
    pl.read_parquet(file).with_columns(changed.alias(column)).write_parquet(file)
    assert said in refusal(run, name)
