"""Congestion controls of the emulated world: the kernel's own and BPF programs, and ECN on its wires."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import machine_load
import polars as pl
import pytest
from test_emulated import capable

import framewire
from framewire.errors import InputError, MachineError

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}"),
]

NETWORK = """
limit = "3 s"
[network]
kind = "wired"
[network.wire]
rate = "10 Mbit/s"
delay = "10 ms"
queue = "50 packets"
"""


def bulk(name: str, **settings: str) -> str:
    keys = "".join(f"{key} = {value}\n" for key, value in settings.items())
    return f'[[flow]]\ntransport = "bulk"\nname = "{name}"\n{keys}'


def run(text: str, directory: Path) -> framewire.Run:
    """Skips where the kernel lacks an algorithm and this user may load none."""
    try:
        return machine_load.run(text, directory, world="emulated")
    except MachineError as error:
        if "CAP_BPF" in str(error) or "kernel lacks" in str(error):
            pytest.skip(str(error))
        raise


def seen(result: framewire.Run, flow: str, condition: str) -> int:
    """Packets of the capture for which tshark's condition holds."""
    capture = result.directory / "captures" / f"{flow}.pcapng"
    tshark = ["tshark", "-r", str(capture), "-Y", condition, "-T", "fields", "-e", "frame.number"]
    done = subprocess.run(tshark, capture_output=True, text=True, timeout=120, check=True)
    return len(done.stdout.split())


def test_what_the_kernel_lacks_is_loaded_for_the_run_and_gone_after_it(tmp_path: Path) -> None:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    before = available.read_text()
    flows = (
        bulk("one", congestion='"illinois"') + bulk("two", congestion='"vegas"') + bulk("three", congestion='"reno"')
    )
    result = run(NETWORK + flows, tmp_path)
    assert available.read_text() == before
    kernel = result.results.meta["kernel"]["congestion"]
    assert set(kernel) == {"illinois", "vegas", "reno"}
    assert kernel["reno"] == {"by": "kernel", "name": "reno"}
    for name in ("illinois", "vegas"):
        assert kernel[name]["by"] == ("kernel" if name in before.split() else "bpf")
        assert kernel[name]["name"].startswith(name)
    resolved = tomllib.loads((result.directory / "scenario.toml").read_text())
    assert [flow["congestion"] for flow in resolved["flow"]] == ["illinois", "vegas", "reno"]
    for row in result.summary.to_dicts():
        with machine_load.excused(result, row["flow"]):
            assert 8.5e6 < row["packet_throughput_bps"] < 10e6, row["flow"]


def test_dctcp_and_ecn_are_seen_on_the_wire(tmp_path: Path) -> None:
    flows = bulk("counts", congestion='"dctcp"') + bulk("asks", ecn="true") + bulk("plain")
    result = run(f'captures = "headers"\n{NETWORK}{flows}', tmp_path)
    asking = "tcp.flags.syn==1 && tcp.flags.ack==0 && tcp.flags.ece==1 && tcp.flags.cwr==1"
    granted = "tcp.flags.syn==1 && tcp.flags.ack==1 && tcp.flags.ece==1 && tcp.flags.cwr==0"
    capable_ack = "tcp.len==0 && tcp.flags.syn==0 && ip.dsfield.ecn==2"
    data = "tcp.len>0 && !tcp.analysis.flags"
    for flow, uses, acks in [("counts", True, True), ("asks", True, False), ("plain", False, False)]:
        assert (seen(result, flow, asking) > 0) == uses, flow
        assert (seen(result, flow, granted) > 0) == uses, flow
        assert seen(result, flow, f"{data} && ip.dsfield.ecn=={0 if uses else 2}") == 0, flow
        assert seen(result, flow, data) > 500, flow
        assert (seen(result, flow, capable_ack) > 0) == acks, flow


def test_hosts_ask_in_all_connections_or_in_none(tmp_path: Path) -> None:
    text = f'layout = "together"\n{NETWORK}{bulk("one", ecn="true")}{bulk("two")}'
    with pytest.raises(InputError, match="flow two, ecn: hosts ask for it in all connections or in none"):
        framewire.run(text, out=tmp_path / "run", world="emulated")


def test_what_nobody_has_is_named_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"\"siad\" is not available: this kernel has .*illinois.* simulated only"):
        framewire.run(NETWORK + bulk("one", congestion='"siad"'), out=tmp_path / "run", world="emulated")


def test_ecn_false_is_refused_to_what_counts_marks() -> None:
    with pytest.raises(InputError, match=r"flow\.0\.ecn.*: false is not allowed.*\"dctcp\" counts"):
        framewire.run(NETWORK + bulk("one", congestion='"dctcp"', ecn="false"), world="simulated")


def test_marks_of_a_queue_are_answered_alike_in_both_worlds(tmp_path: Path) -> None:
    step = "min_threshold = 15, max_threshold = 16, max_probability = '100 %', weight = '100 %', wait = false"
    network = f"""
limit = "8 s"
[network]
kind = "wired"
[network.wire]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "500 packets"
queue_discipline = {{ kind = "red", {step}, ecn = true }}
"""
    text = network + bulk("counts", congestion='"dctcp"') + bulk("asks", congestion='"reno"', ecn="true")
    emulated = run(text, tmp_path / "emulated")
    simulated = framewire.run(text, out=tmp_path / "simulated", world="simulated")
    marked = [
        dict(result.results.packets.filter(pl.col("cause") == "congestion experienced").group_by("flow").len().rows())
        for result in (emulated, simulated)
    ]
    rows = [{row["flow"]: row for row in result.summary.to_dicts()} for result in (emulated, simulated)]
    for flow, tolerance in [("counts", 0.06), ("asks", 0.12)]:
        with machine_load.excused(emulated, flow):
            kernel, ours = (row[flow] for row in rows)
            assert ours["packet_throughput_bps"] == pytest.approx(kernel["packet_throughput_bps"], rel=tolerance)
            assert ours["srtt_mean_ms"] == pytest.approx(kernel["srtt_mean_ms"], rel=0.1)
            assert 0.7 < marked[1][flow] / marked[0][flow] < 1.4, (flow, marked)
    # Who counts marks keeps the queue filled; who halves lets it run empty, and is marked less.
    assert all(count["counts"] > 3 * count["asks"] for count in marked)
    assert all(row["counts"]["srtt_mean_ms"] > row["asks"]["srtt_mean_ms"] + 2 for row in rows)
