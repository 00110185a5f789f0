"""Runs, with a program that follows the emulator's protocol in the emulator's place."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

import framewire
from framewire import InputError, MachineError, RunError, emulator, files
from framewire.run_handle import Event

pytestmark = pytest.mark.usefixtures("fake_emulator")


def test_a_run_leaves_results_and_tells_what_happens(scenario_file: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    out = tmp_path / "result"
    result = framewire.run(scenario_file, set={"seed": 5}, out=out, progress=events.append)
    assert (result.directory, result.status, result.interrupted) == (out, "complete", False)
    assert [event["event"] for event in events[:2]] == ["step", "started"]
    assert events[1]["flows"] == ["udp", "tcp"]
    assert events[-1]["event"] == "finished"
    resolved = framewire.load(out / "scenario.toml")
    assert (resolved.name, resolved.data["seed"], resolved.data["limit"]) == ("small", 5, "64 s")
    assert sorted(os.listdir(tmp_path)) == ["fake-emu", "result", "small.toml"]


def test_results_are_named_after_scenario_and_time(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    directories = [framewire.run(scenario_file).directory for _ in range(2)]
    assert len(set(directories)) == 2
    assert all(path.parent == Path("runs") and path.name.startswith("small-20") for path in directories)
    assert sorted(os.listdir("runs")) == sorted(path.name for path in directories)


@pytest.mark.parametrize(
    ("mode", "kind", "message"),
    [
        ("error", RunError, "port 5004 is in use"),
        ("machine", MachineError, "user namespaces: not permitted"),
        ("crash", RunError, "SIGKILL"),
        ("silent-exit", RunError, "exit code 101.*panicked at line 7"),
        ("no-events", RunError, "not an event: this is not JSON"),
    ],
)
def test_a_failure_is_one_message_and_leaves_nothing(
    mode: str,
    kind: type[Exception],
    message: str,
    scenario_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", mode)
    monkeypatch.setenv("FAKE_PID", str(tmp_path / "pid"))
    with pytest.raises(kind, match=message):
        framewire.run(scenario_file, out=tmp_path / "result")
    assert sorted(os.listdir(tmp_path)) == ["fake-emu", "pid", "small.toml"]
    assert not is_alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_a_partial_result(
    number: signal.Signals, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "until-stopped")
    events: list[Event] = []

    def interrupt(event: Event) -> None:
        events.append(event)
        if event["event"] == "progress" and event["flow"] == "tcp" and event["state"] == "streaming":
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    result = framewire.run(scenario_file, out=tmp_path / "result", progress=interrupt)
    assert (result.status, result.interrupted) == ("partial", True)
    assert result.directory.is_dir()
    assert [event["event"] for event in events].count("stopping") == 1
    assert signal.getsignal(number) == before


def test_a_second_interruption_kills_and_keeps_nothing(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "deaf")
    monkeypatch.setenv("FAKE_PID", str(tmp_path / "pid"))

    def interrupt(event: Event) -> None:
        if event["event"] in ("started", "stopping"):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        framewire.run(scenario_file, out=tmp_path / "result", progress=interrupt)
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert not (tmp_path / "result.partial").exists()


def test_an_error_in_the_callers_own_code_ends_the_run(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EMULATOR", "until-stopped")
    monkeypatch.setenv("FAKE_PID", str(tmp_path / "pid"))

    def fail(event: Event) -> None:
        if event["event"] == "progress":
            raise LookupError

    with pytest.raises(LookupError):
        framewire.run(scenario_file, out=tmp_path / "result", progress=fail)
    assert not is_alive(int((tmp_path / "pid").read_text()))
    assert not (tmp_path / "result.partial").exists()


def test_a_run_works_outside_the_main_thread(scenario_file: Path, tmp_path: Path) -> None:
    results: list[framewire.Run] = []
    thread = threading.Thread(target=lambda: results.append(framewire.run(scenario_file, out=tmp_path / "result")))
    thread.start()
    thread.join(timeout=60)
    assert [result.status for result in results] == ["complete"]


def test_nothing_is_overwritten(scenario_file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "other.partial").mkdir()
    with pytest.raises(InputError, match="kept: exists already"):
        framewire.run(scenario_file, out=kept)
    with pytest.raises(InputError, match=r"other\.partial: exists already"):
        framewire.run(scenario_file, out=tmp_path / "other")
    assert list(kept.iterdir()) == []
    assert (tmp_path / "other.partial").is_dir()


def test_a_directory_that_cannot_be_made_is_named(scenario_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"small\.toml/run: cannot be made in .*small\.toml: Not a directory"):
        framewire.run(scenario_file, out=scenario_file / "run")


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "empty"), (b"no film" * 400, "film.m2v"), (None, "no such file")]
)
def test_what_is_not_a_movie_is_named(content: bytes | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "film.m2v"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=problem) as caught:
        framewire.run({"movie": {"source": path}, "flow": [{"transport": "udp"}]}, out=tmp_path / "result")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "result.partial").exists()


def test_a_schedule_after_the_movie_is_refused_once_its_length_is_known(scenario_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"network\.wire\.outages.*lasts 1 s"):
        framewire.run(scenario_file, set={"network.wire.outages": [["2 s", "3 s"]]}, out=tmp_path / "result")


def test_the_emulator_is_found_by_variable_then_package_then_path(
    fake_emulator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert emulator.find() == fake_emulator
    monkeypatch.setenv("FRAMEWIRE_EMU", str(tmp_path / "absent"))
    with pytest.raises(MachineError, match="FRAMEWIRE_EMU is .*absent"):
        emulator.find()
    monkeypatch.delenv("FRAMEWIRE_EMU")
    monkeypatch.setattr(emulator, "__file__", str(tmp_path / "package/emulator.py"))
    fake_emulator.rename(tmp_path / emulator.NAME)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert emulator.find() == tmp_path / emulator.NAME
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(MachineError, match="make setup"):
        emulator.find()
    packaged = tmp_path / "package/_bin" / emulator.NAME
    packaged.parent.mkdir(parents=True)
    (tmp_path / emulator.NAME).rename(packaged)
    assert emulator.find() == packaged


def test_a_program_that_does_not_start_is_named(scenario_file: Path, tmp_path: Path, fake_emulator: Path) -> None:
    fake_emulator.write_bytes(b"\x7fELF, but not really")
    with pytest.raises(MachineError, match="does not start"):
        framewire.run(scenario_file, out=tmp_path / "result")


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    deadline = time.monotonic() + 5
    state = ""
    while time.monotonic() < deadline:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
        if not state or state.startswith("Z"):
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("leads", ["nowhere", "loop"])
@pytest.mark.parametrize("below", ["", "run"])
def test_a_symbolic_link_that_leads_nowhere_is_refused_as_a_place(tmp_path: Path, leads: str, below: str) -> None:
    (tmp_path / "loop").symlink_to(leads)
    with pytest.raises(InputError, match="loop is a symbolic link that leads nowhere"):
        files.check_takes_files(tmp_path / "loop" / below)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a directory that takes no files of anybody")
def test_a_place_that_takes_no_files_is_refused_before_the_movie_is_made(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(*_given: object) -> None:
        raise AssertionError("too late")

    monkeypatch.setattr("framewire.content.prepare", prepare)
    with pytest.raises(InputError, match="/proc/run: cannot be made in /proc: no files can be made there"):
        framewire.run(scenario_file, out="/proc/run", world="simulated")
    with pytest.raises(AssertionError, match="too late"):
        framewire.run(scenario_file, out=tmp_path / "deep" / "run", world="simulated")
    assert not (tmp_path / "deep").exists()
