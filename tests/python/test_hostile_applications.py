"""Applications that do everything to go on: the limit, a signal and the parent's death end every run all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine_load
import pytest
from own_program import streaming
from test_applications import LISTEN, capable, command, scenario

import framewire
from framewire import capture_notes, movie

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no applications here: {capable()}"),
]

GIGABIT = 'rate = "1 Gbit/s"\ndelay = "10 ms"'

MARK = f"framewire-hostile-{os.getpid()}"
"""A word in the command line of every application of this test."""

SOON_S = 5.0
"""What an end may take, with all results written."""

DEAF = "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nimport os, sys, time\n"
"""The beginning of a program that ignores every request to end."""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", f"# {MARK}\n{DEAF}{code}", *arguments]


CONNECT = """
import socket
for _ in range(500):
    try:
        peer = socket.create_connection(('{receiver}', {port}))
        break
    except OSError:
        time.sleep(0.02)
"""
ENDLESS = f"{LISTEN}\nwhile True: os.write(1, bytes(65536))"
"""A receiver that writes to its standard output for ever: the faster it is read, the more."""
FLOOD = f"{CONNECT}\nwhile True: os.write(2, b'and another thing\\n' * 1000)"
"""A sender that never stops talking."""
DOUBLE_FORK = """
for _ in range(2):
    if os.fork():
        while True: time.sleep(1)
    os.setsid()
os.closerange(0, 3)
while True: time.sleep(1)
"""
STOPPED = f"{LISTEN}\nos.kill(os.getpid(), signal.SIGSTOP)"
"""A receiver that stops itself, and takes no signal any more but SIGKILL."""


DATAGRAMS = """
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect(('{receiver}', {port}))
while True:
    try:
        for _ in range(1000): peer.send(bytes(20))
    except OSError:
        pass
"""
"""A sender of small datagrams, as many as the machine sends."""
TAKE = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(('{address}', {port}))
while True: here.recv(100)
"""


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    return movie.make(2_000_000, 2, cache_dir=lab_cache).path


@pytest.fixture(scope="module")
def text(film: Path) -> str:
    flows = command("endless", python(FLOOD, "-"), python(ENDLESS))
    flows += command("stopped", python(CONNECT + DOUBLE_FORK, "-"), python(STOPPED))
    return 'limit = "1.5 s"\n' + scenario(film, flows)


def marked() -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def until_gone(since: float) -> float:
    """When the last application was gone, in seconds from then; a minute at most."""
    while marked() and time.monotonic() - since < 60:
        time.sleep(0.05)
    return time.monotonic() - since


@pytest.fixture
def load() -> float:
    """Before a test has begun anything: its floods are a load themselves."""
    return machine_load.load()


