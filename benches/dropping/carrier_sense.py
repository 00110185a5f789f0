"""What docs/dropping.md says of Wi-Fi, at other times of carrier sense: docs/links.md has the table that this prints.

    .venv/bin/python benches/dropping/carrier_sense.py [MOVIE ...]

In virtual time: every movie over the page's Wi-Fi by every method, with a limit of a start-up of a second.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import cases
import measure
import polars as pl
import sweep

from framewire.studies.writers import markdown_table

TIMES = ("0 us", "20 us")
"""None, and the default of scenarios, at which the page is measured."""


def main(movies: Sequence[str]) -> None:
    """Prints the table: per cent of frames shown in time, and the longest freeze in seconds."""
    settings = [
        one for one in cases.settings() if one.socket == "equal" and one.limit_ms in (None, cases.MAIN_STARTUP_MS)
    ]
    rows = [["", "`carrier_sense`", *(one.method.label for one in settings)]]
    cells = [(codec, time) for codec in movies or cases.MOVIES for time in TIMES]
    rows += [[cases.MOVIES[codec], time, *_seen(codec, time, settings)] for codec, time in cells]
    print(markdown_table(rows[0], rows[1:]))


def _seen(codec: str, time: str, settings: Sequence[cases.Setting]) -> list[str]:
    wifi = {**cases.WIFI.network["wifi"], "carrier_sense": time}
    link = replace(cases.WIFI, network={**cases.WIFI.network, "wifi": wifi})
    draws: dict[str, list[sweep.Draw]] = {one.flow_name: [] for one in settings}
    for seed in link.seeds:
        with tempfile.TemporaryDirectory(prefix="framewire-carrier-sense-") as scratch:
            sweep.simulate((codec, link, seed), settings, Path(scratch))
            ledgers = pl.read_parquet(Path(scratch) / "frames.parquet").partition_by("flow", as_dict=True)
        for flow, found in draws.items():
            found.append(measure.seen(ledgers[(flow,)].sort("frame"), cases.MAIN_STARTUP_MS))
    return [
        f"{fmean(shown for shown, _ in found):.1f} % ({fmean(freeze for _, freeze in found):.1f} s)"
        for found in draws.values()
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
