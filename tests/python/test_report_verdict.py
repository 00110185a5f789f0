"""The rules of the verdict, each with a case on both sides of its bound."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markupsafe import Markup

from framewire.report.comparison import COLUMNS, columns, rows, without_marks
from framewire.report.metrics import Metrics
from framewire.report.outcome import of_sound
from framewire.report.palette import Look
from framewire.report.verdict import judge
from framewire.report.verdict_rules import LATENCY_MS, LIVE, PAUSE, choose, rules_for
from framewire.report.verdict_text import percent

BASE = Metrics(
    flow="base",
    transport="tcp",
    look=Look("#000000"),
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
        ({"longest_freeze_s": 0.0, "latency_p95_ms": 299.0}, ["other"]),
        ({"longest_freeze_s": 0.0, "latency_p95_ms": 301.0}, ["base"]),  # 200 ms behind outweighs one freeze
        ({"psnr_mean_db": 41.1, "latency_p95_ms": 301.0}, ["other"]),  # but not a better picture
        ({"latency_p95_ms": 121.0}, ["base"]),
        ({"latency_p95_ms": 119.0}, ["base", "other"]),
        ({"latency_p95_ms": 1.0, "latency_p50_ms": 1.0}, ["other"]),
    ],
)
def test_each_live_rule_decides_only_what_the_one_before_leaves(other: dict[str, object], expected: list[str]) -> None:
    assert winners(BASE, flow("other", **other)) == expected
    assert sorted(winners(flow("other", **other), BASE)) == expected  # in any order


def full(name: str, shown: int, latency_ms: float, **changes: object) -> Metrics:
    lost = 1000 - shown
    return flow(name, shown=shown, lost=lost, latency_p95_ms=latency_ms, longest_freeze_s=lost / 25, **changes)


def test_of_those_that_show_nearly_the_same_the_one_that_is_far_less_behind_is_chosen_and_the_trade_told() -> None:
    behind, near, gaps = full("tcp", 1000, 700.0), full("udp", 993, 113.0), full("gaps", 980, 113.0)
    assert judge([behind, near]).sentence == (
        "For live viewing, choose udp: 99.3 % of the frames in time at 113 ms, before tcp with 100 % at 700 ms; "
        "what decided was its far lower latency."
    )
    told = judge([behind, near]).as_json()
    assert "udp shows 99.3 % at 113 ms, tcp 100 % at 700 ms" in " ".join(told["reasons"])
    assert judge([behind, gaps]).sentence == (
        "For live viewing, choose tcp: 100 % of the frames in time at 700 ms, before gaps with 98.0 % at 113 ms; "
        "what decided was the share of frames shown in time."
    )
    # Up to twice the latency, a freeze is the worse of the two: 226 ms is no more than 313 ms.
    assert judge([full("tcp", 1000, 313.0), near]).best == ["tcp"]
    assert judge([full("tcp", 1000, 314.0), near]).best == ["udp"]
    assert " at " not in judge([full("tcp", 1000, 313.0), near]).sentence
    # Two that are alike, and one far behind: it is not said that all were equal.
    twins = judge([full("a", 1000, 20.0), full("b", 1000, 25.0), full("c", 1000, 700.0)])
    assert twins.sentence == "For live viewing it is too close to call between a and b."
    assert judge([full("a", 1000, 20.0), full("b", 1000, 25.0)]).headline == (
        "All but equal here: every transport shows all frames in time."
    )
    assert "at least 99.8 % of the frames" in judge([full("a", 998, 20.0), full("b", 1000, 25.0)]).headline


def test_one_that_is_faster_with_few_frames_is_named_as_not_counted() -> None:
    def given_up(share: int, latency_ms: float) -> str:
        (said,) = [one for one in judge([full("w", 1000, 314.0), full("few", share, latency_ms)]).as_json()["reasons"]
                   if "speaks against" in one or "gives up" in one]  # fmt: skip
        return str(said)

    assert given_up(499, 104.0) == (
        "Nothing measured here speaks against it: none that brought half of the frames was clearly faster, and no "
        "other was clearly sharper or more complete. Not counted as faster, since with less than half of the frames "
        "few and quick ones would win: few (104 ms at the 95th percentile, 49.9 % of the frames)."
    )
    assert given_up(500, 104.0) == (
        "What choosing w gives up: latency (314 ms at the 95th percentile, few has 104 ms)."
    )
    for alike in (262.0, 400.0):  # a fifth less is no difference
        assert given_up(499, alike) == (
            "Nothing measured here speaks against it: no other was clearly faster, sharper or more complete."
        )


def test_what_decided_is_what_separated_the_runner_up_and_no_third() -> None:
    chosen, third, second = full("w", 900, 350.0), full("c", 893, 1000.0), full("a", 889, 100.0)
    assert judge([chosen, third, second]).sentence == (
        "For live viewing, choose w: 90.0 % of the frames in time at 350 ms, before a with 88.9 % at 100 ms; "
        "what decided was the share of frames shown in time."
    )


def test_a_player_that_waits_is_not_chosen_for_by_latency_before_its_waiting() -> None:
    quick = full("quick", 1000, 10.0, stalls=3, stalled_s=1.0)
    slow = full("slow", 1000, 900.0, stalls=0, stalled_s=0.0)
    assert judge([quick, slow], policy="stall").best == ["slow"]
    assert judge([quick, slow]).best == ["quick"]
    # What it costs stands in the sentence, and where no viewer waits there is nothing to state.
    less = full("less", 700, 10.0, stalls=0, stalled_s=0.0)
    assert judge([quick, less], policy="stall").sentence == (
        "For a player that waits, choose quick: 100 % of the frames that can be decoded and 1.0 s of waiting, before "
        "less with 70.0 % and 0.0 s of waiting; what decided was the share of frames that arrive usable."
    )
    still = full("still", 1000, 10.0, stalls=0, stalled_s=0.0)
    assert "of waiting" not in judge([still, less], policy="stall").sentence


def test_what_the_shares_of_a_run_that_ended_early_are_of() -> None:
    ended, whole = flow("ended", frames=900, not_offered=600), flow("whole", frames=1500)
    why = "the run did not come to its end"
    said = judge([ended, whole], provisional=why).reasons[0].striptags()
    assert (
        said
        == "Shares are of the frames that were offered before the end: ended 900 of 1,500 and whole 1,500 of 1,500."
    )
    cut = judge([ended, whole], provisional=why, cut_off="this machine cut off ended")
    assert said in [reason.striptags() for reason in cut.reasons]
    assert said.replace(" and whole 1,500 of 1,500", "") in judge([ended], provisional=why).reasons[1].striptags()
    assert "Shares are of" not in " ".join(judge([flow("a"), flow("b")]).reasons)


def test_a_player_that_waits_is_told_of_by_its_pauses_and_no_freeze() -> None:
    waits = [flow(name, longest_pause_s=pause, stalls=1, stalled_s=pause) for name, pause in (("a", 0.0), ("b", 2.5))]
    told, titles = judge(waits, policy="stall"), [column.title for column in columns(waits)]
    assert "longest pause 2.50 s" in " ".join(told.others) and "freeze" not in " ".join(told.others)
    assert "longest pause" in titles and "longest freeze" not in titles
    live = [column.title for column in columns([BASE])]
    assert "longest freeze" in live and "longest pause" not in live
    assert "longest freeze 0.50 s" in " ".join(judge([BASE, flow("less", shown=400, lost=600)]).others)


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
    assert "12.0 s of waiting for 1 frame, or a start-up delay longer by as much)" in text
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


@pytest.mark.parametrize("policy", ["live", "stall"])
def test_a_run_that_is_nothing_to_choose_by_names_no_choice(policy: str) -> None:
    flows = [BASE, flow("less", shown=700, lost=300)]
    final, provisional = (judge(flows, policy=policy, provisional=why) for why in (None, "it was ended"))
    assert "choose <b>base</b>" in final.headline
    said = " ".join(map(str, (provisional.headline, *provisional.reasons, provisional.summary)))
    assert "<b>base</b> is ahead" in said
    assert "choose " not in said
    assert "choosing" not in said
    assert provisional.sentence.startswith("Provisional, because it was ended: for")
    assert (final.best, final.runner_up) == (["base"], "less") == (provisional.best, provisional.runner_up)


def test_the_sentence_has_the_figures_that_decided() -> None:
    verdict = judge([BASE, flow("less", shown=700, lost=300)])
    assert verdict.sentence == (
        "For live viewing, choose base: 90.0 % of the frames in time, before less with 70.0 %; "
        "what decided was the share of frames shown in time."
    )
    told = verdict.as_json()
    assert told["sentence"] == verdict.sentence
    assert told["reasons"] == [reason.striptags() for reason in verdict.reasons]
    close = judge([BASE, flow("twin")])
    assert close.sentence == "For live viewing it is too close to call between base and twin."
    assert (close.best, close.runner_up) == (["base", "twin"], None)


def test_what_could_not_be_asked_is_not_called_equal() -> None:
    known, unknown = [BASE, flow("twin")], [replace(BASE, psnr_mean_db=None), flow("twin", psnr_mean_db=None)]
    assert "1 dB" in judge(known).reasons[2]
    assert "1 dB" not in judge(unknown).reasons[2]
    assert "repeat with other seeds" in judge(known).reasons[2]
    assert "seeds" not in judge(known, seeded=False).reasons[2], "another seed changes nothing"
    apart = [replace(one, psnr_mean_db=None) for one in (BASE, flow("less", shown=700, lost=300))]
    assert not any("sharper" in reason for reason in judge(apart).reasons)
    assert any("sharper" in reason for reason in judge([BASE, flow("less", shown=700, lost=300)]).reasons)


def test_a_player_that_waits_is_not_said_to_show_in_time() -> None:
    slow = flow("slow", shown=1000, lost=0, live_shown=300, stalls=2, stalled_s=12.0)
    assert judge([slow], policy="stall").headline.startswith(
        "<b>slow</b> alone was run: 100 % of the frames were shown, 12.0 s"
    )
    assert "in time" not in judge([slow], policy="stall").headline
    assert judge([slow]).headline == "<b>slow</b> alone was run: 30.0 % of the frames were shown in time."


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


def test_what_is_sent_ahead_of_its_time_is_no_better_than_what_comes_at_it() -> None:
    titles = [column.title for column in COLUMNS]

    def marked(*latencies: float) -> list[bool]:
        flows = [flow(f"at {value}", latency_p95_ms=value) for value in latencies]
        return [cells[titles.index("latency p95")].best for _, cells in rows(flows)]

    assert marked(-4000.0, 30.0) == [True, False]
    assert marked(-4000.0, 0.0, 30.0) == [True, True, False]
    assert marked(-4000.0, -10.0) == [False, False], "both are there before they are shown"
    assert marked(20.0, 30.0) == [True, False]
    # Nor does it decide: 30 ms later than at its time is nothing, however far ahead the other one is.
    ahead, behind = flow("ahead", latency_p95_ms=-4000.0), flow("behind", latency_p95_ms=LATENCY_MS - 1)
    assert {one.flow for one in choose([ahead, behind], LIVE).best} == {"ahead", "behind"}
    assert [one.flow for one in choose([ahead, flow("late", latency_p95_ms=LATENCY_MS + 1)], LIVE).best] == ["ahead"]


def test_few_quick_frames_are_not_called_best_in_latency() -> None:
    quick = flow("quick", shown=10, lost=990, latency_p95_ms=5.0, stalls=0)
    enough = flow("enough", shown=600, lost=400, latency_p95_ms=50.0)
    titles = [column.title for column in COLUMNS]
    marked = {one.flow: [title for title, cell in zip(titles, cells, strict=True) if cell.best]
              for one, cells in rows([quick, enough, BASE])}  # fmt: skip
    assert "latency p95" in marked["enough"]
    assert "latency p95" not in marked["quick"] + marked["base"]
    assert "shown" in marked["base"]
    assert "pauses" not in marked["enough"], "where all that compete are equal, none is best"


def test_a_flow_that_shows_next_to_nothing_is_marked_in_no_column_that_few_frames_would_win() -> None:
    """Its frames came, nearly all too late: they are quick for what they are, and none is undecodable."""
    hardly = flow("hardly", shown=1, late=999, lost=0, latency_p50_ms=1.0, latency_p95_ms=2.0, stalls=0)
    nothing = flow("nothing", shown=0, lost=1000, late=0, undecodable=0)
    best = flow("best", shown=900, late=50, undecodable=50, lost=0, latency_p50_ms=30.0, latency_p95_ms=50.0)
    titles = [column.title for column in COLUMNS]
    marked = {one.flow: {title for title, cell in zip(titles, cells, strict=True) if cell.best}
              for one, cells in rows([hardly, nothing, best])}  # fmt: skip
    assert not marked["hardly"] & {"latency p50", "latency p95", "late", "undecod.", "pauses", "jitter"}
    assert not marked["nothing"] & {"late", "undecod."}
    assert {"shown", "late", "undecod.", "latency p50", "latency p95"} <= marked["best"]


def test_start_up_is_marked_for_all_and_what_a_file_is_sent_ahead_for_no_file() -> None:
    few = flow("few", shown=300, lost=700, startup_s=1.03, latency_p95_ms=40.0, frame_throughput_bps=1.2e6)
    file = flow("file", transport="http", startup_s=1.10, latency_p95_ms=-400.0, frame_throughput_bps=3.6e6)
    stream = flow("stream", transport="rtsp", startup_s=1.20, latency_p95_ms=90.0, frame_throughput_bps=2.6e6)
    flows, titles = [few, file, stream], [column.title for column in columns([few, file, stream])]
    marked = {title: [one.flow for one, cells in rows(flows) if cells[at].best] for at, title in enumerate(titles)}
    assert (marked["start-up"], marked["throughput"], marked["latency p95"]) == (["few"], ["stream"], ["stream"])
    of_few, of_file = without_marks(flows)
    assert (
        "start-up" not in of_few
        and "latency p95" in of_few
        and of_few.endswith(
            ": few (less than half of the frames came, or were shown less than half as many as of the best)."
        )
    )
    assert of_file.startswith("Not marked in latency p50, latency p95, throughput, ") and of_file.endswith(": file.")
    assert without_marks([stream, BASE]) == [] == without_marks([file]) == without_marks([few])
    heard = [
        replace(file, sound_wait_max_ms=0.0, sound_p50_ms=-300.0, sound_p95_ms=-10.0, sound_max_ms=0.0),
        replace(stream, sound_wait_max_ms=4.0, sound_p50_ms=8.0, sound_p95_ms=20.0, sound_max_ms=30.0),
        replace(stream, flow="slow", sound_wait_max_ms=4.0, sound_p50_ms=9.0, sound_p95_ms=20.0, sound_max_ms=31.0),
    ]
    titles_of_sound = [column.title for column in columns(heard)]
    marked = {
        title: [one.flow for one, cells in rows(heard) if cells[at].best] for at, title in enumerate(titles_of_sound)
    }
    assert (marked["sound p50"], marked["sound max"]) == (["stream"], ["stream"]), "a file has no delay of live sound"
    assert (marked["sound waits"], marked["sound p95"]) == (["stream", "slow"], ["stream", "slow"])
    faster = replace(file, startup_s=1.02)
    assert [one.flow for one, cells in rows([few, faster]) if cells[titles.index("start-up")].best] == ["file"]


def test_a_network_that_is_too_narrow_is_named_first() -> None:
    flows = [replace(BASE, flow="a", packet_throughput_bps=5.1e6), replace(BASE, flow="b", packet_throughput_bps=4.2e6)]
    said = judge(flows, bitrate_bps=6e6).reasons[0]
    assert "needs 6.0 Mbit/s" in said
    assert "5.1 (a), counted in packets; the throughput of the table is that of whole frames" in said
    narrow = judge(flows, bitrate_bps=6e6, link_bps=5.9e6).reasons[0]
    assert "something has to give" in narrow
    # 6.0 of 5.1 is 18 % more than there is.
    assert "behind by some 11 s in each minute, and encoded for less than 5.1 Mbit/s nothing would" in narrow
    wide = judge(flows, bitrate_bps=6e6, link_bps=8e6).reasons[0]
    assert "the link has 8.0 at the least, so it is not its rate that is in the way" in wide
    assert "something has to give" not in wide
    for bitrate in (5.1e6, None):
        assert "something has to give" not in " ".join(judge(flows, bitrate_bps=bitrate).reasons)


def of_levels(name: str, level: float, **changes: object) -> Metrics:
    """A stream of levels that showed all, ahead of its time."""
    rate = 300e3 * (1 + level)
    full = {"shown": 1000, "lost": 0, "longest_freeze_s": 0.0, "level_mean": level, "latency_p95_ms": 20.0}
    return flow(name, **full | {"shown_bps": rate, "usable_bps": rate, "psnr_mean_db": None} | changes)


def test_where_all_is_shown_the_level_decides_and_not_the_latency() -> None:
    flows = [of_levels("mid", 1.46, latency_p95_ms=124.0), of_levels("low", 0.0), of_levels("top", 2.0)]
    flows[1] = replace(flows[1], latency_p95_ms=-4000.0)
    for policy in ("live", "stall"):
        verdict = judge(flows, policy=policy)
        said = " ".join(map(str, (verdict.headline, *verdict.reasons, *verdict.others)))
        assert "choose <b>top</b>" in verdict.headline
        assert "Runner-up: <b>mid</b>" in said
        assert "mean level 2.00 (900 kbit/s shown)" in said
        assert "mean level 1.46 (738 kbit/s shown)" in said
        assert "what decided was the higher bit rate" in said
        assert "latency" not in said
    # The same levels within a tenth: too close, and of latency nothing is said.
    close = judge([of_levels("a", 1.0), of_levels("b", 0.85, latency_p95_ms=5000.0)])
    assert "All but equal" in close.headline
    assert "10 % of the bit rate shown" in close.reasons[2]
    assert "latency" not in close.reasons[2]
    two = judge([of_levels("a", 1.0), of_levels("b", 0.85), of_levels("low", 0.0)])
    assert "too close to call between <b>a</b> and <b>b</b>" in two.headline
    apart = judge([of_levels("a", 1.0), of_levels("b", 0.75)])
    assert "choose <b>a</b>" in apart.headline


def test_a_choice_for_more_frames_says_which_level_it_gives_up() -> None:
    full, gaps = of_levels("full", 0.5), of_levels("gaps", 2.0, shown=900, lost=100, shown_bps=810e3)
    said = judge([full, gaps]).reasons
    assert "choose" in judge([full, gaps]).headline
    assert (
        "bit rate (mean level 0.50 (450 kbit/s shown); <b>gaps</b> has mean level 2.00 (810 kbit/s shown))" in said[2]
    )
    near = replace(gaps, shown_bps=490e3)
    assert "bit rate (" not in judge([full, near]).reasons[2]


def test_psnr_decides_before_the_bit_rate() -> None:
    sharp, rich = of_levels("sharp", 1.0, psnr_mean_db=42.0), of_levels("rich", 2.0, psnr_mean_db=40.0)
    assert "choose <b>sharp</b>" in judge([sharp, rich]).headline
    assert "choose <b>rich</b>" in judge([replace(sharp, psnr_mean_db=40.5), rich]).headline


def test_latency_of_levels_counts_where_one_is_late_and_rates_only_among_levels() -> None:
    quick, slow = of_levels("quick", 1.0), of_levels("slow", 1.0, latency_p95_ms=900.0, shown=985, late=15)
    assert "its lower latency" in [rule.name for rule in rules_for([quick, slow], LIVE)]
    assert "its lower latency" not in [rule.name for rule in rules_for([quick, replace(slow, late=9)], LIVE)]
    mixed = [rule.name for rule in rules_for([quick, BASE], LIVE)]
    assert "the higher bit rate shown" not in mixed
    assert [rule.name for rule in rules_for([BASE], LIVE)] == [
        "the share of frames shown in time", "the picture quality with freezes counted", "its far lower latency",
        "its shorter freezes", "its lower latency",
    ]  # fmt: skip


def test_one_stream_beside_cross_traffic_is_not_called_alone() -> None:
    bulk = Markup("What each got: ...")
    alone, beside = judge([BASE]), judge([BASE], cross_traffic=[bulk])
    assert alone.headline == "<b>base</b> alone was run: 90.0 % of the frames were shown in time."
    assert beside.headline == "<b>base</b> beside cross traffic: 90.0 % of the frames were shown in time."
    assert beside.reasons[-1] == bulk
    assert alone.reasons[0].startswith("Lost were 0 % of the I frames, 0 % of the P frames and 15.2 % of the B frames;")
    assert judge([BASE, flow("other")], cross_traffic=[bulk]).reasons[-1] == bulk


def test_what_could_not_be_measured_is_neither_better_nor_worse() -> None:
    unknown = flow("unknown", psnr_mean_db=None)
    assert set(winners(unknown, flow("known"))) == {"unknown", "known"}
    assert winners(unknown, flow("known", longest_freeze_s=3.0)) == ["unknown"], "the next rule decides"
    assert winners(flow("low", psnr_mean_db=30.0), flow("high")) == ["high"], "known of all, it still does"


def test_of_a_run_that_ended_at_once_nothing_is_said() -> None:
    def cut_off(frames: int) -> list[Metrics]:
        few = {"frames": frames, "shown": 0, "lost": frames, "by_type": {"I": (frames, frames)}}
        return [flow("tcp", **few), flow("udp", **few)]

    told = judge(cut_off(11), provisional="the run did not come to its end")
    assert "Nothing can be said" in told.headline and "11 frames" in told.headline
    assert (told.best, told.reasons, told.others) == ([], [], [])
    for enough in (judge(cut_off(12), provisional="the run did not come to its end"), judge(cut_off(11))):
        assert "Nothing can be said" not in enough.headline


def test_a_latency_decides_only_where_what_an_application_took_for_its_first_packet_changes_nothing() -> None:
    lab = flow("lab", latency_p95_ms=600.0)
    unseen = {"longest_freeze_s": 0.6, "latency_p95_ms": 220.0}
    assert choose([lab, flow("app", **unseen)], rules_for([lab, flow("app", **unseen)], LIVE)).decided_by == (
        "its far lower latency"
    )
    near = [lab, flow("app", **unseen, unseen_latency_ms=260.0)]
    assert choose(near, rules_for(near, LIVE)).decided_by == "its lower latency", "480 ms are not far lower than 600"
    assert " at 220 ms" not in judge(near).sentence
    overlapping = [lab, flow("app", **unseen, unseen_latency_ms=420.0)]
    assert len(choose(overlapping, rules_for(overlapping, LIVE)).best) == 2, "220 to 640 ms beside 600"


def test_a_queue_that_never_had_to_drop_is_said_to_be_idle() -> None:
    def said(*flows: Metrics) -> str:
        return " ".join(text.striptags() for text in judge(flows).reasons)

    none = {"by_place": {"link": 100}}
    idle, busy = flow("idle", transport="tcp+ifd", **none), flow("busy", transport="tcp+dependency")
    plain = flow("plain", transport="tcp", **none)
    assert "The frame queue of idle never had to drop a frame." in said(idle, busy, plain)
    assert "never had to drop" not in said(busy, plain)
    both = said(idle, flow("other", transport="udp+leaky", **none), plain)
    assert "The frame queues of idle and other never had to drop a frame." in both
    assert "The frame queue of idle never had to drop a frame." in said(idle), "alone too"
    remote = flow("remote", transport="udp+dependency", by_place={"intermediate-queue": 100})
    assert "never had to drop a frame: a sender of datagrams cannot see the queue in the network" in said(remote, plain)


def test_nothing_is_chosen_where_the_machine_cut_flows_off() -> None:
    flows = flow("good", shown=990, lost=10), flow("bad", shown=100, lost=900)
    verdict = judge(flows, cut_off="this machine cut off bad (File too large)", provisional="it ended")
    assert verdict.sentence == "Nothing is chosen: this machine cut off bad (File too large)."
    assert not verdict.best and verdict.runner_up is None and verdict.provisional == "it ended"
    assert not any("good" in text for text in verdict.reasons), "no reason to choose one"
    assert len(verdict.others) == 2, "what each brought is still said"
    assert judge(flows).best == ["good"]


def test_the_verdict_says_that_it_is_of_the_picture_where_sound_is_lacking() -> None:
    late = flow("late", sound_shown=75, sound_late=24, sound_lost=1)
    fine = flow("fine", sound_shown=995, sound_late=5, sound_lost=0)
    assert [text.striptags() for text in of_sound([late, fine, flow("mute")])] == [
        "The verdict is of the picture. Of the sound, of late 1.0 % was lost and 24.0 % late."
    ]
    assert of_sound([fine, flow("mute")]) == []


def test_a_file_is_no_choice_for_live_viewing_and_its_lead_no_merit() -> None:
    whole = {"shown": 1000, "lost": 0, "live_shown": 1000}
    file = flow("file", transport="http", latency_p95_ms=-400.0, **whole)
    stream = flow("stream", transport="http+ts", latency_p95_ms=90.0, **whole)
    slower = flow("slower", transport="tcp", latency_p95_ms=400.0, **whole)
    verdict = judge([file, stream, slower])
    assert verdict.best == ["stream"]
    assert any("file that has to be there as a whole" in reason for reason in verdict.reasons)
    assert verdict.sentence.endswith("asked for: no choice for live viewing."), "in the terminal too"
    assert not any("file that has" in reason for reason in judge([stream, slower]).reasons)
    assert judge([file, flow("other", transport="http", shown=800, lost=200)]).best == ["file"], "among files as ever"
    waits = judge([file, stream, slower], policy="stall")
    assert sorted(waits.best) == ["file", "slower", "stream"], "no lead decides for one that waits"
