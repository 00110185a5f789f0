"""What a viewer got, from a run directory: one row per flow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from framewire.report import psnr, quantities
from framewire.report.data import load
from framewire.report.metrics import metrics


@dataclass(frozen=True)
class Row:
    """Measures of one flow; None is "not measured"."""

    codec: str
    link: str
    seed: int
    method: str
    shown_percent: float
    latency_p95_ms: float | None
    latency_max_ms: float | None
    keys_lost: int
    wasted_kb: float
    longest_freeze_s: float
    psnr_db: float | None

    def facts(self) -> dict[str, Any]:
        """As a row of a table."""
        return dict(vars(self))


def rows(directory: Path, codec: str, link: str, seed: int) -> list[Row]:
    """Every flow of a run."""
    run = load(directory)
    scores = psnr.measure(run)
    return [_row(run, flow, scores, codec, link, seed) for flow in run.flows]


def _row(run: Any, flow: Any, scores: psnr.PsnrResult, codec: str, link: str, seed: int) -> Row:
    one = metrics(run, flow, scores)
    ledger = run.offered_ledger(flow)
    keys = ledger.filter((pl.col("type") == "I") & (pl.col("fate") == "lost"))
    return Row(
        codec=codec,
        link=link,
        seed=seed,
        method=flow.name,
        shown_percent=one.live_share,
        latency_p95_ms=one.latency_p95_ms,
        latency_max_ms=quantities.summary_row(run, flow).get("latency_max_ms"),
        keys_lost=keys.height,
        wasted_kb=(one.wasted_bytes or 0) / 1e3,
        longest_freeze_s=one.longest_freeze_s,
        psnr_db=one.psnr_mean_db,
    )
