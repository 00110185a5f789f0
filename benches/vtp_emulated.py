"""VTP beside this kernel's own TCP, in the emulated world, and the same in the simulated one beside it.

The key points of the paper's experiments: alone on a wide link, among seven reno connections on 3 Mbit/s, and with 1 %
random loss. Real packets of real sockets cross the link model; each point is streamed with several seeds, and the
simulated world draws the same scenario with twenty. Takes about eight minutes.

    .venv/bin/python benches/vtp_emulated.py [--seeds 3] [--at-once 3] [--keep DIR] [POINT ...]
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import polars as pl

import framewire
from framewire.confidence import student_t
from framewire.studies.table import Cell
from framewire.studies.verdicts import Bounds, Verdict
from framewire.studies.writers import markdown_table

DRAWS = range(1, 21)
"""Seeds of the simulated world."""

PROBABILITY = 0.99
"""That one more draw of the simulated world lies within the interval that is shown."""


@dataclass(frozen=True)
class Stream:
    """What one run says of its adaptive stream and of the connections beside it."""

    kbps: float
    """Bytes of video that came, from the stream's first packet to its last."""
    tcp_kbps: float
    """What the applications of all connections read in the same time."""
    top_s: float
    """From the first packet until the first of the top level; infinite when it was never reached."""
    shown: float
    """Share of the frames that were shown in time."""
    disturbed: str | None
    """Why the run does not count: what else the machine did."""


@dataclass(frozen=True)
class Point:
    """A scenario, and what is asked of it."""

    ladder: str
    link: str
    loss: str
    tcp: int
    what: str
    value: Callable[[Stream], float]
    low: float
    high: float

    @property
    def bounds(self) -> Bounds:
        """Between which values it agrees."""
        return Bounds(self.low, self.high)

    def text(self, seed: int) -> str:
        """The scenario: rate, queue and loss towards the receiver, a round trip of 10 ms, connections of reno that
        begin at random in the first five seconds, and the stream at random in the one after."""
        draw = random.Random(seed)
        starts = [draw.uniform(0, 5) for _ in range(self.tcp)]
        bulk = [
            f'[[flow]]\nname = "tcp-{number}"\ntransport = "bulk"\ncongestion = "reno"\nstart = "{start:.6f} s"\n'
            for number, start in enumerate(starts)
        ]
        begins = 5 + draw.random() if self.tcp else draw.random()
        return (
            f'name = "vtp-emulated"\nseed = {seed}\nlayout = "together"\n[movie]\nladder = "{self.ladder}"\n'
            f'[network]\nkind = "wired"\nbottleneck = "remote"\n'
            f'[network.wire]\nrate = "{self.link}"\ndelay = "5 ms"\nqueue = "50 packets"\nloss = "{self.loss}"\n'
            f'[[flow]]\ntransport = "vtp"\nstart = "{begins:.6f} s"\n{"".join(bulk)}'
        )

    @property
    def place(self) -> tuple[str, str, str, int]:
        """What identifies its scenario."""
        return self.ladder, self.link, self.loss, self.tcp


def of_fair_share(link_kbps: float, flows: int) -> Callable[[Stream], float]:
    """The stream's rate over an equal part of the link, as the paper normalises it."""
    return lambda stream: stream.kbps * flows / link_kbps


POINTS = {
    "alone": Point(
        *("lab-mild", "10 Mbit/s", "0 %", 0, "s until the top level, alone on 10 Mbit/s", lambda s: s.top_s, 5, 9)
    ),
    "alone-frames": Point(
        *("lab-mild", "10 Mbit/s", "0 %", 0, "of the frames shown, alone on 10 Mbit/s", lambda s: s.shown, 0.999, 1)
    ),
    "share": Point(
        *("lab-mild", "3 Mbit/s", "0 %", 7, "of the fair share, 7 connections on 3 Mbit/s"),
        *(of_fair_share(3_000, 8), 0.85, 1.15),
    ),
    "share-tcp": Point(
        *("lab-mild", "3 Mbit/s", "0 %", 7, "of the fair share, each of these connections"),
        *(lambda s: s.tcp_kbps / 7 * 8 / 3_000, 0.85, 1.15),
    ),
    "loss-free": Point(
        *("lab-strong", "5 Mbit/s", "0 %", 11, "kbit/s, strong movie, 11 connections on 5 Mbit/s"),
        *(lambda s: s.kbps, 600, 1_000),
    ),
    "loss": Point(
        *("lab-strong", "5 Mbit/s", "1 %", 11, "kbit/s, the same with 1 % random loss"),
        *(lambda s: s.kbps, 600, 1_000),
    ),
}
"""What is looked at. Points of one scenario are streamed once."""


KEPT = Bounds(low=0.85)
"""Of the rate without loss."""

HEADS = ("what", "bound", "emulated: mean (least to most)", "simulated", "difference", "verdict")


def stream_of(run: framewire.Run) -> Stream:
    """What a run says."""
    packets = run.results.packets.filter((pl.col("flow") == "vtp") & pl.col("sequence").is_not_null())
    came = packets.filter(pl.col("outcome") == "delivered")
    first, last = came["finished_ns"].min(), came["finished_ns"].max()
    assert isinstance(first, int) and isinstance(last, int)
    frames = run.frames.filter(pl.col("flow") == "vtp")
    seconds = (last - first) / 1e9
    top = frames.filter(pl.col("level") == frames["level"].max())["first_byte_ns"].min()
    summary = next(row for row in run.summary.to_dicts() if row["flow"] == "vtp")
    accuracy = run.results.meta["accuracy"]
    doubts = [str(said["disturbed"]) for said in accuracy.values() if said["disturbed"]]
    return Stream(
        kbps=float(frames["bytes_received"].sum()) * 8e-3 / seconds,
        tcp_kbps=tcp_between(run, first, last) * 8e-3 / seconds,
        top_s=(top - first) / 1e9 if isinstance(top, int) and frames["level"].max() == 2 else math.inf,
        shown=summary["shown"] / summary["frames"],
        disturbed="; ".join(dict.fromkeys(doubts)) or None,
    )


