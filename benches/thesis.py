"""The main job held against the measurements of the 802.11b thesis (Ouwens, sections 3.6 to 3.9).

Streams the lab movie at 6 and at 3 Mbit/s, with and without the microwave oven, by all seven transports, and compares
with what the thesis measured. Takes about seven minutes.

    .venv/bin/python benches/thesis.py [--keep DIR]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import framewire
from framewire import stats
from framewire.commands import stdout
from framewire.studies.table import of_findings
from framewire.studies.verdicts import Bounds, Claim, Finding, Verdict, counted
from framewire.studies.writers import terminal

ROOT = Path(__file__).parents[1]
OVEN = (20.0, 40.0)
DATAGRAM = ("udp-blocking", "udp", "udp-whole", "udp+ifd")


def between(what: str, value: float, low: float, high: float, unit: str = "") -> Finding:
    """A bound on both sides."""
    bounds = Bounds(low, high)
    return Finding(Claim(what, f"{bounds}{unit}"), f"{value:.2f}{unit}", Verdict.of(bounds.hold(value)))


def scenario(directory: Path, bitrate: int, oven: bool) -> framewire.Run:
    """One run of the demonstration's scenario, at another rate, with or without the oven."""
    text = (ROOT / "scenarios" / "demo.toml").read_text()
    if not oven:
        head, _, rest = text.partition("[network.wifi.oven]")
        text = head + rest.split("\n", 2)[2]
    name = f"{bitrate}-{'oven' if oven else 'quiet'}"
    file = directory / f"{name}.toml"
    file.write_text(text)
    print(f"streaming at {bitrate} Mbit/s, oven {'on from 20 to 40 s' if oven else 'off'} ...", flush=True)
    return framewire.run(file, set={"movie.bitrate": f"{bitrate} Mbit/s"}, out=directory / name)


def row(run: framewire.Run, flow: str) -> dict[str, float]:
    """The summary of one flow."""
    return next(row for row in run.summary.iter_rows(named=True) if row["flow"] == flow)


def lost_share(row: dict[str, float], kinds: str) -> float:
    """Percentage of frames of these types that were lost."""
    return 100 * sum(row[f"lost_{kind}"] for kind in kinds) / sum(row[f"frames_{kind}"] for kind in kinds)


def six_quiet(run: framewire.Run) -> Iterator[Finding]:
    """6 Mbit/s without interference: the link is too narrow, and the transports differ in what gives."""
    ifd = row(run, "tcp+ifd")
    yield between("tcp+ifd: duration", ifd["duration_s"], 59.5, 60.5, " s")
    yield between("tcp+ifd: I frames lost", ifd["lost_i"], 0, 1)
    yield between("tcp+ifd: P frames lost", lost_share(ifd, "p"), 0, 1.5, " %")
    movie = float(run.frames.filter(pl.col("flow") == "tcp+ifd")["size"].sum())
    shed = 100 * ifd["shed_bytes"] / movie
    # What plain TCP carries over the same link is what there is to carry.
    room = 100 * (1 - row(run, "tcp")["packet_throughput_bps"] / row(run, "tcp")["movie_bitrate_bps"])
    yield between("tcp+ifd: bytes shed less 1 - goodput of tcp / bitrate", shed - room, -2, 2, " points")
    latency = run.frames.filter((pl.col("flow") == "tcp+ifd") & pl.col("latency_ns").is_not_null())["latency_ns"]
    yield between("tcp+ifd: frames under 250 ms latency", 100 * float((latency < 250_000_000).mean()), 95, 100, " %")  # type: ignore[arg-type]
    udp = row(run, "udp")
    yield between("udp: I and P frames lost", lost_share(udp, "ip"), 90, 100, " %")
    yield between("udp: frames lost", lost_share(udp, "ipb"), 60, 100, " %")
    yield between("tcp: duration", row(run, "tcp")["duration_s"], 66, 73, " s")
    yield between("udp-blocking: duration", row(run, "udp-blocking")["duration_s"], 80, 90, " s")


