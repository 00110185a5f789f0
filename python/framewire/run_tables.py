"""Columns of a run's tables (docs/results.md): of what kind they are, and which of them have no nulls."""

from __future__ import annotations

import polars as pl

__all__ = ["completed", "problem_of", "without_nulls"]

TEXTS = frozenset(
    (
        *("flow", "transport", "status", "type", "fate", "root_cause_place", "root_cause", "discarded_at"),
        *("direction", "protocol", "hop", "rates", "outcome", "cause", "from"),
    )
)
FLAGS = frozenset(("complete", "decodable", "clamped", "bye", "as_decoded"))

WITHOUT_NULLS = {
    "frames": "flow frame display type gop size due_ns bytes_received complete decodable fate",
    "packets": "flow packet direction protocol size payload hop enqueued_ns finished_ns transmissions rates outcome",
    "flows": "flow at_ns",
    "accuracy": "flow packet intended_ns actual_ns",
    "rtcp": "flow from size bye",
    "summary": "flow transport status",
    "as_decoded": "flow display as_decoded psnr_db ssim",
}

ADDED_LATER = {
    "frames": {"track": pl.lit(0, pl.Int32), "handed_on": pl.lit(0, pl.Int32)},
    "as_decoded": {"vmaf": pl.lit(None, pl.Float64)},
}
"""Columns that older tables are without, with what they would have in them."""


def completed(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """The table of this name with the columns that it is without because an older version wrote it.

    >>> completed("frames", pl.DataFrame({"flow": ["udp"]})).row(0)
    ('udp', 0, 0)
    """
    added = ADDED_LATER.get(name, {})
    return table.with_columns(value.alias(column) for column, value in added.items() if column not in table.columns)


def without_nulls(name: str) -> list[str]:
    """The columns that every table of this name has, with a value in each row."""
    return WITHOUT_NULLS[name].split()


def problem_of(name: str, table: pl.DataFrame) -> str | None:
    """What is wrong with a column of the table of this name; None where nothing is.

    Other columns that are missing than those without nulls are those of a later version, and columns that are not known
    are not read.

    >>> problem_of("flows", pl.DataFrame({"flow": ["udp"], "at_ns": ["now"]}))
    'its column at_ns is of type String; numbers are needed'
    """
    filled = without_nulls(name)
    missing = [column for column in filled if column not in table.columns]
    if missing:
        return f"it has no column {missing[0]}"
    for column in table:
        kind = "texts" if column.name in TEXTS else "true and false" if column.name in FLAGS else "numbers"
        if not _is(kind, column.dtype):
            return f"its column {column.name} is of type {column.dtype}; {kind} are needed"
        if column.name in filled and column.null_count():
            return f"its column {column.name} has rows without a value"
    return None


def _is(kind: str, dtype: pl.DataType) -> bool:
    if dtype == pl.Null:  # of a table without rows, or without a value
        return True
    return {"texts": dtype == pl.String, "true and false": dtype == pl.Boolean}.get(kind, dtype.is_numeric())
