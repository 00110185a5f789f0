"""PSNR with freeze of many flows of one movie, decoded once.

A frame that is shown is the frame that was sent: what the ledger calls decodable arrived whole, with all that it
refers to. So only frozen pictures have an error, and only the movie as sent has to be decoded. (`framewire report`
decodes what was received where that is not certain.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from framewire.psnr import CAP_DB, FreezeErrors, Sources, decibel
from framewire.report.cut_stream import coding_of, cut, luma_batches

WIDTH, HEIGHT = 720, 576


def mean_db(movie: Path, ledger: pl.DataFrame, sources: Mapping[str, Sources]) -> dict[str, float]:
    """Mean over all frames, by the names given; `ledger` is that of any flow with the movie."""
    stream = cut(movie, ledger, coding_of(movie), whole_file=False)
    freezes = FreezeErrors(sources, WIDTH * HEIGHT)
    taken = 0
    for pictures in luma_batches(stream, ledger["frame"].to_list(), WIDTH, HEIGHT, batch=8):
        slots = range(taken, taken + len(pictures) // (WIDTH * HEIGHT))
        freezes.take(slots, pictures)
        taken = slots.stop
    return {
        name: sum(decibel(0.0 if math.isnan(error) else error, CAP_DB) for error in errors) / ledger.height
        for name, errors in freezes.errors().items()
    }
