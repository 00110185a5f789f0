"""The rules of the verdict, each with a case on both sides of its bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markupsafe import Markup

from framewire.report.comparison import COLUMNS, rows
from framewire.report.metrics import Metrics
from framewire.report.verdict import LIVE, PAUSE, choose, judge, percent

BASE = Metrics(
    flow="base",
    transport="tcp",
    colour="#000000",
    frames=1000,
    shown=900,
    late=0,
    undecodable=0,
    lost=100,
    by_type={"I": (0, 70), "P": (0, 270), "B": (100, 660)},
    by_place={"sender-pipeline": 100},
    longest_freeze_s=0.5,
    live_shown=900,
    latency_p50_ms=50.0,
    latency_p95_ms=100.0,
    stalls=0,
    stalled_s=0.0,
    psnr_mean_db=40.0,
)


def flow(name: str, **changes: object) -> Metrics:
    return replace(BASE, flow=name, **{"live_shown": changes.get("shown", 900)} | changes)  # type: ignore[arg-type]


def winners(*flows: Metrics, rules: object = LIVE) -> list[str]:
    return [one.flow for one in choose(flows, rules).best]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"shown": 889, "lost": 111, "psnr_mean_db": 49.0}, ["base"]),  # 1.1 points fewer frames: nothing else is asked
        ({"shown": 891, "lost": 109, "psnr_mean_db": 49.0}, ["other"]),  # 0.9 points: quality decides
        ({"psnr_mean_db": 38.9, "longest_freeze_s": 0.0}, ["base"]),
        ({"psnr_mean_db": 39.1, "longest_freeze_s": 0.0}, ["other"]),
        ({"longest_freeze_s": 0.71, "latency_p95_ms": 1.0}, ["base"]),
        ({"longest_freeze_s": 0.69, "latency_p95_ms": 1.0}, ["other"]),
        ({"latency_p95_ms": 121.0}, ["base"]),
        ({"latency_p95_ms": 119.0}, ["base", "other"]),
        ({"latency_p95_ms": 1.0, "latency_p50_ms": 1.0}, ["other"]),
    ],
)
def test_each_live_rule_decides_only_what_the_one_before_leaves(other: dict[str, object], expected: list[str]) -> None:
    assert winners(BASE, flow("other", **other)) == expected
    assert sorted(winners(flow("other", **other), BASE)) == expected  # in any order


def test_an_unmeasured_quality_does_not_decide() -> None:
    unmeasured = replace(BASE, psnr_mean_db=None)
    assert winners(unmeasured, flow("other", psnr_mean_db=None, longest_freeze_s=0.1)) == ["other"]


def test_a_player_that_waits_prefers_what_comes_in_the_end() -> None:
    slow = flow("slow", shown=300, late=700, lost=0, stalls=1, stalled_s=12.0)
    assert winners(BASE, slow) == ["base"]
    assert winners(BASE, slow, rules=PAUSE) == ["slow"]
    less = flow("less", shown=200, late=800, lost=0, stalls=9, stalled_s=11.4)
    assert winners(slow, less, rules=PAUSE) == ["less"]
    assert winners(slow, replace(less, stalled_s=11.6, stalls=1), rules=PAUSE) == ["slow", "less"]


def test_the_text_names_winner_runner_up_and_price() -> None:
    slow = flow("slow", shown=300, late=700, lost=0, stalls=1, stalled_s=12.0, latency_p95_ms=9000.0)
    fast = flow("fast", shown=500, lost=500, latency_p95_ms=10.0)
    few = flow("few", shown=499, lost=501, latency_p95_ms=1.0)  # too few frames to be an example of speed
    verdict = judge([slow, BASE, fast, few])
    text = " ".join(verdict.reasons)
    assert verdict.headline == "For live viewing, choose <b>base</b>."
    assert "Runner-up: <b>fast</b>" in text
    assert "<b>fast</b> has 10 ms" in text
    assert "<b>slow</b> brings 100 %" in text
    assert "12.0 s of waiting in 1 pause, or a start-up delay longer by as much)" in text
    assert [line.split("</b>")[0] for line in verdict.others] == ["<b>slow", "<b>fast", "<b>few"]


def test_what_cannot_be_told_apart_is_not_told_apart() -> None:
    verdict = judge([BASE, flow("twin", shown=905, lost=95)])
    assert "too close to call between <b>base</b> and <b>twin</b>" in verdict.headline
    assert not any("Runner-up" in reason for reason in verdict.reasons)
    perfect = [flow(name, shown=1000, lost=0) for name in ("a", "b")]
    assert judge(perfect).headline.startswith("All but equal")


def test_a_poor_winner_is_called_the_least_bad_and_a_blank_screen_blank() -> None:
    assert (
        "least bad is <b>base</b>" in judge([flow("base", shown=499, lost=501), flow("x", shown=1, lost=999)]).headline
    )
    assert "choose <b>base</b>" in judge([flow("base", shown=501, lost=499), flow("x", shown=1, lost=999)]).headline
    nothing = [flow(name, shown=0, lost=1000, stalls=None, stalled_s=None, latency_p95_ms=None) for name in "ab"]
    assert judge(nothing).headline == "No transport showed a single frame in time."


def test_one_flow_is_described_and_none_is_admitted() -> None:
    assert "alone was run" in judge([BASE]).headline
    assert "Nothing was measured" in judge([replace(BASE, frames=0, shown=0, lost=0)]).headline


def test_names_are_escaped() -> None:
    verdict = judge([flow("<script>"), flow("b", shown=500, lost=500)], [Markup("a caveat")])
    assert "<script>" not in verdict.headline + "".join(verdict.reasons + verdict.others)
    assert "&lt;script&gt;" in verdict.headline
    assert verdict.caveats == [Markup("a caveat")]


def test_shares_near_the_ends_are_not_rounded_to_all_or_nothing() -> None:
    assert [percent(value) for value in (0, 0.04, 0.1, 99.9, 99.96, 100)] == [
        "0 %",
        "under 0.1 %",
        "0.1 %",
        "99.9 %",
        "over 99.9 %",
        "100 %",
    ]


def test_the_player_of_the_scenario_comes_first() -> None:
    """A run whose player waited: its ledger shows everything, live viewing would not have."""
    slow = flow("slow", shown=1000, lost=0, live_shown=300, stalls=2, stalled_s=12.0, psnr_mean_db=50.0)
    live, waits = judge([slow, BASE]), judge([slow, BASE], policy="stall")
    assert live.headline == "For live viewing, choose <b>base</b>."
    assert waits.headline == "For a player that waits, choose <b>slow</b>."
    assert "<b>base</b> (90.0 % of the frames in time) is best" in waits.reasons[-1]
    # Its picture quality is that of waiting, and says nothing of live viewing.
    equal = flow("equal", psnr_mean_db=50.0, longest_freeze_s=0.8)
    assert "the answer is the same" not in judge([equal, slow, BASE], policy="stall").reasons[-1]
    assert "<b>base</b>" in judge([equal, slow, BASE], policy="stall").reasons[-1]
    assert judge([equal, BASE]).headline == "For live viewing, choose <b>equal</b>."


def test_few_quick_frames_are_not_called_best_in_latency() -> None:
    quick = flow("quick", shown=10, lost=990, latency_p95_ms=5.0, stalls=0)
    enough = flow("enough", shown=600, lost=400, latency_p95_ms=50.0)
    titles = [column.title for column in COLUMNS]
    marked = {one.flow: [title for title, cell in zip(titles, cells, strict=True) if cell.best]
              for one, cells in rows([quick, enough, BASE])}  # fmt: skip
    assert "latency p95" in marked["enough"]
    assert "latency p95" not in marked["quick"] + marked["base"]
    assert "shown" in marked["base"]
    assert "stalls" not in marked["enough"], "where all that compete are equal, none is best"


def test_a_network_that_is_too_narrow_is_named_first() -> None:
    flows = [replace(BASE, flow="a", packet_throughput_bps=5.1e6), replace(BASE, flow="b", packet_throughput_bps=4.2e6)]
    said = judge(flows, bitrate_bps=6e6).reasons[0]
    assert "needs 6.0 Mbit/s" in said
    assert "5.1 (a)" in said
    for bitrate in (5.1e6, None):
        assert "something has to give" not in " ".join(judge(flows, bitrate_bps=bitrate).reasons)
