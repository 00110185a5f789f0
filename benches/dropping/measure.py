"""What a viewer got: one row per flow, for a player that waits as long as is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from framewire.playout import Player, play, replayed
from framewire.report import plot_data, psnr
from framewire.report.data import Flow, ReportRun, load
from framewire.report.metrics import metrics

FRAME_RATE = 25.0
"""Of the lab's movies."""


@dataclass(frozen=True)
class Row:
    """Measures of one flow; None is "not measured"."""

    codec: str
    link: str
    seed: int
    flow: str
    startup_ms: int
    shown_percent: float
    longest_freeze_s: float
    latency_p95_ms: float | None = None
    latency_max_ms: float | None = None
    keys_lost: int = 0
    wasted_kb: float = 0.0
    psnr_db: float | None = None
    disturbed: bool = False


def player(startup_ms: int) -> Player:
    """One that shows what it has when its time has come, and waits so long after the first packet has come."""
    return Player("live", startup_ms / 1000)


def seen(ledger: pl.DataFrame, startup_ms: int) -> tuple[float, float]:
    """Per cent of frames shown in time, and the longest freeze in seconds."""
    display = play(ledger, player(startup_ms))
    return 100 * int(display.shown.sum()) / max(ledger.height, 1), display.longest_freeze() / FRAME_RATE


def of_cell(
    directory: Path, case: tuple[str, str, int], startup_ms: int
) -> tuple[list[Row], dict[str, list[int | None]]]:
    """The flows of a simulated cell without their pictures, and what stands on the screen of each."""
    frames = pl.read_parquet(directory / "frames.parquet")
    summary = pl.read_parquet(directory / "summary.parquet")
    rows, sources = [], {}
    for (name,), part in frames.partition_by("flow", as_dict=True).items():
        display = play(part, player(startup_ms))
        facts = summary.filter(pl.col("flow") == name).row(0, named=True)
        rows.append(
            Row(
                *case,
                flow=str(name),
                startup_ms=startup_ms,
                shown_percent=100 * int(display.shown.sum()) / part.height,
                longest_freeze_s=display.longest_freeze() / FRAME_RATE,
                latency_p95_ms=facts["latency_p95_ms"],
                latency_max_ms=facts["latency_max_ms"],
                keys_lost=_keys_lost(part),
                wasted_kb=(facts["wasted_bytes"] or 0) / 1e3,
            )
        )
        sources[str(name)] = display.source
    return rows, sources


def _keys_lost(ledger: pl.DataFrame) -> int:
    return ledger.filter((pl.col("type") == "I") & (pl.col("fate") == "lost")).height


def rows(directory: Path, codec: str, link: str, seed: int, startups_ms: dict[str, int]) -> list[Row]:
    """The flows of a run that are named, each for a player of its own."""
    run = load(directory)
    run.flows = [flow for flow in run.flows if flow.name in startups_ms]
    players = {name: player(startup_ms) for name, startup_ms in startups_ms.items()}
    parts = [replayed(run.ledger(flow), players[flow.name]) for flow in run.flows]
    run = replace(run, frames=pl.concat(parts), players=players)
    scores = psnr.measure(run)
    return [_row(run, flow, scores, (codec, link, seed), startups_ms[flow.name]) for flow in run.flows]


def _row(run: ReportRun, flow: Flow, scores: psnr.PsnrResult, case: tuple[str, str, int], startup_ms: int) -> Row:
    one = metrics(run, flow, scores)
    summary: dict[str, Any] = plot_data.summary_row(run, flow)
    return Row(
        *case,
        flow=flow.name,
        startup_ms=startup_ms,
        shown_percent=one.shown_share,
        longest_freeze_s=one.longest_freeze_s,
        latency_p95_ms=one.latency_p95_ms,
        latency_max_ms=summary.get("latency_max_ms"),
        keys_lost=_keys_lost(run.offered_ledger(flow)),
        wasted_kb=(one.wasted_bytes or 0) / 1e3,
        psnr_db=one.psnr_mean_db,
        disturbed=run.disturbed(flow) is not None,
    )
