"""Campaigns that run: what is computed and what is not, and what survives failures, kills and full disks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fake_simulator
import polars as pl
import pytest
from fake_simulator import begun

import framewire
from framewire import InputError, RunError, _native
from framewire.campaign import LocalRunner, Outcome, Task
from framewire.campaign import plan as plan_module
from framewire.campaign.results import Campaign
from framewire.campaign.store import Store


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path | None:
    """The fake simulator, and the log of the cells that it began."""
    return fake_simulator.install(monkeypatch, tmp_path / "begun.log")


@pytest.fixture
def document(stream: Path) -> dict[str, Any]:
    """Four points, two flows, three repeats."""
    return {
        "name": "small",
        "scenario": {"movie": {"source": str(stream)}, "flow": [{"transport": "udp"}, {"transport": "tcp"}]},
        "axes": {"network.wifi.retry": [0, 3], "flow.*.mtu": [1500, 1400]},
        "repeats": 3,
    }


def test_the_dataset_has_a_row_per_cell_and_flow(document: dict[str, Any], tmp_path: Path) -> None:
    result = framewire.campaign(document | {"packets": True}, out=tmp_path / "out")
    summary = result.summary
    assert summary.columns[:6] == ["cell", "network.wifi.retry", "flow.*.mtu", "repeat", "seed", "flow"]
    assert summary.height == 4 * 3 * 2
    assert summary.schema["network.wifi.retry"] == pl.Int64
    assert summary["network.wifi.retry"].to_list() == [0] * 12 + [3] * 12
    assert summary["repeat"].to_list() == [1, 1, 2, 2, 3, 3] * 4
    frames = result.frames.collect()
    assert frames.height == 24 * fake_simulator.FRAMES
    assert frames.columns[:6] == summary.columns[:6]
    assert result.packets.collect().height == 48 * fake_simulator.FRAMES
    for (cell, retry, mtu), group in frames.group_by("cell", "network.wifi.retry", "flow.*.mtu"):
        own = pl.read_parquet(tmp_path / "out" / "cells" / str(cell) / "frames.parquet")
        assert group.select(own.columns).sort("flow", "frame").equals(own.sort("flow", "frame"))
        scenario = framewire.load(tmp_path / "out" / "cells" / str(cell) / "scenario.toml").data
        assert (scenario["network"]["wifi"]["retry"], scenario["flow"][1]["mtu"]) == (retry, mtu)
    assert result.meta["cells"] | {"planned": 12, "done": 12, "failed": 0} == result.meta["cells"]
    assert result.meta["simulated_s"] == 12 * 1.25


def test_cells_are_computed_once_and_a_changed_axis_only_adds(
    document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    first = framewire.campaign(document, out=tmp_path / "out")
    assert len(begun(simulator)) == 12
    again = framewire.campaign(document, out=tmp_path / "out")
    assert begun(simulator) == []
    assert again.hashes == first.hashes
    wider = document | {"axes": {"network.wifi.retry": [0, 3, 7], "flow.*.mtu": [1500, 1400]}}
    assert framewire.campaign(wider, out=tmp_path / "out").summary.height == 36
    assert len(begun(simulator)) == 6
    back = framewire.campaign(document, out=tmp_path / "out")
    assert begun(simulator) == []
    assert back.hashes == first.hashes
    assert back.summary.equals(first.summary)
    assert framewire.campaign(document, repeats=4, out=tmp_path / "out").summary.height == 32
    assert len(begun(simulator)) == 4


def test_points_that_come_to_the_same_are_one_cell(document: dict[str, Any], tmp_path: Path, simulator: Path) -> None:
    values = [{"label": "one", "set": {"network.wifi.retry": 4}}, {"label": "default", "set": {}}]
    same = document | {"axes": {}, "axis": [{"name": "way", "values": values}]}
    result = framewire.campaign(same, out=tmp_path / "out")
    assert len(begun(simulator)) == 3
    assert result.summary["way"].to_list() == ["one"] * 6 + ["default"] * 6
    frames = result.frames.collect()
    one, default = (frames.filter(pl.col("way") == way).drop("way") for way in ("one", "default"))
    assert one.equals(default)
    assert one.height == 6 * fake_simulator.FRAMES


def test_any_number_of_jobs_gives_the_same_hash(document: dict[str, Any], tmp_path: Path) -> None:
    results = [framewire.campaign(document, out=tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2, 7)]
    assert len({json.dumps(result.hashes) for result in results}) == 1
    assert results[0].hashes.keys() == {"frames", "summary"}
    files = [sorted((tmp_path / jobs / "frames").iterdir()) for jobs in ("1", "7")]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    other = framewire.campaign(document, set={"seed": 2}, out=tmp_path / "other")
    assert all(other.hashes[table] != results[0].hashes[table] for table in other.hashes)


def test_the_hash_does_not_depend_on_the_build(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = framewire.campaign(document, out=tmp_path / "before")
    monkeypatch.setattr(plan_module, "program_fingerprint", lambda: "a rebuilt simulator")
    after = framewire.campaign(document, out=tmp_path / "after")
    assert set(before.summary["cell"]).isdisjoint(after.summary["cell"])
    assert before.hashes == after.hashes


@pytest.mark.parametrize(("retry", "reason"), [(13, "bad luck"), (14, "panicked: index")])
def test_a_cell_that_fails_stops_no_other(
    retry: int, reason: str, document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    broken = document | {"axes": {"network.wifi.retry": [retry, 3]}, "repeats": 2}
    result = framewire.campaign(broken, out=tmp_path / "out")
    assert result.summary["network.wifi.retry"].to_list() == [3] * 4
    assert len(result.failures) == 2
    for failure in result.failures:
        assert reason in failure.reason
        assert f"network.wifi.retry = {retry}" in failure.place
        assert reason in failure.scenario.read_text()
        assert framewire.load(failure.scenario).data["network"]["wifi"]["retry"] == retry
    begun(simulator)
    framewire.campaign(broken, out=tmp_path / "out")
    assert sorted(begun(simulator)) == sorted(failure.cell for failure in result.failures), "tried again, alone"


def test_a_cell_that_is_repaired_is_no_failure_any_more(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = document | {"axes": {"network.wifi.retry": [13]}, "repeats": 1}
    failed = framewire.campaign(broken, out=tmp_path / "out")
    assert failed.hashes == {}
    with pytest.raises(InputError, match="none of its cells"):
        _ = failed.summary
    monkeypatch.setattr(fake_simulator, "_misbehave", lambda _document: None)
    repaired = framewire.campaign(broken, out=tmp_path / "out")
    assert repaired.failures == []
    assert not failed.failures[0].scenario.exists()
    assert repaired.summary.height == 2


def test_a_flow_that_broke_is_told_and_the_cell_is_kept(
    document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    broken = document | {"axes": {"network.wifi.retry": [17, 3]}, "repeats": 1}
    result = framewire.campaign(broken, out=tmp_path / "out")
    (failure,) = result.failures
    assert failure.reason == "flow tcp: the connection timed out"
    assert framewire.load(failure.scenario).data["network"]["wifi"]["retry"] == 17
    assert result.summary.height == 4
    begun(simulator)
    assert framewire.campaign(broken, out=tmp_path / "out").failures == [failure]
    assert begun(simulator) == []


@pytest.mark.parametrize("retry", [15, 18])
def test_a_full_disk_stops_with_one_message_and_loses_nothing(
    retry: int, document: dict[str, Any], tmp_path: Path, simulator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = document | {"axes": {"network.wifi.retry": [3, retry, 5]}}
    with pytest.raises(RunError, match=r"No space left on device.*1 of 9 cells are finished and kept.*continues"):
        framewire.campaign(full, out=tmp_path / "out", jobs=1)
    assert len(begun(simulator)) < 9
    monkeypatch.setattr(fake_simulator, "_misbehave", lambda _document: None)
    assert framewire.campaign(full, out=tmp_path / "out").summary.height == 18
    assert len(begun(simulator)) == 8


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), pl.exceptions.ComputeError("parquet: transport error")], ids=repr
)
def test_a_disk_that_fills_while_the_tables_are_put_together(
    error: Exception, document: dict[str, Any], tmp_path: Path, simulator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        raise error

    with monkeypatch.context() as full:
        full.setattr(pl.DataFrame, "write_parquet", refuse)
        full.setattr(_native, "simulate_cell", _copy_of_a_cell)
        with pytest.raises(RunError, match="cannot write the results: .*12 of 12 cells are finished and kept"):
            framewire.campaign(document, out=tmp_path / "out")
    unfinished = Campaign(tmp_path / "out")
    assert (unfinished.finished, unfinished.meta["cells"]["done"], unfinished.hashes) == (False, 12, {})
    begun(simulator)
    assert framewire.campaign(document, out=tmp_path / "out").summary.height == 12 * 7
    assert begun(simulator) == []


def _copy_of_a_cell(_scenario: object, _movie: object, directory: str, **_kept: object) -> str:
    for name in ("frames", "summary"):
        (Path(directory) / f"{name}.parquet").write_bytes((fake_simulator.GOLDEN / f"{name}.parquet").read_bytes())
    return json.dumps({"hashes": {"frames": "0", "summary": "0"}, "simulated_s": 1.0})


def test_a_table_that_is_damaged_and_has_no_checksum_is_named(document: dict[str, Any], tmp_path: Path) -> None:
    """As cells have none that an earlier version computed."""
    first = framewire.campaign(document, out=tmp_path / "out")
    table = tmp_path / "out" / "cells" / first.summary["cell"][7] / "frames.parquet"
    described = json.loads(table.with_name("cell.json").read_text())
    del described["checksums"]
    table.with_name("cell.json").write_text(json.dumps(described | {"format": 1}))
    table.write_bytes(bytes(table.stat().st_size))
    (tmp_path / "out" / "campaign.json").unlink()
    with pytest.raises(RunError, match=f"{table}: damaged: .*the same command computes it again"):
        framewire.campaign(document, out=tmp_path / "out")


def test_a_cell_that_lost_its_contents_is_computed_again(
    document: dict[str, Any], tmp_path: Path, simulator: Path
) -> None:
    first = framewire.campaign(document, out=tmp_path / "out")
    emptied, cut, gone = first.summary["cell"].unique(maintain_order=True)[:3]
    cells = tmp_path / "out" / "cells"
    (cells / emptied / "frames.parquet").write_bytes(b"")
    (cells / cut / "cell.json").write_text((cells / cut / "cell.json").read_text()[:50])
    (cells / gone / "summary.parquet").unlink()
    (tmp_path / "out" / "campaign.json").unlink()
    begun(simulator)
    again = framewire.campaign(document, out=tmp_path / "out")
    assert sorted(begun(simulator)) == sorted([emptied, cut, gone])
    assert again.summary.equals(first.summary)


def test_two_processes_do_not_run_one_campaign(document: dict[str, Any], tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    with (
        store.locked(),
        pytest.raises(RunError, match=f"another process works on this campaign: process {os.getpid()}"),
    ):
        framewire.campaign(document, out=tmp_path / "out")
    framewire.campaign(document, out=tmp_path / "out")


def test_a_directory_of_something_else_is_refused(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-mother.txt").touch()
    with pytest.raises(InputError, match="not the directory of a campaign"):
        framewire.campaign(document, out=tmp_path / "letters")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be made"):
        framewire.campaign(document, out=tmp_path / "file")


def test_another_engine_may_compute_the_cells(document: dict[str, Any], tmp_path: Path) -> None:
    """Tasks and outcomes are pure data: they survive the way to another machine."""
    import pickle

    class Elsewhere:
        jobs = 2

        def run(self, tasks: Sequence[Task], on_done: Any) -> None:
            for task in reversed(tasks):
                outcome = framewire_compute(pickle.loads(pickle.dumps(task)))
                on_done(pickle.loads(pickle.dumps(outcome)))

    from framewire.campaign import compute as framewire_compute

    there = framewire.campaign(document, out=tmp_path / "there", runner=Elsewhere())
    here = framewire.campaign(document, out=tmp_path / "here")
    assert there.hashes == here.hashes


def test_all_settings_are_computed_once_before_one_is_repeated(document: dict[str, Any], tmp_path: Path) -> None:
    order: list[int] = []

    class InOrder:
        jobs = 1

        def run(self, tasks: Sequence[Task], on_done: Any) -> None:
            order.extend(task.scenario.seed for task in tasks)

    framewire.campaign(document | {"repeats": 3}, out=tmp_path / "out", runner=InOrder())
    assert len(order) == 12
    assert len(set(order)) == 3, "a repeat has its seed, which all settings share"
    assert order == [seed for seed in dict.fromkeys(order) for _ in range(4)]


def test_the_runner_begins_nothing_more_once_it_is_told_to_stop(
    tmp_path: Path, simulator: Path, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SIMULATOR_S", "0.05")  # five seconds in all, if it went on
    scenario = framewire.load({"flow": [{"transport": "udp"}]}).parsed
    tasks = [Task(f"{n}", scenario, str(stream), "its digest", str(tmp_path / f"{n}.part")) for n in range(200)]
    seen: list[Outcome] = []

    def stop(outcome: Outcome) -> None:
        seen.append(outcome)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalRunner(2).run(tasks, stop)
    assert len(seen) == 1
    assert 1 <= len(begun(simulator)) < 200


def test_progress_counts_every_cell(document: dict[str, Any], tmp_path: Path) -> None:
    framewire.campaign(document, repeats=1, out=tmp_path / "out")
    events: list[dict[str, Any]] = []
    framewire.campaign(document, out=tmp_path / "out", progress=events.append)
    cells = [event for event in events if event["event"] == "cells"]
    assert [event["computed"] for event in cells] == list(range(9))
    assert {event["found"] for event in cells} == {4}
    assert {event["cells"] for event in cells} == {12}
    assert cells[-1]["simulated_s"] == 8 * 1.25
