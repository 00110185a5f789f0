"""A made-up run directory for the tests of the report: a real (small) movie, invented fates.

Nothing here models a network. It only fills the tables of docs/results.md consistently, so that a test knows what
the report must say: which frames are missing, which came late, and what therefore stood on the screen.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

FRAME_RATE = 25.0
INTERVAL_NS = 40_000_000
STARTUP_NS = 1_000_000_000


@dataclass(frozen=True)
class Picture:
    """One access unit of the movie, in decode order."""

    kind: str
    gop: int
    display: int
    data: bytes
    references: tuple[int, ...]


def make_movie(path: Path, seconds: float = 2.0, size: str = "176x144", bitrate: str = "400k") -> Path:
    """Encodes a moving picture as the lab's movies are: IBBPBBPBBPBBPBB at 25 frames per second."""
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-t", f"{seconds}"]
    command += ["-c:v", "mpeg2video", "-g", "15", "-bf", "2", "-b_strategy", "0", "-sc_threshold", "1000000000"]
    command += ["-b:v", bitrate, "-threads", "1", "-f", "mpeg2video", str(path)]
    subprocess.run(command, check=True)
    return path


def read_pictures(path: Path) -> list[Picture]:
    """Cuts an elementary stream of frame pictures into access units."""
    data = path.read_bytes()
    starts: list[int] = []
    headers: list[int] = []
    closed = True
    at = data.find(b"\0\0\1")
    while at >= 0:
        code = data[at + 3]
        if code in (0xB3, 0xB8, 0x00) and closed:
            starts.append(at)
            closed = False
        if code == 0x00:
            headers.append(at)
        if 1 <= code <= 0xAF:
            closed = True
        at = data.find(b"\0\0\1", at + 3)
    starts = starts[: len(headers)]
    ends = [*starts[1:], len(data)]
    kinds = ["?IPB"[(data[at + 5] >> 3) & 7] for at in headers]
    temporal = [(data[at + 4] << 2) | (data[at + 5] >> 6) for at in headers]
    gops = np.cumsum([b"\0\0\1\xb8" in data[a:h] for a, h in zip(starts, headers, strict=True)]) - 1
    first_of_gop = {int(g): int(np.argmax(gops == g)) for g in set(gops)}
    pictures: list[Picture] = []
    anchors: list[int] = []
    for number, kind in enumerate(kinds):
        display = first_of_gop[int(gops[number])] + temporal[number]
        references = {"I": (), "P": tuple(anchors[-1:]), "B": tuple(anchors[-2:])}[kind]
        if kind != "B":
            anchors.append(number)
        gop = int(gops[number])
        pictures.append(Picture(kind, gop, display, data[starts[number] : ends[number]], references))
    return pictures


@dataclass(frozen=True)
class Delivery:
    """What a made-up transport does with the frames."""

    transport: str
    arrival_ns: list[int | None]
    """When each frame (decode order) has arrived whole, or None."""
    place: str = "link"
    cause: str = "retry limit"
    datagrams: bool = True
    offered: int | None = None
    """How many frames (decode order) the transport was given; None: all. The rest must be without arrival."""
    ended_by: str = "run ended"
    """Why it was given no more: with `flow failed` the frames that were not offered are its own loss."""


