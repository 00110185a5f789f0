"""The quantities of the thesis, worked out from the tables of a run.

Pure functions: they take the polars frames of a :class:`framewire.results.RunDirectory` (all flows, or some) and give
polars frames with a row per flow and whatever is asked for. Times are in seconds since the origin of the run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
import polars as pl

__all__ = [
    "FIRST_OF_SOUND",
    "OF_OFFERED",
    "PLACES",
    "RUN_CLASSES",
    "TYPES",
    "arrived_packets",
    "counts_transmissions",
    "delays",
    "frame_throughput",
    "loss_by_place",
    "loss_by_type",
    "loss_runs",
    "main_protocols",
    "offered",
    "packet_gaps",
    "packet_throughput",
    "percentile",
    "percentiles",
    "size_and_latency",
    "transmissions",
    "viewer_seconds",
]

FIRST_OF_SOUND = 1 << 48
"""Where the numbers of packets of sound begin that has RTP for itself (docs/results.md)."""

TYPES = ("I", "P", "B")
"""Picture types, the most important first."""

PLACES = ("sender-pipeline", "sender-socket", "link", "intermediate-queue", "receiver-pipeline")
"""The five places of loss, in the order in which a frame passes them."""

RUN_CLASSES = {"1": "1", "2": "2", "3": "3", "4": "4", "5-10": "5_10", "over 10": "over_10"}
"""Classes of loss runs as they are shown, and how the columns of the summary end."""

OF_OFFERED = ("shown", "late", "undecodable", "lost")
"""Fates of frames that were offered to their transport, in order."""

NANOS = 1_000_000_000


def frame_throughput(frames: pl.DataFrame, window_s: float = 1.0) -> pl.DataFrame:
    """Bits of complete frames per second, by the window in which they arrived: ``flow``, ``at_s``, ``bps``.

    The thesis takes windows of 1 s (its section 3.4). ``at_s`` is the window's start; windows in which nothing
    arrived are there with 0, up to the last that something arrived in.
    """
    arrived = frames.filter(pl.col("complete")).select("flow", at_ns="arrival_ns", bytes=pl.col("size").cast(pl.Int64))
    return _per_window(arrived, window_s)


def packet_throughput(packets: pl.DataFrame, window_s: float = 1.0) -> pl.DataFrame:
    """Bits of UDP or TCP payload that arrived per second, as :func:`frame_throughput` gives those of frames.

    A packet arrived when the last hop of its flow delivered it; the last hop is where the packets that came furthest
    ended. The summary's ``packet_throughput_bps`` counts what the receiver's program got, every byte once; here counts
    what the network brought, so what TCP sent twice and arrived twice counts twice, and so does what was not read.
    """
    columns = ["flow", "packet", "hop", "outcome", "enqueued_ns", "finished_ns", "payload"]
    forward = packets.lazy().filter(pl.col("direction") == "forward").select(columns).collect()
    arrived = [forward[:0], *(arrived_packets(rows) for rows in forward.partition_by("flow"))]
    of_flows = pl.concat(arrived).select("flow", at_ns="finished_ns", bytes=pl.col("payload").cast(pl.Int64))
    return _in_flow_order(_per_window(of_flows, window_s), packets)


def packet_gaps(packets: pl.DataFrame) -> pl.DataFrame:
    """Time between packets towards the receiver at both ends of the network: ``flow``, ``end``, ``at_s``, ``size`` (IP
    bytes), ``gap_ms`` since the packet before, which is null for the first.

    At the ``sender`` a packet counts when it enters its first hop, dropped there or not; at the ``receiver`` when it
    arrived (:func:`packet_throughput`), in order of arrival.
    """
    columns = ["flow", "packet", "hop", "outcome", "enqueued_ns", "finished_ns", "size"]
    forward = packets.lazy().filter(pl.col("direction") == "forward").select(columns).collect()
    ends = [forward.select("flow", pl.lit("").alias("end"), at_ns="enqueued_ns", size="size")[:0]]
    for rows in forward.partition_by("flow"):
        in_order = rows if rows["packet"].is_sorted() else rows.sort("packet", maintain_order=True)
        starts = np.flatnonzero(np.diff(in_order["packet"].to_numpy(), prepend=-1))
        entered = np.minimum.reduceat(in_order["enqueued_ns"].to_numpy(), starts)
        sent = pl.DataFrame({"at_ns": entered, "size": in_order["size"].to_numpy()[starts]})
        for end, seen in (("sender", sent), ("receiver", arrived_packets(in_order).rename({"finished_ns": "at_ns"}))):
            at = seen.sort("at_ns")
            ends.append(at.select(flow=pl.lit(rows["flow"][0]), end=pl.lit(end), at_ns="at_ns", size="size"))
    return pl.concat(ends).select(
        "flow",
        "end",
        (pl.col("at_ns") / NANOS).alias("at_s"),
        "size",
        (pl.col("at_ns").diff().over("flow", "end") / 1e6).alias("gap_ms"),
    )


def arrived_packets(packets: pl.DataFrame) -> pl.DataFrame:
    """Of one flow's packets towards the receiver the rows in which the last hop delivered one."""
    rows = packets if packets["packet"].is_sorted() else packets.sort("packet", maintain_order=True)
    packet = rows["packet"].to_numpy()
    starts = np.flatnonzero(np.diff(packet, prepend=packet[0] - 1))
    hops = np.diff(starts, append=len(packet))
    # Where a packet ended: the row that was finished last, and of several that was enqueued last, or stands last. A
    # sort of all rows would take five times as long.
    ended = np.ones(len(packet), dtype=np.bool_)
    never = np.iinfo(np.int64).min
    for order in (rows["finished_ns"].fill_null(never), rows["enqueued_ns"].fill_null(never), range(len(packet))):
        among = np.where(ended, np.asarray(order, dtype=np.int64), never)
        ended &= among == np.repeat(np.maximum.reduceat(among, starts), hops)
    ends = rows.filter(pl.Series(ended))
    # Most packets may end earlier (in a queue that is full), or one hop later be lost: neither moves the last hop.
    furthest = ends.filter(pl.Series(hops == hops.max()))["hop"].unique()
    return ends.filter((pl.col("outcome") == "delivered") & pl.col("hop").is_in(furthest.implode()))


