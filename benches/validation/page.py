"""Writes docs/validation.md: how far the simulated world is from this kernel, from ns-3 and from published numbers.

    make validate
    .venv/bin/python benches/validation/page.py [--kernel FILE.csv] [--ns3 DIR] [--thesis FILE.json] [--speed FILE.json]

The kernel's side is the committed dataset; only the simulated side is computed. `--ns3` names a directory of ns-3
results (`ns3_reference.py` says which files), `--thesis` the output of `framewire reproduce ouwens --json`, which is
run where none is given, `--speed` that of `speed.py`. What is absent is left out, and the page says so. Exits with 1
when a criterion is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import comparison
import drawing
import kernel_section
import ns3_reference
import ns3_section
import opening
import polars as pl
import programs_section
import queues_section
import simulation
import speed_section
import thesis_section
import worlds_section

from framewire.studies.outcome import Outcome
from framewire.studies.parts import Section
from framewire.studies.verdicts import Verdict

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
WORK = ROOT / "target" / "validation"

INTRODUCTION = """\
How far the simulated world is from this kernel's TCP, from ns-3 and from published measurements; where it is off, by
how much, and why. `make validate` computes this page again; nothing in it is written by hand except the reasons, which
are kept in `benches/validation/reasons.toml`.

| side | collected by | kept in |
|---|---|---|
| this kernel's TCP | `cargo run --release -p framewire-emu --example kernel_tcp -- --out FILE` as root, two hours | \
`benches/validation/kernel-6.18.csv` |
| BPF programs in its TCP | the same with `--grid programs --repeats 8 --at-least 4`, half an hour | \
`benches/validation/kernel-6.18-bpf.csv` |
| the emulated world | `benches/validation/worlds.py`, a minute per repeat | `benches/validation/emulated-demo.csv` |
| ns-3's results | page.py `--ns3 DIR` reads them | not here: ns-3 is no dependency |
| ns-3's speed | `benches/validation/ns3/build.sh`, then `speed.py` | `benches/validation/speed.json` |
| the thesis | page.py runs `framewire reproduce ouwens --json`, two minutes | its tables are in the program |
"""


def main() -> int:
    """Computes everything and writes the page."""
    options = _options()
    WORK.mkdir(parents=True, exist_ok=True)
    pictures = options.out.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)

    kernel = comparison.read_runs(options.kernel)
    kernel.write_csv(WORK / "cells.csv")
    simulated = simulation.run(WORK / "cells.csv", WORK / "simulated.csv", WORK / "curves.csv")
    cells = comparison.compare(kernel, simulated)
    criteria = comparison.judge(cells)
    _draw_curves(options.kernel, pictures / "windows.svg", WORK / "curves.csv")
    (pictures / "goodput.svg").write_text(_draw_errors(cells))
    _write_cells(cells, pictures / "cells.csv")

    speed = json.loads(options.speed.read_text()) if options.speed.exists() else None
    reproduced = None if options.no_thesis else _reproduced(options.thesis)
    sections = [
        Section("What is compared", [INTRODUCTION]),
        kernel_section.summary(criteria),
        kernel_section.write(cells, kernel, HERE / "reasons.toml", options.kernel, pictures.name),
        *_programs(options.programs, pictures),
        worlds_section.write(),
        _ns3(options.ns3, cells),
        queues_section.write(),
        speed_section.write(speed),
        thesis_section.write(reproduced),
    ]
    overview = opening.write(criteria, cells, speed, reproduced, pictures.name)
    options.out.write_text(Outcome(title="Validation", overview=overview, sections=sections).markdown())
    missed = [criterion for criterion in criteria if criterion.verdict != Verdict.HOLDS]
    print(f"{options.out}: {len(criteria) - len(missed)} of {len(criteria)} criteria hold")
    for criterion in missed:
        print(f"  missed: {criterion.claim.source}: {criterion.finds}, bound {criterion.claim.says}")
    for cell in cells:
        for quantity in cell.doubts():
            print(f"  {cell.name}: {quantity} {kernel_section.apart(cell, quantity)}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, default=HERE / "kernel-6.18.csv", help="the kernel's dataset")
    parser.add_argument("--programs", type=Path, default=HERE / "kernel-6.18-bpf.csv", help="that of BPF programs")
    parser.add_argument("--ns3", type=Path, help="a directory of ns-3 results")
    parser.add_argument("--thesis", type=Path, help="output of `framewire reproduce ouwens --json`; else it is run")
    parser.add_argument("--no-thesis", action="store_true", help="leave the thesis out")
    parser.add_argument("--speed", type=Path, default=HERE / "speed.json", help="output of speed.py")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "validation.md")
    return parser.parse_args()


def _programs(dataset: Path, pictures: Path) -> list[Section]:
    """The section on BPF programs, where they were measured; and its pictures."""
    if not dataset.exists():
        return []
    runs = comparison.read_runs(dataset)
    runs.write_csv(WORK / "bpf-cells.csv")
    curves = WORK / "bpf-curves.csv"
    cells = comparison.compare(runs, simulation.run(WORK / "bpf-cells.csv", WORK / "bpf-simulated.csv", curves))
    _draw_curves(dataset, pictures / "windows-bpf.svg", curves)
    _write_cells(cells, pictures / "cells-bpf.csv")
    return [programs_section.write(cells, runs, dataset, pictures.name, HERE / "reasons.toml")]


def _ns3(directory: Path | None, kernel: Sequence[comparison.Cell]) -> Section:
    if directory is None or not (directory / "tcp_grid.csv").exists():
        return ns3_section.absent()
    runs = ns3_reference.read(directory)
    cells = WORK / "ns3-cells.csv"
    ns3_reference.cells(runs).write_csv(cells)
    cases = ns3_reference.compare(runs, simulation.run(cells, WORK / "ns3-simulated.csv"))
    return ns3_section.write(cases, kernel)


def _reproduced(given: Path | None) -> dict[str, Any]:
    """What `framewire reproduce ouwens --json` says; it takes two minutes where it was not run before."""
    if given is None:
        command = [sys.executable, "-m", "framewire", "reproduce", "ouwens", "--json", "--thesis-only", "--no-report"]
        ran = subprocess.run([*command, "--out", str(WORK / "ouwens")], check=False, capture_output=True, text=True)
        if not ran.stdout.startswith("{"):
            sys.exit(f"framewire reproduce ouwens: {ran.stderr.strip()}")
    result: dict[str, Any] = json.loads(given.read_text() if given else ran.stdout)
    return result


def _draw_errors(cells: Sequence[comparison.Cell]) -> str:
    def panel(algorithm: str) -> drawing.ErrorPanel:
        errors = [(cell.goodput[0], cell.goodput_error) for cell in cells if cell.algorithm == algorithm]
        return drawing.ErrorPanel(algorithm, errors, comparison.GOODPUT_WORST[algorithm])

    label = (
        "across: this kernel's mean goodput in Mbit/s; up: error of the simulated one; dashed: bound of the worst cell"
    )
    return drawing.errors([panel(name) for name in comparison.ALGORITHMS], label)


def _draw_curves(dataset: Path, picture: Path, simulated: Path) -> None:
    """The kernel's windows and ours, where the kernel's were kept."""
    kept = dataset.with_name(f"{dataset.stem}-curves.csv")
    if not kept.exists():
        return
    read = {"schema_overrides": {"loss": pl.Float64}}
    kernel, ours = pl.read_csv(kept, **read), pl.read_csv(simulated, **read)  # type: ignore[arg-type]
    panels = []
    for key, curve in kernel.sort(*comparison.CELL[1:], maintain_order=True).group_by(
        comparison.CELL, maintain_order=True
    ):
        algorithm, rate, rtt, loss, queue, mode = key
        same = pl.all_horizontal(pl.col(name) == value for name, value in zip(comparison.CELL, key, strict=True))
        title = f"{algorithm}: {rate} Mbit/s, {rtt} ms, {100 * float(loss):g} %, {queue}, {mode}"  # type: ignore[arg-type]
        panels.append(drawing.Panel(title, _points(curve), _points(ours.filter(same))))
    text = drawing.curves(panels, 3, "congestion window in packets, first repeat, the same losses in both")
    picture.write_text(text)


def _points(curve: pl.DataFrame) -> list[tuple[float, float]]:
    return list(zip((curve["time_ms"] / 1000).to_list(), curve["cwnd"].cast(pl.Float64).to_list(), strict=True))


def _write_cells(cells: list[comparison.Cell], path: Path) -> None:
    """Every cell, for more than the page shows."""
    rows = [
        {name: getattr(cell, name) for name in comparison.CELL}
        | {
            "repeats": cell.repeats,
            "goodput_mbps_kernel": round(cell.goodput[0], 4),
            "goodput_mbps_simulated": round(cell.goodput[1], 4),
            "goodput_error": round(cell.goodput_error, 4),
            "kernel_interval": None if cell.precision is None else round(cell.precision, 4),
            "difference_interval": None if cell.paired is None else round(cell.paired, 4),
            "srtt_ms_kernel": round(cell.rtt_ms_mean[0], 2),
            "srtt_ms_simulated": round(cell.rtt_ms_mean[1], 2),
            "retransmissions_kernel": round(cell.retransmissions[0], 2),
            "retransmissions_simulated": round(cell.retransmissions[1], 2),
            "timeouts_kernel": round(cell.timeouts[0], 3),
            "timeouts_simulated": round(cell.timeouts[1], 3),
        }
        for cell in cells
    ]
    pl.DataFrame(rows, infer_schema_length=None).write_csv(path)


if __name__ == "__main__":
    if shutil.which("cargo") is None:
        sys.exit("cargo is not on the path: it builds the simulated side")
    sys.exit(main())
