"""Quantities of one flow for the plots: `framewire.stats`, asked flow by flow, and what only a report needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire import stats
from framewire.report.data import Flow, ReportRun
from framewire.run_description import by_clock

PerSecond = Callable[[ReportRun, Flow], pl.DataFrame]
"""Columns `at_s` and `bps`: one row for each second from 0 to the last with something in it."""

MOST = 5
"""Transmissions of this number and more are one class."""


def movie_bitrate(run: ReportRun) -> float | None:
    """Mean rate of the movie as sent; None where flows choose it."""
    if run.has_levels or not run.of_movie:
        return None
    bits = 8 * int(run.ledger(run.of_movie[0])["size"].cast(pl.Int64).sum())
    return bits / run.movie_seconds if bits and run.movie_seconds else None


def share(run: ReportRun, flow: Flow, fate: str) -> float:
    """Part of the flow's frames (those that were offered) that had this fate."""
    rows = run.offered_ledger(flow)["fate"]
    return int((rows == fate).sum()) / len(rows) if len(rows) else 0.0


def frame_throughput(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits of complete frames per second."""
    return run.of_flow(flow, run.frames, stats.frame_throughput)


def delays(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Latency and jitter of the frames that arrived, in order of arrival."""
    return run.of_flow(flow, run.frames, stats.delays)


def apart(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """How far sound and picture are apart, second by second; nothing where no sound was sent."""
    if run.sound.is_empty():
        return pl.DataFrame()
    of_flow = pl.col("flow") == flow.name
    return stats.apart(run.frames.filter(of_flow), run.sound.filter(of_flow))


def packet_throughput(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits above UDP or TCP that arrived per second."""
    return run.of_flow(flow, run.packets, stats.packet_throughput) if has_packets(run) else pl.DataFrame()


def viewer_seconds(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """What a player's statistics say, second by second."""
    of_flow = pl.col("flow") == flow.name
    packets = run.packets.filter(of_flow) if has_packets(run) else None
    return stats.viewer_seconds(run.frames.filter(of_flow), packets, by_clock=by_clock(run.info))


def carried(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Bits per second that the application of a bulk flow got, all connections together."""
    if "received_bytes" not in run.states.columns:
        return pl.DataFrame()
    rows = run.states.filter((pl.col("flow") == flow.name) & pl.col("received_bytes").is_not_null())
    if rows.is_empty():
        return pl.DataFrame()
    last = rows.group_by("connection", second=pl.col("at_ns") // stats.NANOS).agg(pl.col("received_bytes").max())
    brought = (
        last.sort("second")
        .with_columns(bytes=pl.col("received_bytes").diff().over("connection").fill_null(pl.col("received_bytes")))
        .group_by("second")
        .agg(pl.col("bytes").sum())
    )
    first, last_one = int(brought["second"].min()), int(brought["second"].max())  # type: ignore[arg-type]
    seconds = pl.DataFrame({"second": range(first, last_one + 1)}, schema={"second": pl.Int64})
    return (
        seconds.join(brought, on="second", how="left")
        .sort("second")
        .select(at_s=pl.col("second").cast(pl.Float64), bps=pl.col("bytes").fill_null(0) * 8.0)
    )


def has_packets(run: ReportRun) -> bool:
    """Whether the run has a table of packets with something in it."""
    return "hop" in run.packets.columns and not run.packets.is_empty()


def has_air(run: ReportRun) -> bool:
    """Whether packets may have gone over 802.11."""
    return has_packets(run) and run.has_air


def on_air(packets: pl.DataFrame) -> pl.DataFrame:
    """The packets that went over 802.11 towards the receiver, from the sender or from the access point."""
    return packets.filter(stats.counts_transmissions() & (pl.col("transmissions") > 0))


def air_per_second(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """Columns `second`, `transmissions` (mean per packet) and `rate_mbps` (mean over transmissions)."""
    return run.of_flow(flow, run.packets, _air_per_second) if has_air(run) else pl.DataFrame()


def _air_per_second(packets: pl.DataFrame) -> pl.DataFrame:
    rates = pl.col("rates").str.split(",").list.eval(pl.element().cast(pl.Float64, strict=False))
    return (
        on_air(packets)
        .with_columns((pl.col("finished_ns") // stats.NANOS).alias("second"), rates.alias("rate"))
        .group_by("flow", "second")
        .agg(
            pl.col("transmissions").mean(),
            (pl.col("rate").list.sum().sum() / pl.col("rate").list.len().sum()).alias("rate_mbps"),
        )
        .sort("flow", "second")
    )


def transmission_shares(run: ReportRun, flow: Flow, seen_by: Literal["link", "sniffer"]) -> list[float] | None:
    """Shares of packets sent 1, 2, 3, 4, and 5 or more times; None when there are none."""
    if not has_air(run):
        return None
    counted = run.of_flow(flow, run.packets, _seen_by_link if seen_by == "link" else _seen_by_sniffer)
    if counted.is_empty():
        return None
    shares = dict(counted.select("transmissions", "share").iter_rows())
    return [float(shares.get(count, 0.0)) for count in range(1, MOST + 1)]


def _seen_by_link(packets: pl.DataFrame) -> pl.DataFrame:
    return _in_classes(stats.transmissions(on_air(packets), "link"))


def _seen_by_sniffer(packets: pl.DataFrame) -> pl.DataFrame:
    return _in_classes(stats.transmissions(on_air(packets), "sniffer"))


def _in_classes(counted: pl.DataFrame) -> pl.DataFrame:
    classes = counted.group_by("flow", pl.col("transmissions").clip(upper_bound=MOST), maintain_order=True)
    return classes.agg(pl.col("share").sum())


def loss_runs(run: ReportRun, flow: Flow, of: Literal["packets", "frames"]) -> dict[str, int] | None:
    """How often so many frames or packets in a row were lost."""
    if "flow" not in run.summary.columns:
        return None
    rows = stats.loss_runs(run.summary.filter(pl.col("flow") == flow.name), of)
    return dict(rows.select("length", "runs").iter_rows()) or None


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
    rows = run.of_flow(flow, run.releases, _as_it_is)
    errors = (rows["actual_ns"] - rows["intended_ns"]).to_numpy().astype(np.float64) / 1000
    return np.abs(errors) if errors.size else None


def samples(run: ReportRun, flow: Flow) -> pl.DataFrame:
    """The samples of the flow's state."""
    return run.of_flow(flow, run.states, _as_it_is)


def _as_it_is(table: pl.DataFrame) -> pl.DataFrame:
    return table
