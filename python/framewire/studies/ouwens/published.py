"""What the thesis published, as tables: one CSV per kind of table, with the number of the table in every row.

The thesis is "MPEG-2 streaming over IEEE 802.11b" by J. Ouwens (Technische Universiteit Eindhoven and Philips Research,
2005). Only numbers are taken from it. Tables and columns that are not here are shown in the report without a published
value: what stands there is a prediction.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import polars as pl

__all__ = [
    "BITRATES",
    "DURATION_S",
    "FRAMES",
    "LINK_LAYER_PACKETS",
    "LINK_LAYER_RETRIES",
    "OVENS",
    "RETRIES",
    "attempts",
    "lookup",
    "rows",
]

FRAMES = {"I": 101, "P": 400, "B": 998}
"""Frames of the movie by type (last row of tables 3.8 to 3.22)."""

DURATION_S = 59.96
"""1,499 frames at 25 per second."""

RETRIES = (0, 1, 2, 3, 4, 8, 16)
BITRATES = (3, 4, 5, 6)
OVENS = ("no", "yes")
LINK_LAYER_RETRIES = (1, 2, 3, 4, 5)
"""Values of section 3.5."""

LINK_LAYER_PACKETS = 29_385
"""UDP packets of the movie of section 3.5 (table 3.3)."""

DEFAULT_RETRY = 16
"""What the thesis takes the card to make of 0 (section 3.6)."""


def attempts(retry: int) -> int:
    """The number of transmissions that a retry value allows."""
    return retry or DEFAULT_RETRY


@cache
def rows(kind: str) -> pl.DataFrame:
    """A file of ``published``: ``movie_duration``, ``stream_duration``, ``transmissions``, ``packet_losses``, ..."""
    with files("framewire.studies.ouwens").joinpath("published", f"{kind}.csv").open("rb") as file:
        return pl.read_csv(file.read(), schema_overrides={"table": pl.String, "bitrate_mbps": pl.Int64})


@cache
def _indexed(kind: str, keys: tuple[str, ...]) -> dict[tuple[object, ...], dict[str, object]]:
    return {tuple(row[key] for key in keys): row for row in rows(kind).iter_rows(named=True)}


def lookup(kind: str, column: str, **place: object) -> float | None:
    """One published number; None where there is none.

    >>> lookup("movie_duration", "duration_s", table="3.7", bitrate_mbps=6, retry=4, interference="no")
    85.2
    """
    row = _indexed(kind, tuple(place)).get(tuple(place.values()))
    value = None if row is None else row.get(column)
    return float(value) if isinstance(value, int | float) else None
