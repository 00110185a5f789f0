"""Writes docs/dropping.md: what a viewer gets from frame-aware dropping, and from what others do instead.

    make dropping [TRACES=DIR]
    .venv/bin/python benches/dropping/page.py [--traces DIR] [--applications] [--keep DIR] [--out FILE]

Every movie goes over every link by every transport of the lab, in virtual time: about three minutes on two cores, most
of it for decoding what arrived. `--traces` names a directory with Mahimahi's recordings of LTE links; without it they
are left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import measure
import sections

import framewire
from framewire import movie

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs everything and writes the page."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="framewire-dropping-") as scratch:
        directory = options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        links = cases.links(options.traces, Path(scratch))
        for codec in options.movies:
            movie.make(movie.parse_bitrate(cases.BITRATE), cases.SECONDS, codec=codec)
        rows = list(_simulated(options.movies, links, directory))
    options.out.write_text(sections.page(rows, links, options.movies), encoding="utf-8")
    print(f"wrote {options.out}", file=sys.stderr)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, metavar="DIR", help="where Mahimahi's recordings are")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run directories here")
    parser.add_argument("--out", type=Path, metavar="FILE", default=ROOT / "docs" / "dropping.md")
    parser.add_argument("--movies", nargs="+", choices=list(cases.MOVIES), default=list(cases.MOVIES))
    return parser.parse_args(arguments)


def _simulated(codecs: Sequence[str], links: Sequence[cases.Link], directory: Path) -> Iterator[measure.Row]:
    wanted = [(codec, link, seed) for codec in codecs for link in links for seed in link.seeds]

    def one(case: tuple[str, cases.Link, int]) -> list[measure.Row]:
        codec, link, seed = case
        out = directory / f"{codec}-{link.name}-{seed}"
        if not out.exists():
            framewire.run(cases.scenario(codec, link, seed), world="simulated", out=out)
        return measure.rows(out, codec, link.name, seed)

    with ThreadPoolExecutor(1) as pool:
        for number, rows in enumerate(pool.map(one, wanted), 1):
            print(f"{number} of {len(wanted)}: {rows[0].codec} over {rows[0].link}", file=sys.stderr, flush=True)
            yield from rows


if __name__ == "__main__":
    raise SystemExit(main())
