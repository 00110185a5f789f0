"""A run of the command line in a process of its own, for tests that interrupt or kill it, and what is left below it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import machine_load
import pytest

__all__ = ["children", "descendants", "state_of", "streaming"]


@contextmanager
def streaming(
    text: str, directory: Path, seconds: float, *, report: bool = False, output: int | IO[str] = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """A run of this scenario, so many seconds after it told what is on its way; its results go to `out` there."""
    file = directory / "scenario.toml"
    file.write_text(text)
    program = [sys.executable, "-c", "from framewire.cli import main; main()"]
    command = [*program, "run", str(file), "--out", str(directory / "out"), *([] if report else ["--no-report"])]
    with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if re.match(r"streaming: .*flows? under way", line):
                break
        else:
            if "overloaded" in said:
                machine_load.too_busy(said)
            pytest.fail(f"it never streamed: {said}")
        time.sleep(seconds)
        yield process
        process.kill()


def state_of(pid: int) -> str:
    """A letter, as of ps; Z for a process that has ended, whether or not its parent has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def children(pid: int) -> list[int]:
    """Processes that this one began, whichever of its threads did."""
    return [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]


def descendants(pid: int) -> list[int]:
    """Processes below this one, at any depth."""
    return [pid for child in children(pid) for pid in [child, *descendants(child)]]
