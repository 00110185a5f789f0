"""How many TCP segments collide with an acknowledgement over 802.11b, by the time of carrier sense.

Streams the lab movie over TCP in virtual time, at a fixed 11 Mbit/s and without errors, so that a transmission fails
only where the sender's segment and the access point's acknowledgement begin before either notices the other.

    .venv/bin/python benches/collisions.py [--seconds 60]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

import framewire

MICROSECONDS = (0, 1, 2, 5, 10, 15, 20)
"""From none to the slot of 802.11b."""

FLOWS = {
    "3 Mbit/s": ("3 Mbit/s", "receiver"),
    "6 Mbit/s": ("6 Mbit/s", "receiver"),
    "as fast as it goes": ("3 Mbit/s", "none"),
}
"""Bitrate of the movie and its pacing."""

SCENARIO = """
[movie]
source = "lab"
bitrate = "{bitrate}"
duration = "{seconds} s"

[network]
kind = "wifi"

[network.wifi]
rate = "11 Mbit/s"
error_floor = "0 %"
retry = 16
carrier_sense = "{micros} us"

[playout]
policy = "stall"

[[flow]]
transport = "tcp"
pacing = "{pacing}"
"""


def main() -> None:
    """Prints a row for each time: of all segments one in how many collided, and of these one in how many again."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=60)
    seconds = arguments.parse_args().seconds
    print("segments that collide, one in; of these, one in so many again")
    print(f"{'':6} " + " ".join(f"{name:>22}" for name in FLOWS))
    with tempfile.TemporaryDirectory() as scratch:
        for micros in MICROSECONDS:
            shown = []
            for number, (bitrate, pacing) in enumerate(FLOWS.values()):
                scenario = Path(scratch) / "collisions.toml"
                text = SCENARIO.format(bitrate=bitrate, seconds=seconds, micros=micros, pacing=pacing)
                scenario.write_text(text)
                out = Path(scratch) / f"{micros}-{number}"
                run = framewire.run(scenario, out=out, world="simulated")
                sent = run.results.packets.filter(
                    (pl.col("hop") == "sender-device") & (pl.col("direction") == "forward") & (pl.col("payload") > 0)
                )["transmissions"]
                once, again = int((sent > 1).sum()), int((sent > 2).sum())
                shown.append(f"{one_in(once, len(sent)):>8}; {one_in(again, once):>12}")
            print(f"{micros:3} us " + " ".join(shown))


def one_in(some: int, every: int) -> str:
    """One in so many.

    >>> one_in(3, 60), one_in(0, 60)
    ('20', 'none')
    """
    return f"{every / some:.0f}" if some else "none"


if __name__ == "__main__":
    main()
