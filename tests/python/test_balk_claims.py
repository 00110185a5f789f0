"""What is held against the claims of ``framewire reproduce balk``: rulers, pairs, intervals, kinds."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from typing import get_args

import pytest
from balk_synthetic import finding, made_up, measured, seeded, verdict
from rich.console import Console

from conftest import REPOSITORY
from framewire.movie.ladder.quality import Quality
from framewire.studies.balk import claims, differences, measure, plan, samples, views
from framewire.studies.balk.clips import QUANTISERS
from framewire.studies.balk.clips import made_up as clip
from framewire.studies.balk.comparison import compare
from framewire.studies.balk.estimate_readings import by_reading
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.outcome import outcome
from framewire.studies.balk.plan import Setting, Transport
from framewire.studies.balk.published import FORMER_KEYS, Kind, published, read
from framewire.studies.balk.variants import (
    K_OVER_K_MINUS_1,
    LIBRARYS_READING,
    READINGS,
    VARIANT_REPEATS,
    VARIANTS,
)
from framewire.studies.numbers import formatted, short_unit
from framewire.studies.verdicts import Bounds, Number


def test_every_claim_is_judged_and_has_a_figure() -> None:
    assert set(published()) == {*samples.RATES, *samples.OTHERS}
    assert not set(samples.RATES) & set(samples.OTHERS)
    for claim in published().values():
        assert claim.bounds != Bounds(), claim.key
        assert 9 <= claim.figure <= 24
    assert all(one.verdict in ("not measured", "holds", "does not hold") for one in claims.findings(Measured()))


def test_each_reading_of_equation_1_is_judged_by_its_own_runs() -> None:
    clock = next(reading for reading in READINGS if reading.link)
    mild, fixed = plan.mild(8), plan.mild(16, transport="fixed")
    some = [(mild, [1.0, 1.01, 0.99]), (plan.mild(2), [0.3, 0.31, 0.3]), (fixed, [1.0, 1.0])]
    some += [
        (replace(mild, variant=K_OVER_K_MINUS_1), [2.0, 2.1, 2.0]),
        (replace(mild, variant=clock), [0.5, 0.4, 0.5]),
    ]
    of = measured(*some)
    verdicts = {reading.name: reading.of(published()["fair-8"]).verdict for reading in by_reading(of)}
    assert verdicts == {LIBRARYS_READING: "holds", K_OVER_K_MINUS_1.name: "does not hold", clock.name: "does not hold"}
    # Where a reading's own runs are missing nothing else stands for them; what it does not change is the library's.
    other = of.read_as(K_OVER_K_MINUS_1)
    assert not other.of(plan.mild(2))
    assert other.of(fixed) == of.of(fixed)
    assert not of.read_as(clock).of(fixed), "a link's clock is that of all flows"
    assert by_reading(measured(*some[:3])) == [], "nothing to compare with"
    shown = outcome(compare(of)).html()
    assert "Every claim by every reading of equation 1" in shown
    assert shown.count(f'<th scope="col">{clock.name}</th>') == 2  # and in the table of figure 17


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.99, 1.0, 1.01], "holds"),
        ([1.3, 1.31, 1.29], "does not hold"),
        ([0.7, 0.71, 0.7], "does not hold"),
        ([1.1, 1.2, 1.13], "undecided"),
        ([1.0], "undecided"),
        ([2.0], "undecided"),
    ],
)
def test_a_claim_holds_within_its_bounds_on_both_sides(shares: list[float], expected: str) -> None:
    assert verdict(measured((plan.mild(8), shares)), "fair-8") == expected


def test_both_readings_of_where_fixed_rate_streaming_fails() -> None:
    frames = clip("mild").frames

    def fates(*rates: int) -> str:
        text = "".join("i" * rate + "x" * (24 - rate) for rate in rates)
        return text + "i" * (frames - len(text))

    vtp = [made_up(plan.mild(16), fates=fates(18, 17, 24)), made_up(plan.mild(16), fates=fates(10, 24), seed=2)]
    # In another order: what belongs together is told by the seed.
    fixed = [made_up(plan.mild(16, transport="fixed"), fates=fates(24), seed=2),
             made_up(plan.mild(16, transport="fixed"), fates=fates(14, 14, 15))]  # fmt: skip
    of = Measured({plan.mild(16): vtp, plan.mild(16, transport="fixed"): fixed}, repeats=2)
    pairs = of.paired(plan.mild(16), plan.mild(16, transport="fixed"))
    assert differences.seconds_where_fixed_falls(pairs) == [True, False]
    found = {one.claim.key: one for one in claims.findings(of)}
    seconds, runs, falls = (found[key].ours for key in ("frames-seconds", "frames-runs", "frames-fixed"))
    assert seconds is not None
    assert (seconds.value, seconds.count) == (50, 2)
    assert runs is not None
    # Of the first run alone, one of whose seconds has 17 frames: a single value decides nothing.
    assert runs.value == pytest.approx(100 * (1 - 1 / len(vtp[0].frame_rates)))
    assert found["frames-runs"].verdict == "undecided"
    assert falls is not None
    assert falls.value == 1, "two seconds of one run, none of the other"


def test_a_share_of_few_seconds_is_no_certainty() -> None:
    """Against the table of Newcombe (Statistics in Medicine 17, 1998, table I): Wilson's intervals of four shares."""
    for of_these, all_, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605),
                                      (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)):  # fmt: skip
        one = Number.share(of_these, all_, draws=all_)
        assert one.value == pytest.approx(100 * of_these / all_)
        assert [one.low, one.high] == pytest.approx([100 * low, 100 * high], abs=0.006)
    claim = published()["frames-seconds"]
    for count, expected in ((6, "undecided"), (100, "holds")):
        assert claims.Finding.of(claim, Number.share(count, count, draws=count), "").verdict == expected
    # The same seconds, ten of them from each run, are ten draws.
    assert claims.Finding.of(claim, Number.share(100, 100, draws=10), "").verdict == "undecided"
    assert claims.Finding.of(claim, Number.share(80, 100, draws=100), "").verdict == "does not hold"


