"""Whole runs in the emulated world: this kernel's sockets, real processes, short movies."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import machine_load
import polars as pl
import pytest
from own_program import descendants, state_of, streaming

import framewire
from framewire import emulator, movie
from framewire.errors import MachineError

FATES = {"shown", "late", "undecodable", "lost"}
SECONDS = 4


def capable() -> str | None:
    """Why the emulated world does not work here, or None."""
    try:
        program = emulator.find()
    except MachineError as error:
        return str(error)
    if shutil.which("ffmpeg") is None:
        return "ffmpeg is not installed"
    answer = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False)
    return None if answer.returncode == 0 else f"the emulator's doctor says: {answer.stderr}"


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}"),
]


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    """A few seconds of the lab movie at 2 Mbit/s."""
    return movie.make(2_000_000, SECONDS, cache_dir=lab_cache).path


def scenario(film: Path, network: str, flows: str) -> str:
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}\n{flows}'


# Buffers that take the largest frame of the movie at once: what is lost then, is lost on the way.
ROOM = {"udp": 'send_buffer = "416 KiB"\ndevice_queue = 1000', "udp-whole": 'send_buffer = "416 KiB"'}
SEVEN = ("udp-blocking", "udp", "udp-whole", "udp+ifd", "tcp", "tcp+ifd", "tcp+ifd-optimised")
ALL = "\n".join(f'[[flow]]\ntransport = "{name}"\n{ROOM.get(name, "")}' for name in SEVEN)


@pytest.fixture(scope="module")
def quiet(film: Path, tmp_path_factory: pytest.TempPathFactory) -> framewire.Run:
    """All seven transports over a link that is wide enough."""
    return machine_load.run(scenario(film, "[network.wifi]\nretry = 7", ALL), tmp_path_factory.mktemp("quiet"))


@pytest.mark.parametrize("flow", SEVEN)
def test_a_wide_link_delivers_every_byte_by_every_transport(quiet: framewire.Run, film: Path, flow: str) -> None:
    sent = film.read_bytes()
    assert quiet.status == "complete"
    received = (quiet.directory / "received" / f"{flow}.m2v").read_bytes()
    with machine_load.excused(quiet, flow):
        if flow.endswith(("ifd", "optimised")):
            # I-Frame Delay may shed a B frame that comes while a large frame is still being written.
            assert 0.9 * len(sent) <= len(received) <= len(sent)
        else:
            assert received == sent, f"{len(received)} of {len(sent)} bytes"


def test_fates_sum_and_every_loss_has_a_cause(quiet: framewire.Run) -> None:
    frames = quiet.frames
    for flow, rows in frames.group_by("flow"):
        assert rows.height == SECONDS * 25, flow
        assert set(rows["fate"].unique()) <= FATES
    lost = frames.filter(pl.col("fate") == "lost")
    assert lost["root_cause"].null_count() == 0
    assert lost["root_cause_place"].null_count() == 0
    assert frames.filter(pl.col("fate") == "shown")["root_cause"].null_count() == (frames["fate"] == "shown").sum()


@pytest.mark.parametrize("flow", SEVEN)
def test_every_packet_crossed_the_link_and_is_in_the_capture(quiet: framewire.Run, flow: str) -> None:
    proof = quiet.results.meta["accuracy"][flow]
    if proof["lost_outside_model"] != 0:
        assert "lost outside the link model" in proof["disturbed"]
        machine_load.too_busy(f"{flow} was disturbed: {proof['disturbed']}")
    packets = quiet.results.packets.filter(pl.col("flow") == flow)
    assert proof["crossed_the_link"] == packets["packet"].n_unique()
    delivered = packets.sort("finished_ns").group_by("packet").last()
    arrived = delivered.filter(pl.col("outcome") == "delivered").height
    assert proof["capture"]["left_out"] == 0
    # A packet is captured where it enters, and again where it leaves.
    assert proof["capture"]["written"] == packets["packet"].n_unique() + arrived


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_the_capture_and_counts_the_same_payload(quiet: framewire.Run) -> None:
    capture = quiet.directory / "captures" / "udp.pcapng"
    fields = ["-T", "fields", "-e", "udp.length", "-Y", "udp && frame.interface_id == 1"]
    listed = subprocess.run(["tshark", "-r", capture, *fields], capture_output=True, text=True, check=True).stdout
    payload = sum(int(length) - 8 for length in listed.split())
    packets = quiet.results.packets.filter((pl.col("flow") == "udp") & (pl.col("direction") == "forward"))
    arrived = packets.sort("finished_ns").group_by("packet").last().filter(pl.col("outcome") == "delivered")
    assert payload == arrived["payload"].sum()


def test_the_network_is_never_early_and_seldom_late(quiet: framewire.Run) -> None:
    errors = quiet.results.accuracy.select("flow", error=pl.col("actual_ns") - pl.col("intended_ns"))
    assert errors["error"].min() >= 0  # type: ignore[operator]
    # A busy machine may be milliseconds late now and then; half of the packets never are.
    assert errors["error"].quantile(0.5) < 1_000_000  # type: ignore[operator]
    for (flow,), rows in errors.group_by("flow"):
        late = rows.filter(pl.col("error") > 1_000_000).height
        if 100 * late > rows.height:
            assert quiet.results.meta["accuracy"][str(flow)]["disturbed"], f"{flow}: {late} of {rows.height} are late"


def test_a_narrow_link_sheds_b_frames_with_i_frame_delay_and_stretches_tcp(film: Path, tmp_path: Path) -> None:
    flows = '[[flow]]\ntransport = "tcp"\n[[flow]]\ntransport = "tcp+ifd"'
    narrow = machine_load.run(scenario(film, '[network.wifi]\nrate = "1 Mbit/s"', flows), tmp_path)
    summary = {row["flow"]: row for row in narrow.summary.iter_rows(named=True)}
    with machine_load.excused(narrow):
        # 1 Mbit/s on the air carries about 0.85 Mbit/s of TCP payload: under half of the movie.
        assert 1.8 * SECONDS < summary["tcp"]["duration_s"] < 3.5 * SECONDS
        assert summary["tcp"]["lost"] == 0
        # The last frames may be among those shed.
        assert SECONDS - 1 < summary["tcp+ifd"]["duration_s"] < SECONDS + 1
        assert summary["tcp+ifd"]["lost_b"] > 0.5 * summary["tcp+ifd"]["frames_b"]
        assert summary["tcp+ifd"]["lost_i"] <= 1


def test_flows_may_share_one_wired_bottleneck(film: Path, tmp_path: Path) -> None:
    network = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\ndelay = "5 ms"'
    flows = '[[flow]]\ntransport = "udp"\n[[flow]]\ntransport = "tcp"'
    shared = machine_load.run('layout = "together"\n' + scenario(film, network, flows), tmp_path)
    with machine_load.excused(shared, "udp"):
        assert shared.summary["lost"].to_list() == [0, 0]
    hops = shared.results.packets.group_by("flow").agg(pl.len())
    assert hops["len"].min() > 200  # type: ignore[operator]
    latency = shared.frames.filter(pl.col("flow") == "udp")["latency_ns"]
    assert latency.min() >= 5_000_000  # type: ignore[operator]


@pytest.fixture
def own_program(film: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run two seconds into the nine that its stream takes."""
    text = scenario(film, '[network.wifi]\nrate = "1 Mbit/s"', '[[flow]]\ntransport = "tcp"')
    with streaming(text, tmp_path, 2) as process:
        yield process


def test_an_interrupted_run_leaves_a_valid_partial_result(own_program: subprocess.Popen[str], tmp_path: Path) -> None:
    own_program.send_signal(signal.SIGINT)
    assert own_program.wait(120) == 130
    partial = framewire.Run(tmp_path / "out", "partial")
    assert partial.results.meta["status"] == "partial"
    assert partial.results.meta["ended_by"] == "interrupted"
    assert partial.frames.height == SECONDS * 25


def test_nothing_is_left_after_kill_9(own_program: subprocess.Popen[str], tmp_path: Path) -> None:
    below = descendants(own_program.pid)
    assert below, "the emulator runs below the command line"
    spaces = {Path(f"/proc/{pid}/ns/net").readlink() for pid in below}
    own_program.kill()
    own_program.wait()
    deadline = time.monotonic() + 60
    while any(state_of(pid) != "Z" for pid in below) and time.monotonic() < deadline:
        time.sleep(0.1)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            assert (entry / "ns" / "net").readlink() not in spaces - {Path("/proc/self/ns/net").readlink()}
        except (FileNotFoundError, PermissionError):
            continue  # gone meanwhile, or of the machine itself
    assert not (tmp_path / "out").exists()
