"""One scenario in both worlds: exact in virtual time, and through this kernel one more draw of the same chances.

The emulated runs take half a minute. What a flow misses that a busy machine disturbed is no failure, and the test says
so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import machine_load
import polars as pl
import pytest
from draws import SEEDS, Draws, Row, draw, ends_elsewhere, over_the_same_frames, rows_of
from test_emulated import capable

import framewire
from framewire import movie

NEEDS_THIS_KERNEL = pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")

SECONDS = 8
DATAGRAMS = ("udp-blocking", "udp", "udp-whole", "udp+ifd")
STREAMS = ("tcp", "rtp+tcp", "tcp+ifd", "tcp+ifd-optimised")
NETWORK = '[network.wifi]\nretry = 3\n[network.wifi.oven]\non = [["2 s", "5 s"]]\n'

LOST = ("lost", "lost_i", "lost_p", "lost_b", "lost_sender_pipeline", "lost_sender_socket", "lost_link")
OF_DATAGRAMS = (*LOST, "duration_s", "packets_sent", "packets_lost", "transmissions_mean", "latency_p50_ms")
OF_STREAMS = (*LOST, "duration_s", "transmissions_mean", "latency_p50_ms")


@dataclass(frozen=True)
class Late:
    """What a busy machine's late wakings add, in milliseconds: they are known, so nothing else has room for them."""

    usual: float
    worst: float


NEVER_LATE = Late(0.0, 0.0)


def allowance(column: str, mean: Row, late: Late) -> float:
    """What the worlds differ by beside chance.

    Sending a frame takes time on this kernel and none in virtual time: of a burst into a full queue one or two packets
    more find room, which the next frame then lacks. A kernel wakes a sender some milliseconds late.
    """
    match column:
        case "duration_s":
            return (40 + late.worst) / 1e3
        case "latency_p50_ms":
            return 5 + late.usual
        case "transmissions_mean":
            return 0.002
        case "packets_sent" | "packets_lost":
            return 0.01 * float(mean["packets_sent"])
        case _:
            return 0.02 * float(mean["frames"])


def misses(row: Row, draws: Draws, columns: tuple[str, ...], late: Late = NEVER_LATE) -> list[str]:
    """What of a flow lies where no draw of it does, to either side."""
    found = ends_elsewhere(row, draws)
    row, draws = over_the_same_frames(row, draws)
    for column in columns:
        band = draws.band(row["flow"], column)
        reach = band.reach + allowance(column, draws.rows[0][row["flow"]], late)
        if not abs(row[column] - band.mean) <= reach:
            found.append(f"{column} is {row[column]}: {band.mean:.6g} +- {reach:.3g} is expected")
    return found


def columns_of(flow: str) -> tuple[str, ...]:
    return OF_DATAGRAMS if flow in DATAGRAMS else OF_STREAMS


@dataclass(frozen=True)
class Worlds:
    """The same scenario in both."""

    emulated: framewire.Run
    simulated: framewire.Run
    draws: Draws


def text_of(film: Path, network: str = NETWORK) -> str:
    flows = "\n".join(f'[[flow]]\ntransport = "{name}"' for name in DATAGRAMS + STREAMS)
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}{flows}'


@pytest.fixture(scope="module")
def films(lab_cache: Path) -> dict[int, Path]:
    """The lab movie by its rate in Mbit/s: over what the link carries, and under."""
    return {rate: movie.make(rate * 1_000_000, SECONDS, cache_dir=lab_cache).path for rate in (3, 6)}