def test_what_is_compared_has_the_same_seeds_or_is_refused() -> None:
    four, two = plan.mild(4), plan.mild(2)
    runs = seeded(four, [0.4, 0.5, 0.6])
    mixed = Measured({four: runs, two: list(reversed(seeded(two, [0.1, 0.2, 0.3])))}, repeats=3)
    pairs = mixed.paired(four, two)
    assert [run.share for pair in pairs for run in pair] == pytest.approx([0.4, 0.1, 0.5, 0.2, 0.6, 0.3])
    assert all(a.seed == b.seed for a, b in pairs)
    assert mixed.paired(four, plan.mild(8)) == []
    for others, refusal in ((runs[1:], r"only one has \[1\]"), ([*runs, runs[0]], "twice")):
        with pytest.raises(measure.UnpairedError, match=refusal):
            Measured({two: seeded(two, [0.1, 0.2, 0.3]), four: others}).paired(two, four)
    longer = Measured({four: seeded(four, [0.4, 0.5, 0.6, 0.7, 0.8]), two: seeded(two, [0.1, 0.2, 0.3])}, repeats=3)
    assert [one.seed for pair in longer.paired(two, four) for one in pair] == [1, 1, 2, 2, 3, 3]
    with pytest.raises(measure.UnpairedError, match=r"only one has \[2\]"):
        Measured({four: longer.of(four), two: [longer.of(two)[0], longer.of(two)[2]]}).paired(two, four)
    found = finding(Measured({two: seeded(two, [0.1, 0.2, 0.3]), four: runs[1:]}), "quality-low")
    assert found.verdict == "not measured"
    assert "only one has [1]" in found.why


