"""How much processor time H.264 in RTP and MPEG-TS takes, beside GStreamer's elements and FFmpeg's (de)multiplexer.

A gigabyte of a 25 Mbit/s stream is cut into packets and put together again, start-code search and copies included: by
this project (`benches/micro/carriage.rs`) and by the other one, in turn, round by round. What each takes to start, with
the first frame alone, is subtracted. A ratio is of one round; given are the median and the span of all rounds.

    .venv/bin/python benches/carriage.py [--rounds 7] [--keep DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

BYTES = 1_000_000_000
"""Of the stream, at least."""

ENCODER = (
    "ffmpeg -v error -y -f lavfi -i testsrc2=size=1920x1080:rate=25 -vf noise=alls=40:allf=t -frames:v 500 "
    "-c:v libx264 -preset ultrafast -b:v 25M -maxrate 25M -bufsize 25M -bf 2 -g 50"
)

PAY = "filesrc location={file} blocksize=65536 ! h264parse ! rtph264pay mtu=1472 aggregate-mode=zero-latency"
DEPAY = (
    "filesrc location={file} blocksize=65536 ! "
    "application/x-rtp-stream,media=video,clock-rate=90000,encoding-name=H264 ! "
    "rtpstreamdepay ! rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au"
)
MUX = "ffmpeg -v error -y -f h264 -framerate 25 -i {file} -c copy -bsf:v setts=ts=N*3600 -f mpegts"
DEMUX = "ffmpeg -v error -y -f mpegts -i {file} -c copy -f h264"


@dataclass(frozen=True)
class Way:
    """One of the four, and what the other one is asked."""

    name: str
    title: str
    suffix: str
    other: str
    command: str
    wanted: float
    """The ratio that is claimed."""


WAYS = (
    Way("rtp", "H.264 to RTP", "264", "GStreamer", f"gst-launch-1.0 -q {PAY} ! fakesink", 2.0),
    Way("unrtp", "RTP to H.264", "rtp", "GStreamer", f"gst-launch-1.0 -q {DEPAY} ! fakesink", 2.0),
    Way("ts", "H.264 to MPEG-TS", "264", "FFmpeg", f"{MUX} /dev/null", 1.0),
    Way("unts", "MPEG-TS to H.264", "ts", "FFmpeg", f"{DEMUX} /dev/null", 1.0),
)


def main() -> None:
    """Prints the table; status 1 where a ratio is below what is claimed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="where the streams stay for another time")
    arguments = parser.parse_args()
    program = built()
    with tempfile.TemporaryDirectory(prefix="framewire-carriage-") as temporary:
        directory = arguments.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        whole, first = streams(directory, "whole", BYTES), streams(directory, "first", 1)
        held = True
        print(f"{'':18} {'framewire':>12} {'the other':>12}   times as fast   spread over {arguments.rounds} rounds")
        for way in WAYS:
            ours, theirs = [], []
            for _ in range(arguments.rounds):
                own = [str(program), way.name]
                ours.append(seconds([*own, str(whole[way.suffix])]) - seconds([*own, str(first[way.suffix])]))
                one, start = (shlex.split(way.command.format(file=files[way.suffix])) for files in (whole, first))
                theirs.append(seconds(one) - seconds(start))
            ratios = sorted(other / own for own, other in zip(ours, theirs, strict=True))
            ratio = statistics.median(ratios)
            held &= ratio >= way.wanted
            print(
                f"{way.title:18} {statistics.median(ours):10.2f} s {statistics.median(theirs):10.2f} s   "
                f"{ratio:6.1f} ({way.other})   {ratios[0]:.1f} to {ratios[-1]:.1f}"
                + ("" if ratio >= way.wanted else f"   below {way.wanted:g}")
            )
    sys.exit(0 if held else 1)


def built() -> Path:
    """The program, compiled."""
    cargo = [os.environ.get("CARGO", "cargo"), "build", "--release", "--locked", "-p", "framewire-benches"]
    subprocess.run([*cargo, "--example", "carriage"], check=True, cwd=ROOT)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "carriage"


def streams(directory: Path, name: str, size: int) -> dict[str, Path]:
    """The stream of at least so many bytes, in RTP (RFC 4571) and in MPEG-TS, by suffix."""
    found = {suffix: directory / f"{name}.{suffix}" for suffix in ("264", "rtp", "ts")}
    if all(path.exists() for path in found.values()):
        return found
    piece = directory / f"{name}-piece.264"
    command = shlex.split(ENCODER)
    if size == 1:
        command[command.index("-frames:v") + 1] = "1"
    subprocess.run([*command, str(piece)], check=True, stdin=subprocess.DEVNULL)
    data = piece.read_bytes()
    with found["264"].open("wb") as out:
        for _ in range(-(-size // len(data))):
            out.write(data)
    piece.unlink()
    pay = f"gst-launch-1.0 -q {PAY.format(file=found['264'])} ! rtpstreampay ! filesink location={found['rtp']}"
    for made in (pay, f"{MUX.format(file=found['264'])} {found['ts']}"):
        subprocess.run(shlex.split(made), check=True, stdin=subprocess.DEVNULL)
    return found


def seconds(command: list[str]) -> float:
    """Of processor time that a command takes."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
