"""Draws the figures with which the long pages of the manual begin, into docs/images.

    make figures
    .venv/bin/python benches/figures/draw.py [--check]

What shows measured numbers reads them from the tables of its page, so a page whose tables change is drawn anew. With
`--check` nothing is written: names the figures that are not those of their pages, and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import applications
import balk
import decoders
import design
import dropping
import emulator
import hybrid
import ifd
import ladder
import links
import measured
import ouwens
import real
import results
import scenario
import serving
import simulator
import tfrc
import transports
import vtp
from svg import Figure

IMAGES = Path(__file__).parents[2] / "docs" / "images"
FIGURES: dict[str, Callable[[], Figure]] = {
    "applications": applications.draw,
    "decoders": decoders.draw,
    "design": design.draw,
    "dropping": dropping.draw,
    "dropping-programs": dropping.draw_programs,
    "emulator": emulator.draw,
    "ifd": ifd.draw,
    "ladder": ladder.draw,
    "links": links.draw,
    "measured": measured.draw,
    "real": real.draw,
    "reproduce-balk": balk.draw,
    "reproduce-ouwens": ouwens.draw,
    "results": results.draw,
    "scenario": scenario.draw,
    "serving": serving.draw,
    "simulator": simulator.draw,
    "tfrc": tfrc.draw,
    "transports": transports.draw,
    "vtp": vtp.draw,
    "vtp-hybrid": hybrid.draw,
}


def main() -> int:
    """Writes all figures, or compares them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and name what is out of date")
    check = parser.parse_args().check
    stale = []
    for name, draw in FIGURES.items():
        path = IMAGES / f"{name}.svg"
        text = str(draw())
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"docs/images: {', '.join(stale)}: the page has changed since; `make figures` draws it again, and the")
        print("numbers in the opening of the page have to follow by hand")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
