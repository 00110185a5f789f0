"""The simulated TCP beside the kernel's, cell by cell: errors, their distributions, and the criteria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

from framewire.confidence import mean_with_confidence
from framewire.studies.verdicts import Claim, Finding, Verdict

CELL = ("algorithm", "rate_mbps", "rtt_ms", "loss", "queue", "mode")
ALGORITHMS = ("reno", "cubic", "bbr")
PROGRAMS = ("illinois", "vegas", "westwood", "veno", "scalable", "highspeed", "htcp")
"""Those that few kernels have, as BPF programs."""

GOODPUT_MEDIAN = {"bbr": 0.10, **dict.fromkeys(("reno", "cubic", *PROGRAMS), 0.05)}
GOODPUT_WORST = {"bbr": 0.24, **dict.fromkeys(("reno", "cubic", *PROGRAMS), 0.12)}
RTT = 0.10
RETRANSMISSIONS = 0.20
FEW_RETRANSMISSIONS = 10
"""Below so many per run a share says nothing; then the difference may be this much:"""
RETRANSMISSIONS_APART = 0.20 * FEW_RETRANSMISSIONS
TIMEOUTS_APART = 0.5
"""Mean number of timeouts per run; there is no bound in percent, because most cells have none."""
PRECISION = 0.07
"""Half the 95 % confidence interval of a cell's goodput that the kernel's repeats were to reach."""


@dataclass(frozen=True)
class Cell:
    """One cell: means over repeats in both worlds, and how far they are apart."""

    algorithm: str
    rate_mbps: int
    rtt_ms: int
    loss: float
    queue: str
    mode: str
    repeats: int
    goodput: tuple[float, float]
    """Mbit/s, kernel and simulated; so with all pairs."""
    precision: float | None
    """Half the 95 % confidence interval of the kernel's mean goodput, as a share of it."""
    paired: float | None
    """The same of the difference between the worlds at the same draws, as a share of the kernel's mean."""
    rtt_ms_mean: tuple[float, float]
    retransmissions: tuple[float, float]
    timeouts: tuple[float, float]

    @property
    def lossy(self) -> bool:
        """Whether the network loses packets at random."""
        return self.loss > 0

    @property
    def goodput_error(self) -> float:
        """Relative."""
        return relative(self.goodput)

    @property
    def rtt_error(self) -> float:
        """Relative."""
        return relative(self.rtt_ms_mean)

    @property
    def retransmission_error(self) -> float | None:
        """Relative; None where there are too few for a share to mean anything."""
        few = max(self.retransmissions) < FEW_RETRANSMISSIONS
        return None if few or self.retransmissions[0] == 0 else relative(self.retransmissions)

    @property
    def retransmissions_agree(self) -> bool:
        """Within the bound, by share or by number."""
        kernel, simulated = self.retransmissions
        return abs(simulated - kernel) <= max(RETRANSMISSIONS * kernel, RETRANSMISSIONS_APART)

    @property
    def timeouts_agree(self) -> bool:
        """Within the bound, or within a fifth where there are many."""
        kernel, simulated = self.timeouts
        return abs(simulated - kernel) <= max(TIMEOUTS_APART, RETRANSMISSIONS * kernel)

    @property
    def name(self) -> str:
        """For tables."""
        return (
            f"{self.algorithm}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms, {100 * self.loss:g} %, "
            f"{'one product' if self.queue == 'bdp' else '50 ms'}, {self.mode}"
        )

    def doubts(self) -> list[str]:
        """The bounds that it misses: `goodput`, `rtt`, `retransmissions`, `timeouts`."""
        missed = {
            "goodput": abs(self.goodput_error) > GOODPUT_WORST[self.algorithm],
            "rtt": abs(self.rtt_error) > RTT,
            "retransmissions": not self.retransmissions_agree,
            "timeouts": not self.timeouts_agree,
        }
        return [name for name, is_missed in missed.items() if is_missed]


def relative(pair: tuple[float, float]) -> float:
    """How far the second is from the first, as a share of the first."""
    return pair[1] / pair[0] - 1


def read_runs(path: Path) -> pl.DataFrame:
    """A dataset without the runs that were disturbed."""
    runs = pl.read_csv(path, schema_overrides={"loss": pl.Float64})
    return runs.filter(pl.col("disturbed") == 0) if "disturbed" in runs.columns else runs


