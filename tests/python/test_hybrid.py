"""``framewire reproduce hybrid``: what is streamed, what is counted of a run, and what is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as File
from statistics import fmean

import numpy as np
import polars as pl
import pytest

from framewire.studies.hybrid import claims, measure
from framewire.studies.hybrid.measure import Measured, Run
from framewire.studies.hybrid.movies import FRAMES, GROUP, MILD, STRONG
from framewire.studies.hybrid.outcome import outcome
from framewire.studies.hybrid.paths import CONTROLS, Path, paths
from framewire.studies.traces import Recording
from framewire.studies.verdicts import Verdict

GOOD = Run(level=1.98, switches=2, freezes=0, in_time=1.0, shown=1.0, share=1.0, lost=0.01, delay_ms=40.0)
BAD = replace(GOOD, level=1.4, switches=40, freezes=30, shown=0.6, share=1.6, delay_ms=700.0)


def measured(hybrid: Run, paper: Run, of: list[Path]) -> Measured:
    """The same in every repeat but for a little, by both controls over every path."""

    def repeats(run: Run) -> list[Run]:
        return [replace(run, share=run.share + 0.001 * number) for number in range(6)]

    runs = {(path.name, "vtp-hybrid"): repeats(hybrid) for path in of}
    for control in ("vtp", "without repeats"):
        runs |= {(path.name, control): repeats(paper) for path in of}
    return Measured(runs=runs, paths=of, repeats=6)


def test_movies_have_the_rates_that_they_are_asked_for() -> None:
    for movie in (MILD, STRONG):
        for kbps, sizes in zip(movie.kbps, movie.sizes(), strict=True):
            assert len(sizes) == FRAMES == 240 * GROUP
            assert sum(sizes) * 8 / (FRAMES * 1_001 / 24_000) / 1e3 == pytest.approx(kbps, rel=0.2)
            assert sizes[0] == pytest.approx(3 * sizes[1], abs=3)
    assert len(set(MILD.sizes()[2])) > 20, "scenes differ"
    assert MILD.player_bytes == 1_000_000


def test_every_path_is_there_once_and_recorded_links_as_far_as_they_are(tmp_path: File) -> None:
    found = paths({})
    assert len({path.name for path in found}) == len(found) == 46
    assert sum(path.is_held_out for path in found) == 8
    assert [path.name for path in found if not path.is_drawn] == [
        "alone, 10 Mbit/s", "1 s of queue, 300 kbit/s", "below the floor, 100 kbit/s", "45 packets, 500 kbit/s, 30 ms",
        "80 kbit/s, 30 ms",
    ]  # fmt: skip
    recording = Recording(tmp_path / "link", 4_000_000)
    more = paths({"Verizon-LTE-short.up": recording, "sbu_8_1_wifi_cap60.mahi": recording, "other.up": recording})
    assert [(path.name, path.is_held_out) for path in more if path.is_recorded] == [
        ("Verizon-LTE-short.up", False), ("Verizon-LTE-short.up, 1 cubic", False),
        ("sbu", True), ("sbu, 1 cubic", True),
    ]  # fmt: skip
    assert more[-1].fair_bps == 2_000_000


def test_a_frame_is_shown_where_all_before_it_in_its_group_came_in_time() -> None:
    """One group in which a frame comes late for itself and not for the next, one in which one is missing."""
    period = 40_000_000
    due = [1_000_000_000 + number * period for number in range(FRAMES)]
    arrival: list[int | None] = [at - 10_000_000 for at in due]
    arrival[5] = due[5] + 1
    arrival[GROUP] = None
    ledger = pl.DataFrame(
        {
            "arrival_ns": arrival,
            "deadline_ns": due,
            "first_byte_ns": [at - 60_000_000 for at in due],
            "last_byte_ns": [at - 50_000_000 for at in due],
            "level": [1] * FRAMES,
        }
    )
    times = [number * 100_000_000 for number in range(1_300)]
    rates = pl.DataFrame({"at_ns": times, "received_packet_bytes": [number * 12_500 for number in range(1_300)]})
    summary = {"level_switches": 3, "packets_lost": 5, "packets_sent": 100}
    run = measure._run(ledger, rates, summary, Path.of("a link", 4))
    assert run.in_time == pytest.approx(1 - 2 / FRAMES)
    assert run.shown == pytest.approx(1 - (1 + GROUP) / FRAMES)
    assert (run.freezes, run.switches, run.lost, run.level) == (1, 3, 0.05, 1)
    assert run.share == pytest.approx(0.25)
    assert run.delay_ms == pytest.approx(40, abs=0.01)
    assert measure._freezes(np.array([True] + [False] * (GROUP - 1) + [True])) == 0


def test_claims_hold_fail_and_are_left_open() -> None:
    every = paths({})
    good = {one.claim.says: one.verdict for one in claims.findings(measured(GOOD, BAD, every))}
    bad = {one.claim.says: one.verdict for one in claims.findings(measured(BAD, GOOD, every))}
    again = next(one.says for one in claims.ASKED if one.source == claims.REPEATS)
    wins = [one.says for one in claims.ASKED if one.source == claims.WINS]
    recorded = next(says for says in wins if says.startswith("On recorded links"))
    assert {good[says] for says in (*wins, again) if says != recorded} == {Verdict.HOLDS}
    assert {bad[says] for says in (*wins, again) if says != recorded} == {Verdict.FAILS}
    assert good[recorded] == bad[recorded] == Verdict.NOT_MEASURED
    one_off = measured(GOOD, BAD, every)
    runs = {
        **one_off.runs,
        ("11 reno, 3 Mbit/s", "vtp-hybrid"): [replace(GOOD, share=share) for share in (0.5, 1.5)] * 3,
    }
    undecided = claims.findings(replace(one_off, runs=runs))
    open_ = [one.claim.says for one in undecided if one.verdict == Verdict.UNDECIDED]
    assert open_ == [next(says for says in wins if says.startswith("Next to 7 to 23"))]
    assert {one.verdict for one in claims.findings(Measured())} == {Verdict.NOT_MEASURED}


def test_the_outcome_counts_and_marks_what_is_better_and_worse() -> None:
    every = paths({})
    told = outcome(measured(GOOD, BAD, every))
    assert "it shows more frames than the paper's on 46 of 46 paths, and fewer on 0" in told.headline
    assert "fewer on 46" in outcome(measured(BAD, GOOD, every)).headline
    assert "| alone, 10 Mbit/s | paper | 1.40 | 40.0 | 30.0 | 100.0 % | 60.0 % |" in told.markdown()
    assert '<td data-title="shown (%)" class="number better">60.0 \N{RIGHTWARDS ARROW} 100.0</td>' in told.html()
    assert {one.key for one in told.tables} == {"side-by-side", "held-out", "repeats", "beside-the-paper"}
    assert (
        "| held out: 80 kbit/s, 30 ms | 1.40 | 1.98 | 30.0 | 0.0 | 100.0 % | 100.0 % | 60.0 % | 100.0 % |"
        in told.markdown()
    )
    assert "0 of 0 paths" in outcome(Measured()).headline


def test_what_no_draw_enters_is_what_the_page_says(tmp_path: File) -> None:
    alone = next(path for path in paths({}) if path.name == "alone, 10 Mbit/s")
    found = measure.carry_out([alone], tmp_path, seed=1, repeats=2, jobs=2)
    assert not found.failures
    means = {control: fmean(run.level for run in found.of(alone, control)) for control in CONTROLS}
    assert means == {
        "vtp-hybrid": pytest.approx(1.98, abs=0.01),
        "without repeats": pytest.approx(1.98, abs=0.01),
        "vtp": pytest.approx(1.84, abs=0.01),
        "tfrc": pytest.approx(1.99, abs=0.01),
        "fixed": pytest.approx(2.0, abs=0.001),
    }
    for control, switches in (("vtp-hybrid", 2), ("vtp", 8), ("tfrc", 1), ("fixed", 0)):
        assert [run.switches for run in found.of(alone, control)] == [switches] * 2
        assert all(run.shown > 0.9995 and 5 < run.delay_ms < 20 for run in found.of(alone, control))
