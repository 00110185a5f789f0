"""PSNR with freezes of many flows of one movie, decoded once.

A frame that is shown is the frame that was sent: what the ledger calls decodable arrived whole, with all that it
refers to. So only frozen pictures have an error, and only the movie as sent has to be decoded. (`framewire report`
decodes what was received where that is not certain.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from framewire import movie
from framewire.campaign.results import Campaign
from framewire.playout import COLUMNS, Player, play
from framewire.psnr import CAP_DB, FreezeErrors, Sources, decibel
from framewire.report.cut_stream import coding_of, cut, luma_batches
from framewire.studies.dropping.plan import BITRATE, HEIGHT, WIDTH, Plan

__all__ = ["scores"]

Place = tuple[str, str, int]
"""A link, a flow and a repeat."""


def scores(
    codec: str, results: Sequence[Campaign], wanted: set[tuple[str, str]], player: Player, plan: Plan
) -> dict[Place, float]:
    """Mean PSNR in dB over all frames, of the wanted links and flows of one movie."""
    sources: dict[Place, Sources] = {}
    of_any = None
    for campaign in results:
        for place, (frames,) in campaign.tables("frames"):
            if place.labels["movie"] != codec:
                continue
            link = str(place.labels["link"])
            flows = [flow for of_link, flow in wanted if of_link == link]
            ledgers = pl.read_parquet(frames).filter(pl.col("flow").is_in(flows))
            for (flow,), ledger in ledgers.partition_by("flow", as_dict=True).items():
                of_any = ledger.sort("frame") if of_any is None else of_any
                shown = play(ledger.select("frame", *COLUMNS).sort("frame"), player)
                sources[link, str(flow), place.repeat] = shown.source
    if of_any is None:
        return {}
    made = movie.make(movie.parse_bitrate(BITRATE), plan.seconds, codec=codec)
    return _mean_db(made.path, of_any, sources)


def _mean_db(sent: Path, ledger: pl.DataFrame, sources: Mapping[Place, Sources]) -> dict[Place, float]:
    """By place; ``ledger`` is that of any flow with the movie."""
    stream = cut(sent, ledger, coding_of(sent), whole_file=False)
    names = {str(place): place for place in sources}
    freezes = FreezeErrors({name: sources[place] for name, place in names.items()}, WIDTH * HEIGHT)
    taken = 0
    for batch in luma_batches(stream, ledger["frame"].to_list(), WIDTH, HEIGHT, batch=8):
        slots = range(taken, taken + len(batch) // (WIDTH * HEIGHT))
        freezes.take(slots, batch)
        taken = slots.stop
    return {
        names[name]: sum(decibel(0.0 if math.isnan(error) else error, CAP_DB) for error in errors) / ledger.height
        for name, errors in freezes.errors().items()
    }
