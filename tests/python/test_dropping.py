"""``framewire reproduce dropping``: what is measured, what a viewer sees, what is judged, and the manual's pages."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import framewire
from framewire.campaign.plan import resolve
from framewire.campaign.results import Campaign
from framewire.campaign.spec import read
from framewire.errors import InputError
from framewire.studies.dropping import applications, claims, losses, unseen
from framewire.studies.dropping.measure import Key, Measured, Row, Seen, carry_out
from framewire.studies.dropping.outcome import outcome
from framewire.studies.dropping.plan import (
    DEFAULT,
    LIMITS_MS,
    METHODS,
    NARROW,
    OPTIMISED,
    STARTUPS_MS,
    UNSEEN,
    WIFI,
    Plan,
    Setting,
    plan,
)
from framewire.studies.dropping.study import STUDY, DroppingOptions
from framewire.studies.dropping.tables import FREEZE, P95, SHOWN
from framewire.studies.traces import Recording
from framewire.studies.verdicts import Verdict

REPOSITORY = Path(__file__).parents[2]
SMALL = Plan(movies=["mpeg2"], links=[NARROW], limits_ms=STARTUPS_MS, seconds=4, repeats=1)


def test_everything_is_measured_once_and_links_with_chance_are_repeated(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "Verizon-LTE-short.down", 5_000_000)
    recording.path.write_text("10\n20\n")
    whole = plan({"Verizon-LTE-short.down": recording, "other.up": recording}, quick=False, seed=1, repeats=None)
    assert [link.name for link in whole.links] == ["wifi", "narrow", "verizon"]
    assert "mean 5.0 Mbit/s" in whole.links[-1].text
    names = [one.flow_name for one in whole.settings()]
    assert len(set(names)) == len(names) == 2 * (3 + 4 * len(LIMITS_MS))
    cells = {one.name: one.cells for one in whole.measurements()}
    assert cells == {
        "tuned-drawn": 4 * 1 * 2 * 3,
        "tuned-exact": 4 * 2 * 2,
        "unseen-drawn": 2 * 2 * 2 * 3,
        "unseen-exact": 2 * 1 * 2,
        "carrier-sense": 4 * 2 * 3,
    }
    for one in whole.measurements():
        for value in next(axis for axis in one.document["axis"] if axis["name"] == "flows")["values"]:
            assert 0 < len(value["set"]["flow"]) <= 64
        wires = {point.labels["link"]: scenario.network for point, scenario in resolve(read(dict(one.document)))}
        assert all((network.kind == "wifi") == ("wifi" in str(link)) for link, network in wires.items())
    quick = plan({}, quick=True, seed=1, repeats=None)
    assert sum(one.cells for one in quick.measurements()) == 3


def test_the_links_that_nothing_was_tuned_on_belong_to_these_thresholds() -> None:
    rules = REPOSITORY / "crates" / "transport" / "src" / "dependency" / "threshold.rs"
    constants = re.findall(r"const [A-Z_]+: Threshold =(.*?);", rules.read_text(encoding="utf-8"), re.DOTALL)
    numbers = tuple(int(number) for text in constants for number in re.findall(r"\b\d+\b", text))
    assert numbers == unseen.THRESHOLDS, "these links have been seen: choose others, and state the new numbers"


def test_applications_are_no_part_of_a_quick_run() -> None:
    with pytest.raises(InputError, match="--applications"):
        STUDY.check(DroppingOptions(quick=True, applications=True), Path("out"))
    STUDY.check(DroppingOptions(applications=True), Path("out"))


@pytest.fixture(scope="module")
def small(lab_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Measured, Path]:
    """Four seconds over the wire that is too narrow, measured."""
    assert lab_cache.is_dir()
    directory = tmp_path_factory.mktemp("dropping")
    return carry_out(SMALL, directory, jobs=1), directory


def test_a_viewer_sees_what_the_ledger_says(small: tuple[Measured, Path]) -> None:
    """The start-up of the full tables is the default of scenarios, so that the summary has counted the same."""
    measured, directory = small
    summary = Campaign(directory / "tuned-exact").summary
    shown = dict(zip(summary["flow"], 100 * summary["shown"] / summary["frames"], strict=True))
    of_key = measured.seen["mpeg2", "narrow", 1000]
    assert {one.flow_name: seen.shown_percent for one, seen in of_key.items()} == pytest.approx(shown)
    assert len(of_key) == len(SMALL.settings())
    for setting in of_key:
        shares = [measured.seen["mpeg2", "narrow", startup][setting].shown_percent for startup in STARTUPS_MS]
        assert shares == sorted(shares), "who waits longer sees no less"
    plain = of_key[Setting(METHODS[0], None, "equal")]
    ours = of_key[Setting(DEFAULT, 1000, "equal")]
    assert 0 < plain.shown_percent < ours.shown_percent < 100
    assert plain.longest_freeze_s > ours.longest_freeze_s > 0


def test_pictures_are_scored_where_they_are_shown(small: tuple[Measured, Path]) -> None:
    measured, _ = small
    rows = {one: measured.of("mpeg2", "narrow", one)[0] for one in measured.shown_settings("mpeg2", "narrow")}
    assert all(row.psnr_db is not None and 10 < row.psnr_db < 50 for row in rows.values() if row.shown_percent < 100)
    ours, plain = (rows[one].psnr_db for one in (Setting(DEFAULT, 1000, "equal"), Setting(METHODS[0], None, "equal")))
    assert ours is not None and plain is not None and ours > plain
    left_out = set(measured.seen["mpeg2", "narrow", 1000]) - set(rows)
    assert {measured.of("mpeg2", "narrow", one)[0].psnr_db for one in left_out} == {None}


Value = Callable[[Setting, int], float]
"""Frames shown of a setting in a draw, in percent."""


def made(shown: Value, of: Plan | None = None, rows: Mapping[Any, Any] | None = None) -> Measured:
    """What would have been measured, the same of every case."""
    planned = of or Plan(movies=["mpeg2", "h264-pyramid"], links=[WIFI, NARROW], unseen=UNSEEN, repeats=3)
    seen: dict[Key, dict[Setting, Seen]] = {}
    for codec in planned.movies:
        for link in (*planned.links, *planned.unseen):
            for startup in STARTUPS_MS:
                draws = range(planned.draws(link))
                seen[codec, link.name, startup] = {
                    one: Seen(tuple(shown(one, draw) for draw in draws), tuple(1.0 for _ in draws))
                    for one in planned.settings()
                }
    found = rows or {
        (codec, link.name, one.flow_name): [
            Row(codec, link.name, 1, one.flow_name, shown(one, 0), 1.0, 200.0 if one == OPTIMISED else 900.0)
        ]
        for codec in planned.movies
        for link in planned.links
        for one in planned.settings()
    }
    return Measured(plan=planned, seen=seen, rows=found)


def ahead(setting: Setting, draw: int) -> float:
    """Ours differs from draw to draw, and they do not."""
    return {"tcp": 30.0, "tcp+dependency": 80.0 + 0.02 * draw}.get(setting.method.name, 60.0)


def verdicts(measured: Measured) -> list[Verdict | None]:
    return [one.verdict for one in claims.findings(measured)]


def test_claims_hold_fail_and_are_left_open() -> None:
    programs = [Verdict.NOT_MEASURED] * 2
    assert verdicts(made(ahead)) == [Verdict.HOLDS] * 8 + programs
    behind = made(lambda setting, draw: 140 - ahead(setting, draw))
    assert verdicts(behind) == [Verdict.FAILS] * 6 + [Verdict.HOLDS, Verdict.FAILS] + programs

    def scattered(setting: Setting, draw: int) -> float:
        return ahead(setting, draw) + (0 if setting.method.name == "tcp+leaky" else (-90, 10, 60)[draw])

    assert set(verdicts(made(scattered))[:3]) <= {Verdict.UNDECIDED, Verdict.FAILS}
    once = made(ahead, Plan(movies=["mpeg2"], links=[WIFI, NARROW], repeats=1))
    assert verdicts(once)[:3] == [Verdict.UNDECIDED] * 3, "of a single draw nothing is known of the spread"
    exact = made(ahead, Plan(movies=["mpeg2"], links=[NARROW], repeats=1))
    assert verdicts(exact)[:3] == [Verdict.HOLDS] * 3, "into which no draw enters"
    assert verdicts(exact)[3:6] == [Verdict.NOT_MEASURED] * 3, "nothing unseen was measured"
    nothing = Measured(plan=Plan(movies=[], links=[]))
    assert set(verdicts(nothing)) == {Verdict.NOT_MEASURED}


def of_programs(**shown: float) -> list[Row]:
    return [Row("mpeg2", "narrow", 1, name.replace("_", "+"), share, 1.0) for name, share in shown.items()]


def test_programs_are_judged_by_their_means() -> None:
    measured = made(ahead)
    good = replace(measured, applications=of_programs(ifdsink=76.0, tcp_dependency=75.0, srt=30.0))
    assert verdicts(good)[-2:] == [Verdict.HOLDS] * 2
    bad = replace(measured, applications=of_programs(ifdsink=70.0, tcp_dependency=75.0, srt=80.0))
    assert verdicts(bad)[-2:] == [Verdict.FAILS] * 2
    alone = replace(measured, applications=of_programs(ifdsink=70.0))
    assert verdicts(alone)[-2:] == [Verdict.NOT_MEASURED] * 2


def test_where_a_rival_is_ahead_it_is_listed_by_every_measure() -> None:
    assert losses.losses(made(ahead), SHOWN, 1000) == []
    assert losses.losses(made(ahead), FREEZE, 1000) == []
    worse = made(lambda setting, draw: 140 - ahead(setting, draw))
    lost = losses.losses(worse, SHOWN, 1000)
    assert {(one.key[:2], one.rival.method.name) for one in lost} == {
        ((codec, link), "tcp") for codec in ("mpeg2", "h264-pyramid") for link in ("wifi", "narrow")
    }
    assert losses.losses(made(ahead), P95, 1000) == [], "ifd-optimised is ours"
    late = made(lambda setting, draw: ahead(setting, draw) if setting.method == DEFAULT else 30.0)
    slow = {place: [replace(rows[0], latency_p95_ms=100.0)] for place, rows in late.rows.items()}
    slow |= {place: rows for place, rows in late.rows.items() if place[2].startswith(DEFAULT.name)}
    assert losses.losses(replace(late, rows=slow), P95, 1000) == [], "who shows less than half is not counted"


def test_the_outcome_has_every_table_and_the_manual_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = made(ahead)
    rows = [
        replace(row, flow=one.name, shown_percent=80.0 if one.ours else 50.0)
        for row in of_programs(ifdsink=0.0)
        for one in applications.FLOWS
    ]
    told = outcome(replace(measured, applications=rows))
    assert told.headline.startswith("With a start-up of 1 s dependency shows 80.0 % of all frames")
    assert "best limit 60.0 %. 10 of 10 claims hold" in told.headline
    titles = [section.title for section in told.every_section()]
    assert "The programs themselves" in titles and len(titles) == 8
    assert "With the sockets that the programs have" in told.html()
    assert len(list(told.csv_files())[1][1]) == len(measured.seen) * len(measured.plan.settings())
    report = tmp_path / "report.md"
    report.write_text(told.markdown(), encoding="utf-8")
    page = runpy.run_path(str(REPOSITORY / "benches" / "dropping.py"))
    page["_write"].__globals__["DOCS"] = tmp_path
    page["main"](report)
    whole, programs = ((tmp_path / name).read_text() for name in ("dropping.md", "dropping-programs.md"))
    assert whole.startswith("# Frame-aware dropping compared\n\n**In short.** With a start-up of 1 s dependency")
    assert "## Links that nothing was tuned on\n" in whole and "SRT, too-late" not in whole
    assert "`ifdsink` shows 80.0 % of the frames" in programs and "### MPEG-2, IBBP over narrow\n" in programs
    assert all(len(line) <= 120 or line.startswith(("|", "!")) for line in (whole + programs).splitlines())
    report.write_text(outcome(measured).markdown(), encoding="utf-8")
    (tmp_path / "dropping-programs.md").unlink()
    page["main"](report)
    assert not (tmp_path / "dropping-programs.md").exists(), "what was not measured stays as it was"
    assert (tmp_path / "dropping.md").read_text().count("## ") > 6


def test_a_disturbed_flow_is_run_again_and_the_best_try_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def run(scenario: Mapping[str, Any], out: Path) -> None:
        ran.append(out)
        (out / "captures").mkdir(parents=True)
        (out / "run.json").write_text('{"kernel": {"settings": {"net.ipv4.tcp_congestion_control": "cubic"}}}')

    disturbed = iter([(True, True, False), (True, False, False), (False, True, True)] * 99)

    def rows(_directory: Path, case: Any, names: Mapping[str, int]) -> list[Row]:
        found = zip(names, next(disturbed), strict=True)
        return [Row(case[0], case[1].name, 1, name, 50.0, 1.0, disturbed=is_so) for name, is_so in found]

    monkeypatch.setattr(framewire, "run", run)
    monkeypatch.setattr(applications, "_rows", rows)
    limits = []

    def limit(codec: str, link: str, method: Any) -> int:
        limits.append((codec, link, method.name))
        return 500

    told: list[Any] = []
    found = applications.carry_out(SMALL, limit, tmp_path, told.append)
    assert len(ran) == 9, "three tries of three batches"
    assert [row.flow for row in found] == [one.name for one in applications.FLOWS]
    assert sum(row.disturbed for row in found) == 3, "the second try has the fewest"
    assert {name for _, _, name in limits} == {"tcp+keyframe", "tcp+leaky", "tcp+dependency"}
    assert not list(tmp_path.rglob("captures"))
    again = applications.carry_out(SMALL, limit, tmp_path, told.append)
    assert again == found and len(ran) == 9, "what was run is found again"


def test_limits_of_programs_are_in_their_own_units() -> None:
    by_name = {one.name: one for one in applications.FLOWS}
    assert "max-size-time=500000000 " in by_name["ifdqueue"].flow(500)["sender"]["pipeline"]
    policy = by_name["recover-policy"].flow(1_000)["sender"]
    assert "units-soft-max=25 " in policy["pipeline"] and policy["listens"]
    assert by_name["tcp"].flow(None) == {"name": "tcp", "transport": "tcp"}
    assert pl.Series([one.name for one in applications.FLOWS]).is_unique().all()
