"""The simulated world and campaigns on systems that are not Unix: without ``fcntl``, with a lock as Windows has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from framewire import lock

WITHOUT_UNIX = '''
import errno, fcntl, os, subprocess, sys, types  # subprocess would take msvcrt for Windows

real = fcntl.lockf
for module in ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty"):
    sys.modules[module] = None  # importing it fails, as it does elsewhere

msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.LK_UNLCK = 2, 0

def locking(descriptor, mode, length):
    """A range of bytes from the file's position on, refused at once where another process has it."""
    try:
        real(descriptor, 8 if mode == 0 else 2 | 4, length, os.lseek(descriptor, 0, os.SEEK_CUR))
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None

msvcrt.locking = locking
sys.modules["msvcrt"] = msvcrt
'''
"""Put before a program: what is missing outside Unix is missing, and what Windows has instead is there."""


def run_without_unix(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_UNIX + program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_run_and_a_campaign_need_no_unix(stream: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(f'movie.source = "{stream}"\n[[flow]]\ntransport = "udp"\n[[flow]]\ntransport = "tcp+ifd"\n')
    campaign = tmp_path / "sweep.toml"
    campaign.write_text('scenario = "small.toml"\nrepeats = 2\n[axes]\nnetwork.wifi.retry = [1, 4]\n')
    program = "from framewire.cli import main\nmain()"
    ran = run_without_unix(program, "run", scenario, "--world", "simulated", "--no-report", "--out", tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    assert "tcp+ifd" in ran.stdout
    ran = run_without_unix(program, "campaign", campaign, "--out", tmp_path / "campaign")
    assert ran.returncode == 0, ran.stderr
    assert "4 of 4 cells, 4 computed now" in ran.stdout


def test_movies_are_made_without_unix(tmp_path: Path) -> None:
    program = (
        "from framewire.movie import cache\nwith cache.store(sys.argv[1]).held('movie.m2v'):\n    print('alone')\n"
    )
    ran = run_without_unix(program, tmp_path)
    assert (ran.stdout, ran.returncode) == ("alone\n", 0), ran.stderr


HOLDER = """
from framewire import lock
with open(sys.argv[1], "a+", encoding="utf-8") as file:
    try:
        with lock.hold(file, wait=sys.argv[2] == "wait"):
            file.write(f"process {os.getpid()}")
            file.flush()
            print("held", flush=True)
            sys.stdin.readline()
    except lock.LockedError:
        file.seek(0)
        print(f"locked by {file.read()}", flush=True)
"""


@pytest.mark.parametrize("preamble", ["import os, sys\n", WITHOUT_UNIX], ids=["fcntl", "msvcrt"])
def test_one_process_at_a_time_holds_a_file(preamble: str, tmp_path: Path) -> None:
    """While it is held, others are refused or wait; when its holder is killed, it is free."""
    file = tmp_path / "lock"
    processes: list[subprocess.Popen[str]] = []

    def start(patience: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", preamble + HOLDER, str(file), patience]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    def said(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline()

    try:
        first = start("no")
        assert said(first) == "held\n"
        assert said(start("no")) == f"locked by process {first.pid}\n"
        waiting = start("wait")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=0.5)
        first.kill()
        assert said(waiting) == "held\n"
        assert said(start("no")).startswith("locked by ")
        waiting.communicate("\n", timeout=30)
        assert said(start("no")) == "held\n"
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_lock_that_fails_otherwise_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only "another has it" is waited for or told as such."""
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_arguments: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (tmp_path / "lock").open("w") as file, pytest.raises(OSError, match="No locks"), lock.hold(file, wait=True):
        pytest.fail("held without a lock")