@pytest.fixture(scope="module", params=[3, 6], ids=["3 Mbit/s", "6 Mbit/s"])
def worlds(request: pytest.FixtureRequest, films: dict[int, Path], tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    film, directory = films[request.param], tmp_path_factory.mktemp("worlds")
    text = text_of(film)
    emulated = machine_load.run(text, directory / "emulated", world="emulated")
    simulated = machine_load.run(text, directory / "simulated", world="simulated")
    return Worlds(emulated, simulated, draw(text, film, float(SECONDS)))


@pytest.mark.real_time
@NEEDS_THIS_KERNEL
@pytest.mark.parametrize("flow", DATAGRAMS + STREAMS)
def test_a_transport_fares_alike(worlds: Worlds, flow: str) -> None:
    row = rows_of(worlds.emulated.summary, worlds.emulated.frames)[flow]
    assert {row["status"], worlds.draws.rows[0][flow]["status"]} == {"complete"}
    late = Late(*(machine_load.lateness_ms(worlds.emulated, flow, quantile) for quantile in (0.9, 1.0)))
    with machine_load.excused(worlds.emulated, flow):
        assert misses(row, worlds.draws, columns_of(flow), late) == []
    if flow in ("udp-blocking", "udp", "udp-whole"):
        sent = worlds.draws.rows[0][flow]["packets_sent"]
        assert row["packets_sent"] == sent, "every frame is cut and offered, whatever the link does"


@pytest.mark.real_time
@NEEDS_THIS_KERNEL
def test_the_tables_have_the_same_columns(worlds: Worlds) -> None:
    for table in ("frames", "packets", "flows", "summary", "accuracy"):
        assert worlds.emulated.results.table(table).schema == worlds.simulated.results.table(table).schema, table


@pytest.mark.real_time
@NEEDS_THIS_KERNEL
def test_what_was_sent_is_what_was_sent(worlds: Worlds) -> None:
    """The first datagrams of the movie are the same packets: size, sequence number, frame."""
    columns = ["size", "sequence", "payload", "frame", "hop", "direction"]
    there = (pl.col("flow") == "udp-blocking") & (pl.col("hop") == "sender-device")
    both = (worlds.emulated, worlds.simulated)
    first = [run.results.packets.filter(there).sort("sequence").head(200).select(columns) for run in both]
    assert first[0].equals(first[1])


OTHERS = range(SEEDS.stop, SEEDS.stop + 12)
WRONG = {
    "a rate 8 % off": "retry = 3\npreamble = 'short'",  # 96 us of the 1.2 ms that a data packet is on the air
    "a frame error rate of 3 % for 0.5 %": "retry = 3\nerror_floor = '3 %'",
    "a frame error rate of 6 % for 0.5 %": "retry = 3\nerror_floor = '6 %'",
}
HIDDEN_IN_COLLISIONS = "a frame error rate of 3 % for 0.5 %"
"""Of TCP's own segments 3 % collide with its acknowledgements, more or fewer in each draw: as many more that are lost
in the air are told by the datagram flows alone."""


@pytest.fixture(scope="module")
def draws(films: dict[int, Path]) -> Draws:
    return draw(text_of(films[6]), films[6], float(SECONDS))


def test_other_draws_of_the_scenario_lie_within_the_bounds(films: dict[int, Path], draws: Draws) -> None:
    for rows in draw(text_of(films[6]), films[6], float(SECONDS), OTHERS).rows:
        for flow, row in rows.items():
            assert misses(row, draws, columns_of(flow)) == [], flow


@pytest.mark.parametrize("wrong", WRONG)
def test_a_link_that_is_a_little_wrong_lies_outside(films: dict[int, Path], draws: Draws, wrong: str) -> None:
    text = text_of(films[6], NETWORK.replace("retry = 3", WRONG[wrong]))
    late = Late(5.0, 20.0)  # as on a machine that is rather busy
    for rows in draw(text, films[6], float(SECONDS), OTHERS).rows:
        told = {flow for flow, row in rows.items() if misses(row, draws, columns_of(flow), late)}
        if wrong == HIDDEN_IN_COLLISIONS:
            assert len(told & set(DATAGRAMS)) >= len(DATAGRAMS) - 1, f"only {told} tell of {wrong}"
        else:
            # What `tcp` tells or not, `rtp+tcp` does: it is no second witness.
            witnesses = {*DATAGRAMS, *STREAMS} - {"rtp+tcp"}
            assert len(told & witnesses) >= len(witnesses) - 2, f"only {told} tell of {wrong}"
