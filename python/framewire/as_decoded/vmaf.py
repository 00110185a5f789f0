"""VMAF, where an ffmpeg is there that has its filter: Debian's has not.

It is a program of the user's that is asked for VMAF alone: pictures are those that the ffmpeg in PATH decodes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache

from framewire.as_decoded.pairs import Measure
from framewire.errors import MachineError
from framewire.report.cut_stream import StreamError

__all__ = ["VARIABLE", "find", "vmaf"]

VARIABLE = "FRAMEWIRE_VMAF_FFMPEG"
"""Names an ffmpeg with the filter ``libvmaf``, where the one in PATH has not."""

FILTER = "libvmaf"


def find() -> str | None:
    """An ffmpeg that has the filter: the one that :data:`VARIABLE` names, else the first in PATH; None without one.

    Raises MachineError where the variable names another program.
    """
    stated = os.environ.get(VARIABLE)
    if not stated:
        in_path = shutil.which("ffmpeg")
        return in_path if in_path is not None and _has_filter(in_path) else None
    program = shutil.which(stated)
    if program is None or not _has_filter(program):
        why = "is not a program" if program is None else f"has no filter {FILTER}"
        raise MachineError(f"{VARIABLE} is {stated}, which {why}; it names an ffmpeg that measures VMAF")
    return program


def vmaf(program: str) -> Measure:
    """With the model that the library takes where none is named, ``vmaf_v0.6.1``: it is of a 1080p screen, and of luma.

    The log is JSON, and its place one that needs none of FFmpeg's quotes.
    """
    filters = f"[0:v][1:v]{FILTER}=log_fmt=json:log_path=/dev/stdout:n_threads={os.cpu_count() or 1}"
    return Measure(program, filters, _scores, with_chroma=True)


def _scores(told: bytes) -> list[float]:
    """Of the log, the score of each pair in its order."""
    try:
        frames = sorted(json.loads(told)["frames"], key=lambda one: int(one["frameNum"]))
        return [float(one["metrics"]["vmaf"]) for one in frames]
    except (ValueError, KeyError, TypeError):
        raise StreamError(f"{FILTER} wrote no scores") from None


@cache
def _has_filter(program: str) -> bool:
    try:
        asked = subprocess.run([program, "-hide_banner", "-filters"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return any(line.split()[1:2] == [FILTER] for line in asked.stdout.splitlines())
