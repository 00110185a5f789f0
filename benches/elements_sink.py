"""Processor time of `ifdsink` beside `tcpclientsink`, whole processes with the same parser, live.

A live sink does nothing while it waits for the next frame, so that what counts is what a frame costs. Several pairs of
pipelines run at the same time, in real time, over the same media, each to a receiver of its own that reads as fast as
it can; the ratio is of user and system time of the whole processes, less what the same pipelines take for their first
frames. The receivers compare what came: nothing is dropped.

Whichever of two pipelines wakes first for a frame wakes the processor and fills its caches for the other, and on an
idle machine that costs as much as the frame: so the members of the pairs start in turn, a part of a frame apart.

    make plugin
    .venv/bin/python benches/elements_sink.py [--minutes 10] [--pairs 4] [--plugin DIRECTORY]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from elements import BOUND, MPEG2_6, MPEG2_100, Case, encode, launch, repeated

from framewire.gstreamer import plugin_directory

APART = 0.013
"""Seconds between the starts of two pipelines: no whole part of the 0.04 s of a frame, so that few wake together."""

SINKS = ("tcpclientsink", "ifdsink")
CASES = [
    Case("MPEG-2, 6 Mbit/s", 30, f"{MPEG2_6} -bufsize 1835k -f mpeg2video", "mpegvideoparse", *SINKS),
    Case("MPEG-2, 100 Mbit/s", 10, f"{MPEG2_100} -bufsize 40M -f mpeg2video", "mpegvideoparse", *SINKS),
]


def receive(pipe: Connection) -> None:
    """Prints its port, reads to the end, and prints what came."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname()[1])
    stream, _ = listener.accept()
    digest, buffer, total = hashlib.blake2b(), bytearray(1 << 20), 0
    while length := stream.recv_into(buffer):
        digest.update(memoryview(buffer)[:length])
        total += length
    pipe.send((total, digest.hexdigest()))


def send(sink: str, parser: str, feed: list[str], environment: dict[str, str]) -> tuple[float, tuple[int, str]]:
    """Processor time of a pipeline in seconds, and what its receiver got."""
    ours, theirs = get_context("spawn").Pipe()
    receiver = get_context("spawn").Process(target=receive, args=(theirs,))
    receiver.start()
    line = f"fdsrc ! {parser} ! {sink} sync=true host=127.0.0.1 port={ours.recv()}"
    seconds = launch(line, feed, environment)
    came = ours.recv()
    receiver.join()
    return seconds, came


def in_turn(pairs: int) -> list[int]:
    """Which sink starts next: 0, 1, 1, 0, 0, 1, ..., so that neither leads the other."""
    return [(number + 1) // 2 % 2 for number in range(2 * pairs)]


def together(case: Case, pairs: int, feed: list[str], environment: dict[str, str]) -> tuple[list[float], list[float]]:
    """Runs all pipelines at the same time, and gives the processor time of either kind in seconds."""
    sinks = (case.reference, case.element)

    def start(place: tuple[int, int]) -> tuple[float, tuple[int, str]]:
        number, kind = place
        time.sleep(number * APART)
        return send(sinks[kind], case.parser, feed, environment)

    order = in_turn(pairs)
    with ThreadPoolExecutor(len(order)) as pool:
        ran = list(pool.map(start, enumerate(order)))
    if len({came for _, came in ran}) != 1:
        raise RuntimeError(f"{case.name}: the receivers got different streams: {ran}")
    times: tuple[list[float], list[float]] = ([], [])
    for kind, (seconds, _) in zip(order, ran, strict=True):
        times[kind].append(seconds)
    return times


def compare(case: Case, minutes: float, pairs: int, environment: dict[str, str], directory: Path) -> bool:
    """Prints the ratio of a case; true when it is within the bound."""
    path = encode(case, directory)
    first = together(case, pairs, ["head", "-c", "100000", str(path)], environment)
    times = max(1, round(minutes * 60 / case.seconds))
    whole = together(case, pairs, repeated(path, times), environment)
    reference, element = (sum(long) - sum(short) for long, short in zip(whole, first, strict=True))
    ratio = element / reference
    spent = [", ".join(f"{seconds:.2f}" for seconds in kind) for kind in whole]
    print(
        f"{case.name}: {times * case.seconds / 60:.1f} min, {pairs} pairs, ratio {ratio:.3f};"
        f" {case.reference} {spent[0]} s, {case.element} {spent[1]} s of processor time, start-up included\n"
        f"    gst-launch-1.0 fdsrc ! {case.parser} ! {case.reference} sync=true host=127.0.0.1 port=...\n"
        f"    gst-launch-1.0 fdsrc ! {case.parser} ! {case.element} sync=true host=127.0.0.1 port=...",
        flush=True,
    )
    return ratio <= BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="media of each run, which takes as long")
    parser.add_argument("--pairs", type=int, default=4, help="pipelines of either kind at the same time")
    parser.add_argument("--plugin", type=Path, help="where the plugin is [default: where `make plugin` puts it]")
    options = parser.parse_args()
    environment = {**os.environ, "GST_PLUGIN_PATH": str(options.plugin or plugin_directory())}
    with tempfile.TemporaryDirectory(prefix="framewire-elements-") as name:
        within = [compare(case, options.minutes, options.pairs, environment, Path(name)) for case in CASES]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