def compare(kernel: pl.DataFrame, simulated: pl.DataFrame) -> list[Cell]:
    """Joins runs of the same cell and seed, and gives the cells in the order of the kernel's dataset."""
    keys = [*CELL, "seed"]
    both = kernel.join(simulated, on=keys, suffix="_simulated", how="inner", maintain_order="left", validate="1:1")
    missing = len(kernel) - len(both)
    if missing:
        raise ValueError(f"{missing} of the kernel's {len(kernel)} runs have no simulated counterpart")
    return [_cell(group) for _, group in both.group_by(CELL, maintain_order=True)]


def _cell(group: pl.DataFrame) -> Cell:
    def mean(column: str) -> tuple[float, float]:
        return float(group[column].mean()), float(group[f"{column}_simulated"].mean())  # type: ignore[arg-type]

    mbps = 8e-6 / group["seconds"]
    kernel, simulated = group["received_bytes"] * mbps, group["received_bytes_simulated"] * mbps
    own = mean_with_confidence(kernel.to_list())
    paired = mean_with_confidence((simulated - kernel).to_list())
    first = group.row(0, named=True)
    return Cell(
        **{key: first[key] for key in CELL},
        repeats=len(group),
        goodput=(own.mean, float(simulated.mean())),  # type: ignore[arg-type]
        precision=_share(own.half_width, own.mean),
        paired=_share(paired.half_width, own.mean),
        rtt_ms_mean=mean("srtt_ms"),
        retransmissions=mean("retransmissions"),
        timeouts=mean("timeouts"),
    )


def _share(width: float | None, mean: float) -> float | None:
    return None if width is None else width / mean


def judge(cells: Sequence[Cell], algorithms: Sequence[str] = ALGORITHMS) -> list[Finding]:
    """What is asked of each group of cells, algorithm by algorithm, lossy and loss-free cells apart.

    A claim has the group and the quantity as its source, and says a bound.
    """
    criteria = []
    for algorithm in algorithms:
        for lossy in (False, True):
            group = [cell for cell in cells if cell.algorithm == algorithm and cell.lossy == lossy]
            if group:
                criteria += _judge_group(f"{algorithm}, {'lossy' if lossy else 'loss-free'}", algorithm, group)
    return criteria


def _criterion(what: str, found: str, bound: str, holds: bool) -> Finding:
    return Finding(Claim(what, bound), found, Verdict.of(holds))


def _judge_group(name: str, algorithm: str, group: Sequence[Cell]) -> list[Finding]:
    errors = [abs(cell.goodput_error) for cell in group]
    middle, worst = median(errors), max(errors)

    def all_within(what: str, within: Iterable[bool], bound: str) -> Finding:
        count = sum(within)
        return _criterion(f"{name}: {what}", f"{count} of {len(group)} cells", bound, count == len(group))

    few = f"20 %; {RETRANSMISSIONS_APART:g} packets where there are under {FEW_RETRANSMISSIONS}"
    return [
        _criterion(
            f"{name}: goodput, median",
            percent(middle),
            f"{100 * GOODPUT_MEDIAN[algorithm]:g} %",
            middle <= GOODPUT_MEDIAN[algorithm],
        ),
        _criterion(
            f"{name}: goodput, worst",
            percent(worst),
            f"{100 * GOODPUT_WORST[algorithm]:g} %",
            worst <= GOODPUT_WORST[algorithm],
        ),
        all_within("mean RTT", (abs(cell.rtt_error) <= RTT for cell in group), "10 %"),
        all_within("retransmissions", (cell.retransmissions_agree for cell in group), few),
        all_within("timeouts", (cell.timeouts_agree for cell in group), f"{TIMEOUTS_APART:g} per run, or 20 %"),
    ]


def percent(share: float | None, sign: bool = False) -> str:
    """A share in percent.

    >>> percent(0.0312), percent(0.05, sign=True), percent(None)
    ('3.1 %', '+5.0 %', '')
    """
    return "" if share is None else f"{100 * share:{'+' if sign else ''}.1f} %"


def quantile(values: Sequence[float], share: float) -> float:
    """By nearest rank.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.9)
    4.0
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-len(ordered) * share // 1) - 1))]
