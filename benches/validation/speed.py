"""Speed of the simulated world beside ns-3's: the same scenarios, in turn, on one thread, by CPU time.

    NS3_PREFIX=/usr/local benches/validation/ns3/build.sh          # once; ns-3 must have been built optimised
    .venv/bin/python benches/validation/speed.py [--ns3 DIR] [--repeats 5] [--only WORD]

Prints the ratio per row with its spread, writes benches/validation/speed.json for the validation page, and exits with 1
when a row is below the bound. ns-3's programs and ours print the CPU time of their simulation alone, without start-up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
BOUND = 10
AIM = 25


@dataclass(frozen=True)
class Row:
    """A scenario: how ns-3's program and ours are called, and how often ours repeats it within one measurement."""

    name: str
    ns3: str
    ours: str
    times: int


def tcp(name: str, rate: int, rtt: int, queue: int, seconds: int, times: int, loss: float = 0) -> Row:
    """One CUBIC flow."""
    network = f"--rate {rate} --rtt {rtt} --loss {loss:g} --queue {queue} --seconds {seconds}"
    return Row(name, f"tcp_bulk --algorithm Cubic {network}", f"tcp --algorithm cubic {network}", times)


def wifi(stations: int, seconds: int, times: int) -> Row:
    """Saturated stations of 802.11b."""
    name = f"802.11b, saturated UDP, {stations} station{'s' if stations > 1 else ''}"
    load = f"--stations {stations} --seconds {seconds}"
    return Row(name, f"wifi_udp {load}", f"wifi {load}", times)


ROWS = (
    wifi(1, 40, 10),
    wifi(5, 20, 10),
    wifi(20, 8, 10),
    tcp("CUBIC, 10 Mbit/s, 120 ms, 0.1 %", 10, 120, 100, 200, 20, loss=0.001),
    tcp("CUBIC, 20 Mbit/s, 40 ms", 20, 40, 100, 60, 20),
    tcp("CUBIC, 100 Mbit/s, 40 ms", 100, 40, 333, 10, 20),
    tcp("CUBIC, 1 Gbit/s, 40 ms", 1000, 40, 3333, 2, 10),
)


def main() -> int:
    """Measures, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ns3", type=Path, default=ROOT / "target" / "ns3", help="where build.sh put ns-3's programs")
    parser.add_argument("--repeats", type=int, default=5, help="of each program, in turn")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("speed.json"))
    options = parser.parse_args()
    if not (options.ns3 / "tcp_bulk").exists():
        sys.exit(
            f"{options.ns3}: no ns-3 programs there; build them with NS3_PREFIX=... benches/validation/ns3/build.sh"
        )
    build = "cargo build --release --quiet -p framewire-sim --example speed_row"
    subprocess.run(build.split(), cwd=ROOT, check=True)
    rows = [measure(row, options.ns3, options.repeats) for row in ROWS if options.only in row.name]
    result = {"bound": BOUND, "aim": AIM, "repeats": options.repeats, "rows": rows}
    if not options.only:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(row["ratio"] >= BOUND for row in rows) else 1


def measure(row: Row, ns3: Path, repeats: int) -> dict[str, Any]:
    """Both programs in turn."""
    pairs = []
    for _ in range(repeats):
        theirs = run(f"{ns3}/{row.ns3}")
        ours = run(f"{_target()}/release/examples/speed_row {row.ours} --times {row.times}")
        pairs.append((theirs, ours))
    ratios = [speed(ours) / speed(theirs) for theirs, ours in pairs]
    found = {
        "name": row.name,
        "ns3_speed": median(speed(theirs) for theirs, _ in pairs),
        "our_speed": median(speed(ours) for _, ours in pairs),
        "ratio": median(ratios),
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
        "ns3_goodput_mbps": pairs[0][0]["goodput_bps"] / 1e6,
        "our_goodput_mbps": pairs[0][1]["goodput_bps"] / 1e6,
    }
    print(
        f"{row.name:36} ns-3 {found['ns3_speed']:8.3g}  ours {found['our_speed']:8.4g} simulated s/s  "
        f"ratio {found['ratio']:6.1f} ({found['ratio_low']:.1f} to {found['ratio_high']:.1f})  "
        f"goodput {found['ns3_goodput_mbps']:.2f}, {found['our_goodput_mbps']:.2f} Mbit/s",
        flush=True,
    )
    return found


def run(command: str) -> dict[str, float]:
    """What a program printed. ns-3 wants `--name=value`."""
    words = command.split()
    if "speed_row" not in words[0]:
        options = iter(words[1:])
        words = [words[0], *(f"{name}={value}" for name, value in zip(options, options, strict=True))]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(printed)
    return result


def speed(measured: dict[str, float]) -> float:
    """Simulated seconds per CPU second."""
    return measured["simulated_s"] / measured["cpu_s"]


def _target() -> Path:
    """Where cargo puts what it builds."""
    described = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(described.stdout)["target_directory"])


if __name__ == "__main__":
    sys.exit(main())