def test_what_is_seldom_has_more_seeds() -> None:
    """What is compared seed by seed has as many as each other: by two ways to stream, and with and without loss."""
    ways: tuple[Transport, ...] = ("vtp", "vtp-hybrid", "fixed")
    assert [plan.mild(16, transport=transport).repeats(3) for transport in ways] == [60, 60, 60]
    assert {plan.alone(loss, transport).repeats(3) for loss in (0, 1.0, 5.0) for transport in ("vtp", "tfrc")} == {30}
    others = (plan.mild(8), plan.mild(16, alpha=0.9), plan.mild(16, loss_percent=1.0), plan.alone(1.0, "tfrc", 50))
    assert [other.repeats(3) for other in others] == [3] * len(others)
    variant = plan.of_variant(VARIANTS[0])["16"]
    assert [variant.repeats(asked) for asked in (3, 20)] == [3, VARIANT_REPEATS]


def test_a_gain_is_of_runs_with_the_same_seed_and_number_of_flows() -> None:
    """At 2 Mbit/s half the frames are of the lowest level with one seed, none with the other; orders are mixed."""
    frames = clip("mild").frames
    low = "0" * (frames // 2) + "2" * (frames - frames // 2)
    runs = {}
    for flows in (8, 16, 32):
        two, three = plan.mild(flows, link_mbps=2), plan.mild(flows)
        runs[two] = [made_up(two, levels=low, seed=1), made_up(two, seed=2)]
        runs[three] = [made_up(three, seed=2), made_up(three, seed=1)]
    gains = samples.OTHERS["quality-3"](Measured(runs))
    assert gains == pytest.approx([(QUANTISERS[0] - QUANTISERS[2]) * (frames // 2) / frames, 0])


def test_both_rulers_are_judged_and_a_difference_is_told() -> None:
    of = measured((plan.mild(8), [1.1, 1.1, 1.11]), (plan.mild(2), [0.3, 0.3, 0.301]))
    eight, two, floor = (finding(of, key) for key in ("fair-8", "fair-2", "floor"))
    assert (eight.verdict, eight.verdict_with_headers) == ("holds", "does not hold")
    assert eight.with_headers is not None
    assert eight.with_headers.value == pytest.approx(3.31 / 3 / 0.9)
    assert (two.verdict, two.verdict_with_headers, two.differs_with_headers) == ("holds", "holds", False)
    assert floor.verdict_with_headers is None
    assert not floor.differs_with_headers
    assert any("with headers" in text for text in views.remarks(eight))
    assert "2 of 18 verdicts on rates" not in compare(measured()).counted_apart
    assert "fair-8 (holds" in compare(of).counted_apart


def test_figure_20_is_judged_by_one_ruler() -> None:
    """Loss takes 40 % of a second of VTP and half a second of TFRC; what else the plan does in it is no dip."""
    plan_kbps = [300.0] * 10 + [400.0] * 10

    def steady(setting: Setting, seed: int, times: float, kept: float, headers: float) -> Run:
        run = made_up(setting, seed=seed)
        rates = [rate * times for rate in plan_kbps]
        rates[12] *= kept
        of_second = [1e9] * 10 + [rate * 1e3 for rate in rates] + [0.0] * 10
        stream = {**run.document["stream"], "video_bps_by_second": of_second,
                  "throughput_bps_by_second": [rate * headers for rate in of_second]}  # fmt: skip
        return Run(setting, seed, {**run.document, "stream": stream})

    def runs(transport: Transport, times: float, kept: float, headers: float) -> dict[Setting, list[Run]]:
        lossy, free = plan.alone(1.0, transport), plan.alone(0.0, transport)
        return {lossy: [steady(lossy, seed, times, kept + seed / 100, headers) for seed in (2, 1)],
                free: [steady(free, seed, times, 1.0, headers) for seed in (1, 2)]}  # fmt: skip

    # TFRC sends twice as much: a fraction of it is a fraction all the same.
    of = Measured(runs("vtp", 1, 0.6, 1.2) | runs("tfrc", 2, 0.5, 1.0))
    lossy, free = of.paired(plan.alone(1.0, "vtp"), plan.alone(0.0, "vtp"))[0]
    assert lossy.dip_percent(free) == pytest.approx(100 * (1 - 0.61 / ((19 + 0.61) / 20)))
    assert free.dip_percent(free) == 0
    smaller, falls = finding(of, "tfrc-vtp-1"), finding(of, "tfrc-1")
    assert smaller.ours is not None
    assert smaller.with_headers is not None
    assert (smaller.verdict, smaller.verdict_with_headers) == ("holds", "holds")
    assert smaller.ours.value == pytest.approx(smaller.with_headers.value), "a fraction has no headers"
    assert falls.ours is not None
    assert falls.ours.value == pytest.approx(2 * 400 * 0.515)
    equal = finding(Measured(runs("vtp", 1, 0.6, 1.2) | runs("tfrc", 2, 0.6, 1.0)), "tfrc-vtp-1").ours
    assert equal is not None
    assert equal.value == pytest.approx(0, abs=1e-9)


def test_what_is_no_check_is_counted_apart() -> None:
    comparison = compare(measured((plan.isolated(), [0.1, 0.1])))
    every = list(published().values())
    kinds = {kind: [claim.key for claim in every if claim.kind == kind] for kind in get_args(Kind)}
    assert kinds["calibrated"] == ["climb"]
    assert {claim.key: claim.same_as for claim in every if claim.same_as} == {"k-5": "fair-8"}
    by_construction = {key for key in published() if key.startswith("plan-")}
    by_construction |= {"floor", "climb-stays", "climb-valleys", "tfrc-equation", "psnr-levels"}
    assert set(kinds["by-construction"]) == by_construction
    assert all(claim.reason for claim in every if not claim.is_independent)
    asked = sum(claim.is_asked and claim.is_independent for claim in every)
    whole = compare(Measured(dict.fromkeys(plan.settings(), ())))
    assert f"of {len(kinds['independent']) - asked} independent claims of the paper" in whole.headline
    assert f"of {asked} bounds that this project asks" in whole.headline
    assert f"{len(by_construction)} true or false by construction" in comparison.counted_apart
    for one in comparison.findings:
        if not one.claim.is_independent:
            assert f"not counted: {one.claim.worth}" in views.remarks(one)


def test_a_part_says_first_what_it_is_and_counts_what_it_measured() -> None:
    part = measured((plan.mild(8), [0.99, 1.0, 1.01]), (plan.mild(16), [2.0, 2.01, 1.99]), (plan.mild(4), [0.6, 0.8]))
    begin = "A part of the experiments, 3 seeds, sizes of frames drawn: of "
    assert compare(part).headline.startswith(begin)
    independent = [one for one in claims.findings(part) if one.claim.is_independent and not one.claim.is_asked]
    counts = Counter(one.verdict for one in independent)
    assert min(counts[verdict] for verdict in ("holds", "does not hold", "undecided", "not measured")) > 0
    of_paper, asked = compare(part).headline.removeprefix(begin).removesuffix(".").split("; ")
    count = counts.total() - counts["not measured"]
    assert of_paper.startswith(f"{count} measured independent claims of the paper, {counts['holds']} hold")
    assert f"{counts['does not hold']} do" in of_paper
    assert f"{counts['undecided']} " in of_paper
    assert of_paper.endswith("undecided")
    assert asked == "no bounds that this project asks were measured"
    for text in (outcome(compare(part)).html(), shown(part)):
        assert compare(part).headline in " ".join(text.split())


def test_a_part_of_encoded_movies_and_the_whole_do_not_speak_of_drawn_sizes() -> None:
    part = measured((plan.mild(8), [0.99, 1.0, 1.01]))
    encoded = {name: replace(clip(name), quality=Quality((), ())) for name in ("mild", "strong")}
    of_encoded = replace(compare(part), measured=replace(part, clips=encoded))
    assert of_encoded.headline.startswith("A part of the experiments, 3 seeds: of 1 ")
    headline = compare(Measured(dict.fromkeys(plan.settings(), ()))).headline
    assert headline.startswith("0 of 23 independent claims of the paper hold, 0 do not, 23 not measured; ")


def test_numbers_have_their_units_on_the_page_and_in_the_terminal() -> None:
    part = measured((plan.mild(8), [0.99, 1.0, 1.01]))
    found = {one.claim.key: one for one in claims.findings(part)}
    with_units = {"plan-cbr": " kB", "plan-bmin": " %", "plan-ten": "", "fair-8": ""}
    text, rendered = shown(part), outcome(compare(part)).html()
    for key, unit in with_units.items():
        ours = formatted(found[key].ours) + unit
        row = next(line for line in text.splitlines() if found[key].claim.says in line)
        assert re.search(rf"  {re.escape(ours)}  +(holds|does not hold)", row), key
        assert re.search(rf"<td[^>]* class=\"number\"[^>]*>{re.escape(ours)}<", rendered), key
    assert formatted(None, "kB") == "\N{EN DASH}"
    assert "\N{EN DASH} kB" not in text


def test_every_unit_of_a_claim_is_known_to_be_shown_or_not() -> None:
    units = {short_unit(claim.unit) for claim in published().values()}
    assert units == {"", "%", "dB", "kB", "kbit/s", "s", "times"}
    left_out = {claim.unit for claim in published().values() if not short_unit(claim.unit)}
    assert not [unit for unit in left_out if re.match(r"(%|dB|kB|kbit/s|s|times)(?= |$)(?! per)", unit)]


def shown(of: Measured) -> str:
    """As a terminal has it."""
    console = Console(file=io.StringIO(), width=400)
    outcome(compare(of)).show(console, tables=False)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_single_value_decides_only_where_no_draw_enters() -> None:
    exact = [claim.key for claim in published().values() if claim.exact]
    assert exact == [*(key for key in published() if key.startswith("plan-")), "psnr-levels"]
    assert verdict(Measured(), "plan-cbr") == "holds"
    one = finding(measured((plan.alone(1.0, "tfrc"), [0.1])), "tfrc-1")
    assert (one.verdict, one.ours is not None) == ("undecided", True)
    assert "a single value" in views.remarks(one)


def test_a_list_of_before_has_the_keys_of_now() -> None:
    text = (REPOSITORY / "python/framewire/studies/balk/published/claims.csv").read_text(encoding="utf-8")
    for former, now in FORMER_KEYS.items():
        assert f"\n{now}," in text and f"\n{former}," not in text
        text = text.replace(f"\n{now},", f"\n{former},")
    assert read(text.splitlines()) == published()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "certain"}, "a: kind is 'certain'; allowed is independent, calibrated"),
        ({"basis": "heard"}, "a: basis is 'heard'; allowed is stated, read, asked"),
        ({"kind": "by-construction"}, "a: reason is missing"),
        ({"project": "ours"}, "a: project is 'ours'; allowed is low, high, both, or nothing"),
        ({"project": "high"}, "a: project is 'high', and there is no such bound"),
        ({"basis": "asked"}, "a: it is asked by this project, and so are all its bounds"),
        ({"kind": "same-as=b", "reason": "x"}, "a: kind: there is no claim 'b'"),
        ({"kind": "same-as", "reason": "x"}, "a: kind is 'same-as'; same-as=KEY"),
    ],
)
def test_a_list_of_claims_that_means_nothing_is_refused(changes: dict[str, str], told: str) -> None:
    row = {"key": "a", "figure": "9", "section": "5", "says": "s", "theirs": "t", "low": "1", "high": "", "project": "",
           "unit": "", "basis": "stated", "kind": "independent", "reason": "", "exact": ""} | changes  # fmt: skip
    with pytest.raises(ValueError, match=re.escape(told)):
        read([",".join(row), ",".join(row.values())])
