"""Tables of earlier versions of the results format (docs/results.md), as the newest one has them.

Before version 5 a frame that the run ended before was lost, in the sender's pipeline; frames offered were not counted,
and the ledger did not say when a frame is to be shown and when it can be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from framewire._native import FORMER_NAMES
from framewire.run_description import rate_number
from framewire.transports import ADAPTIVE

__all__ = ["NEEDED", "frames", "summary", "transports"]

NOT_OFFERED_SINCE = 5
"""The version of which *not offered* is a fate."""

NEEDED = ("offered_ns", "root_cause", "arrival_ns", "deadline_ns")
"""Columns of an earlier ledger from which those of the newest are made."""

CAUSES = ("run ended", "not taken by the sender's application")
"""What an earlier ledger gave as the cause of their loss."""

NO_CAUSE = ("root_cause", "root_cause_place", "discarded_at")
LONGEST = {"1": 1, "2": 2, "3": 3, "4": 4, "5_10": 10}
"""Classes of loss runs as columns of the summary end, but for the last, and the longest run of each."""

_RUNS = [f"frame_runs_{name}" for name in (*LONGEST, "over_10")]
_BY_TYPE = [f"not_offered_{kind}" for kind in "ipb"]


def frames(table: pl.DataFrame, meta: Mapping[str, Any]) -> pl.DataFrame:
    """The ledger of a run whose ``run.json`` says ``meta``.

    >>> ledger = {"flow": ["udp"] * 3, "display": [0, 2, 1], "fate": ["shown", "lost", "lost"],
    ...           "decodable": [True, False, False], "offered_ns": [0, 1, None],
    ...           "root_cause": [None, "ifd", "run ended"], "arrival_ns": [7, None, None], "deadline_ns": [10, 90, 50]}
    >>> now = frames(pl.DataFrame(ledger), {"format": 4, "status": "partial", "ended_by": "time limit"})
    >>> now["fate"].to_list(), now["display_ns"].to_list(), now["ready_ns"].to_list()
    (['shown', 'lost', 'not offered'], [0, 80, 40], [7, None, None])
    """
    if int(meta["format"]) >= NOT_OFFERED_SINCE or not {"fate", "decodable", *NEEDED} <= {*table.columns}:
        return table
    table = table.with_columns(
        pl.coalesce(pl.col("deadline_ns") - pl.col("deadline_ns").min().over("flow"), _by_rate(meta)).alias(
            "display_ns"
        ),
        pl.when("decodable").then("arrival_ns").alias("ready_ns"),
    )
    if not _differs(meta):
        return table
    left = (pl.col("fate") == "lost") & pl.col("offered_ns").is_null() & pl.col("root_cause").is_in(CAUSES)
    gone = [pl.when(~left).then(name).alias(name) for name in NO_CAUSE if name in table.columns]
    return table.with_columns(pl.when(left).then(pl.lit("not offered")).otherwise("fate").alias("fate"), *gone)


def summary(table: pl.DataFrame, meta: Mapping[str, Any], ledger: Callable[[], pl.DataFrame | None]) -> pl.DataFrame:
    """The summary of such a run; where its ``ledger`` is needed and cannot be had, as it was written, and nothing is
    known of what was offered.
    """
    if int(meta["format"]) >= NOT_OFFERED_SINCE or "frames" not in table.columns:
        return table
    rows = ledger() if _differs(meta) else None
    if rows is None:
        known = _offered(table)
        unknown = [pl.lit(None, pl.Int32).alias(one.meta.output_name()) for one in known]
        return table.with_columns(unknown if _differs(meta) else known)
    joined = table.join(_counts(rows), on="flow", how="left", maintain_order="left")
    fewer = {"lost": "not_offered", "lost_sender_pipeline": "not_offered"}
    fewer |= {f"lost_{kind}": f"not_offered_{kind}" for kind in "ipb"}
    less = [pl.col(name) - pl.col(count).fill_null(0) for name, count in fewer.items() if name in table.columns]
    runs = [pl.coalesce(f"{name}_ledger", name).alias(name) for name in _RUNS if name in table.columns]
    return joined.with_columns(*less, *runs, *_offered(joined)).drop(*_BY_TYPE, *(f"{name}_ledger" for name in _RUNS))


def transports(table: pl.DataFrame) -> pl.DataFrame:
    """A table with the names that its transports have now.

    >>> transports(pl.DataFrame({"transport": ["better", "vtp", None]}))["transport"].to_list()
    ['vtp-hybrid', 'vtp', None]
    """
    if "transport" not in table.columns:
        return table
    return table.with_columns(pl.col("transport").replace(FORMER_NAMES))


def _by_rate(meta: Mapping[str, Any]) -> pl.Expr:
    """When each frame is to be shown, counted from the first, by the frame rate of what its flow sent."""
    adaptive = [entry["name"] for entry in meta.get("flows") or []
                if isinstance(entry, dict) and "name" in entry and entry.get("transport") in ADAPTIVE]  # fmt: skip
    ladder, movie = (rate_number((meta.get(name) or {}).get("frame_rate")) for name in ("ladder", "movie"))
    rate = pl.when(pl.col("flow").is_in(adaptive)).then(ladder or movie or 25.0).otherwise(movie or ladder or 25.0)
    return (pl.col("display") * (1e9 / rate)).round().cast(pl.Int64)


def _differs(meta: Mapping[str, Any]) -> bool:
    """Whether it is of an earlier version and ended before its streams, which is more than a flow that failed."""
    failed = any(isinstance(entry, dict) and entry.get("failure") for entry in meta.get("flows") or [])
    is_partial = meta.get("status") != "complete" and (meta.get("ended_by") is not None or not failed)
    return int(meta["format"]) < NOT_OFFERED_SINCE and is_partial


def _offered(table: pl.DataFrame) -> list[pl.Expr]:
    """What was offered, of the frames less those that were not; null for a flow that has no frames."""

    def left(name: str) -> pl.Expr:
        return pl.col(name).fill_null(0) if name in table.columns else pl.lit(0, pl.Int32)

    kinds = ["", *(f"_{kind}" for kind in "ipb" if f"frames_{kind}" in table.columns)]
    offered = [(pl.col(f"frames{kind}") - left(f"not_offered{kind}")).alias(f"offered{kind}") for kind in kinds]
    return [*offered, pl.when(pl.col("frames").is_not_null()).then(left("not_offered")).alias("not_offered")]


def _counts(ledger: pl.DataFrame) -> pl.DataFrame:
    """By flow: frames that were not offered, by type, and runs of lost frames by their length."""
    left = pl.col("fate") == "not offered"
    counts = ledger.group_by("flow", maintain_order=True).agg(
        left.sum().cast(pl.Int32).alias("not_offered"),
        *(
            (left & (pl.col("type") == kind.upper())).sum().cast(pl.Int32).alias(f"not_offered_{kind}")
            for kind in "ipb"
        ),
    )
    runs = (
        ledger.sort("frame")
        .group_by("flow")
        .agg((pl.col("fate") == "lost").rle().alias("run"))
        .explode("run")
        .unnest("run")
        .filter("value")
    )
    shortest = [1, *(longest + 1 for longest in LONGEST.values())]
    longest = [*LONGEST.values(), None]
    lengths = [pl.col("len").is_between(low, high or 2**31) for low, high in zip(shortest, longest, strict=True)]
    named = zip(_RUNS, lengths, strict=True)
    counted = runs.group_by("flow").agg(length.sum().cast(pl.Int32).alias(f"{name}_ledger") for name, length in named)
    none = [pl.col(f"{name}_ledger").fill_null(0) for name in _RUNS]
    return counts.join(counted, on="flow", how="left", maintain_order="left").with_columns(none)
