"""What the ends of a stream report to each other by RTCP, in both worlds, and what the report shows of it."""

from __future__ import annotations

from pathlib import Path

import machine_load
import polars as pl
import pytest
from worlds import WORLDS

import framewire
from framewire import movie
from framewire.report.data import load
from framewire.report.figures import of_tables

SCENARIO = """
[network]
kind = "wired"
bottleneck = "remote"
[network.wire]
rate = "20 Mbit/s"
delay = "20 ms"
loss = "2 %"
[[flow]]
name = "full"
transport = "udp-blocking"
rtcp = "full"
[[flow]]
name = "one-way"
transport = "udp"
rtcp = "no-receiver-reports"
[[flow]]
name = "silent"
transport = "udp"
"""


@pytest.fixture
def film(minute: Path) -> Path:
    """20 s, in which reports come several times."""
    return movie.prepare(minute, duration="20 s").path


@pytest.mark.parametrize("world", WORLDS)
def test_reports_say_what_was_so(world: str, tmp_path: Path, film: Path) -> None:
    run = machine_load.run(f'[movie]\nsource = "{film}"\n{SCENARIO}', tmp_path, world=world)
    rows = run.results.rtcp
    named = rows.group_by(name=pl.concat_str("flow", "from", separator=" ")).len()
    counts = dict(named.iter_rows())
    assert set(counts) == {"full sender", "full receiver", "one-way sender"}
    # In 20 s every 5 s on average, the first sooner, and a BYE packet.
    assert all(3 <= count <= 10 for count in counts.values()), counts
    byes = rows.filter(pl.col("bye") & (pl.col("from") == "sender"))
    assert byes["flow"].sort().to_list() == ["full", "one-way"]
    blocks = rows.filter((pl.col("from") == "receiver") & pl.col("lost").is_not_null())
    assert ((blocks["true_lost"] - blocks["lost"]).is_between(0, 3)).all(), "but for the packets before the second"
    assert (blocks["true_fraction_lost"] - blocks["fraction_lost"]).is_between(-0.01, 0.03).all()
    trips = blocks.drop_nulls(["round_trip_ns", "true_round_trip_ns"])
    assert trips.height > 0
    assert ((trips["round_trip_ns"] - trips["true_round_trip_ns"]).abs() < 100_000).all()
    assert (trips["true_round_trip_ns"] >= 40_000_000).all()
    without_number = run.results.packets.filter(pl.col("sequence").is_null())
    assert set(without_number["flow"]) == {"full", "one-way"}, "nothing else in these flows has none"


def test_the_report_shows_them_and_is_without_the_section_where_there_are_none(tmp_path: Path, film: Path) -> None:
    for rtcp, drawn in [("full", 2), ("no-receiver-reports", 0), ("none", None)]:
        scenario = f'[movie]\nsource = "{film}"\n[[flow]]\ntransport = "udp"\nrtcp = "{rtcp}"\n'
        result = framewire.run(scenario, world="simulated", out=tmp_path / rtcp)
        sections = {section.name: section for section in of_tables(load(tmp_path / rtcp))}
        if drawn is None:
            assert "reports" not in sections
            assert result.results.rtcp.is_empty()
            continue
        figures = sections["reports"].figures
        assert [figure.name for figure in figures] == ["rtcp-loss", "rtcp-round-trip", "rtcp-jitter"]
        assert all(len(figure.data) == drawn for figure in figures)
        assert all((figure.absent is None) == (drawn > 0) for figure in figures)


def test_only_rtp_over_udp_has_reports() -> None:
    for transport in ("tcp", "ts", "rtp+tcp", "bulk"):
        with pytest.raises(framewire.InputError, match="rtcp.* means nothing for transport"):
            framewire.load(f'[[flow]]\ntransport = "{transport}"\nrtcp = "full"\n')
    with pytest.raises(framewire.InputError, match="RTP over a connection of its own .* has none"):
        framewire.load('[[flow]]\ntransport = "rtp+tcp"\nrtcp = "full"\n')
    with pytest.raises(framewire.InputError, match="one of none, full, no-receiver-reports"):
        framewire.load('[[flow]]\ntransport = "udp"\nrtcp = "all"\n')
    for transport in ("udp", "udp-whole", "udp+dependency", "ts+rtp"):
        framewire.load(f'[[flow]]\ntransport = "{transport}"\nrtcp = "full"\n')