def tcp_between(run: framewire.Run, first: int, last: int) -> float:
    """Bytes that the applications of all connections read between two times."""
    flows = run.results.table("flows").filter(pl.col("received_bytes").is_not_null())
    got = flows.filter(pl.col("at_ns").is_between(first, last)).group_by("flow", "connection")
    return float(got.agg(bytes=pl.col("received_bytes").max() - pl.col("received_bytes").min())["bytes"].sum())


Runs = dict[tuple[str, str, str, int], list[Stream]]
"""By the place of a point, one per seed."""


def runs_of(points: Iterable[Point], seeds: Sequence[int], world: str, at_once: int, keep: Path) -> Runs:
    """Streams each scenario with each seed, and says of the emulated ones how they went."""
    places = {point.place: point for point in points}

    def one(job: tuple[int, Point, int]) -> Stream:
        number, point, seed = job
        out = keep / f"{world}-{number}-{seed}"
        stream = stream_of(framewire.run(point.text(seed), out=out, world=world))
        if world == "emulated":
            doubt = f" (disturbed: {stream.disturbed})" if stream.disturbed else ""
            print(f"  {out.name}: {stream.kbps:.0f} kbit/s, TCP {stream.tcp_kbps:.0f}{doubt}", flush=True)
        return stream

    jobs = [(number, point, seed) for number, point in enumerate(places.values()) for seed in seeds]
    with ThreadPoolExecutor(at_once) as pool:
        streams = list(pool.map(one, jobs))
    found: Runs = {place: [] for place in places}
    for (_, point, _), stream in zip(jobs, streams, strict=True):
        found[point.place].append(stream)
    return found


def verdict(values: Sequence[float], bounds: Bounds) -> Verdict:
    """Of all runs together: one says nothing of its spread, and a bound between runs decides nothing."""
    inside = [bounds.hold(value) for value in values]
    if len(values) < 2 or any(inside) != all(inside):
        return Verdict.UNDECIDED
    return Verdict.HOLDS if all(inside) else Verdict.FAILS


def told(values: Sequence[float]) -> str:
    """The mean and what it is of."""
    if not values:
        return "every run was disturbed"
    return f"{fmean(values):.3f} ({min(values):.3f} to {max(values):.3f}, {len(values)} runs)"


def row(point: Point, emulated: list[Stream], simulated: list[Stream]) -> list[str | Cell]:
    """A line of the table: whether the point holds in the emulated world."""
    here = [point.value(stream) for stream in emulated if stream.disturbed is None]
    there = [point.value(stream) for stream in simulated]
    found = _chip(verdict(here, point.bounds))
    if not here:
        return [point.what, str(point.bounds), told(here), f"{fmean(there):.3f}", "", found]
    reach = student_t(PROBABILITY, len(there) - 1) * stdev(there) * math.sqrt(1 / len(here) + 1 / len(there))
    difference = fmean(here) - fmean(there)
    apart = f"{difference:+.3f}, by chance up to {reach:.3f}"
    return [point.what, str(point.bounds), told(here), f"{fmean(there):.3f}", apart, found]


def _chip(found: Verdict) -> Cell:
    return Cell(text=found, mark=found)


def kept_at_loss(runs: Runs) -> list[float]:
    """The rate at 1 % loss over that without, seed by seed, where neither run was disturbed."""
    pairs = zip(runs[POINTS["loss"].place], runs[POINTS["loss-free"].place], strict=True)
    return [lossy.kbps / free.kbps for lossy, free in pairs if lossy.disturbed is None and free.disturbed is None]


def main() -> int:
    """Streams, prints the table, and returns by the exit code whether all points hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="*", metavar="POINT", help=f"of {', '.join(POINTS)}; all, when none is named")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each scenario in the emulated world")
    parser.add_argument("--at-once", type=int, default=3, help="emulated runs at the same time")
    parser.add_argument("--keep", type=Path, help="keep the run directories here")
    options = parser.parse_args()
    unknown = set(options.points) - set(POINTS)
    if unknown:
        parser.error(f"no point is called {sorted(unknown)}: {', '.join(POINTS)} are")
    points = {name: point for name, point in POINTS.items() if not options.points or name in options.points}
    with tempfile.TemporaryDirectory() as scratch:
        keep = options.keep or Path(scratch)
        keep.mkdir(parents=True, exist_ok=True)
        emulated = runs_of(points.values(), range(1, options.seeds + 1), "emulated", options.at_once, keep)
        simulated = runs_of(points.values(), DRAWS, "simulated", 2, keep)
    rows = [row(point, emulated[point.place], simulated[point.place]) for point in points.values()]
    if {"loss-free", "loss"} <= set(points):
        here, there = kept_at_loss(emulated), kept_at_loss(simulated)
        found = _chip(verdict(here, KEPT))
        rows.append(["of its rate kept at 1 % loss", str(KEPT), told(here), f"{fmean(there):.3f}", "", found])
    print(f"\n{markdown_table(HEADS, rows, 'left')}")
    return 0 if all(isinstance(one[-1], Cell) and one[-1].mark == Verdict.HOLDS for one in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