@pytest.fixture
def going_on(load: float, text: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of these applications in a program of its own, which has no limit that would end it."""
    del load  # taken before
    # Slow enough to go on for a minute before it is cut off.
    slower = text.replace("bytes(65536)", "bytes(1024)); time.sleep(0.001")
    with streaming(slower.replace("1.5 s", "600 s"), tmp_path, 0.1) as process:
        deadline = time.monotonic() + 20
        while len(marked()) < 6 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(marked()) == 6, "two senders, two receivers, and what the one has forked twice"
        yield process


def test_the_limit_ends_them(load: float, text: str, tmp_path: Path) -> None:
    times: dict[str, float] = {}

    def note(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            times["origin"] = time.monotonic() - event["elapsed_s"]
        times[event["event"]] = time.monotonic()

    result = machine_load.run(text, tmp_path, progress=note)
    took = times["finished"] - times["origin"] - 1.5
    assert marked() == []
    assert result.ended_by == "time limit"
    # What was given out is bounded, and the result says that it was cut.
    assert any("flow endless: receiver: gave out more than 69 MB" in said for said in result.failures)
    sizes = {path.name: path.stat().st_size for path in (result.directory / "logs").iterdir()}
    assert 1_000_000 < sizes["endless.sender.log"] < 1_300_000
    assert "bytes left out" in (result.directory / "logs" / "endless.sender.log").read_text()
    assert sum(path.stat().st_size for path in result.directory.rglob("*") if path.is_file()) < 5_000_000
    machine_load.soon(took, SOON_S, load)


def test_an_interruption_ends_them(load: float, going_on: subprocess.Popen[str], tmp_path: Path) -> None:
    asked = time.monotonic()
    going_on.send_signal(signal.SIGINT)
    assert going_on.wait(60) == 130
    took = time.monotonic() - asked
    assert marked() == []
    assert framewire.Run(tmp_path / "out", "partial").ended_by == "interrupted"
    machine_load.soon(took, SOON_S, load)


FLOOD_OF_DATAGRAMS = """
import socket
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try: peer.sendto(bytes(1000), ('{receiver}', {port}))
    except OSError: time.sleep(0.001)
"""
GIVE_ALL = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(('{address}', {port}))
while True: os.write(1, here.recv(65536))
"""


def test_the_whole_command_ends_soon_behind_a_flood_also_with_its_report(
    load: float, minute: Path, tmp_path: Path
) -> None:
    """Ten seconds of all the datagrams that the machine sends, by applications that ignore every request to end."""
    flows = "".join(command(name, python(FLOOD_OF_DATAGRAMS, "-"), python(GIVE_ALL)) for name in ("a", "b"))
    shown = tmp_path / "shown.txt"
    with (
        shown.open("w") as output,
        streaming(scenario(minute, flows, GIGABIT), tmp_path, 10.0, report=True, output=output) as process,
    ):
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        took = time.monotonic() - asked
    assert marked() == []
    out = tmp_path / "out"
    assert framewire.Run(out, "partial").ended_by == "interrupted"
    report = (out / "report.html").read_text()
    assert "the run was interrupted" in report and not (out / "psnr.parquet").exists()
    assert f"framewire report {out}" in shown.read_text()
    # What was recorded is there or said to be left out, and the whole report can be made.
    packets, proofs = (
        framewire.Run(out, "partial").results.packets,
        framewire.Run(out, "partial").results.meta["accuracy"],
    )
    for flow in ("a", "b"):
        found = packets.filter(flow=flow)["packet"].n_unique()
        assert found + proofs[flow]["packets_left_out"] == proofs[flow]["crossed_the_link"] > 10_000
    framewire.Run(out, "partial").report()
    assert (out / "psnr.parquet").exists()
    machine_load.soon(took, SOON_S, load)


def test_a_second_interruption_ends_everything_at_once(
    load: float, going_on: subprocess.Popen[str], tmp_path: Path
) -> None:
    """The first gives these applications a second each; that is not waited for now, and there are no results."""
    going_on.send_signal(signal.SIGINT)
    time.sleep(0.3)
    again = time.monotonic()
    going_on.send_signal(signal.SIGINT)
    gone = until_gone(again)
    assert going_on.wait(60) == 130
    took = time.monotonic() - again
    assert {path.name for path in tmp_path.iterdir()} == {"scenario.toml"}
    machine_load.soon(gone, 1.5, load)
    machine_load.soon(took, SOON_S, load)


def test_the_death_of_framewire_ends_them_and_the_next_run_clears_up(
    load: float, going_on: subprocess.Popen[str], film: Path, tmp_path: Path
) -> None:
    going_on.kill()
    going_on.wait()
    gone = until_gone(time.monotonic())
    assert (tmp_path / "out.partial").is_dir(), "no process was left to remove it"
    foreign = tmp_path / "foreign.partial"
    foreign.mkdir()
    framewire.run(scenario(film, '[[flow]]\ntransport = "udp"\n'), out=tmp_path / "next", world="simulated")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"scenario.toml", "foreign.partial", "next"}
    machine_load.soon(gone, SOON_S, load)


def test_a_flood_of_packets_is_in_the_tables_or_said_to_be_left_out(load: float, film: Path, tmp_path: Path) -> None:
    """They are made while the run goes on; what is not made soon after the stop is counted, and is not waited for."""
    times: dict[str, float] = {}

    def note(event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            times["origin"] = time.monotonic() - event["elapsed_s"]
        times[event["event"]] = time.monotonic()

    flows = command("flood", python(DATAGRAMS, "-"), python(TAKE))
    result = machine_load.run(f'limit = "5 s"\n{scenario(film, flows, GIGABIT)}', tmp_path, progress=note)
    took = times["finished"] - times["origin"] - 5.0
    assert marked() == []
    proof = result.results.meta["accuracy"]["flood"]
    assert proof["crossed_the_link"] > 50_000, "a flood"
    packets = result.results.packets
    assert packets["packet"].n_unique() + proof["packets_left_out"] == proof["crossed_the_link"]
    assert packets["packet"].is_sorted() and packets["frame"].null_count() == packets.height
    said = [note for note in capture_notes.notes(result.results.meta) if "tables of packets of flood end early" in note]
    throughput = result.summary["packet_throughput_bps"][0]
    if proof["packets_left_out"]:
        assert len(said) == 1 and f"{proof['packets_left_out']:,} packets" in said[0]
        assert throughput is None
    else:
        assert said == []
        assert result.results.table("accuracy").height == proof["count"]
    machine_load.soon(took, SOON_S, load)