def main_protocols(packets: pl.DataFrame) -> dict[str, str]:
    """By flow the protocol (``udp``, ``tcp``) of most of what was sent towards the receiver, above its headers."""
    if not {"flow", "direction", "protocol", "payload"} <= {*packets.columns}:
        return {}
    sums = (
        packets.lazy()
        .filter(pl.col("direction") == "forward")
        .group_by("flow", "protocol")
        .agg(pl.col("payload").cast(pl.Int64).sum(), pl.len())
        .sort("payload", "len")
        .collect()
    )
    return dict(sums.select("flow", "protocol").iter_rows())


def _per_window(arrived: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """Rates per flow and window of ``flow``, ``at_ns``, ``bytes``."""
    window_ns = round(window_s * NANOS)
    if window_ns <= 0:
        raise ValueError(f"window_s is {window_s}: allowed is more than 0")
    windows = arrived.with_columns(window=pl.col("at_ns") // window_ns)
    sums = windows.group_by("flow", "window").agg(pl.col("bytes").sum())
    every = sums.select("flow", "window").clear()
    for flow, last in sums.group_by("flow").agg(pl.col("window").max()).iter_rows():
        every = every.vstack(pl.select(flow=pl.lit(flow), window=pl.int_range(0, last + 1, dtype=pl.Int64)))
    rates = every.join(sums, on=["flow", "window"], how="left", maintain_order="left").select(
        "flow",
        at_s=pl.col("window") * (window_ns / NANOS),
        bps=pl.col("bytes").fill_null(0) * 8 / (window_ns / NANOS),
    )
    return _in_flow_order(rates, arrived, "at_s")


def offered() -> pl.Expr:
    """Whether a frame of the ledger was given to its transport: what shares are counted of.

    The others have the fate ``not offered``: the run was ended before, and no transport lost them.
    """
    return pl.col("fate") != "not offered"


def loss_by_type(frames: pl.DataFrame) -> pl.DataFrame:
    """Lost frames by picture type: ``flow``, ``type`` (I, P, B), ``frames`` that were offered, ``lost``, ``share`` of
    them."""
    counts = frames.group_by("flow", "type").agg(frames=offered().sum(), lost=(pl.col("fate") == "lost").sum())
    return (
        _for_each(frames, "type", TYPES)
        .join(counts, on=["flow", "type"], how="left", maintain_order="left")
        .with_columns(pl.col("frames", "lost").fill_null(0).cast(pl.Int64))
        .with_columns(share=_share("lost", pl.col("frames")))
    )


def loss_by_place(frames: pl.DataFrame) -> pl.DataFrame:
    """Frames by the place of their root cause: ``flow``, ``place``, ``lost``, ``share`` of frames offered, and
    ``undecodable``, ``undecodable_share`` of those that refer to what was lost there."""
    lost, undecodable = ((pl.col("fate") == fate).sum() for fate in ("lost", "undecodable"))
    counts = frames.group_by("flow", place="root_cause_place").agg(lost=lost, undecodable=undecodable)
    totals = frames.group_by("flow").agg(total=offered().sum())
    return (
        _for_each(frames, "place", PLACES)
        .join(counts, on=["flow", "place"], how="left", maintain_order="left")
        .join(totals, on="flow", how="left", maintain_order="left")
        .with_columns(pl.col("lost", "undecodable").fill_null(0).cast(pl.Int64))
        .with_columns(share=_share("lost", pl.col("total")), undecodable_share=_share("undecodable", pl.col("total")))
        .select("flow", "place", "lost", "share", "undecodable", "undecodable_share")
    )


def loss_runs(summary: pl.DataFrame, of: Literal["packets", "frames"] = "packets") -> pl.DataFrame:
    """Runs of successive losses as in tables 3.12 and 3.18 of the thesis: ``flow``, ``length``, ``runs``, ``share``.

    ``length`` is one of :data:`RUN_CLASSES`; the shares are of the number of runs, and null without any. Flows over a
    byte stream have no packet runs and are left out.
    """
    prefix = "runs_" if of == "packets" else "frame_runs_"
    columns = {prefix + suffix: length for length, suffix in RUN_CLASSES.items()}
    runs = (
        summary.select("flow", *(pl.col(column).cast(pl.Int64).alias(length) for column, length in columns.items()))
        .unpivot(index="flow", variable_name="length", value_name="runs")
        .drop_nulls("runs")
        .with_columns(share=_share("runs", pl.col("runs").sum().over("flow")))
    )
    return _in_flow_order(runs, summary)


def delays(frames: pl.DataFrame) -> pl.DataFrame:
    """Latency and jitter of every frame that arrived, in order of arrival.

    ``flow``, ``frame``, ``type``, ``due_s``, ``arrival_s``, ``latency_ms``, ``jitter_ms``.
    """
    arrived = frames.filter(pl.col("arrival_ns").is_not_null()).sort("arrival_ns", "frame")
    series = arrived.select(
        "flow",
        "frame",
        "type",
        due_s=pl.col("due_ns") / NANOS,
        arrival_s=pl.col("arrival_ns") / NANOS,
        latency_ms=pl.col("latency_ns") / 1e6,
        jitter_ms=pl.col("jitter_ns") / 1e6,
    )
    return _in_flow_order(series, frames)


def apart(frames: pl.DataFrame, sound: pl.DataFrame) -> pl.DataFrame:
    """How far sound and picture are apart when they arrive, second by second: ``flow``, ``at_s``, ``apart_ms``.

    It is the mean latency of the sound that was due in a second less that of the picture: above zero the sound is
    later. Seconds in which nothing arrived of either are left out.

    >>> rows = {"flow": ["ts"], "due_ns": [0], "arrival_ns": [1]}
    >>> frames, sound = (pl.DataFrame(rows | {"latency_ns": [late]}) for late in (30_000_000, 10_000_000))
    >>> apart(frames, sound).rows()
    [('ts', 0, -20.0)]
    """

    def late(rows: pl.DataFrame, name: str) -> pl.DataFrame:
        arrived = rows.filter(pl.col("arrival_ns").is_not_null())
        by_second = arrived.group_by("flow", at_s=pl.col("due_ns") // NANOS, maintain_order=True)
        return by_second.agg(pl.col("latency_ns").mean().alias(name))

    both = late(frames, "picture").join(late(sound, "sound"), on=["flow", "at_s"], maintain_order="left")
    return both.select("flow", "at_s", apart_ms=(pl.col("sound") - pl.col("picture")) / 1e6).sort("flow", "at_s")


def viewer_seconds(
    frames: pl.DataFrame, packets: pl.DataFrame | None = None, *, by_clock: Collection[str] = ()
) -> pl.DataFrame:
    """What a player's statistics say, second by second of the run: ``flow``, ``at_s``, ``demuxed_bps``, ``shown``,
    ``late``, ``undecodable``, ``lost``, ``discontinuities``.

    A frame counts in the second in which the player would show it; under the policy ``stall``, where it has no such
    time, in which it was due at the sender. ``demuxed_bps`` are the bits of frames that came whole in that second: what
    VLC calls the demux bitrate, where its lost pictures are those lost or undecodable here.

    ``discontinuities`` counts how often the numbers of packets that came went on with a gap: once for any number of
    packets lost in a row, and once for one that was overtaken; of video and of sound with RTP of its own, each by
    itself. The datagrams of the flows named in ``by_clock`` have clock references in place of numbers, as a transport
    stream without RTP has (:attr:`framewire.RunDirectory.by_clock`): they are counted in the order of these, so that
    those which never entered the network are in no gap. It is null without packets, and for what TCP brought.
    """
    counted = frames.filter(offered()).select(
        "flow", "fate", second=pl.coalesce("deadline_ns", "due_ns").clip(lower_bound=0) // NANOS
    )
    fates = [(pl.col("fate") == fate).sum().cast(pl.Int64).alias(fate) for fate in OF_OFFERED]
    parts = [
        counted.group_by("flow", "second").agg(*fates),
        frame_throughput(frames).select("flow", second=pl.col("at_s").cast(pl.Int64), demuxed_bps="bps"),
    ]
    numbered = pl.DataFrame(schema={"flow": pl.String})
    if packets is not None:
        gaps, numbered = _discontinuities(packets, by_clock)
        parts.append(gaps)
    last = pl.concat([part.select("flow", "second") for part in parts]).group_by("flow").agg(pl.col("second").max())
    rows = last.select("flow", second=pl.int_ranges(0, pl.col("second") + 1)).explode("second", empty_as_null=False)
    for part in parts:
        rows = rows.join(part, on=["flow", "second"], how="left")
    if "discontinuities" not in rows.columns:
        rows = rows.with_columns(discontinuities=pl.lit(None, pl.Int64))
    has_numbers = pl.col("flow").is_in(numbered["flow"].implode())
    rows = rows.select(
        "flow",
        pl.col("second").cast(pl.Float64).alias("at_s"),
        pl.col("demuxed_bps").fill_null(0.0),
        *(pl.col(fate).fill_null(0) for fate in OF_OFFERED),
        pl.when(has_numbers).then(pl.col("discontinuities").fill_null(0)).alias("discontinuities"),
    )
    return _in_flow_order(rows, frames, "at_s")


def _discontinuities(packets: pl.DataFrame, by_clock: Collection[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Gaps in the numbers of datagrams by ``flow`` and ``second``, and the flows that have such numbers."""
    numbered = packets.filter(
        (pl.col("direction") == "forward") & (pl.col("protocol") == "udp") & pl.col("sequence").is_not_null()
    )
    arrived = [numbered[:0], *(arrived_packets(rows) for rows in numbered.partition_by("flow"))]
    in_order = pl.concat(arrived).sort("flow", "finished_ns", maintain_order=True)
    stream = ["flow", pl.col("sequence") >= FIRST_OF_SOUND]
    has_references = pl.col("flow").is_in(list(by_clock))
    in_their_order = pl.col("sequence").rank("dense").over(stream).cast(pl.Int64)
    number = pl.when(has_references).then(in_their_order).otherwise(pl.col("sequence").cast(pl.Int64))
    counts_by_one = numbered.with_columns(number=number)
    numbers = counts_by_one.select("flow", "sequence", "number").unique()
    in_order = in_order.join(numbers, on=["flow", "sequence"], how="left", maintain_order="left")
    highest = pl.col("number").cum_max().shift(1).over(stream)
    gaps = in_order.filter(pl.col("number") > highest + 1).group_by("flow", second=pl.col("finished_ns") // NANOS)
    return gaps.agg(discontinuities=pl.len().cast(pl.Int64)), numbered.select(pl.col("flow").unique())


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The percentile by nearest rank: the smallest value that is not less than that share of all. None without values.

    >>> percentile([15, 20, 35, 40, 50], 40)
    20
    """
    if not 0 < percent <= 100:
        raise ValueError(f"percent is {percent}: allowed is more than 0 and up to 100")
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1] if ordered else None


def percentiles(frames: pl.DataFrame, percents: Sequence[float] = (50, 95, 99, 100)) -> pl.DataFrame:
    """Percentiles of the latency: ``flow``, ``percent``, ``latency_ms``. Flows without arrivals are left out."""
    latencies = delays(frames).group_by("flow", maintain_order=True).agg("latency_ms")
    rows = [
        {"flow": flow, "percent": float(percent), "latency_ms": percentile(values, percent)}
        for flow, values in latencies.iter_rows()
        for percent in percents
    ]
    return pl.DataFrame(rows, schema={"flow": pl.String, "percent": pl.Float64, "latency_ms": pl.Float64})


def size_and_latency(frames: pl.DataFrame) -> pl.DataFrame:
    """Size against latency of every frame that arrived: ``flow``, ``frame``, ``type``, ``size``, ``latency_ms``."""
    arrived = frames.filter(pl.col("latency_ns").is_not_null())
    return arrived.select("flow", "frame", "type", "size", latency_ms=pl.col("latency_ns") / 1e6)


def counts_transmissions() -> pl.Expr:
    """Whether a packet's hop is the one whose transmissions count: towards the receiver, the sender's own device, or
    the access point where that stands behind the wire. A packet passes one of them.
    """
    return (pl.col("direction") == "forward") & pl.col("hop").is_in(["sender-device", "access-point"])


def transmissions(packets: pl.DataFrame, seen_by: Literal["link", "sniffer"] = "link") -> pl.DataFrame:
    """How often packets were sent over the air: ``flow``, ``transmissions``, ``packets``, ``share`` (table 3.2).

    Counted are the packets of :func:`counts_transmissions`: those sent at least once, or those that the sniffer
    captured at least once. Without a sniffer, there are no rows for it.
    """
    column = "transmissions" if seen_by == "link" else "sniffed"
    sent = packets.filter(counts_transmissions() & (pl.col(column) > 0))
    counts = (
        sent.group_by("flow", transmissions=pl.col(column))
        .agg(packets=pl.len().cast(pl.Int64))
        .with_columns(share=_share("packets", pl.col("packets").sum().over("flow")))
    )
    return _in_flow_order(counts, packets, "transmissions")


def _for_each(frames: pl.DataFrame, column: str, values: Sequence[str]) -> pl.DataFrame:
    """Every flow, in its order, with every value."""
    flows = frames.select(pl.col("flow").unique(maintain_order=True))
    return flows.join(pl.DataFrame({column: list(values)}, schema={column: pl.String}), how="cross")


def _in_flow_order(rows: pl.DataFrame, source: pl.DataFrame, *then: str) -> pl.DataFrame:
    """Rows in the order in which the source names their flows, and then by columns of their own or as they were."""
    order = source.select(pl.col("flow").unique(maintain_order=True)).with_row_index("_order")
    joined = rows.join(order, on="flow", how="left", maintain_order="left")
    return joined.sort("_order", *then, maintain_order=True).drop("_order")


def _share(part: str, whole: pl.Expr) -> pl.Expr:
    """A share, null where there is nothing to share."""
    return pl.when(whole > 0).then(pl.col(part) / whole)
