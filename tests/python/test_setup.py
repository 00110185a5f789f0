"""scripts/setup says that it goes on while it compiles."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from conftest import REPOSITORY

COMPILING = "echo '   Compiling one v1.0.0'; sleep 3; echo '   Compiling two v0.1.0 (/here)'; sleep 3"
"""What stands in for cargo."""


def step(directory: Path, command: str) -> list[str]:
    """A program that carries out this command as a step, with the functions of the script."""
    text = (REPOSITORY / "scripts/setup").read_text()
    functions = text[text.index("# The step that is carried out") : text.index("# as_root COMMAND")]
    log = directory / "log"
    log.write_text("   Compiling something before\n")
    return [
        "bash",
        "-c",
        f"set -euo pipefail\ncd '{directory}'\nlog='{log}'\n{functions}\nstep 'building it' {command}",
    ]


def on_a_terminal(program: list[str]) -> str:
    main, terminal = pty.openpty()
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                piece = os.read(main, 4096)
            except OSError:  # the last process that had the terminal has ended
                break
            if not piece:
                break
            said += piece
        assert process.wait(20) == 0
    os.close(main)
    return said.decode()


def test_a_step_counts_crates_in_its_line_of_a_terminal(tmp_path: Path) -> None:
    said = on_a_terminal(step(tmp_path, f'bash -c "{COMPILING}"'))
    lines = [line for line in said.replace("\r\n", "\n").replace("\033[K", "").split("\r") if line]
    counts = [int(found.group(1)) for line in lines if (found := re.search(r", crates: (\d+)$", line))]
    assert counts and counts == sorted(counts) and {1, 2} == set(counts)
    assert re.fullmatch(r"setup: building it \.\.\. [678] s\n", lines[-1]), "the time alone stays"
    assert said.count("\n") == 1


def test_a_step_says_how_many_crates_there_are_in_all(tmp_path: Path) -> None:
    said = on_a_terminal(step(tmp_path, f"bash -c \"echo 'crates in all: 82'; {COMPILING}\""))
    counts = re.findall(r"s, crates: (\d+) of at most (\d+)", said)
    assert {*counts} == {("1", "82"), ("2", "82")}
    assert re.search(r"building it \.\.\. [678] s\r?\n$", said), "the time alone stays"


@pytest.mark.parametrize("package", ["framewire-units", "framewire-wire", "framewire-emu"])
def test_each_crate_that_a_package_takes_is_counted_once(package: str) -> None:
    text = (REPOSITORY / "scripts/setup").read_text()
    function = text[text.index("crates_of() {") : text.index("# watch TEXT LINES")]
    program = ["bash", "-c", f"set -euo pipefail\ncargo=cargo\n{function}\ncrates_of {package}"]
    said = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True).stdout
    listed = ["cargo", "tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"]
    tree = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=True).stdout
    crates = {(line.split()[0], line.split()[1]) for line in tree.splitlines() if line}
    assert (package, "v" + version()) in crates and len(crates) < 300
    assert said == f"crates in all: {len(crates)}\n"


def version() -> str:
    return str(tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"])


@pytest.mark.parametrize(("every", "lines"), [("1", (3, 6)), ("60", (0, 0))])
def test_a_step_says_little_to_a_log(tmp_path: Path, every: str, lines: tuple[int, int]) -> None:
    environment = {**os.environ, "SETUP_SAYS_EVERY": every}
    program = step(tmp_path, f'bash -c "{COMPILING}"')
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=20, check=True)
    between = re.findall(r"^setup:   \d+ s, crates: \d \.\.\. ", ended.stderr, flags=re.MULTILINE)
    assert lines[0] <= len(between) <= lines[1], ended.stderr
    assert ended.stderr.startswith("setup: building it ... ") and re.search(r"\.\.\. [678] s\n$", ended.stderr)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_what_a_step_started_ends_with_the_script(tmp_path: Path, number: signal.Signals) -> None:
    """Also what its command started, as cargo does compilers."""
    # Only that program has the pipe to the end.
    program = step(tmp_path, "bash -c 'sleep 60 >&3 & echo it runs >&3; wait'")
    read, write = os.pipe()
    program[-1] = f"exec 3>&{write}\n{program[-1]}"
    # A shell cannot trap what nohup had it ignore.
    program = ["env", f"--default-signal={signal.Signals(number).name}", *program]
    process = subprocess.Popen(program, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with process, os.fdopen(read) as pipe:
        assert pipe.readline() == "it runs\n"
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert pipe.read() == "", "the pipe is closed when all that had it are gone"
        assert time.monotonic() - began < 30


def test_a_step_that_fails_says_why_and_ends_at_once(tmp_path: Path) -> None:
    ended = subprocess.run(
        step(tmp_path, "bash -c 'echo no such crate; exit 7'"), capture_output=True, text=True, timeout=20
    )
    assert ended.returncode == 1
    assert re.search(r"\.\.\. failed after [01] s\n(.*\n)*no such crate\n", ended.stderr)
    assert (tmp_path / "target/setup.log").read_text().endswith("no such crate\n")
