"""Campaigns of the real simulator: small ones, over a movie of a second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import framewire
from framewire.campaign.results import Campaign
from framewire.errors import InputError


@pytest.fixture(scope="module")
def document(stream: Path) -> dict[str, Any]:
    """Eight points, two repeats, over a link that loses packets at few attempts."""
    senders = [
        {"label": "udp", "set": {"flow": [{"transport": "udp", "packets": "thesis"}]}},
        {"label": "tcp", "set": {"flow": [{"transport": "tcp", "pacing": "receiver"}]}},
        {"label": "ifd", "set": {"flow": [{"transport": "tcp+ifd"}, {"transport": "udp+ifd"}]}},
    ]
    return {
        "name": "simulated",
        "axes": {"network.wifi.retry": [1, 4]},
        "axis": [{"name": "sender", "values": senders}],
        "repeats": 2,
        "scenario": {
            "movie": {"source": str(stream)},
            "network": {"wifi": {"oven": {"on": [["0.2 s", "0.8 s"]]}, "error_floor": "10 %"}},
            "flow": [],
        },
    }


@pytest.fixture(scope="module")
def result(document: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return framewire.campaign(document, out=tmp_path_factory.mktemp("campaign") / "out", jobs=2)


def test_every_frame_of_every_cell_has_a_fate(result: Campaign) -> None:
    assert result.failures == []
    assert result.summary.height == 2 * 2 * 4
    fates = result.summary.select(pl.sum_horizontal("shown", "late", "undecodable", "lost"), "frames")
    assert fates.rows() == [(25, 25)] * 16
    ledger = result.frames.group_by("cell", "flow", maintain_order=True).agg(
        pl.len(), lost=(pl.col("fate") == "lost").sum().cast(pl.Int32)
    )
    assert ledger.select("cell", "flow", "lost").collect().equals(result.summary.select("cell", "flow", "lost"))
    assert result.meta["simulated_s"] > 12 * 1.0


def test_the_channel_of_a_repeat_is_the_same_for_all_and_others_differ(result: Campaign) -> None:
    seeds = result.summary.group_by("repeat").agg(pl.col("seed").unique())["seed"].to_list()
    assert sorted(map(len, seeds)) == [1, 1]
    arrivals = [
        table.get_column("arrival_ns").to_list()
        for _, table in result.frames.filter((pl.col("sender") == "udp") & (pl.col("network.wifi.retry") == 1))
        .collect()
        .group_by("repeat", maintain_order=True)
    ]
    assert len(arrivals) == 2
    assert arrivals[0] != arrivals[1]


def test_more_attempts_lose_fewer_packets(result: Campaign) -> None:
    losses = result.means("packet_loss_percent", by=["sender", "network.wifi.retry"])
    one, four = losses.filter(pl.col("sender") == "udp")["packet_loss_percent"].to_list()
    assert 5 < one < 60
    assert 0 <= four < one / 4


def test_one_job_and_another_order_give_the_same_tables(
    document: dict[str, Any], result: Campaign, tmp_path: Path
) -> None:
    alone = framewire.campaign(document, out=tmp_path / "alone", jobs=1)
    assert alone.hashes == result.hashes
    assert alone.summary.equals(result.summary)
    assert alone.frames.collect().equals(result.frames.collect())
    # The same cells, other ones first: what a cell is must not depend on what was computed before it.
    turned = document | {"axes": {"network.wifi.retry": [4, 1]}}
    other = framewire.campaign(turned, out=tmp_path / "turned", jobs=2)
    order = ["cell", "flow", "frame"]
    assert other.frames.sort(order).collect().equals(result.frames.sort(order).collect())


def test_a_cell_run_alone_is_the_same_with_everything_else(result: Campaign, tmp_path: Path) -> None:
    row = result.summary.row(-1, named=True)
    run = result.run_cell(row["cell"], out=tmp_path / "run")
    cell = result.directory / "cells" / row["cell"]
    assert run.frames.equals(pl.read_parquet(cell / "frames.parquet"))
    assert run.summary.equals(pl.read_parquet(cell / "summary.parquet"))
    assert set(run.results.packets["flow"]) == {"tcp+ifd", "udp+ifd"}
    assert run.results.meta["world"] == "simulated"


def test_packets_are_kept_on_request(document: dict[str, Any], tmp_path: Path) -> None:
    few = document | {"axes": {"network.wifi.retry": [4]}, "repeats": 1}
    result = framewire.campaign(few | {"packets": True}, out=tmp_path / "out")
    packets = result.packets.filter(pl.col("sender") == "udp").select("flow", "packet").unique().collect()
    sent = result.summary.filter(pl.col("sender") == "udp")["packets_sent"].item()
    assert packets.height == sent
    assert set(result.hashes) >= {"frames", "summary", "packets"}
    without = framewire.campaign(few, out=tmp_path / "out")
    assert {name: result.hashes[name] for name in without.hashes} == without.hashes
    assert not (tmp_path / "out" / "packets").exists()


def test_states_of_flows_are_kept_and_hashed_on_request_and_summed_up_in_any_case(
    document: dict[str, Any], tmp_path: Path
) -> None:
    few = document | {"axes": {"network.wifi.retry": [4]}, "repeats": 1}
    result = framewire.campaign(few | {"flows": True}, out=tmp_path / "out")
    states = result.flows.filter(pl.col("flow") == "tcp+ifd").collect()
    last = result.summary.filter(pl.col("flow") == "tcp+ifd")
    assert states["retransmissions"].max() == last["retransmissions"].item()
    assert states["srtt_ns"].replace(0, None).mean() / 1e6 == pytest.approx(last["srtt_mean_ms"].item(), rel=1e-9)
    assert states["at_ns"].diff().max() == 50_000_000
    without = framewire.campaign(few, out=tmp_path / "out")
    assert set(result.hashes) - set(without.hashes) == {"flows"}
    assert {name: result.hashes[name] for name in without.hashes} == without.hashes
    assert without.summary.drop("cell").equals(result.summary.drop("cell"))
    assert not (tmp_path / "out" / "flows").exists()
    with pytest.raises(InputError, match="has no table flows; `flows = true`"):
        _ = without.flows


def test_a_cell_that_cannot_be_simulated_fails_alone(document: dict[str, Any], tmp_path: Path) -> None:
    """The movie is gone when the first cell is computed."""
    movie = tmp_path / "movie.m2v"
    movie.write_bytes(Path(document["scenario"]["movie"]["source"]).read_bytes())
    gone = document | {"scenario": document["scenario"] | {"movie": {"source": str(movie)}}, "repeats": 1}

    def remove(event: dict[str, Any]) -> None:
        if event["event"] == "cells":
            movie.unlink(missing_ok=True)

    result = framewire.campaign(gone, out=tmp_path / "out", progress=remove)
    assert len(result.failures) == 6
    assert all(str(movie) in failure.reason for failure in result.failures)
    assert json.loads((tmp_path / "out" / "campaign.json").read_text())["cells"]["done"] == 0


def test_a_movie_that_was_replaced_is_another_movie(document: dict[str, Any], stream: Path, tmp_path: Path) -> None:
    movie = tmp_path / "movie.m2v"
    one = document | {
        "scenario": document["scenario"] | {"movie": {"source": str(movie)}},
        "axes": {"network.wifi.retry": [4]},
        "repeats": 1,
    }
    movie.write_bytes(stream.read_bytes())
    whole = framewire.campaign(one, out=tmp_path / "whole")
    second_group = stream.read_bytes().rfind(b"\x00\x00\x01\xb3")
    movie.write_bytes(stream.read_bytes()[:second_group])
    shorter = framewire.campaign(one, out=tmp_path / "shorter")
    assert set(whole.summary["frames"]) == {25}
    assert set(shorter.summary["frames"]) < set(range(10, 25))
