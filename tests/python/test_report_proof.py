"""What the report says of the emulation: figures of the recorded releases, and no more than they carry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_run import ACCURACY

from framewire.report.data import ReportRun, flows_of
from framewire.report.proof import Proof, proof

MS = 1_000_000
QUIET = {"count": 1000, "p50_us": 12.0, "p99_us": 50.0, "max_us": 60.0, "clamped": 0, "disturbed": None}


def releases(flow: str, lateness_ms: dict[int, float]) -> pl.DataFrame:
    """A thousand packets, 10 ms apart, each 20 us late unless told otherwise."""
    rows = [(flow, n, n * 10 * MS, n * 10 * MS + round(lateness_ms.get(n, 0.02) * MS)) for n in range(1000)]
    return pl.DataFrame(rows, schema=ACCURACY, orient="row")


def of(entries: dict[str, dict[str, Any]], *recorded: pl.DataFrame) -> Proof:
    info = {"accuracy": entries, "movie": {"frame_rate": 25}, "flows": [{"name": name} for name in entries]}
    frames = pl.DataFrame(schema={"flow": pl.String})
    every = pl.concat([pl.DataFrame(schema=ACCURACY), *recorded]) if recorded else pl.DataFrame()
    nothing = pl.DataFrame()
    return proof(ReportRun(Path(), info, {}, "", flows_of(info, frames), frames, nothing, nothing, every, nothing))


def said(made: Proof) -> str:
    return " ".join(made.sentences)


def cells(made: Proof, label: str) -> list[str]:
    return dict(made.rows)[label]


def test_stalls_that_a_percentile_does_not_show_are_told() -> None:
    udp = releases("udp", {700: 12.0, 701: 3.0})
    tcp = releases("tcp", {26: 1.0, 265: 25.8, 266: 1.001, 267: 24.0})
    made = of({"udp": QUIET, "tcp": QUIET}, udp, tcp)
    assert "5 of 2,000 packets were released more than 1 ms late, the worst 25.8 ms at 2.6 s." in said(made)
    assert cells(made, "released over 1 ms late") == ["2", "3"]
    assert cells(made, "release error max (us)") == ["12,000", "25,800"]
    assert cells(made, "the worst at (s)") == ["7", "2.65"]
    assert "not disturbed" not in said(made)


def test_a_run_without_stalls_says_so_in_figures() -> None:
    made = of({"udp": QUIET}, releases("udp", {5: 0.9}))
    assert "None of 1,000 packets were released more than 1 ms late, the worst 900 us at 0.1 s." in said(made)
    assert "longer than a frame" not in said(made)


def test_a_stall_longer_than_a_frame_stands_out() -> None:
    assert "the worst 40.1 ms at 0.1 s, <b>longer than a frame lasts</b>." in said(
        of({"udp": QUIET}, releases("udp", {5: 40.1}))
    )
    assert "longer than a frame" not in said(of({"udp": QUIET}, releases("udp", {5: 39.9})))


def test_without_recorded_releases_the_run_is_taken_at_its_word() -> None:
    told = QUIET | {"max_us": 25_800.0, "late_over_1ms": 38, "worst_at_s": 26.46}
    assert "38 of 1,000 packets were released more than 1 ms late, the worst 25.8 ms at 26.5 s." in said(
        of({"a": told})
    )
    assert "How many packets were released late is not known; the worst 60 us." in said(of({"udp": QUIET}))


def test_a_disturbed_run_is_warned_of() -> None:
    entries = {"udp": QUIET, "tcp": QUIET | {"p99_us": 8000.0, "disturbed": "1 % of packets were late"}}
    text = said(of(entries, releases("udp", {})))
    assert "<b>The run was disturbed</b>" in text
    assert "more than the 1 ms that the lab aims for" in text


NAMES = {
    "former": ("requested_rate_bps", "achieved_rate_bps", "requested_delay_p50_us", "achieved_delay_p50_us",
               "device_drops"),
    "new": ("model_rate_bps", "emulated_rate_bps", "model_delay_p50_us", "emulated_delay_p50_us",
            "lost_outside_model"),
}  # fmt: skip


@pytest.mark.parametrize("names", NAMES)
def test_the_emulation_is_compared_with_its_model_under_either_name(names: str) -> None:
    values = (5_000_000, 5_025_000, 100.0, 102.0, 0)
    made = of({"udp": QUIET | dict(zip(NAMES[names], values, strict=True))})
    assert "The emulated network delivered at the rate of its model within 0.5 %." in said(made)
    assert "Its median delay was that of its model within 2 %." in said(made)
    assert "No packet was lost outside the model" in said(made)
    assert "asked for" not in said(made)
    assert cells(made, "rate of the model (bit/s)") == ["5,000,000"]
    exact = of({"udp": QUIET | dict(zip(NAMES[names], (5_000_000, 5_000_001, 100.0, 100.0, 7), strict=True))})
    assert "at the rate of its model within 0.01 %." in said(exact)
    assert "<b>7 packets were lost outside the model</b>" in said(exact)
