"""Processor time of `ifdsink` beside `tcpclientsink`, whole processes with the same parser, live.

A live sink does nothing while it waits for the next frame, so that what counts is what a frame costs. Both pipelines
run at the same time, in real time, over the same media, each to a receiver of its own that reads as fast as it can; the
ratio is of user and system time of the whole process, less what the same pipeline takes for its first frames. The
receivers compare what came: nothing is dropped.

    make plugin
    .venv/bin/python benches/elements_sink.py [--minutes 10] [--plugin DIRECTORY]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from elements import BOUND, MPEG2_6, MPEG2_100, Case, encode, launch, repeated

from framewire.gstreamer import plugin_directory

SINKS = ("tcpclientsink", "ifdsink")
CASES = [
    Case("MPEG-2, 6 Mbit/s", 30, f"{MPEG2_6} -bufsize 1835k -f mpeg2video", "mpegvideoparse", *SINKS),
    Case("MPEG-2, 100 Mbit/s", 10, f"{MPEG2_100} -bufsize 40M -f mpeg2video", "mpegvideoparse", *SINKS),
]


def receive(pipe: Connection) -> None:
    """Tells its port, reads to the end, and tells what came."""
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


def both(case: Case, feed: list[str], environment: dict[str, str]) -> list[tuple[float, tuple[int, str]]]:
    """Runs the two pipelines at the same time."""
    with ThreadPoolExecutor(2) as pool:
        sinks = (case.reference, case.element)
        return list(pool.map(lambda sink: send(sink, case.parser, feed, environment), sinks))


def compare(case: Case, minutes: float, environment: dict[str, str], directory: Path, lock: threading.Lock) -> bool:
    """Prints the ratio of a case; true when it is within the bound."""
    with lock:
        path = encode(case, directory)
    start = both(case, ["head", "-c", "100000", str(path)], environment)
    times = max(1, round(minutes * 60 / case.seconds))
    ran = both(case, repeated(path, times), environment)
    (reference, element) = (long - short for (long, _), (short, _) in zip(ran, start, strict=True))
    if ran[0][1] != ran[1][1]:
        raise RuntimeError(f"{case.name}: the receivers got different streams: {ran}")
    ratio = element / reference
    print(
        f"{case.name}: {times * case.seconds / 60:.1f} min, {ran[0][1][0] / 1e6:.0f} MB, ratio {ratio:.3f},"
        f" {reference:.2f} s and {element:.2f} s of processor time\n"
        f"    gst-launch-1.0 fdsrc ! {case.parser} ! {case.reference} sync=true host=127.0.0.1 port=...\n"
        f"    gst-launch-1.0 fdsrc ! {case.parser} ! {case.element} sync=true host=127.0.0.1 port=...",
        flush=True,
    )
    return ratio <= BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="media of each run, which takes as long")
    parser.add_argument("--plugin", type=Path, help="where the plugin is [default: where `make plugin` puts it]")
    options = parser.parse_args()
    environment = {**os.environ, "GST_PLUGIN_PATH": str(options.plugin or plugin_directory())}
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="framewire-elements-") as name, ThreadPoolExecutor(len(CASES)) as pool:
        runs = pool.map(lambda case: compare(case, options.minutes, environment, Path(name), lock), CASES)
        within = list(runs)
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
