"""Runs that were ended early: shares are of the frames that were offered, and the rest is told, not called lost."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from report_run import Delivery, Picture, make_movie, prompt, read_pictures, without, write_run

from framewire.report import comparison, filmstrip, judge, psnr
from framewire.report.data import ReportRun, load
from framewire.report.endings import not_offered
from framewire.report.figures import losses
from framewire.report.metrics import Metrics, metrics
from framewire.report.outcome import outcome
from framewire.report.palette import FATE_COLOURS
from framewire.report.timeline import fate_strip, rgb


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_movie(tmp_path_factory.mktemp("movie") / "small.m2v")


@pytest.fixture(scope="module")
def pictures(movie: Path) -> list[Picture]:
    return read_pictures(movie)


def ended_after(count: int, pictures: list[Picture], lost: set[int], **more: str) -> Delivery:
    """Given so many frames, of which some were lost on the link."""
    return Delivery("udp", without(prompt(pictures), lost | {*range(count, len(pictures))}), offered=count, **more)  # type: ignore[arg-type]


def measured(run: ReportRun) -> list[Metrics]:
    scores = psnr.measure(run).of_offered(run)
    return [metrics(run, flow, scores) for flow in run.flows]


@pytest.fixture(scope="module")
def half(movie: Path, pictures: list[Picture], tmp_path_factory: pytest.TempPathFactory) -> ReportRun:
    """25 of 50 frames were offered; `a` lost one of them, a B frame."""
    lost = next(number for number, picture in enumerate(pictures) if picture.kind == "B" and number > 5)
    deliveries = {"a": ended_after(25, pictures, {lost}), "b": ended_after(25, pictures, set())}
    return load(write_run(tmp_path_factory.mktemp("runs") / "half", movie, deliveries, status="partial"))


def test_shares_are_of_the_frames_that_were_offered(half: ReportRun) -> None:
    a, b = measured(half)
    assert (a.frames, a.shown, a.lost, a.not_offered) == (25, 24, 1, 25)
    assert (a.shown_share, b.shown_share, b.live_share) == (96.0, 100.0, 100.0)
    assert a.by_place == {"link": 1}
    assert sum(total for _, total in a.by_type.values()) == 25
    assert (a.longest_freeze_s, b.longest_freeze_s) == (0.04, 0.0)
    assert b.psnr_mean_db == psnr.CAP_DB
    shares = {trace["name"]: trace["x"] for trace in losses.by_fate(half).data}
    assert shares["lost"] == [4.0, 0.0]
    places = {trace["name"]: trace["x"] for trace in losses.by_place(half).data}
    assert places["on the link"] == [4.0, 0.0]
    assert places["dropped by the sender's pipeline"] == [0.0, 0.0]
    assert "offered frames" in str(losses.by_type(half).layout)


def test_what_was_not_offered_is_told(half: ReportRun) -> None:
    assert [str(line) for line in not_offered(half)] == [
        "Frames that were not offered are left out of all shares: 25 of 50 by each flow."
    ]
    one, cells = comparison.rows(measured(half))[0]
    titles = [column.title for column in comparison.columns([one])]
    assert dict(zip(titles, cells, strict=True))["not offered"].text == "25"
    picture = Image.open(io.BytesIO(base64.b64decode(fate_strip(half, half.flows[0]).split(",")[1]))).convert("RGB")
    colours = [picture.getpixel((x, 0)) for x in range(picture.width)]
    assert colours.count(rgb(FATE_COLOURS["not offered"])) == 25
    assert max(moment.at_s for moment in filmstrip.moments(half)) < half.offered_seconds < 1.2


@pytest.mark.parametrize(
    ("ended_by", "said"),
    [("interrupted", "was stopped"), ("time limit", "reached its time limit"), (None, "did not come to its end")],
)
def test_the_verdict_says_first_how_much_of_the_movie_the_run_covers(
    ended_by: str | None, said: str, half: ReportRun
) -> None:
    ended = replace(half, info=half.info | {"ended_by": ended_by})
    found = outcome(ended, psnr.unmeasured()).verdict
    begin = f"Provisional, because the run {said} after 50 % of the movie (25 of 50 frames): "
    assert found.sentence.startswith(begin)
    assert (
        outcome(replace(ended, info=ended.info | {"status": "complete"}), psnr.unmeasured()).verdict.provisional is None
    )


def test_flows_that_were_offered_different_parts_are_told_apart(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    deliveries = {"a": ended_after(25, pictures, set()), "<b>": ended_after(40, pictures, set())}
    (line,) = not_offered(load(write_run(tmp_path / "run", movie, deliveries, status="partial")))
    assert "a 25 of 50, &lt;b&gt; 10 of 50. So these shares are of different parts of the movie." in line


def test_a_flow_that_broke_keeps_its_losses(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    broke = ended_after(25, pictures, set(), ended_by="flow failed")
    deliveries = {"broken": broke, "whole": Delivery("tcp", prompt(pictures), datagrams=False)}
    run = load(write_run(tmp_path / "run", movie, deliveries, status="partial"))
    broken, whole = measured(run)
    assert (broken.shown_share, whole.shown_share) == (50.0, 100.0)
    assert not_offered(run) == []
    assert [column.title for column in comparison.columns([broken, whole])] == [c.title for c in comparison.COLUMNS]


def test_nothing_was_offered_at_all(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    from framewire import report

    deliveries = {name: ended_after(0, pictures, set()) for name in ("a", "b")}
    text = report.build(write_run(tmp_path / "run", movie, deliveries, status="partial")).read_text()
    assert "50 of 50 by each flow" in text
    assert "Nothing was measured" in text


def test_a_verdict_without_a_report_reads_no_table_that_grows_with_every_packet(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    deliveries = {"a": Delivery("udp", without(prompt(pictures), {9})), "b": Delivery("tcp", prompt(pictures))}
    run = write_run(tmp_path / "run", movie, deliveries)
    told = judge(run).as_json()
    assert told["best"] == ["b"]
    for name in ("packets", "flows", "accuracy"):
        (run / f"{name}.parquet").unlink()
    assert judge(run).as_json() == told
    assert load(run, drawn=False).notes == [] and len(load(run).notes) == 3


@pytest.mark.parametrize(
    ("failure", "of_machine"),
    [
        ("receiver: received movie cannot be written: File too large (os error 27)", True),
        ("receiver: received movie cannot be written: No space left on device (os error 28)", True),
        ("sender: Connection reset by peer (os error 104)", False),
        ("the application ended with status 27", False),
    ],
)
def test_a_flow_that_the_machine_cut_off_is_partial_and_none_is_chosen(
    failure: str, of_machine: bool, movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    deliveries = {name: Delivery("tcp", prompt(pictures)) for name in ("cut", "whole")}
    run = load(write_run(tmp_path / "run", movie, deliveries, status="partial"))
    run.info["flows"][0]["failure"] = failure
    found = outcome(run, psnr.unmeasured()).verdict
    caveats = " ".join(text.striptags() for text in found.caveats)
    if of_machine:
        why = failure.partition(" (os")[0]
        expected = f"this machine cut off cut ({why})"
        assert found.sentence == f"Nothing is chosen: {expected}." and not found.best
        assert "cut is partial" in caveats and "no fault of it" in caveats
    else:
        assert found.best and "cut failed" in caveats and "its own loss" in caveats
