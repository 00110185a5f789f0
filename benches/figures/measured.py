"""How fast packets are made and read beside GStreamer and FFmpeg."""

from __future__ import annotations

import re
from typing import NamedTuple

from svg import Figure
from tables import DOCS

TOP, LEFT, STEP, SCALE = 66.0, 150.0, 44.0, 320.0


class Row(NamedTuple):
    """A line of the page's list."""

    what: str
    ours: float
    theirs: float
    other: str


def listed() -> list[Row]:
    """The list of measured.md."""
    line = re.compile(r"^(.+?) {2,}([\d.]+) s +([\d.]+) s +[\d.]+ \((\w+)\)", re.MULTILINE)
    found = line.findall((DOCS / "measured.md").read_text(encoding="utf-8"))
    if not found:
        raise SystemExit("docs/measured.md: the list of RTP and MPEG-TS beside others is not there")
    return [Row(what, float(ours), float(theirs), other) for what, ours, theirs, other in found]


def draw() -> Figure:
    """The picture of measured.md."""
    rows = listed()
    figure = Figure(
        "Processor time for 1.08 GB of H.264 into packets and back, in seconds", 790, TOP + STEP * len(rows) + 20
    )
    for number, (what, ours, theirs, other) in enumerate(rows):
        y = TOP + STEP * number
        figure.text(LEFT - 12, y + 18, what, "small", "end")
        for below, seconds, name, kind in ((0, ours, "framewire", "ours"), (17, theirs, other, "other")):
            figure.rectangle(LEFT, y + below, seconds * SCALE, 13, kind)
            figure.text(LEFT + seconds * SCALE + 8, y + below + 11, f"{seconds:.2f} {name}", "small")
    return figure
