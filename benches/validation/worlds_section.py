"""The part of the page on the two worlds: the same scenario in real and in virtual time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import worlds

from framewire.studies.parts import Section
from framewire.studies.table import of_texts

HEAD = "The same scenario in both worlds"
TEXT = """\
`scenarios/demo.toml`: a minute at 6 Mbit/s over 802.11b with a microwave oven, by seven transports, in the emulated
world (real sockets, `benches/validation/{name}`, collected by `worlds.py`) and in the simulated one, with the same
seeds. Means over {repeats} seeds; pairs are emulated, simulated.
"""

Column = tuple[str, Callable[[pl.DataFrame], float | None], str]


def _mean(name: str) -> Callable[[pl.DataFrame], float | None]:
    def mean(rows: pl.DataFrame) -> float | None:
        value = rows[name].mean()
        return float(value) if isinstance(value, int | float) else None

    return mean


COLUMNS: tuple[Column, ...] = (
    ("shown", _mean("shown"), ".0f"),
    ("lost I", _mean("lost_i"), ".0f"),
    ("lost P", _mean("lost_p"), ".0f"),
    ("lost B", _mean("lost_b"), ".0f"),
    ("datagrams lost", _mean("packets_lost"), ".0f"),
    ("duration, s", _mean("duration_s"), ".2f"),
    ("latency p50, ms", _mean("latency_p50_ms"), ".0f"),
    ("latency p95, ms", _mean("latency_p95_ms"), ".0f"),
    ("transmissions", _mean("transmissions_mean"), ".3f"),
)


def write() -> Section:
    """The section; computes the simulated side."""
    if not worlds.DATASET.exists():
        return Section(HEAD, ["Left out: the emulated side was not collected (`benches/validation/worlds.py`)."])
    emulated = pl.read_csv(worlds.DATASET)
    seeds = emulated["seed"].unique(maintain_order=True).to_list()
    with tempfile.TemporaryDirectory() as directory:
        runs = [worlds.summary(seed, "simulated", Path(directory)) for seed in seeds]
    simulated = pl.concat(run for run in runs if run is not None)
    flows = emulated["flow"].unique(maintain_order=True).to_list()
    rows = [[flow, *(_pair(emulated, simulated, flow, of, digits) for _, of, digits in COLUMNS)] for flow in flows]
    text = TEXT.format(name=worlds.DATASET.name, repeats=len(seeds))
    return Section(HEAD, [text, of_texts(["transport", *(name for name, _, _ in COLUMNS)], rows, align="left")])


def _pair(
    emulated: pl.DataFrame, simulated: pl.DataFrame, flow: str, of: Callable[[pl.DataFrame], float | None], digits: str
) -> str:
    both = [of(world.filter(pl.col("flow") == flow)) for world in (emulated, simulated)]
    return "" if both == [None, None] else ", ".join("none" if value is None else f"{value:{digits}}" for value in both)
