"""Made-up results of the measurements of ``reproduce ouwens``: known values, so that what is made of them
can be checked. By default every published number comes out as it was published, and the rest near its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import polars as pl

from framewire.studies.measured import Cost
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.plan import FLOWS
from framewire.studies.ouwens.published import (
    BITRATES,
    FRAMES,
    LINK_LAYER_PACKETS,
    LINK_LAYER_RETRIES,
    OVENS,
    RETRIES,
    lookup,
)

KINDS = ("I", "P", "P", "P", "P")
SIZES = {"I": 60_000, "P": 47_000, "B": 20_300}
RUNS = ("1", "2", "3", "4", "5_10", "over_10")


@cache
def movie(bitrate: int) -> list[tuple[str, int]]:
    """Types and sizes in decode order: 101 I, 400 P and 998 B frames."""
    order = ["I"]
    while len(order) < 1499:
        anchors = (len(order) + 2) // 3
        order += ["I" if anchors % 5 == 0 else "P", "B", "B"]
    order = order[:1499]
    return [(kind, SIZES[kind] * bitrate // 6) for kind in order]


def measured(
    *,
    retries: tuple[int, ...] = RETRIES,
    duration_factor: float = 1.0,
    loss_points: float = 0.0,
    ifd_factor: float = 1.0,
) -> Measured:
    """Everything; durations and losses of the movies are off by what is asked for."""
    rows = [
        _movie_row(flow, bitrate, retry, oven, repeat, duration_factor, loss_points, ifd_factor)
        for bitrate in BITRATES for retry in retries for oven in OVENS for repeat in (1, 2, 3) for flow in FLOWS
    ]  # fmt: skip
    return Measured(
        summaries={
            "movies": pl.DataFrame(rows, infer_schema_length=None),
            "link-layer": pl.DataFrame(list(_link_rows())),
        },
        ledgers={"movies": lambda: _ledgers(retries).lazy()},
        packets={"tcp-segments": lambda: pl.LazyFrame(list(_segments()))},
        costs=[Cost("movies", 672, 40_000.0, 60.0, 100.0, 168, 168)],
        peak_memory_bytes=500_000_000,
    )


TABLES = {"udp-blocking": ("3.7", {3: "3.8", 6: "3.11"}), "tcp": ("3.13", {}), "udp": ("", {3: "3.14", 6: "3.17"}),
          "tcp+ifd": ("", {3: "3.19", 6: "3.22"})}  # fmt: skip


def _movie_row(
    flow: str, bitrate: int, retry: int, oven: str, repeat: int, factor: float, points: float, ifd_factor: float
) -> dict[str, Any]:
    durations, losses = TABLES[flow]
    there = {"bitrate_mbps": bitrate, "retry": retry, "interference": oven}
    duration = lookup("movie_duration", "duration_s", table=durations, **there) or 60.0
    lost = {
        kind: lookup("frame_losses", f"{kind}_pct", table=losses.get(bitrate, ""), **there) or 0.0
        for kind in (*FRAMES, "total")
    }
    jitter = 0.5 if flow.startswith("tcp") else 15.0
    row: dict[str, Any] = {
        "bitrate": bitrate, "retry": retry, "oven": oven, "repeat": repeat, "seed": repeat, "flow": flow,
        "duration_s": duration * factor + 0.01 * (repeat - 2),
        "frames": 1499, "lost": 1499 * (lost["total"] + points) / 100,
        "packets_sent": 10_000 * bitrate if flow.startswith("udp") else None,
        "packets_lost": 12 if flow.startswith("udp") else None,
        "jitter_mean_ms": jitter, "jitter_max_ms": 3 * jitter, "latency_p95_ms": 50.0,
    }  # fmt: skip
    for kind, count in FRAMES.items():
        row[f"frames_{kind.lower()}"] = count
        times = ifd_factor if (flow, bitrate, kind) == ("tcp+ifd", 6, "B") else 1.0
        row[f"lost_{kind.lower()}"] = count * (lost[kind] * times + points) / 100
    return row | {f"runs_{name}": (8 if name == "1" else 1 if name == "2" else 0) for name in RUNS}


def _link_rows() -> Iterator[dict[str, Any]]:
    for rate in ("auto", "5.5"):
        for retry in LINK_LAYER_RETRIES:
            for oven in OVENS:
                for flow in ("udp", "tcp"):
                    for repeat in (1, 2, 3):
                        yield _link_row(rate, retry, oven, flow, repeat)


def _link_row(rate: str, retry: int, oven: str, flow: str, repeat: int) -> dict[str, Any]:
    there = {"protocol": flow, "retry": retry, "interference": oven}
    shares = [
        (lookup("transmissions", "packets_pct", table="3.2", **there, tx_count=count) or 0.0) / 100
        for count in range(1, 6)
    ]
    duration = lookup("stream_duration", "duration_s", **there) or 0.0
    sent = LINK_LAYER_PACKETS if flow == "udp" else None
    return {
        "rate": rate, "retry": retry, "oven": oven, "flow": flow, "repeat": repeat,
        "duration_s": duration + (repeat - 2.0), "packets_sent": sent, "packets_lost": 5 if sent else None,
        **{f"sniffed_tx_{count}": share for count, share in enumerate(shares[:4], 1)},
        **{f"tx_{count}": share for count, share in enumerate(shares[:4], 1)},
        "tx_5_up": shares[4], "sniffed_tx_5_up": shares[4],
        "sniffed_unique": 19_000, "sniffed_total": 20_000,
    }  # fmt: skip


@cache
def _ledgers(retries: tuple[int, ...]) -> pl.DataFrame:
    """The ledgers of every transport in the last repeat, and of TCP in the first; UDP loses every seventh frame."""
    frames = pl.concat(
        pl.DataFrame({"bitrate": bitrate, "frame": range(1499)}).with_columns(
            type=pl.Series([kind for kind, _ in movie(bitrate)]), size=pl.Series([size for _, size in movie(bitrate)])
        )
        for bitrate in BITRATES
    )
    runs = pl.DataFrame({"flow": [*FLOWS, "tcp"], "repeat": [3] * len(FLOWS) + [1]})
    places = pl.DataFrame({"retry": retries}).join(pl.DataFrame({"oven": OVENS}), how="cross").join(runs, how="cross")
    complete = ~((pl.col("flow") == "udp") & (pl.col("frame") % 7 == 3))
    latency = pl.when("complete").then(5_000_000 + 1_000 * (pl.col("frame").cast(pl.Int64) * 7919 % 3000))
    return (
        frames.join(places, how="cross")
        .with_columns(due_ns=pl.col("frame").cast(pl.Int64) * 40_000_000, complete=complete)
        .with_columns(
            latency_ns=latency,
            jitter_ns=pl.when(pl.col("complete") & (pl.col("frame") > 0)).then(400_000),
            bytes_received=pl.when("complete").then("size").otherwise(pl.col("size") // 2),
        )
        .with_columns(arrival_rel_ns=pl.col("due_ns") + pl.col("latency_ns"))
    )


def _segments() -> Iterator[dict[str, Any]]:
    """A hundred segments, the first of which TCP sends twice; its first copy is lost on the air."""
    for retry in LINK_LAYER_RETRIES:
        for oven in OVENS:
            for packet in range(101):
                place = {"retry": retry, "oven": oven, "direction": "forward", "packet": packet, "payload": 1448}
                sequence = max(packet - 1, 0) * 1448
                lost = packet == 0
                yield place | {
                    "hop": "sender-device",
                    "sequence": sequence,
                    "outcome": "dropped" if lost else "delivered",
                }
                if not lost:
                    yield place | {"hop": "wire", "sequence": sequence, "outcome": "delivered"}
