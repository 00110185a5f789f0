"""Networks of several links: results name the link at which a packet waited or was lost."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from framewire import Run
from framewire import run as run_scenario
from framewire.cli import app

REPOSITORY = Path(__file__).parents[2]
FLAT = REPOSITORY / "scenarios/flat.toml"


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory = tmp_path_factory.mktemp("flat") / "run"
    short = {"movie.duration": "4 s", "flow.download.start": "1 s", "flow.download.stop": "3 s"}
    return run_scenario(FLAT, world="simulated", out=directory, set=short)


def test_every_packet_is_recorded_on_every_link_of_its_way(flat: Run) -> None:
    packets = pl.read_parquet(flat.directory / "packets.parquet").filter(pl.col("flow") == "rtp")
    forward = packets.filter(pl.col("direction") == "forward")
    way = ["backbone: server > exchange", "line: exchange > router", "flat: router > stations"]
    counts = dict(forward.group_by("hop").len().iter_rows())
    assert set(counts) == set(way)
    for hop, following in itertools.pairwise(way):
        passed = forward.filter((pl.col("hop") == hop) & (pl.col("outcome") == "delivered"))
        assert passed.height == counts[following], "what leaves a link enters the next one"
        arrival = passed.select("packet", pl.col("finished_ns").alias("left"))
        entered = forward.filter(pl.col("hop") == following).join(arrival, on="packet")
        assert entered.select((pl.col("enqueued_ns") == pl.col("left")).all()).item()


def test_delays_are_those_of_the_links(flat: Run) -> None:
    packets = pl.read_parquet(flat.directory / "packets.parquet")
    line = packets.filter((pl.col("hop") == "line: exchange > router") & (pl.col("outcome") == "delivered"))
    times = line.select("started_ns", "finished_ns", "size").iter_rows()
    errors = [finished - started - 8_000_000 - size * 8_000 / 16 for started, finished, size in times]
    assert errors and max(map(abs, errors)) <= 1, "8 ms, and the time of its bits at 16 Mbit/s to the nanosecond"


def test_the_report_names_the_links(flat: Run) -> None:
    page = flat.report().read_text()
    assert "5 nodes; backbone: server to exchange 1 Gbit/s" in page
    assert "line: exchange to router 16 Mbit/s, 8 ms each way, queue 128 KiB, loss 0 %; back 1 Mbit/s" in page


def test_the_emulated_world_says_that_it_has_no_such_networks() -> None:
    result = CliRunner().invoke(app, ["run", str(FLAT), "--world", "emulated"])
    assert result.exit_code == 2
    assert 'network.kind = "graph"' in result.output and "--world simulated" in result.output
