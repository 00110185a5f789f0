"""The part of the page on speed."""

from __future__ import annotations

from typing import Any

from framewire.studies.parts import Section
from framewire.studies.table import Cell, of_texts
from framewire.studies.verdicts import Bounds, Verdict

HEAD = "Speed against ns-3"
TEXT = """\
Simulated seconds per CPU second, single thread, {repeats} runs of each in turn on one machine: medians, and the ratios
of neighbouring runs. ns-3 was built optimised, without asserts and logs; its programs are in `benches/validation/ns3`.
The bound is {bound}, the aim {aim}. The stations' rows are whole sessions: movies, packetisers, sockets and ledgers.
Where the two carry different amounts, the ratio per bit is the fairer one. The flow at 1 Gbit/s has the buffer that
ns-3's has: Linux' default of 4 MiB would be its limit, and CUBIC would not be (this kernel then carries 371 to 378
Mbit/s in the same two seconds, the simulation 334).
"""


def write(measured: dict[str, Any] | None) -> Section:
    """The section, from what `speed.py` wrote."""
    if measured is None:
        return Section(HEAD, ["Left out: `speed.py` was not run (it needs an ns-3 that was built optimised)."])
    rows = [
        (
            row["name"],
            f"{row['ns3_speed']:.3g}",
            f"{row['our_speed']:.4g}",
            _judged(row["ratio"], Bounds(low=measured["bound"])),
            f"{row['ratio_low']:.3g} to {row['ratio_high']:.3g}",
            f"{row['ratio'] * row['our_goodput_mbps'] / row['ns3_goodput_mbps']:.3g}",
            f"{row['ns3_goodput_mbps']:.3g}, {row['our_goodput_mbps']:.3g}",
        )
        for row in measured["rows"]
    ]
    head = ("scenario", "ns-3", "simulated world", "ratio", "spread", "ratio per bit", "goodput, Mbit/s: ns-3, ours")
    return Section(HEAD, [TEXT.format(**measured), of_texts(head, rows, align="left")])


def _judged(ratio: float, bounds: Bounds) -> Cell:
    """A ratio, with its verdict where it does not hold."""
    verdict = Verdict.of(bounds.hold(ratio))
    text = f"{ratio:.3g}" if verdict == Verdict.HOLDS else f"{ratio:.3g}, {Verdict.FAILS}"
    return Cell(text=text, mark=verdict)
