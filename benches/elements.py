"""Processor time of GStreamer pipelines with framewire's elements beside the same with GStreamer's own.

Each pair of pipelines has the same source and parser. A round runs both, in turn first, over the same media; the ratio
of a round is of user and system time of the whole process, less what the same pipeline takes for one frame. Nothing
is dropped: the limits are off, and a first run compares what comes out with what went in.

    make plugin
    .venv/bin/python benches/elements.py [--minutes 10] [--rounds 5] [--plugin DIRECTORY]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from framewire.gstreamer import plugin_directory

BOUND = 1.1
NOISE = "testsrc2=size={size}:rate=25,noise=alls={strength}:allf=t:all_seed=1"
IFDQUEUE = "ifdqueue max-size-time=0 max-size-bytes=0"


@dataclass(frozen=True)
class Case:
    """Media, and the two pipelines that are compared over it."""

    name: str
    seconds: int
    encoder: str
    parser: str
    reference: str
    element: str


MPEG2_6 = f"-f lavfi -i {NOISE.format(size='720x576', strength=8)} -c:v mpeg2video -g 15 -bf 2 -b:v 6M -maxrate 6M"
MPEG2_100 = (
    f"-f lavfi -i {NOISE.format(size='1920x1080', strength=40)} -c:v mpeg2video -g 15 -bf 2 -b:v 100M -maxrate 100M"
)
H264_6 = f"-f lavfi -i {NOISE.format(size='1280x720', strength=8)} -c:v libx264 -preset ultrafast -bf 2 -g 50 -b:v 6M"

CASES = [
    Case(
        "MPEG-2, 6 Mbit/s",
        30,
        f"{MPEG2_6} -bufsize 1835k -f mpeg2video",
        "mpegvideoparse",
        "queue ! fakesink sync=false",
        f"{IFDQUEUE} ! fakesink sync=false",
    ),
    Case(
        "MPEG-2, 100 Mbit/s",
        10,
        f"{MPEG2_100} -bufsize 40M -f mpeg2video",
        "mpegvideoparse",
        "queue ! fakesink sync=false",
        f"{IFDQUEUE} ! fakesink sync=false",
    ),
    Case(
        "H.264, 6 Mbit/s",
        30,
        f"{H264_6} -f h264",
        "h264parse",
        "queue ! fakesink sync=false",
        f"{IFDQUEUE} ! fakesink sync=false",
    ),
]


def encode(case: Case, directory: Path) -> Path:
    """A piece of the media, which is then fed again and again."""
    path = directory / (case.name.replace(" ", "").replace("/", "") + ".es")
    command = ["ffmpeg", "-v", "error", "-y", *shlex.split(case.encoder), "-t", str(case.seconds), str(path)]
    # Options of the input come before it, so -t here limits the output.
    command.insert(-3, "-an")
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path


def launch(line: str, feed: list[str], environment: dict[str, str]) -> float:
    """Runs gst-launch-1.0 on a stream and gives its processor time in seconds."""
    feeder = subprocess.Popen(feed, stdout=subprocess.PIPE)
    assert feeder.stdout is not None
    process = subprocess.Popen(
        ["gst-launch-1.0", "-q", *shlex.split(line)], stdin=feeder.stdout, env=environment, stdout=subprocess.DEVNULL
    )
    feeder.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    feeder.wait()
    if process.returncode != 0:
        raise RuntimeError(f"gst-launch-1.0 {line} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def repeated(path: Path, times: int) -> list[str]:
    """A program that writes a file so many times."""
    return ["sh", "-c", f"i=0; while [ $i -lt {times} ]; do cat {shlex.quote(str(path))}; i=$((i + 1)); done"]


def check_content(case: Case, path: Path, run: Callable[[str, list[str]], float], directory: Path) -> None:
    """What leaves both pipelines is the same to the byte."""
    digests = []
    for chain in (case.reference, case.element):
        output = directory / "content"
        sink = chain.split(" ! ", maxsplit=1)[0] + f" ! filesink location={output}"
        run(f"fdsrc ! {case.parser} ! {sink}", repeated(path, 1))
        digests.append(hashlib.sha256(output.read_bytes()).hexdigest())
        output.unlink()
    if digests[0] != digests[1]:
        raise RuntimeError(f"{case.name}: what comes out differs: {digests}")


def compare(case: Case, minutes: float, rounds: int, environment: dict[str, str], directory: Path) -> bool:
    """Prints the ratio of a case; true when it is within the bound."""
    path = encode(case, directory)

    def run(line: str, feed: list[str]) -> float:
        return launch(line, feed, environment)

    check_content(case, path, run, directory)
    chains = {"reference": case.reference, "element": case.element}
    lines = {name: f"fdsrc ! {case.parser} ! {chain}" for name, chain in chains.items()}
    # The first group of pictures or so, which starts everything.
    first = ["head", "-c", "100000", str(path)]
    start = {name: statistics.median(run(line, first) for _ in range(5)) for name, line in lines.items()}
    times = max(1, round(minutes * 60 / case.seconds))
    ratios, spent = [], {"reference": [], "element": []}  # type: tuple[list[float], dict[str, list[float]]]
    for number in range(rounds):
        order = ["reference", "element"] if number % 2 == 0 else ["element", "reference"]
        used = {name: run(lines[name], repeated(path, times)) - start[name] for name in order}
        ratios.append(used["element"] / used["reference"])
        for name, seconds in used.items():
            spent[name].append(seconds)
    ratio = statistics.median(ratios)
    seconds = {name: statistics.median(values) for name, values in spent.items()}
    print(
        f"{case.name}: {times * case.seconds / 60:.1f} min, ratio {ratio:.3f}"
        f" ({min(ratios):.3f} to {max(ratios):.3f} in {rounds} rounds),"
        f" {seconds['reference']:.2f} s and {seconds['element']:.2f} s of processor time\n"
        f"    gst-launch-1.0 {lines['reference']}\n    gst-launch-1.0 {lines['element']}",
        flush=True,
    )
    path.unlink()
    return ratio <= BOUND


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="media of each run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plugin", type=Path, help="where the plugin is [default: where `make plugin` puts it]")
    parser.add_argument("--case", help="only cases with this in their name")
    options = parser.parse_args()
    environment = {**os.environ, "GST_PLUGIN_PATH": str(options.plugin or plugin_directory())}
    cases = [case for case in CASES if not options.case or options.case in case.name]
    with tempfile.TemporaryDirectory(prefix="framewire-elements-") as name:
        within = [compare(case, options.minutes, options.rounds, environment, Path(name)) for case in cases]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
