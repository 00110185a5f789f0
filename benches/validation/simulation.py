"""Runs the simulated side: cells in, one row per run out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[2]


def run(cells: Path, out: Path, curves: Path | None = None) -> pl.DataFrame:
    """Simulates every row of `cells` (columns as in the kernel's dataset) on all processors."""
    command = ["cargo", "run", "--release", "--quiet", "-p", "framewire-sim", "--example", "tcp_grid", "--"]
    command += ["--cells", str(cells), "--out", str(out)]
    if curves is not None:
        command += ["--curves", str(curves)]
    subprocess.run(command, cwd=ROOT, check=True)
    return pl.read_csv(out, schema_overrides={"loss": pl.Float64})
