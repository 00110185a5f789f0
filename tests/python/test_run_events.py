"""What a run says while it goes on: the same in both worlds, held with the same code."""

from __future__ import annotations

import time
from pathlib import Path

import machine_load
import polars as pl
import pytest
from worlds import WORLDS

import framewire
from framewire import movie
from framewire.run_handle import Event

COUNTS = {"offered", "arrived", "dropped", "lost", "given_up"}
PROGRESS = {"event", "flow", "elapsed_s", "frames", "throughput_bps", "state", *COUNTS}


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    return movie.make(2_000_000, 2, cache_dir=lab_cache).path


def text(film: Path) -> str:
    network = 'network.kind = "wired"\nnetwork.wire = { rate = "10 Mbit/s", delay = "5 ms" }\n'
    flows = '[[flow]]\ntransport = "udp"\n[[flow]]\ntransport = "tcp"\n'
    return f'name = "events"\nmovie.source = "{film}"\n{network}{flows}'


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_says_when_it_starts_where_its_flows_are_and_how_it_ended(world: str, film: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    with framewire.start(text(film), world=world, out=tmp_path / "out") as handle:
        events += handle.events
        run = handle.result()
    names = [event["event"] for event in events]
    started, last = names.index("started"), names.index("progress")
    assert set(names[:started]) == {"step"} and started < last and names[-1] == "finished"
    assert set(names[started + 1 : -1]) == {"progress"}
    assert events[started] == {"event": "started", "flows": ["udp", "tcp"], "frames": 50, "movie_s": 2.0}
    assert {"event", "directory", "status", "failures"} == {*events[-1]}
    assert (events[-1]["status"], events[-1]["failures"]) == ("complete", [])
    summary = {row["flow"]: row for row in run.summary.iter_rows(named=True)}
    for flow in ("udp", "tcp"):
        told = [event for event in events if event.get("flow") == flow]
        assert all({*event} == PROGRESS for event in told)
        for growing in ("elapsed_s", "offered", "arrived"):
            assert [event[growing] for event in told] == sorted(event[growing] for event in told)
        states = [event["state"] for event in told]
        assert states == sorted(states, key=["streaming", "draining", "done"].index)
        end = told[-1]
        assert (end["state"], end["frames"], end["offered"], end["dropped"]) == ("done", 50, 50, 0)
        assert (end["lost"], end["given_up"]) == (0, 0)
        arrived = run.frames.filter(flow=flow, complete=True).height
        assert end["arrived"] == arrived == 50
        assert end["throughput_bps"] * end["elapsed_s"] / 8 == pytest.approx(
            summary[flow]["packet_throughput_bps"] * summary[flow]["duration_s"] / 8, rel=0.1
        )


def test_what_the_link_lost_and_what_the_sender_gave_up_are_told_apart(film: Path, tmp_path: Path) -> None:
    narrow = text(film).replace('"10 Mbit/s"', '"1 Mbit/s"').replace('"5 ms" }', '"5 ms", loss = "10 %" }')
    flows = narrow.replace('"tcp"\n', '"tcp+ifd"\n')
    with framewire.start(flows, world="simulated", out=tmp_path / "out") as handle:
        last = {event["flow"]: event for event in handle.events if event["event"] == "progress"}
        frames = handle.result().frames
    udp, ifd = last["udp"], last["tcp+ifd"]
    assert udp["lost"] == udp["dropped"] > 0 and udp["given_up"] == 0
    assert ifd["given_up"] == ifd["dropped"] > 0 and ifd["lost"] == 0
    places = frames.filter(flow="tcp+ifd", fate="lost")["root_cause_place"].value_counts()
    assert dict(places.iter_rows()) == {"sender-pipeline": ifd["given_up"]}


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_that_is_stopped_at_its_first_frames_ends_soon(world: str, film: Path, tmp_path: Path) -> None:
    """Two minutes; twenty in the simulated world, which has seconds of work with them on any machine."""
    long, load, stopped_at = tmp_path / "long.m2v", machine_load.load(), 0.0
    times = 60 if world == "emulated" else 600
    long.write_bytes(film.read_bytes() * times)
    names: list[str] = []
    with framewire.start(text(long), world=world, out=tmp_path / "out") as handle:
        for event in handle.events:
            names.append(event["event"])
            if event["event"] == "progress" and event["offered"] and not stopped_at:
                stopped_at = time.monotonic()
                handle.stop()
        run = handle.result()
    took = time.monotonic() - stopped_at
    assert names.count("stopping") == 1 and names[-1] == "finished"
    assert (run.status, run.ended_by) == ("partial", "interrupted")
    assert 0 < run.frames.filter(pl.col("offered_ns").is_not_null()).height < 2 * 50 * times
    machine_load.soon(took, 5.0, load)
