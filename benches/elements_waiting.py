"""How old the picture is behind `ifdqueue` and `ifdsink` over TCP to a reader that is too slow.

A live stream goes through each pipeline to a reader in this machine that reads at its own rate, with the kernel's
default buffers. At the end it is told how many frames the element has dropped, and how old the picture is: the time
since the first byte, less the time in the stream of the last whole picture that was read, the median of the last 2 s.

    make plugin
    .venv/bin/python benches/elements_waiting.py [--seconds 15] [--plugin DIRECTORY]
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from elements import NOISE, Case, encode

from framewire.gstreamer import plugin_directory
from framewire.studies.writers import markdown_table

FRAMES_PER_SECOND = 25
READ_AT_ONCE = 1_500
LAST = 2.0
"""Seconds over which the age of the picture is measured."""
PICTURE, SEQUENCE, GROUP = b"\x00\x00\x01\x00", b"\x00\x00\x01\xb3", b"\x00\x00\x01\xb8"
"""Start codes of MPEG-2 video (ISO/IEC 13818-2, 6.2.1)."""
LIMIT = "post-drop-messages=true max-size-time=500000000"

ENCODER = (
    f"-f lavfi -i {NOISE.format(size='320x176', strength=12)}"
    " -c:v mpeg2video -g 12 -bf 2 -b_strategy 0 -b:v 1500k -minrate 1500k -maxrate 1500k -bufsize 300k -f mpeg2video"
)


@dataclass(frozen=True)
class Sender:
    """The end of a pipeline, and whether it waits for its reader to connect."""

    name: str
    line: str
    listens: bool = False


SENDERS = [
    Sender("ifdqueue ! tcpclientsink", f"clocksync ! ifdqueue {LIMIT} ! tcpclientsink sync=false host=127.0.0.1"),
    Sender("ifdqueue ! tcpserversink", f"clocksync ! ifdqueue {LIMIT} ! tcpserversink sync=false host=127.0.0.1", True),
    Sender("ifdsink", f"ifdsink {LIMIT} host=127.0.0.1"),
]


@dataclass
class Reading:
    """What a reader has read; after each piece of it the seconds since the first byte, and the length so far."""

    stream: bytearray
    marks: list[tuple[float, int]]


def read(stream: socket.socket, bits_per_second: float, seconds: float) -> Reading:
    """Reads at a rate, from the first byte on for so long."""
    reading = Reading(bytearray(stream.recv(1)), [])
    begun = time.monotonic()
    while (elapsed := time.monotonic() - begun) < seconds:
        allowed = int(elapsed * bits_per_second / 8) - len(reading.stream)
        if allowed < READ_AT_ONCE:
            time.sleep((READ_AT_ONCE - allowed) * 8 / bits_per_second)
            continue
        reading.stream += stream.recv(allowed)
        reading.marks.append((elapsed, len(reading.stream)))
    return reading


def pictures(stream: bytes | bytearray) -> list[tuple[bytes, int]]:
    """The pictures of a stream that are whole, without the headers before them, and where they end."""
    pieces = bytes(stream).split(PICTURE)
    ends = itertools.accumulate(len(piece) + len(PICTURE) for piece in pieces)
    whole = list(zip(pieces, ends, strict=True))[1:-1]
    return [(piece.split(SEQUENCE)[0].split(GROUP)[0], end) for piece, end in whole]


def age(reading: Reading, movie: bytes) -> float:
    """How old the picture is, in seconds."""
    places = {picture: place for place, (picture, _) in enumerate(pictures(movie))}
    read = [(end, places[picture]) for picture, end in pictures(reading.stream)]
    ends = [end for end, _ in read]
    last = [mark for mark in reading.marks if mark[0] > reading.marks[-1][0] - LAST]
    newest = [(elapsed, read[bisect.bisect_right(ends, length) - 1][1]) for elapsed, length in last]
    return statistics.median(elapsed - place / FRAMES_PER_SECOND for elapsed, place in newest)


def connect(port: int) -> socket.socket:
    """Connects to a listener that is about to be there."""
    patience = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > patience:
                raise
            time.sleep(0.01)


def free_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def run(sender: Sender, movie: Path, bits_per_second: float, seconds: float, environment: dict[str, str]) -> list[str]:
    """Runs one pipeline and gives its row of the table."""
    listener = None if sender.listens else socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1] if listener else free_port()
    line = f"filesrc location={movie} ! mpegvideoparse ! {sender.line} port={port}"
    process = subprocess.Popen(
        ["gst-launch-1.0", "-m", *shlex.split(line)], env=environment, stdout=subprocess.PIPE, text=True
    )
    dropped = 0

    def count() -> None:
        nonlocal dropped
        assert process.stdout is not None
        dropped = sum("framewire-frame-dropped" in message for message in process.stdout)

    counting = threading.Thread(target=count)
    counting.start()
    try:
        with listener.accept()[0] if listener else connect(port) as stream:
            reading = read(stream, bits_per_second, seconds)
            # Stopped before the reader hangs up: what is given up then was not chosen by a rule.
            process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
        counting.join()
        if listener:
            listener.close()
    came = int(reading.marks[-1][0] * FRAMES_PER_SECOND) + 1
    return [f"`{sender.name}`", f"{dropped} of {came}", f"{age(reading, movie.read_bytes()):.1f} s"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="how long each reader reads")
    parser.add_argument("--kbps", type=float, default=750.0, help="how fast each reader reads, in kbit/s")
    parser.add_argument("--plugin", type=Path, help="where the plugin is [default: where `make plugin` puts it]")
    options = parser.parse_args()
    environment = {**os.environ, "GST_PLUGIN_PATH": str(options.plugin or plugin_directory())}
    with tempfile.TemporaryDirectory(prefix="framewire-waiting-") as name:
        media = Case("waiting", int(options.seconds) + 5, ENCODER, "mpegvideoparse", "", "")
        movie = encode(media, Path(name))
        rows = []
        for sender in SENDERS:
            print(f"{sender.name} ...", file=sys.stderr, flush=True)
            rows.append(run(sender, movie, options.kbps * 1e3, options.seconds, environment))
    print(markdown_table(("", "frames dropped", "the picture is old by"), rows, "left"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
