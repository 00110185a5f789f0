"""Recorded links, of which the user has a directory: files in Mahimahi's format, packed with gzip or not."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from framewire import _native
from framewire.errors import InputError

__all__ = ["QUEUE_PACKETS", "REPEATS", "ROUND_TRIP_MS", "Recording", "load"]

QUEUE_PACKETS = 250
"""Of the buffer in front of a recorded link, which is deep in cellular networks (K. Winstein and others, "Stochastic
Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI 2013)."""

ROUND_TRIP_MS = 40.0

REPEATS = 5
"""Seeds of each: a recording has one course."""

UPS_AND_DOWNS = ("up", "down")
"""How names of recordings end: Mahimahi's own, of each way."""


@dataclass(frozen=True)
class Recording:
    """A recorded link."""

    path: Path
    """Of the file, unpacked."""
    mean_bps: int
    """What it carries in the mean."""


def load(directory: Path | None, unpacked: Path, endings: Sequence[str] = UPS_AND_DOWNS) -> Mapping[str, Recording]:
    """All recordings whose names end so, by name; none without a directory. What is packed is unpacked into
    ``unpacked``.

    Raises InputError for a directory that has none, or one that cannot be read as such.
    """
    if directory is None:
        return {}
    kinds = ", ".join(f"*.{ending}" for ending in endings)
    name = re.compile(rf"(.+\.(?:{'|'.join(endings)}))(?:\.gz)?")
    if not directory.is_dir():
        raise InputError(f"--traces: {directory}: no such directory; one with recorded links ({kinds}) is needed")
    named = [(match[1], path) for path in sorted(directory.iterdir()) if (match := name.fullmatch(path.name))]
    if not named:
        raise InputError(f"--traces: {directory}: no recorded link ({kinds}, or these with .gz) is in it")
    return {name: _read(path, unpacked / name) for name, path in named}


def _read(path: Path, unpacked: Path) -> Recording:
    try:
        if path.suffix == ".gz":
            data = gzip.decompress(path.read_bytes())
            unpacked.parent.mkdir(parents=True, exist_ok=True)
            unpacked.write_bytes(data)
        file = unpacked if path.suffix == ".gz" else path.resolve()
        return Recording(file, _native.trace_mean_rate(str(file)))
    except (OSError, EOFError, _native.ScenarioError) as error:
        raise InputError(f"{path}: no recording of a link: {error}") from error
