"""The part of the page on queue disciplines: the same packets at the same times through ours and through ns-3's.

    .venv/bin/python benches/validation/queues_section.py

prints the section alone; page.py has it in the page. ns-3's side, which `benches/validation/ns3/queues.cc` prints, is
committed with the tests of the link crate (`ns3_queues_*.csv`); ours is computed.
"""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

from framewire.studies.parts import Section
from framewire.studies.table import of_texts

ROOT = Path(__file__).parents[2]
HEAD = "Queue disciplines beside ns-3"
TEXT = """\
A transmitter of 10 Mbit/s, and packets at fixed times that do not answer to anything: the same through ns-3 3.37
(`benches/validation/ns3/queues.cc`) and through the models here. Phases of RED and PIE offer 5 %, 14 % and 10 % more
than the rate, with a second of silence before the third, and 4 % less; means over 30 seeds with their standard errors,
waits in milliseconds. Tests hold these figures (`crates/link/tests/ns3_queues.rs`).
"""
MARKS = """\
Marks of FQ-CoDel differ by intent: ns-3 reckons the next one from when the last one happened, Linux and this model from
when it was due. DualPI2 is not in ns-3: each of its marks and drops is that of RFC 9332's pseudocode in Python
(`benches/validation/dualpi2.py`).
"""
COMMAND = ("cargo", "run", "--quiet", "--locked", "-p", "framewire-link", "--example", "queues_beside_ns3")


def write() -> Section:
    """The section; computes our side."""
    done = subprocess.run(COMMAND, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    rows = [_row(row) for row in csv.DictReader(done.stdout.splitlines())]
    head = ("discipline", "case", "quantity", "ns-3", "here")
    return Section(HEAD, [TEXT, of_texts(head, rows, labels=3, align="left"), MARKS])


def _row(row: dict[str, str]) -> list[str]:
    pair = [_figure(row["quantity"], row[side], row[f"{side}_error"]) for side in ("ns3", "here")]
    return [row["discipline"], row["case"], row["quantity"], *pair]


def _figure(quantity: str, value: str, error: str) -> str:
    match quantity:
        case "dropped" if error != "0":
            return f"{float(value):.3%} ± {float(error):.3%}".replace("%", " %")
        case "mean wait" | "median wait" | "95th percentile":
            return f"{float(value) / 1000:.2f} ± {float(error) / 1000:.2f}"
        case _:
            return f"{int(value):,}"


def main() -> None:
    """Prints the section as the page has it."""
    from framewire.studies.part_writers import markdown_of_part

    section = write()
    parts = [f"## {section.title}", *(markdown_of_part(part, section.title) for part in section.parts)]
    print("\n\n".join(part.strip("\n") for part in parts))


if __name__ == "__main__":
    main()
