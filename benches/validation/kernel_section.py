"""The part of the page on this kernel's TCP."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
from comparison import ALGORITHMS, PRECISION, Cell, percent, quantile

from framewire.studies.parts import Part, Points, Section
from framewire.studies.table import Table, of_findings, of_texts
from framewire.studies.verdicts import Finding, Verdict, counted

WORST = 15
CONDITIONS = """\
They were collected by `crates/emu/examples/kernel_tcp` in the emulated world with real sockets; the kernel's TCP
settings lie beside them. Every run counts from the moment of connect, slow start included. The bottleneck is remote and
drops from its tail; loss is independent per packet in the data direction, with the same draws in both worlds: repeat r
has the seed r. `stream` offers 37,500 bytes every 40 ms (7.5 Mbit/s), over 5 Mbit/s more than the network carries."""
EXCLUDED = """\
A run is disturbed when a packet was released over 20 ms late, or one in a hundred by over a 200th of the round
trip. Such runs stay in the file, marked, and were repeated: {disturbed} of {rows}. The rule looks at the
emulator and never at the result, but it is not neutral for BBR, which takes noise in the spacing of packets for
bandwidth: its disturbed runs retransmit more. Cells were repeated until their interval was narrow enough, so
that intervals next to the bound are somewhat too narrow."""


@dataclass(frozen=True)
class Reason:
    """Why a group of cells is off."""

    match: dict[str, Any]
    quantities: tuple[str, ...]
    text: str

    def explains(self, cell: Cell, quantity: str) -> bool:
        """Whether it is the reason for this cell."""
        return quantity in self.quantities and all(getattr(cell, name) == value for name, value in self.match.items())


def read_reasons(path: Path) -> list[Reason]:
    """The reasons that were found, in the order of the file: the first that matches a cell counts."""
    entries = tomllib.loads(path.read_text())["reason"] if path.exists() else []
    return [Reason(entry.get("match", {}), tuple(entry["quantities"]), entry["text"]) for entry in entries]


def summary(criteria: Sequence[Finding]) -> Section:
    """The criteria, and what came of each."""
    table = of_findings(criteria, heads=("what", "bound", "found"))
    held = counted(one.verdict for one in criteria)[Verdict.HOLDS]
    said = f"{held} of {len(criteria)} hold. Errors are those of cell means, two-sided."
    return Section("Criteria against this kernel", [said, table])


def write(cells: Sequence[Cell], kernel: pl.DataFrame, reasons: Path, dataset: Path, pictures: str) -> Section:
    """The section."""
    version, seconds = kernel["kernel"][0], kernel["seconds"][0]
    return Section(
        f"Against Linux {version}",
        [
            *_conditions(cells, kernel, dataset, seconds),
            distributions(cells),
            f"Each cell's means side by side are in `{pictures}/cells.csv`.",
            f"![Congestion windows of twelve cells]({pictures}/windows.svg)",
            _worst(cells),
            *where_it_is_off(cells, reasons),
        ],
    )


def _conditions(cells: Sequence[Cell], kernel: pl.DataFrame, dataset: Path, seconds: int) -> list[Part]:
    lossy = [cell for cell in cells if cell.lossy]
    precise = [cell for cell in cells if cell.precision is not None and cell.precision <= PRECISION]
    paired = [cell.paired for cell in lossy if cell.paired is not None]
    per_cell = sorted(cell.repeats for cell in cells)
    what: list[Part] = [
        f"`benches/validation/{dataset.name}`: {len(kernel)} undisturbed runs of {seconds} s in {len(cells)} cells, "
        f"{per_cell[0]} to {per_cell[-1]} per cell. {CONDITIONS}",
        _excluded(dataset, len(kernel)),
    ]
    if not paired:
        return what
    widest = max(cell.precision or 0.0 for cell in cells)
    return [
        *what,
        f"In {len(precise)} of {len(cells)} cells the 95 % confidence interval of the kernel's mean goodput is "
        f"within {percent(PRECISION)}; the widest is {percent(widest)}. What counts is the difference at the same "
        f"draws, which varies less: over the lossy cells half its interval is {percent(median(paired))} (median), "
        f"{percent(max(paired))} (worst).",
    ]


def _excluded(dataset: Path, kept: int) -> str:
    rows = pl.read_csv(dataset).height
    return EXCLUDED.format(disturbed=rows - kept, rows=rows)


Quantity = tuple[str, Callable[[Cell], float | None]]
QUANTITIES: tuple[Quantity, ...] = (
    ("goodput", lambda cell: cell.goodput_error),
    ("mean RTT", lambda cell: cell.rtt_error),
    ("retransmissions", lambda cell: cell.retransmission_error),
)


def distributions(cells: Sequence[Cell], algorithms: Sequence[str] = ALGORITHMS) -> Table:
    """Errors by algorithm, network and load."""
    rows = []
    for algorithm in algorithms:
        for lossy in (False, True):
            for mode in ("bulk", "stream"):
                group = [c for c in cells if (c.algorithm, c.lossy, c.mode) == (algorithm, lossy, mode)]
                for name, error_of in QUANTITIES:
                    errors = [error for cell in group if (error := error_of(cell)) is not None]
                    if errors:
                        sizes = [abs(error) for error in errors]
                        rows.append(
                            (
                                algorithm,
                                "lossy" if lossy else "loss-free",
                                mode,
                                name,
                                str(len(errors)),
                                percent(median(errors), sign=True),
                                percent(median(sizes)),
                                percent(quantile(sizes, 0.9)),
                                percent(max(errors, key=abs), sign=True),
                            )
                        )
    head = ("algorithm", "network", "load", "quantity", "cells", "median", "median size", "p90", "worst")
    above = (
        "Simulated over measured, less one, of cell means. Retransmissions only where there are ten or more per run."
    )
    return of_texts(head, rows, title="Distribution of errors", above=above, align="left")


def _worst(cells: Sequence[Cell]) -> Table:
    ordered = sorted(cells, key=lambda cell: -abs(cell.goodput_error))[:WORST]
    rows = [
        (
            cell.name,
            str(cell.repeats),
            f"{cell.goodput[0]:.2f}",
            f"{cell.goodput[1]:.2f}",
            percent(cell.goodput_error, sign=True),
            percent(cell.paired),
            percent(cell.rtt_error, sign=True),
            f"{cell.retransmissions[0]:.0f}, {cell.retransmissions[1]:.0f}",
            f"{cell.timeouts[0]:.1f}, {cell.timeouts[1]:.1f}",
        )
        for cell in ordered
    ]
    head = ("cell", "runs", "kernel, Mbit/s", "simulated", "error", "±", "RTT", "retransmissions", "timeouts")
    above = "± is half the 95 % confidence interval of the difference; pairs are kernel, simulated, mean per run."
    return of_texts(head, rows, title="The cells that are furthest off in goodput", above=above, align="left")


def where_it_is_off(cells: Sequence[Cell], reasons: Path) -> list[Part]:
    """Every cell that misses a bound, by the reasons of this file."""
    return _reasons(cells, read_reasons(reasons))


def _reasons(cells: Sequence[Cell], reasons: Sequence[Reason]) -> list[Part]:
    groups: dict[str, list[str]] = {}
    unexplained = []
    for cell in cells:
        for quantity in cell.doubts():
            reason = next((one for one in reasons if one.explains(cell, quantity)), None)
            entry = f"{cell.name}: {quantity} {apart(cell, quantity)}"
            if reason is None:
                unexplained.append(entry)
            else:
                groups.setdefault(reason.text, []).append(entry)
    if not groups and not unexplained:
        return ["### Where it is off", "No cell misses a bound."]
    parts: list[Part] = ["### Where it is off, by how much, and why", "Every cell that misses a bound of its own."]
    for text, entries in groups.items():
        parts += [text, Points(entries)]
    if unexplained:
        parts += ["Without a known reason:", Points(unexplained)]
    return parts


def apart(cell: Cell, quantity: str) -> str:
    """Both means, and the relative difference."""
    pair = {
        "goodput": cell.goodput,
        "rtt": cell.rtt_ms_mean,
        "retransmissions": cell.retransmissions,
        "timeouts": cell.timeouts,
    }[quantity]
    unit = {"goodput": " Mbit/s", "rtt": " ms"}.get(quantity, " per run")
    share = f" ({100 * (pair[1] / pair[0] - 1):+.0f} %)" if pair[0] else ""
    return f"{pair[0]:.3g} measured, {pair[1]:.3g} simulated{unit}{share}"
