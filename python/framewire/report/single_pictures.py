"""Some pictures of what was sent or received, decoded with as few frames as they need.

As wherever pictures of a run are decoded, the decoder is given what came whole, whether it can be decoded or not:
without the others what came would have other gaps, and a decoder may lose its order at those. Which picture is which is
told by its frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import polars as pl

from framewire.report.cut_stream import Coding, CutStream, StreamError
from framewire.report.decoder import Output, pictures

__all__ = ["closure", "picked", "portable_pixmaps"]


def portable_pixmaps(width: int) -> Output:
    """Pictures of this width and of square pixels, each as a file in the format PPM, which says how high it is."""

    def read(source: IO[bytes]) -> bytes:
        head = b"".join(source.readline() for _ in range(3))
        if not head:
            return b""
        columns, rows = (int(number) for number in head.split()[1:3])
        return head + source.read(columns * rows * 3)

    scale = f"scale=w={width}:h='trunc({width}/dar/2)*2':flags=area,setsar=1"
    return Output(scale, ("-f", "image2pipe", "-c:v", "ppm"), read)


def picked(
    stream: CutStream, size: tuple[int, int], needed: pl.DataFrame, wanted: set[int], output: Output
) -> Iterator[tuple[int, bytes]]:
    """Number and picture of the wanted display numbers, as the decoder puts them out that is given the needed frames.

    ``size`` is that of the frames. Raises StreamError at the end where one of them does not come.
    """
    missing = set(wanted)
    if wanted:
        given = ((slot, stream.read(frame)) for frame, slot in needed.select("frame", "display").iter_rows())
        for slot, picture in pictures(stream.coding, *size, given, output):
            if slot in missing:
                missing.discard(slot)
                yield slot, picture
    if missing:
        raise StreamError(
            f"{len(wanted) - len(missing):,} of {len(wanted):,} pictures came out of the decoder: which picture is "
            "which cannot be told"
        )


def closure(frames: pl.DataFrame, coding: Coding, wanted: set[int]) -> pl.DataFrame:
    """The received groups of the wanted frames and, because of open groups, those before; in decode order.

    Leading B pictures of a group whose predecessor is not there are left out: they refer to it.
    """
    groups = set(frames.filter(pl.col("display").is_in(list(wanted)))["gop"].to_list())
    groups |= {group - 1 for group in groups}
    cut = frames.filter(pl.col("gop").is_in(list(groups))).sort("frame")
    first_shown = cut.filter(pl.col("type") == "I").group_by("gop").agg(pl.col("display").min().alias("intra"))
    cut = cut.join(first_shown, on="gop", how="left", maintain_order="left")
    follows = pl.col("gop").is_in([group + 1 for group in groups & set(cut["gop"].to_list())])
    cut = cut.filter(follows | (pl.col("type") != "B") | (pl.col("display") > pl.col("intra")))
    if coding.keeps_two_references:
        cut = cut.filter((pl.col("type") != "B") | pl.col("display").is_in(list(wanted)))
    return cut
