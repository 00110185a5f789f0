"""``framewire reproduce balk``: clips, claims and the report, on runs made up for the purpose."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from balk_synthetic import made_up, measured, seeded
from typer.testing import CliRunner

from framewire.cli import app
from framewire.errors import InputError
from framewire.movie.ladder.quality import FROZEN, Quality
from framewire.report import file
from framewire.scenario import load
from framewire.studies import traces
from framewire.studies.balk import cells, climbing, measure, plan, sending_plans, side_by_side
from framewire.studies.balk.clips import FRAME_RATE, QUANTISERS, SEGMENTS, Clip
from framewire.studies.balk.clips import made_up as clip
from framewire.studies.balk.comparison import compare
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.outcome import outcome
from framewire.studies.balk.published import published
from framewire.studies.balk.variants import VARIANTS
from framewire.studies.verdicts import Change
from framewire.studies.writers import write_csv


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
    for setting in every:
        if setting.transport == "vtp" and setting.variant is None and setting in set(plan.of_paper()):
            assert plan.hybrid(setting) in every, "each experiment has both rate controls"
    assert len({one.label for one in every}) == len(every), "cells are told apart"
    document = plan.mild(8).scenario("mild.vtp", 70, {})
    assert (document["movie"]["ladder"], document["flow"][1]["connections"]) == ("mild.vtp", 7)
    assert len(plan.isolated().scenario("mild.vtp", 70, {})["flow"]) == 1
    assert plan.mild(32).fair_share_kbps == 93.75, "the paper prints 93.5"


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


def test_the_quantiser_is_that_of_the_bit_stream_where_there_is_one() -> None:
    one = clip("mild")
    values = tuple(tuple(number + frame % 2 for frame in range(one.frames)) for number in (20, 10, 5))
    with_streams = Clip("mild", one.sizes, one.source, Quality(values, ()))
    run = made_up(plan.mild(16), levels="0" + "1" * 2 + "-" * (one.frames - 3))
    # Frames 0, 1 and 2: 20, 11 and 10.
    assert Run(run.setting, run.seed, run.document, with_streams).quantiser == pytest.approx(41 / 3)
    assert with_streams.mean_quantisers == pytest.approx((20.5, 10.5, 5.5))
    assert with_streams == one, "what it looks like makes no other clip to plan for"


def test_a_frame_that_did_not_come_is_concealed_by_the_last_one() -> None:
    one = clip("mild")
    # 40 dB at level 2 and 30 dB at level 1 when shown in time; a decibel less for each frame that it stays.
    psnr = tuple(tuple(tuple([top - lag] * one.frames) for lag in range(FROZEN + 1)) for top in (20.0, 30.0, 40.0))
    watched = Clip("mild", one.sizes, "", Quality(((), (), ()), psnr))
    run = made_up(plan.mild(16), levels="2211" + "1" * (one.frames - 4), fates="ixil" + "x" * (one.frames - 4))
    shown = Run(run.setting, run.seed, run.document, watched).shown_psnr_db()
    assert shown[:5] == [40, 39, 30, 29, 28]
    assert shown[-1] == 30 - FROZEN, "longer counts as so long"


def test_freezes_are_half_seconds_without_a_frame() -> None:
    frames = clip("mild").frames
    fates = "i" * 10 + "x" * 11 + "i" + "x" * 6 + "l" * 6 + "i"
    run = made_up(plan.mild(16), fates=fates + "i" * (frames - len(fates)))
    assert run.freezes == 1
    assert run.intact_percent == pytest.approx(100 * (frames - 23) / frames)


def test_jains_index_is_one_for_equal_shares_and_one_of_n_for_all_to_one() -> None:
    assert made_up(plan.mild(4), 1.0).jain == pytest.approx(1)
    assert made_up(plan.mild(4), 0.0).jain == pytest.approx(3 / 4)


def test_better_and_worse_are_what_the_seeds_agree_on() -> None:
    frames = clip("mild").frames
    setting = plan.mild(16)
    paper = seeded(setting, (2.0, 2.1, 1.9), "2" * frames)
    other = seeded(plan.hybrid(setting), (1.0, 1.1, 1.05), "1" * frames)
    measured = Measured({setting: paper, plan.hybrid(setting): other}, repeats=3)
    table = side_by_side.by_how_much(measured)
    counts = "share of fair: 1 better, 0 worse, 0 the same; frames in time (%): 0 better, 0 worse, 1 the same"
    assert side_by_side.headline(measured).startswith(f"Of 1 experiments: {counts};")
    row = {column.name: cell.text for _, column, cell in table.cells()}
    assert row["share of fair"] == "2.00 \N{RIGHTWARDS ARROW} 1.05 better"
    assert row["mean level (0 to 2)"] == "2.00 \N{RIGHTWARDS ARROW} 1.00 worse"
    assert row["frames in time (%)"] == "100.0 \N{RIGHTWARDS ARROW} 100.0"
    assert row["Jain's index"].endswith("better")
    # Less than the share is no loss, and what differs by chance is neither.
    under = seeded(plan.hybrid(setting), (0.3, 3.0, 1.8))
    table = side_by_side.by_how_much(Measured({setting: paper, plan.hybrid(setting): under}, repeats=3))
    assert table.rows[0].cells[0].mark == Change.SAME


def test_a_variant_changes_what_it_names() -> None:
    for variant in VARIANTS:
        for setting in plan.of_variant(variant).values():
            plain = plan.Setting(**{**vars(setting), "variant": None})
            asked, usual = (one.scenario("mild.vtp", 70, {}) for one in (setting, plain))
            assert {key for key in asked if asked[key] != usual[key]} <= {"network", "flow"}
            changes_tcp = bool(variant.tcp) and not (variant.link or variant.stream)
            if setting.transport == "vtp" and (setting.tcp or not changes_tcp):
                assert asked != usual
            assert load(asked).flows[0].name == plan.STREAM, "a scenario can say it"
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)


def test_recorded_links_are_found_by_name_or_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no recorded link"):
        traces.load(tmp_path, tmp_path / "unpacked")
    with pytest.raises(InputError, match="no such directory"):
        traces.load(tmp_path / "none", tmp_path / "unpacked")
    (tmp_path / "one.up").write_text("1\n2\n4\n")
    (tmp_path / "two.down.gz").write_bytes(gzip.compress(b"10\n"))
    (tmp_path / "README").write_text("not one")
    found = traces.load(tmp_path, tmp_path / "unpacked")
    assert list(found) == ["one.up", "two.down"]
    assert found["one.up"].mean_bps == 3 * 1_500 * 8 * 1_000 // 4
    every = plan.settings(quick=True, traces={name: trace.mean_bps / 1e6 for name, trace in found.items()})
    assert {one.trace for one in every if one.trace} == {"one.up", "two.down"}
    (tmp_path / "three.up").write_text("x")
    with pytest.raises(InputError, match="three.up"):
        traces.load(tmp_path, tmp_path / "unpacked")


def test_a_recorded_link_carries_what_it_can(tmp_path: Path) -> None:
    """A millisecond in four, 1,500 bytes each: 3 Mbit/s, of which the clip needs a sixth."""
    (tmp_path / "four.up").write_text("4\n")
    link = traces.load(tmp_path, tmp_path / "unpacked")["four.up"]
    setting = plan.over_trace("four", link.mean_bps / 1e6, 0, "vtp-hybrid")
    movies = {name: clip(name) for name in ("mild", "strong")}
    done = measure.carry_out([setting], movies, tmp_path / "cells", repeats=9, jobs=2, traces={"four": link})
    runs = done.of(setting)
    assert len(runs) == traces.REPEATS
    assert setting.link_mbps == pytest.approx(3.0)
    for run in runs:
        assert run.intact_percent == pytest.approx(100)
        assert 200 < run.stream_kbps < 600


def test_the_best_plans_keep_the_buffer_of_the_papers() -> None:
    for name in ("mild", "strong"):
        one = clip(name)
        paper, smooth, few = (
            sending_plans.of(one),
            sending_plans.best(one, fewest_changes=False),
            sending_plans.best(one, fewest_changes=True),
        )
        buffer = paper.document["client_buffer_bytes"]
        for plan_of in (smooth, few):
            assert plan_of.least_kb > -0.001
            assert plan_of.most_kb <= buffer / 1e3 + 0.001
        assert smooth.peak_kbps <= min(paper.peak_kbps, few.peak_kbps) + 0.01
        assert len(few.document["steps"]) <= min(len(paper.document["steps"]), len(smooth.document["steps"]))


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
        one = sending_plans.of(clip(name)).document
        difference = [sent - consumed for sent, consumed in zip(one["sent"], one["consumed"], strict=True)]
        assert one["ahead"] == pytest.approx(difference)
        assert one["sent"][-1] == pytest.approx(sum(clip(name).sizes[2]))
        assert sending_plans.of(clip(name)).least_kb > -0.001
        assert len(one["steps"]) <= SEGMENTS + 1
    assert sending_plans.of(clip("strong"), pre_send=False).least_kb < 0
    assert sending_plans.of(clip("strong"), segments=1, pre_send=False).document["steps"] == [
        [0.0, pytest.approx(985e3, rel=5e-3)]
    ]


def test_an_experiment_is_simulated_as_asked(tmp_path: Path) -> None:
    """Two settings of one seed each, through the simulator: the same twice, and all of the link divided."""
    every = [plan.mild(4), plan.alone(1.0, "tfrc")]
    movies = {name: clip(name) for name in ("mild", "strong")}
    first, again = (
        measure.carry_out(every, movies, tmp_path / str(jobs), seed=7, repeats=2, jobs=jobs) for jobs in (1, 2)
    )
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
    assert packets["sent"] > packets["delivered"] > 0
    assert alone.document["stream"]["tfrc_over_equation"] is not None
    assert first.of(plan.mild(2)) == ()


@pytest.mark.parametrize("wrong", [{"transport": "rtp"}, {"ack_every": 0}, {"alpha": "1"}, {"speed": 1}])
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, object]) -> None:
    document = plan.mild(2).scenario("mild.vtp", 1, {})
    document["flow"][0] |= wrong
    with pytest.raises(InputError):
        load(document)


def test_what_was_computed_is_found_again(tmp_path: Path) -> None:
    movies = {name: clip(name) for name in ("mild", "strong")}
    computed: list[int] = []

    def watch(event: dict[str, Any]) -> None:
        if event.get("event") == "cells":
            computed.append(event["computed"])

    first, again = (
        measure.carry_out([plan.mild(2)], movies, tmp_path, repeats=2, jobs=1, progress=watch) for _ in range(2)
    )
    assert max(computed) == 2
    assert computed[-1] == 0
    assert [run.document for run in first.of(plan.mild(2))] == [run.document for run in again.of(plan.mild(2))]
    assert first.of(plan.mild(2))[0].series["t"]


def test_rates_are_bytes_over_time_between_samples() -> None:
    """Of 1,000 bytes a second from 1 s on, looked at each half second."""
    seconds = [half / 2 for half in range(9)]
    samples = {"at_ns": [round(at * 1e9) for at in seconds], "bytes": [max(0.0, at - 1) * 1_000 for at in seconds]}
    total = cells._Total(samples, "bytes")
    assert total.rate_bps(1.25, 3.75) == pytest.approx(8_000)
    assert total.rate_bps(0.0, 2.0) == pytest.approx(4_000)
    assert total.rate_bps(2.0, 2.0) == 0.0
    assert total.by_second_bps(0.5, 3.9) == pytest.approx([4_000, 8_000, 8_000])


def test_the_command_refuses_what_is_out_of_range() -> None:
    for option in (["--repeats", "1"], ["--jobs", "0"]):
        ended = CliRunner().invoke(app, ["reproduce", "balk", "--made-up", *option])
        assert ended.exit_code != 0


class StoppedError(Exception):
    """Everything was allowed: the experiments would begin."""


def begun(monkeypatch: pytest.MonkeyPatch, *options: str | Path) -> Any:
    """The command, up to its first experiment."""

    def stop(*_arguments: object, **_options: object) -> None:
        raise StoppedError

    monkeypatch.setattr(measure, "carry_out", stop)
    return CliRunner().invoke(app, ["reproduce", "balk", "--made-up", *map(str, options)])


def test_results_go_to_no_directory_with_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(place: Path) -> str:
        ended = begun(monkeypatch, "--out", place)
        assert ended.exit_code == 2
        return " ".join(ended.stderr.split())

    out = tmp_path / "out"
    assert isinstance(begun(monkeypatch, "--out", out).exception, StoppedError)
    out.mkdir()
    assert isinstance(begun(monkeypatch, "--out", out).exception, StoppedError)
    for name in ("report.html", "report.md", "claims.csv", "results.json"):
        (out / name).write_text("of before")
    (out / "campaigns").mkdir()
    assert isinstance(begun(monkeypatch, "--out", out).exception, StoppedError)
    (out / "thesis.tex").touch()
    told = refused(out)
    assert f"{out}: holds thesis.tex, which is no result of this command" in told
    assert "nothing but report.html, report.md, claims.csv, results.json" in told
    assert "a directory is needed, and this is a file" in refused(out / "thesis.tex")
    own = ("report.html", "report.md", "claims.csv", "results.json")
    kept = {path.name: path.read_text() for path in out.iterdir() if path.is_file()}
    assert kept == dict.fromkeys(own, "of before") | {"thesis.tex": ""}


def test_a_quick_result_replaces_no_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, other in (("balk", "--quick"), ("balk-quick", "--seed=1")):
        (tmp_path / "reproduce" / name).mkdir(parents=True)
        (tmp_path / "reproduce" / name / "mine").touch()
        own = "--quick" if name == "balk-quick" else "--seed=1"
        assert f"reproduce/{name}: holds mine" in " ".join(begun(monkeypatch, own).stderr.split())
        assert isinstance(begun(monkeypatch, other).exception, StoppedError)
        (tmp_path / "reproduce" / name / "mine").unlink()


def test_the_report_stands_alone_with_a_part_or_nothing_measured(tmp_path: Path) -> None:
    for of in (Measured(), measured((plan.mild(8), [1.0, 1.1, 0.9]), (plan.isolated(), [0.1, 0.1]))):
        comparison = compare(of)
        target = file.write(outcome(comparison).html(), tmp_path / "deep" / "report.html")
        text = target.read_text()
        assert len(text) < 4_000_000
        shell = text[: text.index('id="plotly"')]
        assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", shell)
        for figure in (9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24):
            assert f'id="paper-figure-{figure}"' in text
        assert "Not drawn: it was not measured in this run." in text
        in_markdown = outcome(comparison).markdown()
        assert all(f"<br>{key} | " in in_markdown for key in published())
        assert f"{len(plan.settings()) - len(of.runs)} settings of the whole were not run" in text
        drawn = json.loads(text.split('id="figures">')[1].split("</script>")[0])
        assert all(len(trace["x"]) == len(trace["y"]) for traces, _ in drawn.values() for trace in traces)
    assert not list(target.parent.glob(".*"))


def test_a_part_says_so_and_the_whole_does_not() -> None:
    quick, whole = plan.settings(quick=True), plan.settings()
    assert Measured(dict.fromkeys(quick, ())).left_out == len(set(whole) - set(quick)) > 50
    text = outcome(compare(Measured(dict.fromkeys(whole, ())))).html()
    assert "of the whole were not run" not in text


def test_files_hold_every_claim(tmp_path: Path) -> None:
    comparison = compare(measured((plan.mild(8), [1.0, 1.1, 0.9])))
    results = json.loads(json.dumps(outcome(comparison).document()))
    for name, rows in outcome(comparison).csv_files():
        write_csv(tmp_path / name, rows)
    found = {one["key"]: one for one in results["claims"]}
    assert set(found) == set(published())
    assert found["fair-8"]["ours"] == pytest.approx(1.0)
    assert found["fair-8"]["values"] == 3
    assert found["fair-8"]["ours_low"] < 1 < found["fair-8"]["ours_high"]
    assert found["fair-8"]["with_headers"] == pytest.approx(1 / 0.9)
    assert found["k-5"]["kind"] == "same-as=fair-8"
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == len(found) + 1
