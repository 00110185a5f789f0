"""Recorded links, of which the user has a directory: files in Mahimahi's format, packed with gzip or not."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from pathlib import Path

from framewire import _native
from framewire.errors import InputError

__all__ = ["QUEUE_PACKETS", "REPEATS", "ROUND_TRIP_MS", "load"]

QUEUE_PACKETS = 250
"""Of the buffer in front of a recorded link, which is deep in cellular networks (K. Winstein and others, "Stochastic
Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013)."""

ROUND_TRIP_MS = 40.0

REPEATS = 5
"""Seeds of each: a recording has one course."""

_NAME = re.compile(r"(.+\.(?:up|down))(?:\.gz)?")


def load(directory: Path | None) -> Mapping[str, _native.StreamingTrace]:
    """All recordings named ``*.up`` and ``*.down``, by name; none without a directory.

    Raises InputError for a directory that has none, or one that cannot be read as such.
    """
    if directory is None:
        return {}
    if not directory.is_dir():
        raise InputError(f"--traces: {directory}: no such directory; one with recorded links (*.up, *.down) is needed")
    named = [(match[1], path) for path in sorted(directory.iterdir()) if (match := _NAME.fullmatch(path.name))]
    if not named:
        raise InputError(f"--traces: {directory}: no recorded link (*.up, *.down, or these with .gz) is in it")
    return {name: _read(path) for name, path in named}


def _read(path: Path) -> _native.StreamingTrace:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("ascii")
        return _native.StreamingTrace(text)
    except (OSError, EOFError, UnicodeDecodeError, _native.ScenarioError) as error:
        raise InputError(f"{path}: no recording of a link: {error}") from error
