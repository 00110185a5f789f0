"""PSNR with freeze of many flows of one movie, decoded once.

A frame that is shown is the frame that was sent: what the ledger calls decodable arrived whole, with all that it
refers to. So only frozen pictures have an error, and only the movie as sent has to be decoded. (`framewire report`
decodes what was received as well.)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import polars as pl

from framewire.psnr import CAP_DB, Sources, decibel, freeze_errors
from framewire.report.cut_stream import coding_of, cut, luma_pictures

WIDTH, HEIGHT = 720, 576


def mean_db(movie: Path, ledger: pl.DataFrame, sources: Mapping[str, Sources]) -> dict[str, float]:
    """Mean over all frames, by the names given; `ledger` is that of any flow with the movie."""
    stream = cut(movie, ledger, coding_of(movie), whole_file=False)
    sums = dict.fromkeys(sources, 0.0)
    pictures = luma_pictures(stream, ledger["frame"].to_list(), WIDTH, HEIGHT)
    for frozen in freeze_errors(islice(pictures, ledger.height), sources):
        for name in sources:
            sums[name] += decibel(frozen.get(name, 0.0), CAP_DB)
    return {name: total / ledger.height for name, total in sums.items()}
