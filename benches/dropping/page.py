"""Writes docs/dropping.md: what a viewer gets from frame-aware dropping, and from what others do instead.

    make dropping TRACES=DIR
    .venv/bin/python benches/dropping/page.py [--traces DIR] [--applications [NAME ...]] [--keep DIR] [--out FILE]

First every movie goes over every link by every transport of the lab with every limit, in virtual time (minutes); then
the applications run in real time over the emulated network (an hour: they need GStreamer with the elements
of `make plugin`, and a machine that is not busy). `--traces` names a directory with Mahimahi's recordings of LTE links;
without it they are left out. `--keep` keeps what was found, and goes on where an earlier call ended;
what other code or other cases left there is not taken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import applications
import cases
import charts
import measure
import pictures
import polars as pl
import results
import sections
import sweep

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs everything and writes the page."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="framewire-dropping-") as scratch:
        directory = options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        links = cases.links(options.traces, directory)
        for codec in options.movies:
            sweep.made_movie(codec)
        found = sweep.run(options.movies, links, directory, _say)
        unseen = sweep.run(cases.UNSEEN_MOVIES, cases.UNSEEN, directory, _say)
        real: list[measure.Row] = []
        if options.applications:
            limits = _limits_of(found)
            real = applications.run(options.applications, options.movies, links, limits, directory, _say)
        chosen = list(_chosen(options.movies, links, found))
    measured = results.Results(options.movies, links, found, unseen, chosen, real)
    images = options.out.parent / "images"
    images.mkdir(exist_ok=True)
    for name, chart in sections.charts(measured).items():
        (images / f"dropping-{name}.svg").write_text(charts.svg(chart), encoding="utf-8")
    options.out.write_text(sections.page(measured), encoding="utf-8")
    _say(f"wrote {options.out}")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, metavar="DIR", help="where Mahimahi's recordings are")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run directories here")
    parser.add_argument("--out", type=Path, metavar="FILE", default=ROOT / "docs" / "dropping.md")
    parser.add_argument("--movies", nargs="+", choices=list(cases.MOVIES), default=list(cases.MOVIES))
    known = [one.name for one in applications.FLOWS]
    parser.add_argument("--applications", nargs="*", choices=known, default=known, help="only these, or none")
    return parser.parse_args(arguments)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _limits_of(found: sweep.Sweep) -> applications.Limit:
    def limit(codec: str, link: str, method: cases.Method) -> int | None:
        return found.best((codec, link, cases.MAIN_STARTUP_MS), method, "own").limit_ms

    return limit


def _chosen(codecs: Sequence[str], links: Sequence[cases.Link], found: sweep.Sweep) -> Iterator[measure.Row]:
    """What the full tables show, with the pictures of every movie decoded once."""
    for codec in codecs:
        _say(f"pictures: {codec}")
        rows: list[measure.Row] = []
        sources: dict[str, list[int | None]] = {}
        ledger = None
        for link in links:
            settings = results.shown_settings(found, codec, link.name)
            for seed in link.seeds:
                with tempfile.TemporaryDirectory(prefix="framewire-chosen-") as scratch:
                    sweep.simulate((codec, link, seed), settings, Path(scratch))
                    some, stood = measure.of_cell(Path(scratch), (codec, link.name, seed), cases.MAIN_STARTUP_MS)
                    frames = pl.read_parquet(Path(scratch) / "frames.parquet")
                ledger = frames.filter(pl.col("flow") == settings[0].flow_name).sort("frame")
                rows.extend(some)
                sources.update({_name(row): stood[row.flow] for row in some})
        if ledger is not None:
            scores = pictures.mean_db(sweep.made_movie(codec).path, ledger, sources)
            yield from (replace(row, psnr_db=scores[_name(row)]) for row in rows)


def _name(row: measure.Row) -> str:
    return f"{row.link}-{row.seed}-{row.flow}"


if __name__ == "__main__":
    raise SystemExit(main())
