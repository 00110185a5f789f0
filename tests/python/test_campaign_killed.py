"""Campaigns that are killed, interrupted or out of room, as processes of their own."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fake_simulator
import pytest
from fake_simulator import begun

import framewire
from conftest import REPOSITORY
from framewire.campaign.results import Campaign

PROGRAM = (
    f"import sys; sys.path[:0] = [{str(REPOSITORY / 'tests/python')!r}, {str(REPOSITORY)!r}]; "
    "import fake_simulator, pytest; fake_simulator.install(pytest.MonkeyPatch()); "
    "from framewire.cli import main; main()"
)


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path | None:
    """The fake simulator, and the log of the cells that it began."""
    return fake_simulator.install(monkeypatch, tmp_path / "begun.log")


@pytest.fixture
def campaign_file(tmp_path: Path, stream: Path) -> Path:
    path = tmp_path / "kill.toml"
    path.write_text(
        f'repeats = 3\nscenario.movie.source = "{stream}"\nscenario.flow = [{{ transport = "udp" }}]\n'
        "[axes]\nnetwork.wifi.retry = [0, 1, 2, 3, 4, 8, 12, 16, 20, 24]\n"
    )
    return path


FULL_DISK = """
mount -t tmpfs -o size=$1 tmpfs "$2" || exit 77
shift 2
"$@"
"""


@pytest.mark.parametrize("size", ["4k", "40k", "400k", "560k", "600k"])
def test_a_disk_that_is_really_full(size: str, campaign_file: Path, tmp_path: Path) -> None:
    """A file system of this size, mounted where only the command sees it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [sys.executable, "-c", PROGRAM, "campaign", str(campaign_file), "--out", str(disk / "out")]
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", FULL_DISK, "-", size, str(disk)]
    ended = subprocess.run([*mounted, *command], capture_output=True, text=True)
    if ended.returncode == 77 or "unshare" in ended.stderr:
        pytest.skip("this machine does not allow mounting a file system")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    (error,) = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert "No space left on device" in error
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that does not outlive the test, whatever comes of it."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def attempts(command: list[str], out: Path, dice: random.Random) -> Iterator[None]:
    """Begins the command and kills it at a random moment after it began with its cells, until it ends by itself.

    On a machine that is so busy that nothing comes of an attempt, the next one gets more time.
    """
    longest_s, before = 0.4, 0
    while True:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if " of 30 cells" in line:
                    break
            try:
                process.wait(timeout=dice.uniform(0.0, longest_s))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        yield
        cells = len(list(out.glob("cells/*/cell.json")))
        longest_s, before = (longest_s if cells > before else 2 * longest_s), cells
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0
            return


def test_kill_dash_nine_at_any_moment_loses_and_repeats_nothing(
    campaign_file: Path, tmp_path: Path, simulator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = framewire.campaign(campaign_file, out=tmp_path / "undisturbed")
    begun(simulator)
    # Two at a time take a second and a half at the least: three moments of 0.3 s or so do not come to the end of that.
    monkeypatch.setenv("FAKE_SIMULATOR_S", "0.1")
    out = tmp_path / "killed"
    command = [sys.executable, "-c", PROGRAM, "campaign", str(campaign_file), "--out", str(out), "--jobs", "2"]
    finished: set[str] = set()
    kills = 0
    for kills, _ in enumerate(attempts(command, out, random.Random(5))):  # noqa: B007
        repeated = finished & set(begun(simulator))
        assert not repeated, f"computed before, and again: {repeated}"
        now = {path.name for path in (out / "cells").iterdir() if not path.name.endswith(".part")}
        assert finished <= now, "a finished cell was lost"
        finished = now
    assert kills >= 3, "the campaign was hardly disturbed"
    assert len(finished) == 30
    resumed = Campaign(out)
    assert resumed.hashes == undisturbed.hashes
    assert resumed.summary.drop("cell").equals(undisturbed.summary.drop("cell"))
    assert sorted(path.name for path in out.iterdir()) == [
        "campaign.json",
        "cells",
        "frames",
        "index.json",
        "lock",
        "report.html",
        "summary.parquet",
    ]
    assert not list((out / "cells").glob("*.part"))


def test_ctrl_c_stops_soon_and_the_same_command_continues(
    campaign_file: Path, tmp_path: Path, simulator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SIMULATOR_S", "0.5")  # seven seconds in all: the signal comes in time, also if it is late
    out = tmp_path / "interrupted"
    command = [sys.executable, "-c", PROGRAM, "campaign", str(campaign_file), "--out", str(out), "--jobs", "2"]
    with started(command) as process:
        while not list((out / "cells").glob("*/cell.json")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert stdout == ""
    assert "the same command continues" in stderr
    assert "Traceback" not in stderr
    kept = {path.parent.name for path in (out / "cells").glob("*/cell.json")}
    assert 1 <= len(kept) < 30
    begun(simulator)
    monkeypatch.delenv("FAKE_SIMULATOR_S")
    framewire.campaign(campaign_file, out=out)
    assert kept.isdisjoint(begun(simulator))


def test_ctrl_c_twice_does_not_wait_for_the_cells_under_way(
    campaign_file: Path, tmp_path: Path, simulator: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SIMULATOR_S", "60")
    command = [sys.executable, "-c", PROGRAM, "campaign", str(campaign_file), "--out", str(tmp_path / "out")]
    with started(command) as process:
        while not simulator.read_text() and process.poll() is None:
            time.sleep(0.02)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(2)  # two signals that a process finds at once are one
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=50)
    assert process.returncode == 130, stderr
    assert time.monotonic() - start < 30, "of the minute that the cells take"
    assert "Traceback" not in stderr
