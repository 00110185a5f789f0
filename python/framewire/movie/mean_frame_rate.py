"""How many frames a second a container really has: its headers state a rate of slots, and not all hold a frame.

AVI states the rate of its slots, of which any may be empty: FFmpeg leaves every other one empty where frames are
reordered. Matroska and MPEG-TS state a rate, or let the first frames tell it, also where it varies. And a packet of
H.264 is a field where fields are coded apart (ITU-T H.264, 7.4.3, field_pic_flag).
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from framewire import _native
from framewire.frame_columns import ColumnFile, columns
from framewire.movie import ffmpeg

__all__ = ["has_packets_of_fields", "mean_rate_of"]

LONGEST_S = Fraction(10)
"""Seconds between two frames. What is longer, or goes back, is a break in a recording, where times start anew."""

_PACKETS = 100
"""From which it is told whether they are fields."""


def mean_rate_of(path: Path) -> Fraction | None:
    """Packets of video over the time that they take by their decoding times; None where these are not known.

    All of the file is read for that, which none is where an index is exact.
    """
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries", "packet=dts_time"]
    with subprocess.Popen(
        [*command, "-of", "csv=p=0", f"file:{path}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            rate = _mean_rate(process.stdout)
        except BaseException:
            process.kill()
            raise
    ffmpeg.refuse_crash("ffprobe", process.returncode)
    return rate


def _mean_rate(lines: Iterable[str]) -> Fraction | None:
    """The rate of packets, of their decoding times in seconds as ffprobe writes them, a line each.

    Packets without a time, of which MPEG program streams have some, count with the next that has one.

    >>> _mean_rate(["N/A", "0.000000", "0.041667", "N/A", "0.125000,", "3599.0", "3599.041667"]).limit_denominator(100)
    Fraction(24, 1)
    >>> _mean_rate(["N/A", "0.000000"]) is None
    True
    """
    steps, seconds, before, untimed = 0, Fraction(0), None, 0
    for told in filter(None, (line.strip().rstrip(",") for line in lines)):
        if told == "N/A":
            untimed += 1
            continue
        now = Fraction(told)
        if before is not None and 0 < now - before <= LONGEST_S:
            steps, seconds = steps + untimed + 1, seconds + (now - before)
        before, untimed = now, 0
    return steps / seconds if steps else None


def has_packets_of_fields(path: Path) -> bool:
    """Whether packets of H.264 in a container are fields: whether the first of them make fewer frames than packets."""
    scratch, packets = ColumnFile(), [0]
    with tempfile.TemporaryDirectory(prefix="framewire-recording-") as folder:
        stream = Path(folder) / "beginning.h264"
        taken = ["-map", "0:V:0", "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-frames:v", str(_PACKETS)]
        ffmpeg.run(["-i", f"file:{path}", *taken, "-f", "h264", str(stream)], packets.append, path)
        try:
            found = _native.probe_movie(stream, scratch.file, (25, 1))
        except _native.MovieError:  # reported where the stream itself is read
            return False
    return 4 * len(columns(found["frames"], scratch)["size"]) < 3 * packets[-1]
