"""Stands in for the compiled simulator where a test is about campaigns: quick, and it can be made to fail.

What it "measures" is a function of the scenario alone. Every cell that is begun is a line in ``FAKE_SIMULATOR_LOG``.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import REPOSITORY
from framewire import _native
from framewire.campaign import runner

GOLDEN = REPOSITORY / "tests/golden/format-6"
FRAMES = 25


class Panic(BaseException):
    """As a panic of the compiled half arrives: no Exception."""


def install(monkeypatch: pytest.MonkeyPatch, log: Path | None = None) -> Path | None:
    """Puts it in the place of the real one, in this process, and gives it movies of its own; returns the log."""
    monkeypatch.setattr(_native, "simulate_cell", simulate_cell)
    monkeypatch.setattr(runner, "_loaded", lambda path, _ladder, _digest, _sound: load_movie(path))
    if log is not None:
        log.touch()
        monkeypatch.setenv("FAKE_SIMULATOR_LOG", str(log))
    return log


def begun(log: Path) -> list[str]:
    """Ids of the cells that were begun since this was last asked."""
    ids = log.read_text().split()
    log.write_text("")
    return ids


def load_movie(path: Path, _ladder: Path | None = None) -> bytes:
    """A movie is its bytes."""
    return Path(path).read_bytes()


def simulate_cell(
    scenario: _native.Scenario,
    movie: bytes,
    directory: str | None,
    packets: bool = False,
    flows: bool = False,
    rates_s: float | None = None,
) -> str:
    """Writes tables of the real shape with made-up contents."""
    log = os.environ.get("FAKE_SIMULATOR_LOG")
    if log is not None and directory is not None:
        with Path(log).open("a") as file:
            file.write(f"{Path(directory).name.removesuffix('.part')}\n")
    document = json.loads(scenario.json())
    _misbehave(document)
    time.sleep(float(os.environ.get("FAKE_SIMULATOR_S", "0")))
    tables = _tables(document, movie) if packets else {k: v for k, v in _tables(document, movie).items() if k[0] != "p"}
    if directory is not None:
        for name, table in tables.items():
            table.write_parquet(Path(directory) / f"{name}.parquet")
    hashes = {name: hashlib.sha256(table.write_csv().encode()).hexdigest()[:32] for name, table in tables.items()}
    failures = ["flow tcp: the connection timed out"] if document["network"]["wifi"]["retry"] == 17 else []
    summaries = tables["summary"].to_dicts()
    return json.dumps({"summaries": summaries, "hashes": hashes, "simulated_s": 1.25, "failures": failures})


def _misbehave(document: dict[str, Any]) -> None:
    retry = document["network"]["wifi"]["retry"]
    if retry == 13:
        raise ValueError("retry 13 brings bad luck")
    if retry == 14:
        raise Panic("panicked: index out of bounds")
    if retry == 18:
        raise RuntimeError("frames.parquet: cannot be written: No space left on device (os error 28)")
    if retry == 15:
        raise OSError(errno.ENOSPC, "No space left on device")


def _tables(document: dict[str, Any], movie: bytes) -> dict[str, pl.DataFrame]:
    decisive = {key: value for key, value in document.items() if key not in ("name", "movie", "seed")}
    dice = random.Random(f"{json.dumps(decisive, sort_keys=True)} {document['seed']} {len(movie)}")
    retry = document["network"]["wifi"]["retry"]
    summaries, frames, packets = [], [], []
    for flow in document["flow"]:
        lost = dice.randrange(0, 5) + 10 // (retry + 1)
        summaries.append(
            {
                "flow": flow["name"],
                "transport": flow["transport"],
                "status": "partial" if retry == 19 and flow["transport"] == "udp" else "complete",
                "movie_bitrate_bps": 6_000_000,
                "frames": FRAMES,
                "shown": FRAMES - lost,
                "late": 0,
                "undecodable": 0,
                "lost": lost,
                "duration_s": 1.0 + retry / 10 + dice.gauss(0, 0.01),
                "frame_throughput_bps": 4_000_000 + dice.gauss(0, 1e4),
                "latency_p95_ms": None if lost > 12 else 20 + dice.random(),
            }
        )
        ledger = [
            {"flow": flow["name"], "track": 0, "frame": n, "size": dice.randrange(1000, 50_000)} for n in range(FRAMES)
        ]
        frames += ledger
        packets += [{"flow": flow["name"], "packet": n, "bytes": 1000} for n in range(2 * FRAMES)]
    return {
        "summary": _shaped("summary", summaries),
        "frames": _shaped("frames", frames),
        "packets": _shaped("packets", packets),
    }


def _shaped(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """With the columns and types of the results format; what was not made up is null."""
    schema = pl.read_parquet_schema(GOLDEN / f"{name}.parquet")
    return pl.DataFrame([{column: row.get(column) for column in schema} for row in rows], schema=schema)
