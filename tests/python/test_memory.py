"""Files of any size are read in little memory: asked of a process of its own, by the most that it ever had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOST_MB = 200
FRAMES = 1_000_000
SECONDS = 40
CODERS = {
    "m2v": "-c:v mpeg2video -g 15 -bf 2 -q:v 31",
    "h264": "-c:v libx264 -crf 45 -f h264",
}


PROGRAM = """
import atexit, pathlib, sys
from framewire.cli import main
status = pathlib.Path("/proc/self/status")
atexit.register(lambda: print(status.read_text().split("VmHWM:")[1].split()[0], file=sys.stderr))
main()
"""
"""Tells in the last line of its errors the most memory that it ever had, in KiB. What the system says of a process that
has ended counts in what its parent had when it was forked off."""


def peak_mb(*arguments: str | Path) -> float:
    """The most memory, in MB, that a command of framewire took; its report goes nowhere."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stderr.split()[-1]) * 1024 / 1e6


def part_and_movie(directory: Path, kind: str, frames: int) -> tuple[Path, Path]:
    """A short movie, and one of as many frames that repeats it."""
    part, movie = directory / f"part.{kind}", directory / f"movie.{kind}"
    picture = ["-f", "lavfi", "-i", f"testsrc2=s=64x48:r=25:d={SECONDS}"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-threads", "1", *CODERS[kind].split(), part], check=True)
    with movie.open("wb") as file:
        for _ in range(frames // (25 * SECONDS)):
            file.write(part.read_bytes())
    return part, movie


@pytest.mark.parametrize("kind", CODERS)
def test_a_million_frames_are_probed_in_little_memory(kind: str, tmp_path: Path) -> None:
    part, movie = part_and_movie(tmp_path, kind, FRAMES)
    little, much = peak_mb("movie", "probe", part), peak_mb("movie", "probe", movie)
    assert little < much < MOST_MB, "MB"


def test_hours_of_a_run_are_judged_in_little_memory(tmp_path: Path) -> None:
    """Of 200,000 frames, which are 2 h 13 min, all columns of the ledger, copied for each count, took 360 MB more."""
    movies = part_and_movie(tmp_path, "m2v", 200_000)
    peaks = []
    for movie in movies:
        scenario = tmp_path / f"{movie.stem}.toml"
        scenario.write_text(f"""
            limit = "150 min"
            movie.source = "{movie}"
            network = {{ kind = "wired", wire = {{ rate = "2 Mbit/s", loss = "0.5 %" }} }}
            flow = [{{ transport = "udp" }}]
        """)
        out = tmp_path / movie.stem
        peaks.append(peak_mb("run", scenario, "--world", "simulated", "--no-report", "--out", out))
    little, much = peaks
    assert 0 < much - little < 160, peaks
