"""Collects the emulated side of the comparison of the two worlds: the demonstration's scenario, in real time.

    .venv/bin/python benches/validation/worlds.py [--repeats 3]

Adds one row per seed and transport to benches/validation/emulated-demo.csv. Repeat r has the seed r, so that a
simulation meets the same channel. Runs that the machine disturbed are not kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl

import framewire

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "scenarios" / "demo.toml"
DATASET = Path(__file__).with_name("emulated-demo.csv")
KEPT = (
    "frames",
    "shown",
    "late",
    "undecodable",
    "lost_i",
    "lost_p",
    "lost_b",
    "duration_s",
    "latency_p50_ms",
    "latency_p95_ms",
    "packets_lost",
    "transmissions_mean",
)


def summary(seed: int, world: str, directory: Path) -> pl.DataFrame | None:
    """One run's summaries; None when it was disturbed."""
    run = framewire.run(SCENARIO, set={"seed": seed}, out=directory / f"{world}-{seed}", world=world)
    if world == "emulated" and any(flow["disturbed"] for flow in run.results.meta["accuracy"].values()):
        return None
    kept = run.summary.select("flow", *KEPT).with_columns(pl.col("packets_lost").cast(pl.Int64))
    return kept.select(pl.lit(seed).alias("seed"), pl.all())


def main() -> int:
    """Runs what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = pl.read_csv(DATASET) if DATASET.exists() else None
    for seed in range(1, options.repeats + 1):
        if rows is not None and seed in rows["seed"]:
            continue
        with tempfile.TemporaryDirectory() as directory:
            new = summary(seed, "emulated", Path(directory))
        print(f"seed {seed}: {'disturbed, not kept' if new is None else 'kept'}", flush=True)
        if new is not None:
            rows = new if rows is None else pl.concat([rows, new.cast(dict(rows.schema))])
            rows.sort("seed", maintain_order=True).write_csv(DATASET)
    return 0


if __name__ == "__main__":
    sys.exit(main())
