"""The runner of the Rust tests: what fails, what a busy machine excuses, and how long a test took."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import too_busy
from conftest import script

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
        runner.run(runner.Program(crate, "all", directory, str(program)), result, machine)
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
    assert (found.failed, found.too_busy) == ([], ["emu all: 3 arrivals"])


def test_a_test_takes_the_time_from_when_one_before_it_made_room(runner: ModuleType) -> None:
    lines = [("test b ... ok\n", 1.0), ("test c ... ok\n", 3.0), ("test a ... ok\n", 7.0), ("test d ... ok\n", 8.0)]
    took = {test.name: test.ended - test.began for test in runner.timed("link all", 0.0, lines, 2)}
    assert took == {"link all a": 7.0, "link all b": 1.0, "link all c": 2.0, "link all d": 5.0}
