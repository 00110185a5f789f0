"""Quantities of one flow for the plots, from the run's tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire.report.data import Flow, ReportRun

PerSecond = Callable[[ReportRun, Flow], pl.DataFrame]
"""Columns `second` and `bits`: one row for each second from 0 to the last with something in it."""

RUN_CLASSES = {"1": "1", "2": "2", "3": "3", "4": "4", "5-10": "5_10", "over 10": "over_10"}
TRANSMISSION_CLASSES = ("1", "2", "3", "4", "5_up")


def movie_bitrate(run: ReportRun) -> float | None:
    """Mean rate of the movie as sent."""
    bits = 8 * int(run.ledger(run.flows[0])["size"].cast(pl.Int64).sum()) if run.flows else 0
    return bits / run.movie_seconds if bits and run.movie_seconds else None


def share(run: ReportRun, flow: Flow, what: pl.Expr, among: pl.Expr | None = None) -> float:
    """Part of the flow's frames (or of those `among`) for which `what` holds."""
    rows = run.ledger(flow)
    rows = rows if among is None else rows.filter(among)
    return rows.filter(what).height / rows.height if rows.height else 0.0


def frame_throughput(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits of complete frames, by the second in which they had arrived."""
    rows = run.ledger(flow).drop_nulls("arrival_ns")
    return per_second(rows.select(pl.col("arrival_ns").alias("at"), pl.col("size").alias("bytes")))


def packet_throughput(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits above UDP or TCP that left the last hop to the receiver."""
    rows = forward(run, flow)
    if rows.is_empty():
        return pl.DataFrame(schema={"second": pl.Int64, "bits": pl.Int64})
    last = rows["hop"].unique().to_list()
    hop = next((name for name in ("wire", "bottleneck", "access-point", "sender-device") if name in last), last[0])
    rows = rows.filter((pl.col("hop") == hop) & (pl.col("outcome") == "delivered"))
    return per_second(rows.select(pl.col("finished_ns").alias("at"), pl.col("payload").alias("bytes")))


def per_second(rows: pl.DataFrame) -> pl.DataFrame:
    """Sums `bytes` by second of `at`, with zeros where nothing was."""
    if rows.is_empty():
        return pl.DataFrame(schema={"second": pl.Int64, "bits": pl.Int64})
    sums = rows.group_by((pl.col("at") // 1_000_000_000).alias("second")).agg(
        (pl.col("bytes").cast(pl.Int64).sum() * 8).alias("bits")
    )
    every = pl.DataFrame({"second": range(int(sums["second"].max()) + 1)}, schema={"second": pl.Int64})  # type: ignore[arg-type]
    return every.join(sums, on="second", how="left").fill_null(0).sort("second")


def forward(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Packets of the flow from sender to receiver, on every hop."""
    if "hop" not in run.packets.columns:
        return pl.DataFrame()
    return run.packets.filter((pl.col("flow") == flow.name) & (pl.col("direction") == "forward"))


def on_air(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """The flow's packets that were sent over 802.11 by the sender."""
    rows = forward(run, flow)
    if rows.is_empty() or run.scenario.get("network", {}).get("kind", "wifi") != "wifi":
        return pl.DataFrame()
    return rows.filter((pl.col("hop") == "sender-device") & (pl.col("transmissions") > 0))


def air_per_second(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Columns `second`, `transmissions` (mean per packet) and `rate_mbps` (mean over transmissions)."""
    rows = on_air(run, flow)
    if rows.is_empty():
        return pl.DataFrame()
    rates = pl.col("rates").str.split(",").list.eval(pl.element().cast(pl.Float64, strict=False))
    return (
        rows.with_columns((pl.col("finished_ns") // 1_000_000_000).alias("second"), rates.alias("rate"))
        .group_by("second")
        .agg(
            pl.col("transmissions").mean(),
            (pl.col("rate").list.sum().sum() / pl.col("rate").list.len().sum()).alias("rate_mbps"),
        )
        .sort("second")
    )


def transmission_shares(run: ReportRun, flow: Flow) -> list[float] | None:
    """Shares of packets sent 1, 2, 3, 4, and 5 or more times."""
    rows = on_air(run, flow)
    return None if rows.is_empty() else class_shares(rows["transmissions"])


def sniffed_shares(run: ReportRun, flow: Flow) -> list[float] | None:
    """The same as a sniffer counts: of the packets of which it captured anything."""
    rows = on_air(run, flow)
    if rows.is_empty() or rows["sniffed"].null_count() == rows.height:
        return None
    seen = rows.filter(pl.col("sniffed") > 0)
    return class_shares(seen["sniffed"]) if seen.height else None


def class_shares(counts: pl.Series) -> list[float]:
    """Shares of 1, 2, 3, 4, and 5 or more."""
    clipped = counts.clip(1, 5)
    return [int((clipped == size).sum()) / clipped.len() for size in range(1, 6)]


def loss_runs(run: ReportRun, flow: Flow, what: str) -> dict[str, int] | None:
    """How often so many frames or packets in a row were lost."""
    row = summary_row(run, flow)
    prefix = "frame_runs_" if what == "frames" else "runs_"
    counts = {told: row.get(prefix + key) for told, key in RUN_CLASSES.items()}
    known = {told: int(count) for told, count in counts.items() if count is not None}
    return known or None


def summary_row(run: ReportRun, flow: Flow) -> dict[str, Any]:
    """The flow's row of summary.parquet; empty when there is none."""
    if "flow" not in run.summary.columns:
        return {}
    rows = run.summary.filter(pl.col("flow") == flow.name)
    return rows.row(0, named=True) if rows.height else {}


def release_errors_us(run: ReportRun, flow: Flow) -> NDArray[np.float64] | None:
    """How much later than intended each packet was released."""
    if "intended_ns" not in run.releases.columns:
        return None
    rows = run.releases.filter(pl.col("flow") == flow.name)
    errors = (rows["actual_ns"] - rows["intended_ns"]).to_numpy().astype(np.float64) / 1000
    return np.abs(errors) if errors.size else None