def three_quiet(run: framewire.Run) -> Iterator[Finding]:
    """3 Mbit/s: the link is wide enough for everything."""
    for name in run.summary["flow"]:
        summary = row(run, name)
        yield between(f"{name}: frames delivered", 100 - lost_share(summary, "ipb"), 99, 100, " %")


def dip(run: framewire.Run, flow: str) -> tuple[float, float]:
    """Packet throughput while the oven is on, and in the ten seconds after it, each against that before; in percent."""
    series = stats.packet_throughput(run.results.packets.filter(pl.col("flow") == flow))
    rate = series.columns[-1]
    second = series.columns[-2]

    def mean(start: float, end: float) -> float:
        inside = series.filter(pl.col(second).is_between(start, end, closed="left"))
        return float(inside[rate].mean() or 0.0)  # type: ignore[arg-type]

    before = mean(5, OVEN[0])
    return 100 * mean(*OVEN) / before, 100 * mean(OVEN[1] + 1, OVEN[1] + 11) / before


def oven_dips(six: framewire.Run, three: framewire.Run) -> Iterator[Finding]:
    """The oven costs throughput where there is none to spare, and the streams recover."""
    for flow in ("udp-blocking", "tcp", "tcp+ifd"):
        during, after = dip(six, flow)
        yield between(f"{flow}: throughput at 6 Mbit/s while the oven is on", during, 60, 97, " %")
        yield between(f"{flow}: throughput at 6 Mbit/s after it", after, 97, 105, " %")
        relaxed, _ = dip(three, flow)
        yield between(f"{flow}: dip at 6 Mbit/s less dip at 3 Mbit/s", relaxed - during, 1, 40, " points")


def report(title: str, findings: Iterator[Finding]) -> int:
    """Prints what was found and returns how often it does not hold."""
    every = list(findings)
    print()
    stdout().print(terminal(of_findings(every, heads=("what", "allowed", "measured"), title=title)))
    return counted(one.verdict for one in every)[Verdict.FAILS]


def ratio(run: framewire.Run) -> str:
    """Mean sizes of I, P and B frames, the last as 1: what a comparison with another movie depends on."""
    one = run.frames.filter(pl.col("flow") == run.summary["flow"][0])
    mean = {kind: float(one.filter(pl.col("type") == kind)["size"].mean()) for kind in "IPB"}  # type: ignore[arg-type]
    return ":".join(f"{mean[kind] / mean['B']:.2f}" for kind in "IPB")


def measure(directory: Path) -> int:
    """All four runs and all checks; the number of failures."""
    six, three = scenario(directory, 6, oven=False), scenario(directory, 3, oven=False)
    six_oven, three_oven = scenario(directory, 6, oven=True), scenario(directory, 3, oven=True)
    print(f"\nI:P:B sizes of the movie: {ratio(six)} at 6 Mbit/s, {ratio(three)} at 3 Mbit/s")
    failed = report("6 Mbit/s, no oven", six_quiet(six))
    failed += report("3 Mbit/s, no oven", three_quiet(three))
    failed += report("the oven, on from 20 to 40 s", oven_dips(six_oven, three_oven))
    for run in (six, three, six_oven, three_oven):
        disturbed = [name for name, proof in run.results.meta["accuracy"].items() if proof["disturbed"]]
        print(
            f"{run.directory.name}: emulation {'disturbed for ' + ', '.join(disturbed) if disturbed else 'undisturbed'}"
        )
    return failed


def main() -> int:
    """Exits with 1 where a bound does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--keep", type=Path, help="keep the run directories here")
    keep = arguments.parse_args().keep
    if keep is not None:
        keep.mkdir(parents=True)
        return int(measure(keep) > 0)
    with tempfile.TemporaryDirectory() as scratch:
        return int(measure(Path(scratch)) > 0)


if __name__ == "__main__":
    sys.exit(main())
