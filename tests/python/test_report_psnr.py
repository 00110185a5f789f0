"""What stood on the screen and how it scores, against ffmpeg's own psnr filter."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_run import Delivery, Picture, frame_table, make_movie, prompt, read_pictures, without, write_run

from framewire import checksums
from framewire.playout import Player, play, replayed
from framewire.report import context, filmstrip, psnr
from framewire.report.cut_stream import CutStream
from framewire.report.data import load
from framewire.report.decoding import Plan
from framewire.report.reference_pictures import Original, Received, originals, received

SIZE = (176, 144)


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_movie(tmp_path_factory.mktemp("movie") / "small.m2v")


@pytest.fixture(scope="module")
def pictures(movie: Path) -> list[Picture]:
    return read_pictures(movie)


def measure(run: Path) -> psnr.PsnrResult:
    return psnr.measure(load(run))


def ffmpeg_psnr(movie: Path, on_screen: list[int | None], scratch: Path) -> list[float]:
    """An independent way: the frozen film is written out and ffmpeg compares it with the movie."""
    size = SIZE[0] * SIZE[1]
    command = ["ffmpeg", "-v", "error", "-y", "-i", str(movie), "-vf", "extractplanes=y", "-f", "rawvideo", "-"]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    assert len(raw) == size * len(on_screen)
    black = bytes([16]) * size
    frozen = b"".join(black if slot is None else raw[slot * size : (slot + 1) * size] for slot in on_screen)
    (scratch / "sent.gray").write_bytes(raw)
    (scratch / "frozen.gray").write_bytes(frozen)
    source = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{SIZE[0]}x{SIZE[1]}", "-i"]
    log = scratch / "log"
    compare = ["ffmpeg", "-v", "error", *source, str(scratch / "frozen.gray"), *source, str(scratch / "sent.gray")]
    compare += ["-lavfi", f"psnr=stats_file={log}", "-f", "null", "-"]
    subprocess.run(compare, check=True)
    return [float(value) for value in re.findall(r"psnr_y:(\S+)", log.read_text())]


def test_freezes_score_as_ffmpeg_scores_them(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    missing = {0, 1, 2, 7, 20, 21, 22, 40}
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", without(prompt(pictures), missing))})
    rows = measure(run).table.sort("display")
    on_screen = rows["on_screen"].to_list()
    assert on_screen[0] is None, "the first I frame is lost: the screen starts black"
    expected = ffmpeg_psnr(movie, on_screen, tmp_path)
    ours = rows["psnr_db"].to_list()
    assert [value == float("inf") for value in ours] == [value == float("inf") for value in expected]
    finite = [(a, b) for a, b in zip(ours, expected, strict=True) if b != float("inf")]
    assert len(finite) > 20
    np.testing.assert_allclose(*zip(*finite, strict=True), atol=0.006)  # ffmpeg writes two decimals


def test_undamaged_is_infinite_and_counts_as_the_cap(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", movie, {"tcp": Delivery("tcp", prompt(pictures), datagrams=False)})
    result = measure(run)
    flow = load(run).flows[0]
    assert result.table["mse"].to_list() == [0.0] * len(pictures)
    assert result.mean_db(flow) == psnr.CAP_DB
    assert result.pooled_db(flow) == float("inf")


def test_a_late_frame_is_not_shown_live_but_still_refers(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    arrivals = prompt(pictures)
    late = next(number for number, picture in enumerate(pictures) if picture.kind == "P" and number > 5)
    arrivals[late] = (arrivals[late] or 0) + 1_200_000_000
    run = write_run(tmp_path / "run", movie, {"tcp": Delivery("tcp", arrivals, datagrams=False)})
    result = measure(run)
    assert result.problems == {}
    frozen = result.table.filter(pl.col("mse") > 0)["display"].to_list()
    assert frozen == [pictures[late].display]


def test_a_damaged_picture_is_compared_point_by_point(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", prompt(pictures))})
    path = run / "received" / "udp.m2v"
    data = bytearray(path.read_bytes())
    start = sum(len(picture.data) for picture in pictures[:-1])
    for at in range(start + len(pictures[-1].data) // 2, len(data)):
        data[at] ^= 0x55 if data[at] ^ 0x55 > 1 else 0  # never a start code
    path.write_bytes(data)
    result = measure(run)
    if result.problems:
        pytest.fail(f"the damage should stay inside one picture: {result.problems}")
    worse = result.table.filter(pl.col("mse") > 0)["display"].to_list()
    assert worse == [pictures[-1].display]


@pytest.mark.parametrize("change", ["shorter", "shifted", "gone"])
def test_a_stream_that_does_not_fit_its_ledger_is_refused(
    change: str, movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    deliveries = {"good": Delivery("udp", prompt(pictures)), "bad": Delivery("tcp", prompt(pictures))}
    run = write_run(tmp_path / "run", movie, deliveries)
    path = run / "received" / "bad.m2v"
    data = path.read_bytes()
    if change == "shorter":
        path.write_bytes(data[: len(data) // 2])
    elif change == "shifted":
        path.write_bytes(b"\0" + data[:-1])
    else:
        path.unlink()
    result = measure(run)
    assert set(result.problems) == {"bad"}
    assert "bad.m2v" in result.problems["bad"]
    assert result.table["flow"].unique().to_list() == ["good"]
    strip = filmstrip.make(load(run), psnr.unmeasured())
    assert [row.problem is None for row in strip.rows] == [True, True, False]


def test_a_movie_that_was_moved_is_said_to_be(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", prompt(pictures))})
    description = (run / "run.json").read_text().replace(str(movie), "/nowhere/movie.m2v")
    (run / "run.json").write_text(description)
    result = measure(run)
    assert result.failure == "the movie that was sent is no longer at /nowhere/movie.m2v"
    assert filmstrip.make(load(run), psnr.unmeasured()).failure == result.failure


def test_scores_are_kept_until_something_changes(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", without(prompt(pictures), {3}))})
    first = measure(run)
    with monkeypatch.context() as patch:
        patch.setattr(psnr.Job, "run", lambda *_: pytest.fail("nothing changed, nothing is to be decoded"))
        again = measure(run)
    assert again.table.equals(first.table, null_equal=True)
    write_run(run, movie, {"udp": Delivery("udp", without(prompt(pictures), {4}))})
    assert not measure(run).table.equals(first.table, null_equal=True)


def test_nothing_received_is_a_black_screen(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    nothing: list[int | None] = [None] * len(pictures)
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", nothing)})
    rows = measure(run).table
    assert rows["on_screen"].null_count() == len(pictures)
    assert 0 < float(rows["psnr_db"].max()) < 20  # type: ignore[arg-type]
    cells = filmstrip.make(load(run), psnr.unmeasured()).rows[1].cells
    assert all(cell.picture is None and cell.frozen_s > 0 for cell in cells)


@given(st.lists(st.sampled_from(["shown", "late", "undecodable", "lost"]), min_size=1, max_size=60))
def test_the_screen_shows_the_last_frame_shown(fates: list[str]) -> None:
    slots = range(len(fates))
    arrivals = [None if fate == "lost" else 40 * slot + (1 if fate == "late" else 0)
                for slot, fate in enumerate(fates)]  # fmt: skip
    ledger = pl.DataFrame(
        {"display": slots, "display_ns": [40 * slot for slot in slots], "fate": fates, "arrival_ns": arrivals,
         "arrival_rel_ns": arrivals, "ready_ns": arrivals},
        schema_overrides={"arrival_ns": pl.Int64, "arrival_rel_ns": pl.Int64, "ready_ns": pl.Int64},
    )  # fmt: skip
    live = play(ledger, Player(startup_s=0.0))
    for slot, fate in enumerate(fates):
        source = live.source[slot]
        shown = [earlier for earlier in range(slot + 1) if fates[earlier] == "shown"]
        assert source == (shown[-1] if shown else None)
        assert (live.frozen[slot] == 0) == (fate == "shown")
        assert live.shown[slot] == (fate == "shown")
    runs = re.findall("x+", "".join("." if fate == "shown" else "x" for fate in fates))
    assert live.longest_freeze() == max(map(len, runs), default=0)
    assert live.freezes == [len(run) for run in runs]
    assert replayed(ledger, Player(startup_s=0.0))["fate"].to_list() == fates
    patient = replayed(ledger, Player(startup_s=1e-9))["fate"].to_list()
    assert patient == ["shown" if fate == "late" else fate for fate in fates], "it begins later by what they lack"


def test_a_player_that_waits_falls_behind_and_stays_there(pictures: list[Picture]) -> None:
    arrivals = prompt(pictures)
    late = next(number for number, picture in enumerate(pictures) if picture.kind == "I" and number > 0)
    arrivals[late] = (arrivals[late] or 0) + 3_000_000_000
    ledger = frame_table("tcp", pictures, Delivery("tcp", arrivals), "stall")
    shown_at = play(ledger, Player("stall", 1.0)).shown_at_s
    lag = [at - slot / 25 for slot, at in enumerate(shown_at) if at is not None]
    slot = pictures[late].display
    # The player started 1 s + 20 ms after slot 0 was due. The two pictures before the late one refer to it.
    slot -= 2
    waited = (arrivals[late] or 0) / 1e9 - 1.02 - slot / 25
    assert lag[:slot] == pytest.approx([0.0] * slot, abs=1e-9)
    assert lag[slot:] == pytest.approx([waited] * (len(lag) - slot), abs=1e-9)


def test_filmstrip_looks_before_during_and_after(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    missing = {number for number, picture in enumerate(pictures) if 20 <= picture.display < 30}
    run = write_run(
        tmp_path / "run", movie, {"udp": Delivery("udp", without(prompt(pictures), missing))}, interference=[[0.8, 1.2]]
    )
    strip = filmstrip.make(load(run), psnr.unmeasured())
    during = [moment.disturbed for moment in strip.moments]
    assert during == sorted(during[: during.index(True)]) + [True] * sum(during) + [False] * during[::-1].index(True)
    sent, udp = strip.rows
    assert all(cell.frozen_s == 0 and (cell.picture or "").startswith("data:image/webp") for cell in sent.cells)
    played = play(load(run).frames, Player())
    expected = [played.frozen[moment.slot] / 25 for moment in strip.moments]
    assert [cell.frozen_s for cell in udp.cells] == pytest.approx(expected)
    same = [a.picture == b.picture for a, b in zip(sent.cells, udp.cells, strict=True)]
    assert same == [freeze == 0 for freeze in expected]
    assert True in same
    assert False in same


LOSSES: dict[str, set[int]] = {
    "whole": set(),
    "b": {5, 6, 18},
    "p": {7},
    "i": {13, 40},
    "same": {13, 40},
    "more": {13, 36, 40},
    "start": {0},
}
"""Frames that do not come, in decode order; 13 is the second I frame, 7 the third P frame."""


def several(movie: Path, pictures: list[Picture], run: Path) -> Path:
    """Flows that share most groups of pictures, and lack some of others."""
    flows = {name: Delivery("udp", without(prompt(pictures), missing)) for name, missing in LOSSES.items()}
    return write_run(run, movie, flows)


def decode_all(patch: pytest.MonkeyPatch) -> None:
    """As if nothing were known of what streams decode to."""
    patch.setattr(context._TwoReferences, "unchanged", lambda *_: set())


def test_what_flows_have_in_common_is_decoded_once_and_scored_alike(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = several(movie, pictures, tmp_path / "run")
    known = measure(run)
    (run / psnr.CACHE).unlink()
    decode_all(monkeypatch)
    together = measure(run)
    assert together.problems == known.problems == {} and together.table.equals(known.table)
    decoded: list[int] = []
    original = originals(load(run))[0][0]
    plan = Plan(original)
    for name, flow in zip(LOSSES, original.flows, strict=True):
        one = received(load(run), flow, original)
        part = plan.part(one)
        decoded.append(len(part.frames))
        reference = psnr.luma_checksums(original.stream, original.ledger["frame"].to_list())
        assert psnr.luma_checksums(one.stream, one.decodable) == [reference[slot] for slot in one.slots], name
        if part.frames:
            assert psnr.luma_checksums(one.stream, part.frames) == [reference[slot] for slot in part.slots], name
        assert part.takes_over == (name != "whole"), name
        alone = write_run(
            tmp_path / name, movie, {name: Delivery("udp", without(prompt(pictures), LOSSES[name]))}
        )  # in a run of its own
        assert measure(alone).table.equals(together.of(flow)), name
    count = dict(zip(LOSSES, decoded, strict=True))
    assert count["whole"] == len(pictures), "the first flow has everything decoded"
    assert count["same"] == 0, "another flow lacks the same"
    assert 0 < count["more"] < count["i"] < len(pictures)
    assert 0 < count["b"] < len(pictures)


def test_little_is_decoded_of_the_movie_and_nothing_of_what_is_known_to_be_its_own(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[tuple[str, int]] = []
    feed = CutStream.feed

    def counted(self: CutStream, frames: list[int], sink: Any) -> None:
        fed.append((self.path.name, len(frames)))
        feed(self, frames, sink)

    monkeypatch.setattr(CutStream, "feed", counted)
    runs = {
        name: write_run(tmp_path / name, movie, {name: Delivery("udp", without(prompt(pictures), missing))})
        for name, missing in LOSSES.items()
    }
    counts: dict[str, int] = {}
    for name, run in runs.items():
        fed.clear()
        measure(run)
        assert {path for path, _ in fed} <= {movie.name}
        counts[name] = sum(count for _, count in fed)
    assert counts["whole"] == 0, "nothing differs"
    assert 0 < counts["b"] <= 30, "two groups have frozen pictures"
    assert counts["b"] < counts["more"] <= len(pictures)


def test_pictures_that_are_what_was_sent_are_cut_from_the_movie(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = several(movie, pictures, tmp_path / "run")
    scores = measure(run)
    apart = filmstrip.make(load(run), psnr.unmeasured())
    decoded: list[str] = []
    decode = filmstrip.picked
    monkeypatch.setattr(
        filmstrip, "picked", lambda stream, *more: decoded.append(stream.path.name) or decode(stream, *more)
    )
    assert filmstrip.make(load(run), scores) == apart
    assert decoded == [movie.name]


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "earlier-version"])
def test_scores_that_are_not_what_was_written_are_measured_again(
    sealed: bool, movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", without(prompt(pictures), {7, 20}))})
    description = run / "run.json"
    if sealed:
        description.write_text(json.dumps(checksums.sealed(json.loads(description.read_text()), run, [])))
    before = description.read_bytes()
    truth = measure(run).table
    _, written = checksums.unsealed(json.loads(description.read_text()))
    assert set(written.files) == ({psnr.CACHE} if sealed else set())
    assert sealed or description.read_bytes() == before
    measured: list[str] = []
    job = psnr.Job.run
    monkeypatch.setattr(psnr.Job, "run", lambda self, progress: measured.append("again") or job(self, progress))
    assert measure(run).table.equals(truth) and not measured
    if not sealed:
        return
    cache = run / psnr.CACHE
    whole = cache.read_bytes()
    rows = pl.read_parquet(cache)
    for place in range(4, len(whole) - 8, len(whole) // 40):
        cache.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        measured.clear()
        assert measure(run).table.equals(truth) and measured == ["again"], place
    # Another table, with the right notes: what no format notices.
    notes = pl.read_parquet_metadata(cache)
    own = {key: value for key, value in notes.items() if key.startswith("framewire")}
    rows.with_columns(psnr_db=pl.lit(50.0)).write_parquet(cache, metadata=own)
    assert measure(run).table.equals(truth)


def test_equal_runs_leave_equal_scores_and_another_movie_received_does_not(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    scores = []
    for name in ("first", "second", "another"):
        arrivals = prompt(pictures)
        arrivals[-1] = None if name == "another" else arrivals[-1]
        run = write_run(tmp_path / name, movie, {"udp": Delivery("udp", arrivals)})
        description, received = run / "run.json", [f"received/{path.name}" for path in (run / "received").iterdir()]
        description.write_text(json.dumps(checksums.sealed(json.loads(description.read_text()), run, received)))
        measure(run)
        scores.append((run / psnr.CACHE).read_bytes())
    assert scores[0] == scores[1] != scores[2]


def test_the_last_of_two_reports_made_at_once_leaves_the_checksum_of_what_is_there(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", movie, {"udp": Delivery("udp", prompt(pictures))})
    description, cache = run / "run.json", run / psnr.CACHE
    description.write_text(json.dumps(checksums.sealed(json.loads(description.read_text()), run, [])))
    ours = measure(run)
    noting = psnr.with_file
    turns = []

    def overtaken(document: Any, directory: Path, name: str) -> dict[str, Any] | None:
        """Between the reading of the scores and the note, another report writes and notes its own."""
        sealed = noting(document, directory, name)
        turns.append(name)
        if len(turns) == 1:
            theirs = ours.table.with_columns(psnr_db=pl.lit(1.0))
            theirs.write_parquet(cache, metadata={"framewire_inputs": "another", "framewire_problems": "{}"})
            noted = noting(json.loads(description.read_text()), directory, name)
            description.write_text(json.dumps(noted))
        return sealed

    with monkeypatch.context() as patch:
        patch.setattr(psnr, "with_file", overtaken)
        psnr.write_cache(cache, "mine", ours)
    _, written = checksums.unsealed(json.loads(description.read_text()))
    written.check(run, psnr.CACHE)  # raises where it is not what is there
    assert written.vouches_for(psnr.CACHE)
    assert len(turns) == 3, "noted, found overtaken and noted again, found to be so"
    assert not list(run.glob("*.part"))

    # Where others never stop, nothing is kept that would be called damaged later.
    def restless(document: Any, directory: Path, name: str) -> dict[str, Any] | None:
        cache.write_bytes(cache.read_bytes() + b".")
        return noting(document, directory, name)

    monkeypatch.setattr(psnr, "with_file", restless)
    psnr.write_cache(cache, "mine", ours)
    assert not cache.exists()


def test_a_stream_that_decodes_to_something_else_spoils_no_other(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each flow is then decoded by itself, as if it were alone."""
    run = several(movie, pictures, tmp_path / "run")
    decode_all(monkeypatch)
    truth = measure(run)
    (run / psnr.CACHE).unlink()
    checksums, beside = psnr.luma_checksums, []
    compared = psnr.Compared

    def wrong_of_one(stream: CutStream, frames: list[int]) -> list[int]:
        sums = checksums(stream, frames)
        return [sums[0] ^ 1, *sums[1:]] if stream.path.stem == "i" else sums

    def counted(one: Received, original: Original) -> psnr.Compared:
        beside.append(one.flow.name)
        return compared(one, original)

    monkeypatch.setattr(psnr, "luma_checksums", wrong_of_one)
    monkeypatch.setattr(psnr, "Compared", counted)
    assert measure(run).table.sort("flow", "display").equals(truth.table.sort("flow", "display"))
    assert beside == ["i", "same", "more", "start"], "it, and those that take over from flows before"
