"""ns-3's results as an independent reference: its runs as cells for the simulation, and the two beside one another.

Reads `tcp_grid.csv` and `stream_and_bulk.csv` from a directory of ns-3 results (one row per run). They were made with
ns-3 3.44: MSS 1448, SACK, time stamps, PRR, initial window 10, buffers of 4 MB, delayed ACK of 2 packets or 40 ms, a
drop-tail queue of 100 packets, independent loss in the data direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from framewire.confidence import mean_with_confidence

ALGORITHMS = {"LinuxReno": "reno", "Cubic": "cubic"}
"""ns-3's NewReno opens its window per acknowledgement, unlike Linux; its BBR and Illinois are no reference."""
SEEDS = range(1, 9)
"""Of our repeats: the draws are not ns-3's, so only means can be compared."""
STREAM_FRAME_BYTES = 37_875
"""7.575 Mbit/s at 25 frames per second."""
CASE = ("algorithm", "rate_mbps", "rtt_ms", "loss", "mode", "seconds")


@dataclass(frozen=True)
class Case:
    """One of ns-3's scenarios with the mean goodput in Mbit/s of both simulators, and half their 95 % intervals."""

    algorithm: str
    rate_mbps: int
    rtt_ms: int
    loss: float
    mode: str
    ns3: float
    ns3_interval: float
    ours: float
    ours_interval: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.ours / self.ns3 - 1

    @property
    def overlaps(self) -> bool:
        """Whether the two intervals touch."""
        return abs(self.ours - self.ns3) <= self.ours_interval + self.ns3_interval


def read(directory: Path) -> pl.DataFrame:
    """ns-3's runs, with the columns that name our cells."""
    columns = ["cc", "mode", "rate_mbps", "rtt_ms", "loss", "queue_pkts", "T_s", "seed", "thr_Bps_whole"]
    files = [directory / name for name in ("tcp_grid.csv", "stream_and_bulk.csv")]
    overrides = {"loss": pl.Float64, "rate_mbps": pl.Int64, "rtt_ms": pl.Int64, "T_s": pl.Int64}
    runs = pl.concat(pl.read_csv(file, schema_overrides=overrides).select(columns) for file in files).filter(
        pl.col("cc").is_in(list(ALGORITHMS))
    )
    return runs.with_columns(
        algorithm=pl.col("cc").replace_strict(ALGORITHMS),
        seconds=pl.col("T_s"),
        goodput=pl.col("thr_Bps_whole") * 8e-6,
    )


def cells(runs: pl.DataFrame) -> pl.DataFrame:
    """The same scenarios as input of the simulation."""
    cases = runs.select(*CASE, "queue_pkts").unique(maintain_order=True)
    frame = pl.when(pl.col("mode") == "stream").then(STREAM_FRAME_BYTES).otherwise(0)
    repeats = cases.join(pl.DataFrame({"seed": list(SEEDS)}), how="cross")
    return repeats.with_columns(
        queue=pl.lit("packets"), queue_bytes=pl.lit(0), queue_packets=pl.col("queue_pkts"), frame_bytes=frame
    ).drop("queue_pkts")


def compare(runs: pl.DataFrame, simulated: pl.DataFrame) -> list[Case]:
    """Case by case."""
    ours = simulated.with_columns(goodput=pl.col("received_bytes") * 8e-6 / pl.col("seconds"))
    result = []
    for key, group in runs.group_by(CASE, maintain_order=True):
        same = pl.all_horizontal(pl.col(name) == value for name, value in zip(CASE, key, strict=True))
        theirs = mean_with_confidence(group["goodput"].to_list())
        mine = mean_with_confidence(ours.filter(same)["goodput"].to_list())
        algorithm, rate, rtt, loss, mode, _ = key
        result.append(
            Case(
                str(algorithm),
                int(rate),  # type: ignore[call-overload]
                int(rtt),  # type: ignore[call-overload]
                float(loss),  # type: ignore[arg-type]
                str(mode),
                theirs.mean,
                theirs.half_width or 0.0,
                mine.mean,
                mine.half_width or 0.0,
            )
        )
    return result


def worst(cases: Sequence[Case], count: int) -> list[Case]:
    """The cases that are furthest apart, among those whose intervals do not touch."""
    apart = [case for case in cases if not case.overlaps]
    return sorted(apart, key=lambda case: -abs(case.error))[:count]
