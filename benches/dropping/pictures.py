"""PSNR with freeze of many flows of one movie, decoded once.

A frame that is shown is the frame that was sent: what the ledger calls decodable arrived whole, with all that it
refers to. So only frozen pictures have an error, and only the movie as sent has to be decoded. (`framewire report`
decodes what was received as well.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from framewire.report.cut_stream import coding_of, cut, luma_pictures
from framewire.report.psnr import BLACK, CAP_DB, Luma, decibel, squared_error

WIDTH, HEIGHT = 720, 576
Sources = Sequence[int | None]
"""For every display number, the one of the picture that stands there."""


def mean_db(movie: Path, ledger: pl.DataFrame, sources: Mapping[str, Sources]) -> dict[str, float]:
    """Mean over all frames, by the names given; `ledger` is that of any flow with the movie."""
    stream = cut(movie, ledger, coding_of(movie), whole_file=False)
    held: dict[str, Luma] = {name: np.full(WIDTH * HEIGHT, BLACK, dtype=np.float32) for name in sources}
    sums = dict.fromkeys(sources, 0.0)
    for slot, picture in enumerate(luma_pictures(stream, ledger["frame"].to_list(), WIDTH, HEIGHT)):
        if slot >= ledger.height:
            break
        luma: Luma = np.frombuffer(picture, dtype=np.uint8).astype(np.float32)
        known: dict[int, float] = {}
        for name, source in sources.items():
            if source[slot] == slot:
                held[name] = luma
                sums[name] += CAP_DB
            else:
                shown = -1 if source[slot] is None else int(source[slot] or 0)
                if shown not in known:
                    known[shown] = min(decibel(squared_error(luma, held[name])), CAP_DB)
                sums[name] += known[shown]
    return {name: total / ledger.height for name, total in sums.items()}