def frame_table(flow: str, pictures: list[Picture], delivery: Delivery, policy: str = "live") -> pl.DataFrame:
    """The ledger of one flow."""
    whole = [at is not None for at in delivery.arrival_ns]
    decodable: list[bool] = []
    missing: list[int | None] = []
    ready: list[int | None] = []
    for number, picture in enumerate(pictures):
        came = [delivery.arrival_ns[r] for r in (number, *picture.references)]
        ready.append(max((at for at in came if at is not None), default=None))
        broken = [r for r in picture.references if not decodable[r]]
        decodable.append(whole[number] and not broken)
        missing.append((missing[broken[0]] or broken[0]) if broken and whole[number] else None)
        ready[number] = ready[number] if decodable[number] else None
    arrivals = [at for at in delivery.arrival_ns if at is not None]
    first = min(arrivals) if arrivals else None
    rows: list[dict[str, Any]] = []
    jitter, previous = 0.0, None
    for number, (picture, at) in enumerate(zip(pictures, delivery.arrival_ns, strict=True)):
        due = number * INTERVAL_NS
        deadline = None if first is None or policy != "live" else first + STARTUP_NS + picture.display * INTERVAL_NS
        fate = "lost" if at is None else "undecodable" if not decodable[number] else "shown"
        if fate == "shown" and deadline is not None and at is not None and at > deadline:
            fate = "late"
        latency = None if at is None else at - due
        if latency is not None:
            if previous is not None:
                jitter += (abs(latency - previous) - jitter) / 16
            previous = latency
        packets = -(-len(picture.data) // 740) if delivery.datagrams else None
        never = delivery.offered is not None and number >= delivery.offered
        place, cause = ("sender-pipeline", delivery.ended_by) if never else (delivery.place, delivery.cause)
        fate = "not offered" if never and delivery.ended_by == "run ended" else fate
        rows.append(
            {
                "flow": flow, "frame": number, "display": picture.display, "type": picture.kind, "gop": picture.gop,
                "size": len(picture.data), "due_ns": due,
                "display_ns": picture.display * INTERVAL_NS, "offered_ns": None if never else due,
                "queued_ns": None if never else due + 1000,
                "first_byte_ns": None if at is None else due + 50_000,
                "last_byte_ns": None if at is None else max(due + 60_000, at - 2_000_000),
                "arrival_ns": at, "arrival_rel_ns": None if at is None or first is None else at - first,
                "latency_ns": latency, "jitter_ns": None if latency is None else int(jitter), "packets": packets,
                "packets_lost": None if packets is None else 0 if at is not None else 1,
                "bytes_received": len(picture.data) if at is not None else 0, "complete": at is not None,
                "decodable": decodable[number], "ready_ns": ready[number], "deadline_ns": deadline, "fate": fate,
                "root_cause_place": place if fate == "lost" else None,
                "root_cause": cause if fate == "lost" else None,
                "discarded_at": place if fate == "lost" else None,
                "missing_reference": missing[number],
            }
        )  # fmt: skip
    return pl.DataFrame(rows, schema=FRAMES)


FRAMES: dict[str, Any] = {
    "flow": pl.String, "frame": pl.Int32, "display": pl.Int32, "type": pl.String, "gop": pl.Int32, "size": pl.Int32,
    "due_ns": pl.Int64, "display_ns": pl.Int64, "offered_ns": pl.Int64, "queued_ns": pl.Int64,
    "first_byte_ns": pl.Int64, "last_byte_ns": pl.Int64, "arrival_ns": pl.Int64, "arrival_rel_ns": pl.Int64,
    "latency_ns": pl.Int64, "jitter_ns": pl.Int64, "packets": pl.Int32, "packets_lost": pl.Int32,
    "bytes_received": pl.Int64,
    "complete": pl.Boolean, "decodable": pl.Boolean, "ready_ns": pl.Int64, "deadline_ns": pl.Int64, "fate": pl.String,
    "root_cause_place": pl.String, "root_cause": pl.String, "discarded_at": pl.String, "missing_reference": pl.Int32,
}  # fmt: skip
PACKETS: dict[str, Any] = {
    "flow": pl.String, "packet": pl.Int64, "direction": pl.String, "protocol": pl.String, "size": pl.Int32,
    "sequence": pl.Int64, "payload": pl.Int32, "frame": pl.Int32, "hop": pl.String, "enqueued_ns": pl.Int64,
    "started_ns": pl.Int64, "finished_ns": pl.Int64, "transmissions": pl.Int32, "rates": pl.String,
    "outcome": pl.String, "cause": pl.String, "clamped": pl.Boolean, "sniffed": pl.Int32,
}  # fmt: skip
FLOWS: dict[str, Any] = {
    "flow": pl.String, "at_ns": pl.Int64, "cwnd_packets": pl.Int32, "ssthresh_packets": pl.Int32, "srtt_ns": pl.Int64,
    "rttvar_ns": pl.Int64, "in_flight_packets": pl.Int32, "unsent_bytes": pl.Int64, "queued_bytes": pl.Int64,
    "delivery_rate_bps": pl.Int64, "retransmissions": pl.Int32,
}  # fmt: skip
ACCURACY: dict[str, Any] = {"flow": pl.String, "packet": pl.Int64, "intended_ns": pl.Int64, "actual_ns": pl.Int64}


def packet_table(flow: str, frames: pl.DataFrame, delivery: Delivery, sniffer: bool, seed: int) -> pl.DataFrame:
    """Packets of 1,400 bytes on the sender's device and on the wire behind it."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    sequence = 0
    for row in frames.iter_rows(named=True):
        if row["root_cause_place"] == "sender-pipeline" or row["fate"] == "not offered":
            continue
        count = -(-row["size"] // 1400)
        for index in range(count):
            lost = row["arrival_ns"] is None and index == 0
            at = row["due_ns"] + index * 1_500_000
            finished = at + 3_000_000
            tries = 4 if lost else int(min(4, random.geometric(0.8)))
            rates = ["11"] * min(2, tries) + ["5.5"] * max(0, tries - 2)
            common = {
                "flow": flow, "packet": len(rows), "direction": "forward",
                "protocol": "udp" if delivery.datagrams else "tcp", "size": 1440, "sequence": sequence,
                "payload": min(1400, row["size"] - 1400 * index), "frame": row["frame"] if delivery.datagrams else None,
                "clamped": False,
            }  # fmt: skip
            rows.append(
                common | {
                    "hop": "sender-device", "enqueued_ns": at, "started_ns": at + 100_000, "finished_ns": finished,
                    "transmissions": tries, "rates": ",".join(rates), "outcome": "dropped" if lost else "delivered",
                    "cause": "retry limit" if lost else None,
                    "sniffed": int(random.binomial(tries, 0.65)) if sniffer else None,
                }
            )  # fmt: skip
            if not lost:
                rows.append(
                    common | {
                        "hop": "wire", "enqueued_ns": finished, "started_ns": finished, "transmissions": 1,
                        "rates": "100", "outcome": "delivered", "cause": None, "sniffed": None,
                        "finished_ns": finished + 100_000,
                    }
                )  # fmt: skip
            sequence += 1
    return pl.DataFrame(rows, schema=PACKETS)


def flow_table(flow: str, seconds: float) -> pl.DataFrame:
    """A saw-tooth congestion window."""
    rows = [
        {
            "flow": flow, "at_ns": int(at * 1e8), "cwnd_packets": 10 + at % 30, "ssthresh_packets": 20,
            "srtt_ns": 20_000_000 + at * 100_000, "rttvar_ns": 1_000_000, "in_flight_packets": 8 + at % 20,
            "unsent_bytes": (at * 700) % 16384, "queued_bytes": 20_000 + (at * 700) % 16384,
            "delivery_rate_bps": 5_000_000, "retransmissions": at // 40,
        }
        for at in range(int(seconds * 10))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=FLOWS)


SUMMARY: dict[str, Any] = {
    "flow": pl.String, "transport": pl.String, "status": pl.String, "frames": pl.Int64, "shown": pl.Int64,
    "late": pl.Int64, "undecodable": pl.Int64, "lost": pl.Int64, "duration_s": pl.Float64,
    "frame_throughput_bps": pl.Float64, "packet_throughput_bps": pl.Float64, "latency_p50_ms": pl.Float64,
    "latency_p95_ms": pl.Float64, "jitter_mean_ms": pl.Float64, "stalls": pl.Int64, "stalled_s": pl.Float64,
    "shed_bytes": pl.Int64, "wasted_bytes": pl.Int64, "useless_bytes": pl.Int64,
    **{f"{what}runs_{size}": pl.Int64 for what in ("", "frame_") for size in ("1", "2", "3", "4", "5_10", "over_10")},
}  # fmt: skip


def summary_table(flow: str, transport: str, frames: pl.DataFrame, status: str) -> pl.DataFrame:
    """One row; the columns that the report reads."""
    arrived = frames.drop_nulls("arrival_ns")
    fates = dict(frames["fate"].value_counts().iter_rows())
    latency = arrived["latency_ns"] / 1e6
    span = arrived["arrival_ns"].max()
    duration = None if span is None else (span - arrived["arrival_ns"].min() + INTERVAL_NS) / 1e9  # type: ignore[operator]
    lag = max((at - first - STARTUP_NS - d * INTERVAL_NS for at, d, first in _arrivals(arrived)), default=0) / 1e9
    row: dict[str, Any] = {
        "flow": flow, "transport": transport, "status": status, "frames": frames.height,
        **{fate: fates.get(fate, 0) for fate in ("shown", "late", "undecodable", "lost")}, "duration_s": duration,
        "frame_throughput_bps": None if not duration else float(arrived["size"].sum()) * 8 / duration,
        "latency_p50_ms": latency.quantile(0.5), "latency_p95_ms": latency.quantile(0.95),
        "jitter_mean_ms": (arrived["jitter_ns"] / 1e6).mean(), "stalls": int(lag > 0) if duration else None,
        "stalled_s": max(0.0, lag) if duration else None,
        "shed_bytes": int(frames.filter(pl.col("root_cause_place") == "sender-pipeline")["size"].sum()),
        "wasted_bytes": int(frames.filter(pl.col("fate") == "undecodable")["size"].sum()),
        "useless_bytes": int(frames.filter(pl.col("fate") == "late")["size"].sum()),
        "frame_runs_1": 5, "frame_runs_2": 3, "frame_runs_3": 1, "frame_runs_4": 0, "frame_runs_5_10": 2,
        "frame_runs_over_10": 1,
    }  # fmt: skip
    if frames["packets"].null_count() == 0:
        row |= {"runs_1": 50, "runs_2": 12, "runs_3": 4, "runs_4": 0, "runs_5_10": 9, "runs_over_10": 3}
    return pl.DataFrame([{name: row.get(name) for name in SUMMARY}], schema=SUMMARY)


def _arrivals(arrived: pl.DataFrame) -> list[tuple[int, int, int]]:
    first = arrived["arrival_ns"].min()
    return [(at, display, first) for at, display in arrived.select("arrival_ns", "display").iter_rows()]  # type: ignore[misc]


def accuracy_table(flow: str, packets: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Release errors of some ten microseconds."""
    random = np.random.default_rng(seed)
    intended = packets.filter((pl.col("hop") == "wire") & (pl.col("outcome") == "delivered"))
    errors = pl.Series((random.gamma(2.0, 8_000.0, intended.height)).astype(np.int64))
    actual = intended["finished_ns"] + errors
    return pl.DataFrame(
        {"flow": [flow] * intended.height, "packet": intended["packet"], "intended_ns": intended["finished_ns"],
         "actual_ns": actual}, schema=ACCURACY)  # fmt: skip


def write_run(
    run: Path,
    movie: Path,
    deliveries: dict[str, Delivery],
    *,
    interference: list[list[float]] | None = None,
    sniffer: bool = True,
    policy: str = "live",
    status: str = "complete",
    layout: str = "side-by-side",
    disturbed: str | None = None,
) -> Path:
    """Writes a run directory; `deliveries` names the flows."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "received").mkdir(exist_ok=True)
    pictures = read_pictures(movie)
    seconds = len(pictures) / FRAME_RATE
    size = int.from_bytes(pictures[0].data[4:7], "big")  # of the sequence header: 12 bits each
    tables: dict[str, list[pl.DataFrame]] = {"frames": [], "packets": [], "flows": [], "accuracy": [], "summary": []}
    accuracy: dict[str, Any] = {}
    for seed, (flow, delivery) in enumerate(deliveries.items()):
        frames = frame_table(flow, pictures, delivery, policy)
        arrived = any(at is not None for at in delivery.arrival_ns)
        packets = packet_table(flow, frames, delivery, sniffer, seed) if arrived else pl.DataFrame(schema=PACKETS)
        released = accuracy_table(flow, packets, seed)
        tables["frames"].append(frames)
        tables["packets"].append(packets)
        tables["flows"].append(pl.DataFrame(schema=FLOWS) if delivery.datagrams else flow_table(flow, seconds))
        tables["accuracy"].append(released)
        kept = [p.data for p, at in zip(pictures, delivery.arrival_ns, strict=True) if at is not None]
        (run / "received" / f"{flow}.m2v").write_bytes(b"".join(kept))
        accuracy[flow] = accuracy_summary(released, disturbed)
        tables["summary"].append(summary_table(flow, delivery.transport, frames, status))
    for name, parts in tables.items():
        pl.concat(parts).write_parquet(run / f"{name}.parquet")
    description: dict[str, Any] = {
        "format": 5, "version": "0.1.0", "kernel": {"release": "6.18.0", "tcp_congestion_control": "cubic"},
        "movie": {"path": str(movie), "bitrate": 6_000_000, "width": size >> 12, "height": size & 0xFFF,
                  "frame_rate": FRAME_RATE, "frames": len(pictures)},
        "flows": [{"name": n, "transport": d.transport, "settings": {"mtu": 1500}} for n, d in deliveries.items()],
        "status": status, "origin_utc": "2026-11-20T12:00:00Z", "accuracy": accuracy,
        "interference": interference or [],
    }  # fmt: skip
    (run / "run.json").write_text(json.dumps(description, indent=1))
    (run / "scenario.toml").write_text(scenario_text(deliveries, interference, policy, layout))
    return run


def accuracy_summary(released: pl.DataFrame, disturbed: str | None) -> dict[str, Any]:
    """What run.json says about one flow's emulated network."""
    if released.is_empty():
        return {"count": 0, "p50_us": None, "p99_us": None, "max_us": None, "clamped": 0, "lost_outside_model": 0,
                "sched": "SCHED_FIFO", "disturbed": disturbed}  # fmt: skip
    errors = ((released["actual_ns"] - released["intended_ns"]) / 1000).to_numpy()
    return {
        "count": len(errors), "p50_us": float(np.percentile(errors, 50)), "p99_us": float(np.percentile(errors, 99)),
        "max_us": float(errors.max()), "clamped": 0, "lost_outside_model": 0,
        "sched": "SCHED_FIFO", "disturbed": disturbed,
        "model_delay_p50_us": 100.0, "emulated_delay_p50_us": 100.02, "evidence": {"forward_seen": 5, "gate": None},
    }  # fmt: skip


def scenario_text(
    deliveries: dict[str, Delivery], interference: list[list[float]] | None, policy: str, layout: str
) -> str:
    """A scenario as resolved, as far as the report reads it."""
    oven = ""
    if interference is not None:
        on = ", ".join(f'["{a:g} s", "{b:g} s"]' for a, b in interference)
        oven = f'\n[network.wifi]\nretry = 4\n\n[network.wifi.oven]\non = [{on}]\nmains = "50 Hz"\n'
    flows = "".join(
        f'\n[[flow]]\nname = {json.dumps(name)}\ntransport = "{one.transport}"\n' for name, one in deliveries.items()
    )
    return (
        f'version = 1\nname = "made-up"\nseed = 1\nlayout = "{layout}"\n\n[movie]\nsource = "lab"\n'
        f'bitrate = "6 Mbit/s"\n\n[network]\nkind = "{"wifi" if interference is not None else "wired"}"\n'
        f'{oven}\n[playout]\npolicy = "{policy}"\nstartup = "1 s"\n{flows}'
    )


def prompt(pictures: list[Picture], delay_ms: float = 20.0) -> list[int | None]:
    """Everything arrives after the same delay."""
    return [int(number * INTERVAL_NS + delay_ms * 1e6) for number in range(len(pictures))]


def without(arrivals: list[int | None], missing: set[int]) -> list[int | None]:
    """The same, but these frames never arrive."""
    return [None if number in missing else at for number, at in enumerate(arrivals)]
