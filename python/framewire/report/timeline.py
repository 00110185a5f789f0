"""The fates of all frames of one flow as a picture: one column per frame, in display order."""

from __future__ import annotations

import base64
import io

from PIL import Image

from framewire.report.data import Flow, ReportRun
from framewire.report.palette import FATE_COLOURS


def fate_strip(run: ReportRun, flow: Flow) -> str:
    """A PNG as a data URI, one pixel per frame; the browser stretches it. It stays a few kB and needs no script."""
    fates = run.ledger(flow).sort("display")["fate"].to_list()
    index = {fate: number for number, fate in enumerate(FATE_COLOURS)}
    picture = Image.new("P", (max(1, len(fates)), 1), color=index["lost"])
    picture.putpalette([part for value in FATE_COLOURS.values() for part in rgb(value)])
    picture.putdata([index.get(fate, index["lost"]) for fate in fates])
    target = io.BytesIO()
    picture.save(target, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(target.getvalue()).decode("ascii")


def rgb(value: str) -> tuple[int, int, int]:
    """`#rrggbb` as numbers."""
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)
