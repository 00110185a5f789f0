"""A test of real time on a machine that is too busy says so and is counted; on another one it fails as any test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import too_busy
from conftest import REPOSITORY

BUSY = 10**6
"""Programs of which no machine has enough processors."""

TESTS = """
import subprocess
import sys
import time
import pytest
import too_busy

too_busy.running = lambda: RUNNING

@pytest.mark.real_time
@pytest.mark.parametrize("number", range(NUMBER))
def test_in_real_time(number):
    time.sleep(3 * too_busy.EVERY_S)
    BODY

def test_says_so(): pytest.skip(f"{too_busy.WORDS}: its run was disturbed")
"""


LATE = 'assert False, "it came late"'


def outcome(
    directory: Path,
    running: int,
    number: int = 1,
    again: str = "",
    what: str = "",
    workers: int = 0,
    body: str = LATE,
) -> tuple[str, int]:
    """What pytest says of tests of real time that fail while so many programs want to run, and how it ends."""
    (directory / "test_them.py").write_text(
        TESTS.replace("RUNNING", str(running)).replace("NUMBER", str(number)).replace("BODY", body)
    )
    (directory / "pytest.ini").write_text("[pytest]\nmarkers = real_time\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        f"-n{workers}",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        what or str(directory),
    ]
    environment = {
        **os.environ,
        too_busy.AGAIN: again,
        "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=directory, timeout=120)
    return ended.stdout, ended.returncode


def test_a_failure_in_real_time_on_a_busy_machine_is_counted(tmp_path: Path) -> None:
    said, code = outcome(tmp_path, BUSY)
    assert code == 0 and "2 skipped" in said
    assert f"{too_busy.WORDS}: 2 tests" in said and "programs per processor wanted to run" in said
    assert "its run was disturbed" in said


def test_a_failure_in_real_time_on_another_machine_is_one(tmp_path: Path) -> None:
    said, code = outcome(tmp_path, 1)
    assert code == 1 and "1 failed, 1 skipped" in said and "it came late" in said
    assert f"{too_busy.WORDS}: 1 tests" in said, "the one that says so itself"


@pytest.mark.parametrize(
    ("body", "excused"),
    [
        ("took_s = 9; assert took_s < 1", True),
        ("raise TimeoutError", True),
        ('subprocess.run([sys.executable, "-c", "while True: pass"], timeout=0.1)', True),
        ('pytest.fail("it took too long")', True),
        ('assert {"frames": 3} == {"frames": 4}', False),
        ('raise KeyError("frames")', False),
        ('print("thread panicked at src/a.rs:1"); took_s = 9; assert took_s < 1', False),
        ('subprocess.run([sys.executable, "-c", "late"], check=True); took_s = 9', False),
    ],
)
def test_only_what_is_about_time_is_excused(body: str, excused: bool, tmp_path: Path) -> None:
    said, code = outcome(tmp_path, BUSY, body=body)
    assert (code, "2 skipped" in said) == ((0, True) if excused else (1, False)), said
    if not excused:
        assert outcome(tmp_path, BUSY, body=body, again=str(tmp_path / "again"))[1] == 0, "it is run again alone"


@pytest.mark.parametrize(("more", "code"), [(-1, 0), (0, 1)])
def test_too_many_are_a_failure(tmp_path: Path, more: int, code: int) -> None:
    said, ended = outcome(tmp_path, BUSY, number=too_busy.BOUND + more)
    assert ended == code
    assert ("too little was tested" in said) == bool(code)


@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_run_again_is_not_counted_before_and_fails_alone(tmp_path: Path, workers: int) -> None:
    """So a defect does not hide behind a busy machine, however many there are."""
    number = too_busy.BOUND + 1
    again = tmp_path / "again"
    said, code = outcome(tmp_path, BUSY, number, str(again), workers=workers)
    assert code == 0 and f"{too_busy.WORDS}: {number + 1} tests, to be run again alone" in said
    listed = (again / "python").read_text().splitlines()
    assert len(listed) == len(set(listed)) == number + 1 and all("test_them.py::test_" in line for line in listed)
    said, code = outcome(tmp_path, 1, number, what=f"@{again / 'python'}")
    assert code == 1 and f"{number} failed, 1 skipped" in said and "it came late" in said
    said, code = outcome(tmp_path, BUSY, number, what=f"@{again / 'python'}")
    assert code == 1 and "too little was tested" in said, "what the machine is still too busy for is counted"


def test_what_runs_is_counted() -> None:
    """Two programs that never wait; others may be there."""
    count = 2
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        with too_busy.Machine() as machine:
            began = time.monotonic()
            time.sleep(1)
            ended = time.monotonic()
            time.sleep(2 * too_busy.EVERY_S)
        counted = [count for at, count in machine.seen if began <= at <= ended]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert len(counted) >= 3 and sum(counted) / len(counted) >= count - 0.5, counted
    assert machine.reason(ended + 60, ended + 61) is None, "nothing was seen then"


def test_what_tests_tell_themselves_is_found_in_what_they_print() -> None:
    said = f"{too_busy.WORDS}\n---- a::b stdout ----\n{too_busy.WORDS}: 3 arrivals\nno {too_busy.WORDS} here\n"
    assert too_busy.reasons_in(said) == [("", ""), ("a::b", "3 arrivals")]
