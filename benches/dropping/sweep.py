"""Every method with every limit and socket, in virtual time: which limit is best for it, found afterwards."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import cases
import kept
import measure
import polars as pl

import framewire
from framewire import _native, movie
from framewire.content_store import ContentStore

Case = tuple[str, cases.Link, int]
"""A movie, a link and a draw."""

Draw = tuple[float, float]
"""Per cent of frames shown in time, and the longest freeze in seconds."""

THREADS = os.cpu_count() or 1
FLOWS = 50
"""At a time; a scenario has 64 at most."""

Key = tuple[str, str, int]
"""A movie, a link by name, and a start-up."""


@dataclass(frozen=True)
class Seen:
    """Means over the draws of what a viewer saw."""

    shown_percent: float
    longest_freeze_s: float


@dataclass(frozen=True)
class Sweep:
    """What a viewer saw of every setting, by movie, link and start-up."""

    seen: Mapping[Key, Mapping[cases.Setting, Seen]]

    def best(self, key: Key, method: cases.Method, socket: str) -> cases.Setting:
        """The setting of a method with the most frames shown in this very case; of equals, the shortest freeze."""
        candidates = [one for one in self.seen[key] if one.method == method and one.socket == socket]
        return max(candidates, key=lambda one: self._rank(key, one))

    def _rank(self, key: Key, setting: cases.Setting) -> tuple[float, float]:
        seen = self.seen[key][setting]
        return round(seen.shown_percent, 1), -seen.longest_freeze_s


def run(codecs: Sequence[str], links: Sequence[cases.Link], directory: Path, progress: Callable[[str], None]) -> Sweep:
    """Simulates everything that is not yet in the directory: some 150 flows for every movie, link and draw."""
    wanted: list[Case] = [(codec, link, seed) for codec in codecs for link in links for seed in link.seeds]
    found: dict[Key, dict[cases.Setting, list[Draw]]] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for case, seen in zip(wanted, pool.map(lambda case: _draws(case, directory), wanted), strict=True):
            codec, link, seed = case
            progress(f"sweep: {codec} over {link.name}, draw {seed}")
            for setting in cases.settings():
                for startup, draw in zip(cases.STARTUPS_MS, seen[setting.flow_name], strict=True):
                    found.setdefault((codec, link.name, startup), {}).setdefault(setting, []).append(draw)
    return Sweep({key: {one: _mean(draws) for one, draws in settings.items()} for key, settings in found.items()})


def _mean(draws: Sequence[Draw]) -> Seen:
    return Seen(fmean(shown for shown, _ in draws), fmean(freeze for _, freeze in draws))


def _draws(case: Case, directory: Path) -> dict[str, list[Draw]]:
    """By flow, one for each start-up."""
    codec, link, seed = case
    settings = cases.settings()
    stamp = kept.stamp(_scenario(case, settings), made_movie(codec).path)

    def make(scratch: Path) -> Path:
        made = scratch / "seen"
        made.write_text(json.dumps(_simulated(case, settings)))
        return made

    return ContentStore(directory).keep(f"{codec}-{link.name}-{seed}-{stamp}-sweep.json", _found, make)


def _found(place: Path) -> dict[str, list[Draw]] | None:
    return json.loads(place.read_text()) if place.exists() else None


def _simulated(case: Case, settings: Sequence[cases.Setting]) -> dict[str, list[Draw]]:
    seen: dict[str, list[Draw]] = {}
    for start in range(0, len(settings), FLOWS):
        some = settings[start : start + FLOWS]
        frames = _simulate(case, some).partition_by("flow", as_dict=True)
        for setting in some:
            ledger = frames[(setting.flow_name,)].sort("frame")
            draws = [measure.seen(ledger, startup) for startup in cases.STARTUPS_MS]
            seen[setting.flow_name] = draws
    return seen


def _simulate(case: Case, settings: Sequence[cases.Setting]) -> pl.DataFrame:
    """The ledgers of some flows."""
    with tempfile.TemporaryDirectory(prefix="framewire-sweep-") as scratch:
        simulate(case, settings, Path(scratch))
        return pl.read_parquet(Path(scratch) / "frames.parquet")


def simulate(case: Case, settings: Sequence[cases.Setting], directory: Path) -> None:
    """Puts ledgers and summaries into a directory."""
    made = made_movie(case[0])
    resolved = framewire.load(_scenario(case, settings), movie_duration_s=made.duration_s)
    _native.simulate_cell(resolved.parsed, _native.load_movie(made.path.resolve()), directory)


def _scenario(case: Case, settings: Sequence[cases.Setting]) -> dict[str, Any]:
    codec, link, seed = case
    return cases.scenario(codec, link, seed, [setting.flow() for setting in settings], cases.SECONDS)


def made_movie(codec: str) -> movie.MadeMovie:
    """Made once, and kept by the lab."""
    return movie.make(movie.parse_bitrate(cases.BITRATE), cases.SECONDS, codec=codec)
