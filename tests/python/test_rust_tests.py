"""The runner of the Rust tests: what fails, what a busy machine excuses, and how long a test took."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import too_busy
from conftest import REPOSITORY, script

BUSY = 10**6
"""Programs of which no machine has enough processors."""


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    return script("rust-tests")


def outcome(runner: ModuleType, crate: str, directory: Path, said: str, code: int) -> Any:
    """What a test program that says this and ends so comes to."""
    program = directory / "all"
    program.write_text(f"#!/bin/sh\nsleep 0.5\ncat <<'END'\n{said}END\nexit {code}\n")
    program.chmod(0o755)
    result = runner.Outcome()
    with too_busy.Machine() as machine:
        runner.run(runner.Program(crate, "all", directory, str(program)), result, machine, 2)
    return result


FAILING = "test a::one ... ok\ntest a::two ... FAILED\n"


@pytest.mark.parametrize(
    ("crate", "running", "failed", "busy"),
    [("gst", BUSY, [], 1), ("gst", 1, ["gst all"], 0), ("link", BUSY, ["link all"], 0)],
)
def test_only_a_busy_machine_excuses_and_only_in_real_time(
    runner: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    crate: str,
    running: int,
    failed: list[str],
    busy: int,
) -> None:
    monkeypatch.setattr(too_busy, "running", lambda: running)
    found = outcome(runner, crate, tmp_path, FAILING, 101)
    assert (found.failed, len(found.too_busy)) == (failed, busy)
    assert [(test.name, test.failed) for test in found.tests] == [
        (f"{crate} all a::one", False),
        (f"{crate} all a::two", True),
    ]


def test_a_program_that_crashes_has_failed_on_any_machine(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(too_busy, "running", lambda: BUSY)
    assert outcome(runner, "gst", tmp_path, "test a::one ... ok\n", 134).failed == ["gst all"]


def test_what_a_test_says_of_a_busy_machine_is_counted(runner: ModuleType, tmp_path: Path) -> None:
    said = f"test a::one ... ok\nsuccesses:\n---- a::one stdout ----\n{too_busy.WORDS}: 3 arrivals\n"
    found = outcome(runner, "emu", tmp_path, said, 0)
    assert (found.failed, found.too_busy) == ([], [("emu all a::one", "3 arrivals")])


def test_only_the_tests_of_a_list_are_run_again(runner: ModuleType, tmp_path: Path) -> None:
    """A line without a test means all of its program."""
    programs = []
    for crate in ("emu", "gst", "sockets"):
        program = tmp_path / crate
        program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/{crate}.said\n')
        program.chmod(0o755)
        programs.append(runner.Program(crate, "all", tmp_path, str(program)))
    result = runner.Outcome()
    with too_busy.Machine() as machine:
        runner.run_again(programs, ["gst all b::two", "gst all a::one", "emu all", "emu gone c"], result, machine)
    options = "--show-output --test-threads=1"
    assert (tmp_path / "gst.said").read_text() == f"{options} --exact a::one b::two\n"
    assert (tmp_path / "emu.said").read_text() == f"{options}\n"
    assert not (tmp_path / "sockets.said").exists()
    assert result.failed == ["emu gone is no longer there"], "what was to be run and cannot be is told"


def test_nothing_is_run_again_without_a_list(tmp_path: Path) -> None:
    command = [sys.executable, REPOSITORY / "scripts/rust-tests", "--again", tmp_path / "none"]
    environment = {**os.environ, "CARGO": "/nothing/is/built"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert ended.returncode == 0 and f"{too_busy.WORDS}: 0 tests" in ended.stdout


@pytest.mark.parametrize("for_python", [True, False])
def test_only_what_is_asked_for_is_built(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, for_python: bool
) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text(f"#!/bin/sh\necho $@ > {tmp_path}/said\n")
    cargo.chmod(0o755)
    monkeypatch.setattr(runner, "CARGO", str(cargo))
    assert list(runner.built(for_python)) == []
    words = (tmp_path / "said").read_text().split()
    excluded = {word.partition("=framewire-")[2] for word in words if word.startswith("--exclude=")}
    expected = (
        {"benches"} if for_python else {"benches", "emu", "endpoint", "gst", "kernel", "python", "real", "sockets"}
    )
    assert excluded | {"gst"} == expected | {"gst"}
    assert ("--example=lane" in words) == for_python


def is_there(process: int) -> bool:
    """Whether a process is more than an entry that nobody asked for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_cargo_and_its_compilers_end_with_it(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    cargo = tmp_path / "cargo"
    cargo.write_text(f"#!/bin/sh\nsleep 60 &\necho $$ $! > {pids}.new && mv {pids}.new {pids}\nwait\n")
    cargo.chmod(0o755)
    command = [sys.executable, REPOSITORY / "scripts/rust-tests", "--build"]
    with subprocess.Popen(command, env={**os.environ, "CARGO": str(cargo)}) as process:
        deadline = time.monotonic() + 60
        while not pids.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        started = [int(pid) for pid in pids.read_text().split()]
        assert len(started) == 2 and all(map(is_there, started)), "they run until then"
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    while any(map(is_there, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_there, started))


CARGO = """#!/bin/sh
artifact() {
  echo '{"reason": "compiler-artifact", "profile": {"test": true}, "manifest_path": "'$1'/Cargo.toml",'\
       '"target": {"name": "all"}, "executable": "'$2'"}'
}
artifact DIRECTORY/link DIRECTORY/computing
artifact DIRECTORY/sockets DIRECTORY/waiting
"""


def builder(directory: Path, rest: str) -> tuple[list[str | Path], dict[str, str]]:
    """How the script is called with a cargo that tells of two test programs, and then does the rest."""
    for name in ("computing", "waiting"):
        (directory / name).write_text(f"#!/bin/sh\ntouch {directory}/{name}.began\nexec sleep $TAKES\n")
    (directory / "cargo").write_text(CARGO.replace("DIRECTORY", str(directory)) + rest)
    for name in ("computing", "waiting", "cargo"):
        (directory / name).chmod(0o755)
    for crate in ("link", "sockets"):
        (directory / crate).mkdir()
    command = [sys.executable, REPOSITORY / "scripts/rust-tests", "--no-documentation"]
    return command, {**os.environ, "CARGO": str(directory / "cargo")}


def test_what_computes_runs_while_the_rest_is_compiled(tmp_path: Path) -> None:
    """And what waits for clocks when nothing is compiled any more."""
    rest = f"while [ ! -e {tmp_path}/computing.began ]; do sleep 0.05; done\n[ ! -e {tmp_path}/waiting.began ]\n"
    command, environment = builder(tmp_path, rest)
    ended = subprocess.run(command, capture_output=True, text=True, env={**environment, "TAKES": "0"}, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "waiting.began").exists()
    assert "link all" in ended.stdout and "sockets all" in ended.stdout


def test_what_was_started_ends_where_something_does_not_compile(tmp_path: Path) -> None:
    rest = f"while [ ! -e {tmp_path}/computing.began ]; do sleep 0.05; done\nexit 101\n"
    command, environment = builder(tmp_path, rest)
    ended = subprocess.run(command, capture_output=True, env={**environment, "TAKES": "50"}, timeout=40)
    assert ended.returncode == 101
    assert not (tmp_path / "waiting.began").exists()


def test_a_test_takes_the_time_from_when_one_before_it_made_room(runner: ModuleType) -> None:
    lines = [("test b ... ok\n", 1.0), ("test c ... ok\n", 3.0), ("test a ... ok\n", 7.0), ("test d ... ok\n", 8.0)]
    took = {test.name: test.ended - test.began for test in runner.timed("link all", 0.0, lines, 2)}
    assert took == {"link all a": 7.0, "link all b": 1.0, "link all c": 2.0, "link all d": 5.0}


def test_what_asks_other_programs_is_left_out_where_that_is_wanted(runner: ModuleType, tmp_path: Path) -> None:
    for crate, files in runner.COMPARED.items():
        tests = REPOSITORY / "crates" / crate / "tests"
        asking = {
            path.stem
            for path in tests.glob("*.rs")
            if any(word in path.read_text() for word in ("ffmpeg::", "Command", "programs::", "capture::", "kernel-6"))
        }
        assert set(files) <= asking, crate
    all_of_wire = runner.Program("wire", "all", tmp_path, "")
    assert "--skip=dissector::" in runner.without_comparisons(all_of_wire)
    assert runner.without_comparisons(all_of_wire._replace(name="framewire_wire")) == []
    assert runner.without_comparisons(all_of_wire._replace(crate="units")) == []
