"""``framewire reproduce balk``: clips, claims and the report, on runs made up for the purpose."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from framewire import _native
from framewire._native import ScenarioError
from framewire.cli import app
from framewire.papers.balk import claims, climbing, measure, page, plan, plans, screen
from framewire.papers.balk.clips import FRAME_RATE, QUANTISERS, SEGMENTS
from framewire.papers.balk.clips import made_up as clip
from framewire.papers.balk.comparison import compare
from framewire.papers.balk.measure import Measured, Run
from framewire.papers.balk.plan import Setting
from framewire.papers.balk.published import published


def made_up(setting: Setting, share: float = 1.0, levels: str = "", fates: str = "") -> Run:
    """A run in which the stream has this share, and TCP the rest."""
    fair = setting.fair_share_kbps * 1e3
    others = (setting.link_mbps * 1e6 - share * fair) / max(1, setting.tcp)
    frames = clip(setting.clip).frames
    levels = levels or "2" * frames
    by_second = [share * fair] * 40
    document = {
        "simulated_s": 80.0,
        "stream": {
            "begin_s": 5.0,
            "throughput_bps": share * fair,
            "video_bps": share * fair,
            "packets": {"sent": 100, "delivered": 99},
            "video_bps_by_second": by_second,
            "least_over_floor": 1.0,
            "rate_over_top": 1.0,
            "tfrc_over_equation": None,
            "levels": levels,
            "fates": fates or "i" * frames,
            "completed_s": [5.0 + frame * FRAME_RATE[1] / FRAME_RATE[0] for frame in range(frames)],
            "switches": 1,
            "series": {"t": [5.0, 6.0], "rate_kbps": [1, 2], "estimate_kbps": [None, 2], "level": [0, 2],
                       "plan_kbps": [[1, 2, 3], [1, 2, 3]]},
        },
        "tcp": [{"throughput_bps": others, "goodput_bps": others}] * setting.tcp,
    }  # fmt: skip
    return Run(setting, document)


def measured(*some: tuple[Setting, Sequence[float]]) -> Measured:
    return Measured({setting: [made_up(setting, share) for share in shares] for setting, shares in some}, repeats=3)


def verdict(of: Measured, key: str) -> str:
    return next(one.verdict for one in claims.findings(of) if one.published.key == key)


def test_clips_have_the_papers_statistics() -> None:
    mild, strong = clip("mild"), clip("strong")
    for one, means in ((mild, (125, 260, 450)), (strong, (274, 569, 985))):
        assert [one.mean_kbps(level) for level in range(3)] == pytest.approx(means, rel=0.005)
        assert len({len(sizes) for sizes in one.sizes}) == 1
        assert all(low < high for low, high in zip(one.sizes[0], one.sizes[2], strict=True))
    # 16 MB in 130 s (section 5.2).
    assert sum(strong.sizes[2]) == pytest.approx(16e6, rel=0.005)
    assert strong.duration_s == pytest.approx(130, abs=0.05)
    assert min(strong.rates_kbps(2)) < 600 < 2_000 < max(strong.rates_kbps(2))
    assert mild is clip("mild"), "it is drawn once"


def test_the_plan_has_every_experiment_of_the_paper_once() -> None:
    every = plan.settings()
    assert len(every) == len(set(every))
    assert {one.flows for one in every if one.clip == "mild" and one.link_mbps == 3 and one.transport == "vtp"} >= {
        2, 4, 8, 16, 32,
    }  # fmt: skip
    assert {one.k for one in every} == {1, 2, 5, 10, 20}
    assert {one.loss_percent for one in every if one.clip == "strong"} >= {0.1, 5.0}
    assert set(plan.settings(quick=True)) <= set(every)
    document = plan.mild(8).document(3, duration_s=70, series=True)
    assert (document["seed"], document["tcp"]["connections"]) == (3, 7)
    assert plan.mild(32).fair_share_kbps == 93.75, "the paper prints 93.5"


def test_every_claim_is_judged_and_has_a_figure() -> None:
    assert set(published()) == set(claims._SAMPLES)
    for claim in published().values():
        assert claim.low is not None or claim.high is not None, claim.key
        assert claim.basis in ("stated", "read", "asked")
        assert 9 <= claim.figure <= 24
    assert all(one.verdict in ("not measured", "holds", "does not hold") for one in claims.findings(Measured()))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.99, 1.0, 1.01], "holds"),
        ([1.3, 1.31, 1.29], "does not hold"),
        ([0.7, 0.71, 0.7], "does not hold"),
        ([1.1, 1.2, 1.13], "undecided"),
    ],
)
def test_a_claim_holds_within_its_bounds_on_both_sides(shares: list[float], expected: str) -> None:
    assert verdict(measured((plan.mild(8), shares)), "fair-8") == expected


def test_the_share_is_of_the_fair_share_and_tcp_has_the_rest() -> None:
    run = made_up(plan.mild(4), 0.4)
    assert run.share == pytest.approx(0.4)
    assert run.tcp_share == pytest.approx((4 - 0.4) / 3)
    assert run.utilisation == pytest.approx(1.0)


def test_frame_rates_count_intact_frames_by_second() -> None:
    frames = clip("mild").frames
    run = made_up(plan.mild(16), fates="i" * 24 + "x" * 12 + "l" * 12 + "i" * (frames - 48))
    assert run.frame_rates[:3] == [24, 0, 24]
    assert len(run.frame_rates) == 69
    assert fmean(run.frame_rates[2:]) == pytest.approx(FRAME_RATE[0] / FRAME_RATE[1], abs=0.02)


def test_the_quantiser_is_the_mean_over_what_was_received() -> None:
    frames = clip("mild").frames
    half = frames // 2
    run = made_up(plan.mild(16), levels="0" * half + "-" * (frames - 2 * half) + "2" * half)
    assert run.quantiser == pytest.approx((QUANTISERS[0] + QUANTISERS[2]) / 2)
    assert run.levels == pytest.approx([0.5, 0, 0.5])


def test_valleys_are_stretches_below_the_top_after_the_climb() -> None:
    frames = clip("mild").frames
    levels = "0" * 24 + "1" * 24 + "2" * 48 + "1" * 24 + "2" * 24 + "1" * 12
    run = made_up(plan.isolated(), levels=levels + "2" * (frames - len(levels)))
    assert climbing.first_at_top_s(run) == pytest.approx(2.002)
    assert climbing.valleys(run) == 2
    assert climbing.mean_valley_s(run) == pytest.approx(18 * 1.001 / 24)
    never = made_up(plan.isolated(), levels="0" * frames)
    assert climbing.first_at_top_s(never) > 60
    assert climbing.valleys(never) == 0


def test_plans_follow_the_papers_equations() -> None:
    """Figures 9 to 12 in miniature: U = C - V, and bytes sent ahead lift its least value to nothing."""
    for name in ("mild", "strong"):
        one = plans.of(clip(name)).document
        difference = [sent - consumed for sent, consumed in zip(one["sent"], one["consumed"], strict=True)]
        assert one["ahead"] == pytest.approx(difference)
        assert one["sent"][-1] == pytest.approx(sum(clip(name).sizes[2]))
        assert plans.of(clip(name)).least_kb > -0.001
        assert len(one["steps"]) <= SEGMENTS + 1
    assert plans.of(clip("strong"), pre_send=False).least_kb < 0
    assert plans.of(clip("strong"), segments=1, pre_send=False).document["steps"] == [
        [0.0, pytest.approx(985e3, rel=5e-3)]
    ]


def test_an_experiment_is_simulated_as_asked() -> None:
    """Two settings of one seed each, through the simulator: the same twice, and all of the link divided."""
    every = [plan.mild(4), plan.alone(1.0, "tfrc")]
    movies = {name: clip(name) for name in ("mild", "strong")}
    first, again = (measure.carry_out(every, movies, seed=7, repeats=2, jobs=jobs) for jobs in (1, 2))
    assert not first.failures
    for setting in every:
        assert [run.document for run in first.of(setting)] == [run.document for run in again.of(setting)]
    shared, alone = (first.of(setting)[0] for setting in every)
    assert shared.utilisation == pytest.approx(1.0, abs=0.01)
    assert len(shared.tcp_kbps) == 3
    assert shared.document["stream"]["finished"]
    assert shared.document["stream"]["least_over_floor"] >= 0.999
    assert len(shared.document["stream"]["fates"]) == clip("mild").frames
    packets = alone.document["stream"]["packets"]
    assert packets["random_losses"] == packets["sent"] - packets["delivered"] > 0
    assert alone.document["stream"]["tfrc_over_equation"] is not None
    assert first.of(plan.mild(2)) == ()


@pytest.mark.parametrize("wrong", [{"transport": "rtp"}, {"k": 0}, {"alpha": 1.0}, {"speed": 1}])
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, object]) -> None:
    document = plan.mild(2).document(1, duration_s=1, series=False)
    document["stream"] |= wrong
    with pytest.raises(ScenarioError):
        _native.simulate_streaming(measure.ladder(clip("mild")), json.dumps(document))


def test_the_command_refuses_what_is_out_of_range() -> None:
    for option in (["--repeats", "1"], ["--jobs", "0"]):
        ended = CliRunner().invoke(app, ["reproduce", "balk", "--made-up", *option])
        assert ended.exit_code != 0


def test_the_report_stands_alone_with_a_part_or_nothing_measured(tmp_path: Path) -> None:
    for of in (Measured(), measured((plan.mild(8), [1.0, 1.1, 0.9]), (plan.isolated(), [0.1, 0.1]))):
        comparison = compare(of)
        target = page.write(comparison, tmp_path / "deep" / "report.html")
        text = target.read_text()
        assert len(text) < 4_000_000
        shell = text[: text.index('id="plotly"')]
        assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", shell)
        for figure in (9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24):
            assert f'id="paper-figure-{figure}"' in text
        assert "Not drawn: it was not measured in this run." in text
        drawn = json.loads(text.split('id="figures">')[1].split("</script>")[0])
        assert all(len(trace["x"]) == len(trace["y"]) for traces, _ in drawn.values() for trace in traces)
    assert not list(target.parent.glob(".*"))


def test_files_hold_every_claim(tmp_path: Path) -> None:
    comparison = compare(measured((plan.mild(8), [1.0, 1.1, 0.9])))
    screen.write_files(comparison, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    found = {one["key"]: one for one in results["claims"]}
    assert set(found) == set(published())
    assert found["fair-8"]["ours"] == pytest.approx(1.0)
    assert found["fair-8"]["seeds"] == 3
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == len(found) + 1
