"""Saturated throughput of the emulated 802.11b link against the closed-form timing of the packets that were sent.

Streams movies that are too fast for the link, through this kernel's sockets, and compares the time between the first
and the last exchange with the sum of what IEEE 802.11 gives each packet. No constant is tuned.

    .venv/bin/python benches/saturation.py [--seconds 20]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl

import framewire

# IEEE 802.11-2016, clause 16 (high-rate direct sequence), long preamble; times in microseconds.
DIFS, SIFS, SLOT, PREAMBLE = 50.0, 10.0, 20.0, 192.0
MEAN_BACKOFF = 31 / 2 * SLOT
DATA_RATE, ACK_RATE = 11.0, 2.0  # Mbit/s, which is bit/us
MAC_OVERHEAD = 24 + 8 + 4  # MAC header, LLC/SNAP, FCS; bytes
ACK_FRAME = 14  # bytes
ACK_TIME = PREAMBLE + ACK_FRAME * 8 / ACK_RATE
TOLERANCE = 0.03

SCENARIO = """
[movie]
bitrate = "6.8 Mbit/s"
duration = "{seconds} s"

[network]
bottleneck = "local-device"

[network.wifi]
rate = "11 Mbit/s"
error_floor = "0 %"

[[flow]]
name = "full"
transport = "udp-blocking"
packets = "full"

[[flow]]
name = "thesis"
transport = "udp-blocking"
packets = "thesis"

[[flow]]
name = "tcp"
transport = "tcp"
"""


def exchange(ip_bytes: pl.Expr) -> pl.Expr:
    """DIFS, the data frame, SIFS and the acknowledgement of an IP packet, in microseconds."""
    return DIFS + PREAMBLE + (ip_bytes + MAC_OVERHEAD) * 8 / DATA_RATE + SIFS + ACK_TIME


def closed_form(packets: pl.DataFrame) -> float:
    """Time that the packets of one saturated station, and what the access point answers, take; in microseconds.

    The station's own backoff fills all idle time. An answer of the access point costs its exchange, and a collision
    with the station in 5.3 % of cases (docs/links.md), which wastes a frame of the station and a longer backoff.
    """
    forward = packets.filter(pl.col("direction") == "forward")
    backward = packets.filter(pl.col("direction") == "backward")
    sent = forward.select((exchange(pl.col("size")) + MEAN_BACKOFF).sum()).item()
    answered = backward.select(exchange(pl.col("size")).sum()).item() or 0.0
    longest = float(forward["size"].max())  # type: ignore[arg-type]
    timeout = SIFS + SLOT + PREAMBLE
    collision = PREAMBLE + (longest + MAC_OVERHEAD) * 8 / DATA_RATE + timeout + DIFS + 63 / 2 * SLOT
    window = 32
    chance = (window - 1) / window**2 * ((window / (window - 1)) ** window - 1)
    return float(sent + answered + backward.height * chance * collision)


def saturated(packets: pl.DataFrame) -> pl.DataFrame:
    """The part in which the sender's device never ran dry: from 1 s after the start to 1 s before the end."""
    wireless = packets.filter(
        pl.col("hop").is_in(["sender-device", "access-point"]) & pl.col("started_ns").is_not_null()
    )
    first, last = wireless["started_ns"].min(), wireless["finished_ns"].max()
    return wireless.filter(pl.col("started_ns").is_between(first + 1_000_000_000, last - 1_000_000_000))  # type: ignore[operator]


def main() -> int:
    """Runs the streams and prints the comparison; exits with 1 where the difference is above the tolerance."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=20)
    seconds = arguments.parse_args().seconds
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch) / "saturation.toml"
        scenario.write_text(SCENARIO.format(seconds=seconds))
        run = framewire.run(scenario, out=Path(scratch) / "run")
        packets = run.results.packets
    worst = 0.0
    print(f"{'flow':8} {'packets':>8} {'mean size':>9} {'measured':>12} {'closed form':>12} {'difference':>11}")
    for flow in packets["flow"].unique(maintain_order=True):
        part = saturated(packets.filter(pl.col("flow") == flow))
        forward = part.filter(pl.col("direction") == "forward")
        took = (part["started_ns"].max() - part["started_ns"].min()) / 1e3  # type: ignore[operator]
        bits = float(forward["payload"].sum()) * 8
        measured, expected = bits / took, bits / closed_form(part)
        difference = measured / expected - 1
        worst = max(worst, abs(difference))
        print(
            f"{flow:8} {forward.height:8} {forward['size'].mean():7.0f} B {measured:7.3f} Mb/s {expected:7.3f} Mb/s "
            f"{difference:+10.2%}"
        )
    print(f"largest difference {worst:.2%}, allowed {TOLERANCE:.0%}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
