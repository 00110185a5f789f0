"""Tables of a run, and what is worked out of them, by flow: each is made once for all flows, and then cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import polars as pl

__all__ = ["ByFlow", "Quantity", "cut"]

Quantity: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]
"""Makes a table with a column ``flow`` of another one."""


class ByFlow:
    """Keeps what was made of a run's tables."""

    def __init__(self) -> None:
        self._kept: dict[Quantity, tuple[pl.DataFrame, pl.DataFrame, dict[str, pl.DataFrame]]] = {}

    def of(self, flow: str, table: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
        """The rows of one flow; none where the table has none of it."""
        kept = self._kept.get(quantity)
        if kept is None or kept[0] is not table:
            made = quantity(table)
            kept = self._kept[quantity] = table, made[:0], cut(made)
        return kept[2].get(flow, kept[1])


def cut(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows of each flow, in their order. Of a table that has them together, as a run's tables do, nothing is copied.

    >>> together, apart = pl.DataFrame({"flow": ["b", "b", "a"]}), pl.DataFrame({"flow": ["b", "a", "b"]})
    >>> [{flow: rows.height for flow, rows in cut(table).items()} for table in (together, apart)]
    [{'b': 2, 'a': 1}, {'b': 2, 'a': 1}]
    """
    if table.is_empty():
        return {}
    runs = table["flow"].rle().struct
    lengths, names = runs.field("len").to_list(), runs.field("value").to_list()
    if len({*names}) < len(names):
        return {str(name): rows for (name,), rows in table.partition_by("flow", as_dict=True).items()}
    parts: dict[str, pl.DataFrame] = {}
    start = 0
    for name, length in zip(names, lengths, strict=True):
        parts[name] = table.slice(start, length)
        start += length
    return parts
