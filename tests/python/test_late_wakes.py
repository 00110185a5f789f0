"""The proof of accuracy sees a sender of the lab that the machine wakes late, and doubts none that it wakes in time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import machine_load
import pytest
from own_program import descendants
from test_applications import capable

from framewire import movie
from framewire.run import Progress

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}"),
]

PER_PROCESSOR = 8
"""Programs that never wait, beside which a sender is to be woken."""


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    return movie.make(2_000_000, 4, cache_dir=lab_cache).path


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Programs that end with the test."""
    with ExitStack() as stack:
        yield stack


def streamed(film: Path, directory: Path, progress: Progress | None = None) -> dict[str, Any]:
    """The proof of accuracy of a movie by UDP: a timer for each frame, and one for each sample."""
    flow = '[[flow]]\ntransport = "udp"\n'
    network = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\ndelay = "5 ms"\n'
    text = f'name = "late"\n[movie]\nsource = "{film}"\n{network}{flow}'
    result = machine_load.run(text, directory, progress=progress)
    proof: dict[str, Any] = result.results.meta["accuracy"]["udp"]
    return proof


def is_late(wakes: dict[str, Any]) -> bool:
    late = wakes["late_over_10ms"]
    return bool((late > 1 and late * 100 > wakes["count"]) or wakes["max_us"] > 40_000)


def test_a_sender_that_is_woken_in_time_is_not_doubted(film: Path, tmp_path: Path) -> None:
    load = machine_load.load()
    proof = streamed(film, tmp_path)
    wakes = proof["wakes"]["sender"]
    assert proof["wakes"]["receiver"] is None, "no timer wakes a receiver of datagrams"
    assert 100 <= wakes["count"] < 2_000, "a frame or a sample each"
    assert 0 <= wakes["p50_us"] <= wakes["p99_us"] <= wakes["max_us"]
    assert is_late(wakes) == ("the flow's sender was " in str(proof["disturbed"]))
    if is_late(wakes) and load > 0.5:
        machine_load.too_busy(f"load {load:.1f} per processor, and it woke late: {wakes}")
    assert not is_late(wakes), wakes


def test_a_sender_that_is_woken_late_is_told(film: Path, tmp_path: Path, processes: ExitStack) -> None:
    """The network is not touched: only its hosts stand back behind other programs."""
    begun: list[bool] = []

    def crowd(event: dict[str, Any]) -> None:
        if begun or event["event"] != "progress":
            return
        begun.append(True)
        for pid in descendants(os.getpid()):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with suppress(OSError):
                    if not (task / "comm").read_text().startswith("fw-pump"):
                        os.setpriority(os.PRIO_PROCESS, int(task.name), 10)
        for _ in range(PER_PROCESSOR * (os.cpu_count() or 1)):
            process = processes.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            processes.callback(process.kill)

    proof = streamed(film, tmp_path, crowd)
    assert begun
    assert is_late(proof["wakes"]["sender"]), proof["wakes"]
    assert "the flow's sender was " in proof["disturbed"]
    assert "(1 in 100 is tolerated)" in proof["disturbed"] or "(40 ms, a frame" in proof["disturbed"]
