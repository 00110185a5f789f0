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
from framewire.movie import ladder
from framewire.run_handle import Event

COUNTS = {"offered", "arrived", "dropped", "lost", "given_up", "under_way"}
PROGRESS = {"event", "flow", "elapsed_s", "frames", "throughput_bps", "state", *COUNTS}


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    return movie.make(2_000_000, 2, cache_dir=lab_cache).path


@pytest.fixture(scope="module")
def streaming_file(lab_cache: Path) -> Path:
    return ladder.make(duration=16, cache_dir=lab_cache).streaming_file


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


@pytest.mark.parametrize("world", WORLDS)
def test_what_was_lost_given_up_and_is_under_way_comes_to_what_was_offered(
    world: str, film: Path, streaming_file: Path, tmp_path: Path
) -> None:
    """Of every kind of flow, at any time; and when it has ended, what the ledger says frame by frame."""
    narrow = text(film).replace('"10 Mbit/s"', '"1 Mbit/s"').replace('"5 ms" }', '"5 ms", loss = "3 %" }')
    names = ["udp", "udp-whole", "udp+dependency", "tcp", "tcp+ifd", "vtp", "vtp-hybrid"]
    flows = "".join(f'[[flow]]\ntransport = "{name}"\n' for name in names)
    settings = f'movie.ladder = "{streaming_file}"\nnetwork.bottleneck = "local-device"\n'
    scenario = narrow[: narrow.index("[[flow]]")] + settings + flows
    with framewire.start(scenario, world=world, out=tmp_path / "out") as handle:
        events = [event for event in handle.events if event["event"] == "progress"]
        frames = handle.result().frames
    for name in names:
        told = [event for event in events if event["flow"] == name]
        for event in told:
            assert event["offered"] == sum(event[fate] for fate in ("arrived", "given_up", "lost", "under_way")), event
            assert event["dropped"] == event["given_up"] + event["lost"]
        for growing in ("arrived", "given_up", "lost"):
            assert [event[growing] for event in told] == sorted(event[growing] for event in told), growing
        end, own = told[-1], frames.filter(flow=name)
        given_up = own.filter(discarded_at="sender-pipeline").height
        assert (end["state"], end["under_way"]) == ("done", 0)
        assert (end["arrived"], end["given_up"]) == (own.filter("complete").height, given_up), name
    last = {event["flow"]: event for event in events}
    assert all(last[name]["given_up"] == 0 < last[name]["lost"] for name in ("udp", "udp-whole"))
    assert all(last[name]["given_up"] > 0 == last[name]["lost"] for name in ("tcp+ifd",))
    assert last["udp+dependency"]["given_up"] > 0 < last["udp+dependency"]["lost"]
    assert last["vtp"]["lost"] > 0


@pytest.mark.parametrize("transport", ["tcp", "http"])
@pytest.mark.parametrize("world", WORLDS)
def test_what_is_on_its_way_when_a_run_is_stopped_is_neither_lost_nor_given_up(
    world: str, transport: str, film: Path, tmp_path: Path
) -> None:
    """A connection without loss, slower than the movie, has frames on their way at any time.

    Ten minutes in the simulated world, which has seconds of work with them on any machine.
    """
    long = tmp_path / "long.m2v"
    long.write_bytes(film.read_bytes() * (2 if world == "emulated" else 300))
    narrow = text(long).replace('"10 Mbit/s"', '"1 Mbit/s"')
    waiting = 'playout.policy = "stall"\n'
    scenario = f'{narrow[: narrow.index("[[flow]]")]}{waiting}[[flow]]\ntransport = "{transport}"\n'
    told: list[Event] = []
    is_stopped = False
    with framewire.start(scenario, world=world, out=tmp_path / "out") as handle:
        for event in handle.events:
            if event["event"] == "progress":
                told.append(event)
                if event["arrived"] > 5 and not is_stopped:
                    is_stopped = True
                    handle.stop()
        frames = handle.result().frames
    end = told[-1]
    assert (end["state"], end["lost"], end["given_up"]) == ("done", 0, 0)
    assert end["under_way"] == end["offered"] - end["arrived"] > 0
    assert 0 < end["offered"] < frames.height
    # Where the stream ends, the frame that was cut looks whole until it is known what its sender wrote.
    assert 0 <= end["arrived"] - frames.filter("complete").height <= 1
    assert frames.filter(pl.col("fate") == "lost").is_empty()


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
