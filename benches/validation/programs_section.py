"""The part of the page on congestion controls that this kernel lacks: BPF programs beside the simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from comparison import PROGRAMS, Cell, judge
from kernel_section import distributions, where_it_is_off

from framewire.studies.parts import Section
from framewire.studies.table import of_findings
from framewire.studies.verdicts import Finding, Verdict, counted

HEAD = "Against BPF programs of what this kernel lacks"
WHAT = """\
The programs of `crates/bpf` have the arithmetic of the kernel's modules, and run inside the kernel's TCP; so what is
compared is the simulated algorithm, and the endpoint under it. They were collected as the kernel's own, over a smaller
grid (`kernel_tcp --grid programs`). Windows are those of `TCP_INFO`, every 100 ms. DCTCP is not among them: it counts
marks, and these networks drop."""


def write(cells: Sequence[Cell], runs: pl.DataFrame, dataset: Path, pictures: str, reasons: Path) -> Section:
    """The section, with criteria of its own."""
    criteria = judged(cells)
    held = counted(one.verdict for one in criteria)[Verdict.HOLDS]
    per_cell = sorted(cell.repeats for cell in cells)
    collected = (
        f"`benches/validation/{dataset.name}`: {len(runs)} undisturbed runs of {runs['seconds'][0]} s in {len(cells)} "
        f"cells, {per_cell[0]} to {per_cell[-1]} per cell, Linux {runs['kernel'][0]}. {held} of {len(criteria)} "
        "criteria hold, with the bounds of Reno and CUBIC."
    )
    return Section(
        HEAD,
        [
            WHAT,
            collected,
            of_findings(criteria, heads=("what", "bound", "found")),
            distributions(cells, PROGRAMS),
            f"![Congestion windows of the programs]({pictures}/windows-bpf.svg)",
            *where_it_is_off(cells, reasons),
        ],
    )


def judged(cells: Sequence[Cell]) -> list[Finding]:
    """The criteria of the programs."""
    return judge(cells, PROGRAMS)
