"""A run that a program holds: its events, how it is stopped, its result, in both worlds."""

from __future__ import annotations

import os
import pickle
import re
import sys
import threading
import time
from pathlib import Path

import pytest

import framewire
from conftest import REPOSITORY
from framewire import InputError, Stopped, _native, content
from framewire import scenario as scenario_module
from framewire.run import WORLDS
from framewire.run_handle import Event
from framewire.stopping import StopRequest

pytestmark = pytest.mark.usefixtures("fake_emulator")


def example() -> str:
    """The program of the manual that holds a run."""
    text = (REPOSITORY / "docs/usage.md").read_text()
    (program,) = (block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "framewire.start(" in block)
    return str(program)


@pytest.mark.parametrize("world", WORLDS)
def test_the_example_of_the_manual_runs(
    world: str, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = example().replace("scenarios/quick.toml", str(scenario_file)).replace('"simulated"', f'"{world}"')
    variables: dict[str, object] = {}
    exec(program, variables)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "step preparing the movie" and said[-2] == "finished "
    run = variables["run"]
    assert isinstance(run, framewire.Run) and said[-1] == f"complete {run.directory}"
    assert run.summary["flow"].to_list() == ["udp", "tcp"]


@pytest.fixture
def long_simulation(stream: Path, tmp_path: Path) -> str:
    """A scenario of a day, which is seconds of work on any machine."""
    long = tmp_path / "long.m2v"
    long.write_bytes(stream.read_bytes() * 2_000)
    return f'name = "long"\nlimit = "1440 min"\nmovie.source = "{long}"\n[[flow]]\ntransport = "tcp"\n'


def test_a_simulation_that_is_stopped_keeps_what_there_is(long_simulation: str, tmp_path: Path) -> None:
    handle = framewire.start(long_simulation, world="simulated", out=tmp_path / "out")
    events: list[Event] = []
    for event in handle.events:
        events.append(event)
        if event.get("text") == "simulating":
            while not (tmp_path / "out.partial" / "received").exists():  # the streams have begun
                time.sleep(0.01)
            handle.stop()
    run = handle.result()
    assert (run.status, run.interrupted, run.ended_by) == ("partial", True, "interrupted")
    told = [event["event"] for event in events if event["event"] != "progress"]
    assert told[-3:] == ["started", "stopping", "finished"]
    assert events[-1]["status"] == "partial"
    assert run.results.scenario is not None and not handle.is_going_on
    handle.stop()  # it has ended: nothing happens
    assert handle.result() is run and list(handle.events) == []


@pytest.mark.parametrize("world", WORLDS)
def test_one_that_is_stopped_when_its_streams_are_over_is_complete_and_interrupted(
    world: str, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, may_go_on = threading.Event(), threading.Event()
    module = sys.modules["framewire.run"]  # the function of that name hides it
    seal = module.seal

    def sealed_late(directory: Path, **beside: object) -> None:
        over.set()
        may_go_on.wait(60)
        seal(directory, **beside)

    monkeypatch.setattr(module, "seal", sealed_late)
    handle = framewire.start(scenario_file, world=world, out=tmp_path / "out")
    assert over.wait(60)
    handle.stop()
    may_go_on.set()
    run = handle.result()
    assert (run.status, run.interrupted, run.ended_by) == ("complete", True, None)
    assert run.results.summary.height == 2


def test_a_run_in_real_time_is_stopped_from_another_thread(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "until-stopped")
    handle = framewire.start(scenario_file, out=tmp_path / "out")
    begun = threading.Event()
    threading.Thread(target=lambda: (begun.wait(60), handle.stop())).start()
    told = []
    for event in handle.events:
        told.append(event["event"])
        if event["event"] == "progress":
            begun.set()
    run = handle.result()
    assert (run.status, run.interrupted) == ("partial", True)
    assert told.count("stopping") == 1 and told[-1] == "finished"


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_that_is_stopped_before_its_streams_leaves_nothing(
    world: str, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preparing, may_go_on = threading.Event(), threading.Event()

    def prepare(scenario: framewire.Scenario, progress: content.Progress) -> content.Content:
        preparing.set()
        may_go_on.wait(60)
        progress("encoding", 0.5)
        raise AssertionError("it was stopped")

    monkeypatch.setattr(content, "prepare", prepare)
    handle = framewire.start(scenario_file, world=world, out=tmp_path / "out")
    assert preparing.wait(60)
    handle.stop()
    may_go_on.set()
    with pytest.raises(Stopped, match="nothing of it is kept"):
        handle.result()
    assert not list(tmp_path.glob("out*"))


def test_a_run_that_waits_for_what_never_comes_is_left_alone_once_it_is_stopped(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forever = threading.Event()
    monkeypatch.setattr(content, "prepare", lambda _scenario, _progress: forever.wait(60))
    handle = framewire.start(scenario_file, world="simulated", out=tmp_path / "out")
    handle.stop()
    assert [event["event"] for event in handle.events][-1] == "stopping"
    with pytest.raises(Stopped):
        handle.result()
    forever.set()


def test_an_error_of_the_program_gives_the_run_up(long_simulation: str, tmp_path: Path) -> None:
    with (
        pytest.raises(LookupError),
        framewire.start(long_simulation, world="simulated", out=tmp_path / "out") as handle,
    ):
        while not (tmp_path / "out.partial" / "received").exists():
            time.sleep(0.01)
        raise LookupError
    assert not handle.is_going_on
    # On a busy machine it is given up before it has noticed, and takes its directory away when it does.
    until = time.monotonic() + 60
    while list(tmp_path.glob("out*")) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list(tmp_path.glob("out*"))
    with pytest.raises(Stopped):
        handle.result()


def test_what_cannot_run_is_told_at_once_and_what_goes_wrong_later_with_the_result(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"flow\.0\.transport"):
        framewire.start('[[flow]]\ntransport = "quic"')
    monkeypatch.setenv("FAKE_EMULATOR", "error")
    monkeypatch.setenv("FAKE_PID", str(tmp_path / "pid"))
    handle = framewire.start(scenario_file, out=tmp_path / "out")
    with pytest.raises(framewire.RunError, match="port 5004 is in use"):
        handle.result()
    assert sorted(os.listdir(tmp_path)) == ["fake-emu", "pid", "small.toml"]


@pytest.mark.parametrize("world", WORLDS)
def test_a_scenario_is_read_once_in_a_run(
    world: str, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(text: str, *arguments: object, **options: object) -> _native.Scenario:
        read.append(text)
        return _native.Scenario.read(text, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(scenario_module, "_parse", counted)
    framewire.run(scenario_file, world=world, out=tmp_path / "out", set={"seed": 3})
    assert read == [scenario_file.read_text()]


def test_a_scenario_travels_between_processes(scenario_file: Path) -> None:
    scenario = framewire.load(scenario_file)
    assert pickle.loads(pickle.dumps(scenario)) == scenario != scenario.seeded(7)
    assert scenario.seeded(7).data == {**scenario.data, "seed": 7}
    assert scenario.lasting(1.0).data["limit"] == "64 s"


def test_a_request_is_carried_out_once_there_are_streams_and_counted() -> None:
    stop, told = StopRequest(), list[int]()
    with pytest.raises(Stopped), stop.carried_out_by(told.append):
        stop.ask()
        stop.ask()
    assert told == [1, 2] and stop.has_streams
    stop.check()
    early = StopRequest()
    early.ask()
    with pytest.raises(Stopped), early.carried_out_by(told.append):
        raise AssertionError("there is nothing to begin")
