"""Little memory, few files, closed standard streams: what cannot be is said, and what can be is done."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from framewire import resources


def run(stream: Path, out: Path, prepare: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    """A run in virtual time, in a process that was prepared so."""
    scenario = out.with_suffix(".toml")
    scenario.write_text(f'[movie]\nsource = "{stream}"\n[[flow]]\ntransport = "tcp"\n')
    command = [sys.executable, "-m", "framewire", "run", str(scenario), "--world", "simulated", "--out", str(out)]
    return subprocess.run([*command, "--no-report"], capture_output=True, text=True, timeout=120, preexec_fn=prepare)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        (resource.RLIMIT_AS, 1 << 30, "may use 1.1 GB of address space (ulimit -v 1048576)"),
        (resource.RLIMIT_NOFILE, 16, "may have 16 files open at once (ulimit -n)"),
        (resource.RLIMIT_NOFILE, 32, "may have 32 files open at once (ulimit -n)"),
    ],
)
def test_too_little_is_said_before_anything_runs(
    limit: int, value: int, said: str, stream: Path, tmp_path: Path
) -> None:
    ended = run(stream, tmp_path / "out", lambda: resource.setrlimit(limit, (value, value)))
    assert ended.returncode == 3 and said in ended.stderr, ended.stderr
    assert ended.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == [tmp_path / "out.toml"]


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_AS, resources.LEAST_ADDRESS_SPACE),
        (resource.RLIMIT_NOFILE, resources.LEAST_FILES),
    ],
)
def test_what_is_asked_for_is_enough(limit: int, value: int, stream: Path, tmp_path: Path) -> None:
    ended = run(stream, tmp_path / "out", lambda: resource.setrlimit(limit, (value, value)))
    assert (ended.returncode, (tmp_path / "out" / "run.json").is_file()) == (0, True), ended.stderr


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_standard_streams_that_are_closed_are_no_reason_to_have_no_results(
    closed: tuple[int, ...], stream: Path, tmp_path: Path
) -> None:
    ended = run(stream, tmp_path / "out", lambda: [os.close(descriptor) for descriptor in closed] and None)
    assert (ended.returncode, (tmp_path / "out" / "run.json").is_file()) == (0, True), ended.stderr
    assert "Traceback" not in ended.stderr


EMULATED = """
layout = "{layout}"
movie = {{ source = "{stream}" }}
network = {{ {network} }}
[[flow]]
transport = "tcp"
count = {flows}
"""
WIRED = 'kind = "wired", wire = { rate = "400 Mbit/s", queue = "1 MB" }'
UNCHECKED = "from framewire import cli, resources; resources.check = lambda *_: None; cli.main()"


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("flows", "network", "layout"),
    [(7, WIRED, "side-by-side"), (20, 'kind = "wifi"', "side-by-side"), (20, WIRED, "together")],
)
def test_the_files_of_an_emulated_run_are_counted_before_it(
    flows: int, network: str, layout: str, stream: Path, tmp_path: Path
) -> None:
    needed = resources.files_of_emulation(flows, 0, together=layout == "together")
    scenario = tmp_path / "emulated.toml"
    scenario.write_text(EMULATED.format(stream=stream, network=network, layout=layout, flows=flows))

    def ended(limit: int, *program: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *program, "run", str(scenario), "--out", str(tmp_path / f"{limit}"), "--no-report"]
        limits = (limit, limit)
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        )

    refused = ended(needed - 1, "-m", "framewire")
    assert refused.returncode == 3 and f"{flows} flows take up to {needed}" in refused.stderr, refused.stderr
    assert [*tmp_path.iterdir()] == [scenario]
    broken = ended(needed * 3 // 4, "-c", UNCHECKED)
    assert broken.returncode != 0, "much less is enough"
    enough = ended(needed, "-m", "framewire")
    assert enough.returncode == 0, enough.stderr
