"""Packets that are spread in time leave at the same times in both worlds."""

from __future__ import annotations

from pathlib import Path

import machine_load
import polars as pl
import pytest
from worlds import WORLDS

from framewire import movie

SPREADS = {"at-once": "none", "apart": "0.5 ms", "evenly": "frame-interval"}

NETWORK = """
[network]
kind = "wired"
bottleneck = "local-device"
[network.wire]
rate = "100 Mbit/s"
"""


@pytest.mark.parametrize("world", WORLDS)
def test_packets_leave_when_the_scenario_says(world: str, tmp_path: Path, lab_cache: Path) -> None:
    film = movie.make(4_000_000, 4, cache_dir=lab_cache).path
    flows = "".join(
        f'[[flow]]\nname = "{name}"\ntransport = "udp-blocking"\npackets = "thesis"\nspread = "{spread}"\n'
        for name, spread in SPREADS.items()
    )
    run = machine_load.run(f'[movie]\nsource = "{film}"\n{NETWORK}{flows}', tmp_path, world=world)
    gaps = dict(_gaps_ms(run.results.packets).iter_rows())
    # A kernel on a busy machine wakes late, never early: the medians bear that.
    assert gaps["at-once"] < 0.3
    assert 0.49 <= gaps["apart"] < 0.65
    assert gaps["evenly"] == pytest.approx(1.0, rel=0.05), "of its frame's interval, divided by its packets"


def _gaps_ms(packets: pl.DataFrame) -> pl.DataFrame:
    """Of each flow the median over its frames of the mean time between two packets of a frame; of `evenly` as a share
    of 40 ms by the number of packets."""
    sent = packets.filter((pl.col("hop") == "sender-device") & (pl.col("direction") == "forward"))
    frames = sent.group_by("flow", "frame").agg(
        packets=pl.len(), took=(pl.col("enqueued_ns").max() - pl.col("enqueued_ns").min()) / 1e6
    )
    gap = pl.col("took") / (pl.col("packets") - 1)
    slot = 40 / pl.col("packets")
    return (
        frames.filter(pl.col("packets") > 5)
        .with_columns(gap=pl.when(pl.col("flow") == "evenly").then(gap / slot).otherwise(gap))
        .group_by("flow")
        .agg(pl.col("gap").median())
    )
