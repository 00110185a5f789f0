"""Scores of a run as a decoder conceals what is damaged: what came of each frame, and what FFmpeg makes of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import framewire
from framewire import InputError, as_decoded
from framewire.as_decoded.first_bytes import beginning
from framewire.as_decoded.pairs import Pairs, ssim
from framewire.as_decoded.received_parts import Arrival, arrivals
from framewire.cli import app
from framewire.movie.probe import probe
from framewire.psnr import CAP_DB
from framewire.report import comparison, filmstrip, psnr
from framewire.report.cut_stream import H265, coding_of, cut, luma_pictures
from framewire.report.data import ReportRun, load
from framewire.report.decoder import luma, pictures
from framewire.report.outcome import DISCARDED, outcome
from framewire.report.reference_pictures import Original, Pictures
from framewire.report.single_pictures import closure, picked
from framewire.results import RunDirectory

ENCODERS = {
    "m2v": "-c:v mpeg2video -g 12 -bf 2",
    "h264": "-c:v libx264 -x264-params keyint=25:bframes=3:scenecut=0:threads=1:slices=3",
    "h265": "-c:v libx265 -x265-params keyint=25:bframes=3:open-gop=0:scenecut=0:pools=none:log-level=none",
}
LOSSY = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\nloss = "3 %"\n'


@pytest.fixture(scope="module", params=ENCODERS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReportRun:
    """Three seconds over a wire that loses packets, and over TCP."""
    directory = tmp_path_factory.mktemp(request.param)
    film = directory / f"film.{request.param}"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x192:r=25:d=3,noise=alls=20:allf=t", "-pix_fmt", "yuv420p"]
    subprocess.run(
        ["ffmpeg", "-v", "error", *picture, *ENCODERS[request.param].split(), "-b:v", "1500k", film], check=True
    )
    (directory / "lossy.toml").write_text(
        f'movie = {{ source = "{film}" }}\n{LOSSY}'
        + "".join(f'[[flow]]\ntransport = "{name}"\n' for name in ("udp", "tcp", "ts+rtp"))
    )
    return load(framewire.run(directory / "lossy.toml", world="simulated", out=directory / "run").directory)


@pytest.fixture(scope="module")
def scored(run: ReportRun) -> tuple[list[as_decoded.Score], pl.DataFrame]:
    scores, table, missing = as_decoded.measure(run)
    assert not missing
    return scores, table


def original_of(run: ReportRun) -> Original:
    (original,), problems = Pictures(run).originals
    assert not problems
    return original


def test_what_the_packets_of_a_frame_carry_is_the_frame(run: ReportRun) -> None:
    """Held against frames that came whole: all their packets carry all their bytes, and one packet less does not."""
    original, (udp, *_) = original_of(run), run.streams
    packets = run.packets.filter((pl.col("flow") == udp.name) & (pl.col("direction") == "forward")).unique("packet")
    carried = dict(packets.group_by("frame").agg((pl.col("payload") - pl.col("headers")).sum()).iter_rows())
    whole = run.ledger(udp).filter(pl.col("complete"))
    assert whole.height > 20
    for frame, size in whole.select("frame", "size").iter_rows():
        all_of_it = beginning(original.stream, Arrival(frame, 0, 0, carried[frame]), 1460)
        code = beginning(original.stream, Arrival(frame, 0, 0, None), 1460)
        assert len(code) == size
        assert all_of_it == code.rstrip(b"\0") or all_of_it == code
        assert len(beginning(original.stream, Arrival(frame, 0, 0, carried[frame] - 1), 1460)) == len(all_of_it) - 1


def test_frames_are_handed_on_up_to_their_first_gap(run: ReportRun) -> None:
    original, (udp, tcp, ts) = original_of(run), run.streams
    ledger = run.ledger(udp)
    came = {one.frame: one for one in arrivals(run, udp)}
    lost = ledger.filter(~pl.col("complete"))
    received = dict(lost.select("frame", "bytes_received").iter_rows())
    damaged = [one for one in came.values() if one.payload is not None]
    assert 10 < len(damaged) <= lost.height
    assert {one.frame for one in damaged} <= {*received}
    for one in damaged:
        assert 0 < (one.payload or 0) <= received[one.frame]
        code = beginning(original.stream, one, 1460)
        assert beginning(original.stream, Arrival(one.frame, 0, 0, None), 1460).startswith(code)
    assert any(one.payload < received[one.frame] for one in damaged if one.payload is not None), (
        "more came behind a gap"
    )
    assert all(one.payload is None for one in arrivals(run, tcp))
    assert len(arrivals(run, tcp)) == run.ledger(tcp).height
    # A transport stream's are taken whole only.
    assert [one.frame for one in arrivals(run, ts)] == run.ledger(ts).filter(pl.col("complete"))["frame"].to_list()


def test_each_picture_comes_out_with_its_number(run: ReportRun) -> None:
    original, (udp, *_) = original_of(run), run.streams
    sent = original.stream
    display = dict(original.ledger.select("frame", "display").iter_rows())
    everything = ((display[frame], beginning(sent, Arrival(frame, 0, 0, None), 1460)) for frame in display)
    shape = original.width, original.height
    known = [*luma_pictures(sent, [*display], *shape)]
    assert [*pictures(sent.coding, *shape, everything)] == [*enumerate(known)]
    # Of what lost packets as many pictures come, and those before the first damage are the movie's own.
    came = arrivals(run, udp)
    found = dict(pictures(sent.coding, *shape, ((one.display, beginning(sent, one, 1460)) for one in came)))
    assert {*found} == {one.display for one in came}
    first = min(one.frame for one in came if one.payload is not None)
    early = [slot for frame, slot in display.items() if frame < first and slot in found]
    assert all(found[slot] == known[slot] for slot in early)
    assert sum(picture != known[slot] for slot, picture in found.items()) > 5


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("h264", "open-gop=1:keyint=25:bframes=3:b-pyramid=normal:scenecut=0"),
        ("h265", "open-gop=1:keyint=25:bframes=3"),
    ],
)
def test_a_picture_keeps_its_number_where_the_decoder_loses_the_order(codec: str, options: str, tmp_path: Path) -> None:
    film = tmp_path / f"film.{codec}"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x192:r=25:d=12,noise=alls=20:allf=t", "-pix_fmt", "yuv420p"]
    named = "x264" if codec == "h264" else "x265"
    more = ":threads=1" if codec == "h264" else ":pools=none:log-level=none"
    encoder = ["-c:v", f"lib{named}", "-b:v", "300k", f"-{named}-params", options + more]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *encoder, film], check=True)
    columns = probe(film).frames
    frames = pl.DataFrame({name: list(columns[name]) for name in ("display", "size")}).with_row_index("frame")
    coding = coding_of(film)
    stream = cut(film, frames.select("frame", "size"), coding, whole_file=True)
    display = dict(frames.select("frame", "display").iter_rows())
    known = {picture: slot for slot, picture in enumerate(luma_pictures(stream, [*display], 320, 192))}
    came = [frame for frame in display if not 60 <= frame < 230]  # more than half a turn of the picture order count
    given = ((display[frame], beginning(stream, Arrival(frame, 0, 0, None), 1460)) for frame in came)
    found = [*pictures(coding, 320, 192, given)]
    exact = [(number, known[picture]) for number, picture in found if picture in known]
    assert len(exact) > 60
    assert all(number == slot for number, slot in exact)
    assert {number for number, _ in found} <= {display[frame] for frame in came}


def test_what_came_of_open_groups_is_scored(tmp_path: Path) -> None:
    """A decoder that is given only what can be decoded loses its order at other gaps than those that came."""
    film = tmp_path / "film.h264"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x192:r=25:d=6,noise=alls=20:allf=t", "-pix_fmt", "yuv420p"]
    options = ["-x264-params", "open-gop=1:keyint=25:bframes=3:threads=1:scenecut=0"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-c:v", "libx264", "-b:v", "400k", *options, film], check=True)
    (tmp_path / "lossy.toml").write_text(
        f'seed = 3\nmovie = {{ source = "{film}" }}\n{LOSSY}[[flow]]\ntransport = "udp"\n'
    )
    run = load(framewire.run(tmp_path / "lossy.toml", world="simulated", out=tmp_path / "run").directory)
    ledger = run.ledger(run.streams[0])
    assert (ledger["complete"] & ~ledger["decodable"]).any(), "something came that cannot be decoded"
    scores = psnr.measure(run)
    assert scores.failure is None and not scores.problems
    (score,), _, missing = as_decoded.measure(run)
    assert not missing and score.discarded_psnr_db == pytest.approx(scores.mean_db(run.streams[0]), abs=1e-9)
    # Whatever is shown in its turn is the picture that was sent.
    rows = scores.of(run.streams[0])
    assert (rows.filter(pl.col("on_screen") == pl.col("display"))["mse"] == 0).all()
    # So is each of a few, for which a decoder is given only their groups.
    original, pictures_of = original_of(run), Pictures(run)
    received, size = pictures_of.received(run.streams[0], original), (original.width, original.height)
    sent = [*luma_pictures(original.stream, original.ledger["frame"].to_list(), *size)]
    shown = {slot for slot in received.display.source if slot is not None}
    whole = ledger.filter(pl.col("complete"))
    for wanted in (shown, {slot for slot in shown if slot >= 75}):
        needed = closure(whole, original.stream.coding, wanted)
        found = dict(picked(received.stream, size, needed, wanted, luma(*size)))
        assert wanted and found == {slot: sent[slot] for slot in wanted}
    found_strip = filmstrip.make(run, scores)
    assert [row.problem for row in found_strip.rows] == [None, None]


def test_scores_stand_side_by_side(run: ReportRun, scored: tuple[list[as_decoded.Score], pl.DataFrame]) -> None:
    (udp, tcp, ts), table = scored
    assert (tcp.discarded_psnr_db, tcp.as_decoded_psnr_db) == (CAP_DB, CAP_DB)
    assert tcp.discarded_ssim == tcp.as_decoded_ssim == 1.0
    assert (tcp.damaged, ts.damaged) == (0, None), "of a transport stream that is not passed on they are not counted"
    # Nor is anything of them kept: what a decoder makes of all that arrived is not known.
    assert not run.ledger(run.streams[2])["complete"].all() and ts.discarded_psnr_db < CAP_DB
    assert (ts.as_decoded_psnr_db, ts.as_decoded_ssim) == (None, None)
    assert udp.damaged == sum(one.payload is not None for one in arrivals(run, run.streams[0]))
    # Many frames are damaged: what is concealed is more like the movie than what stood still. By PSNR that of H.265 is
    # not, where FFmpeg puts grey in the place of what is missing.
    assert 1 > udp.as_decoded_ssim > udp.discarded_ssim + 0.1
    assert udp.as_decoded_psnr_db > udp.discarded_psnr_db + 1 or original_of(run).stream.coding is H265
    scores = psnr.measure(run)
    assert udp.discarded_psnr_db == pytest.approx(scores.mean_db(run.streams[0]), abs=1e-9), "as the report has it"
    rows = table.filter((pl.col("flow") == "udp") & pl.col("as_decoded"))
    assert rows["display"].to_list() == [*range(run.frame_count)]


def test_a_report_made_afterwards_shows_both_and_says_on_which_its_verdict_rests(
    run: ReportRun, scored: tuple[list[as_decoded.Score], pl.DataFrame]
) -> None:
    compared = psnr.measure(run)
    before = outcome(load(run.directory), compared).verdict
    assert [str(one) for one in before.caveats].count(str(DISCARDED)) == 1, "said where it is not known how it would be"
    assert DISCARDED not in outcome(load(run.directory), psnr.unmeasured()).verdict.caveats, "no picture took part"
    as_decoded.write(run, scored[1])
    scored = load(run.directory)
    assert DISCARDED not in outcome(scored, compared).verdict.caveats
    said = " ".join(outcome(scored, compared).verdict.caveats)
    assert "a receiver that discards damaged frames. One that conceals them would show udp with " in said
    found = outcome(scored, psnr.unmeasured())
    titles = [column.title for column in comparison.columns(found.flows)]
    assert "decoded PSNR" in titles and "decoded SSIM" in titles
    assert found.verdict.best == ["tcp"] and "discards damaged frames" not in " ".join(found.verdict.caveats)
    # Had TCP the worse picture of the two, the verdict would say so.
    worse = pl.when(pl.col("flow") != "udp").then(pl.lit(10.0)).otherwise("psnr_db").alias("psnr_db")
    scored.as_decoded = scored.as_decoded.with_columns(worse)
    said = " ".join(outcome(scored, psnr.unmeasured()).verdict.caveats)
    assert "One that conceals them would show udp with " in said and "what is chosen with 10.0 dB" in said
    (run.directory / as_decoded.FILE).unlink()
    assert "decoded PSNR" not in [
        column.title for column in comparison.columns(outcome(load(run.directory), psnr.unmeasured()).flows)
    ]


def test_similarity_is_that_of_each_pair() -> None:
    one, other = bytes(range(256)) * 16, bytes(64 * 64)
    with Pairs(ssim(), 64, 64) as similarity:
        for pair in ((one, one), (one, other), (other, other), (other, one)):
            similarity.take(*pair)
        same, apart, dark, back = similarity.values()
    assert (same, dark) == (1.0, 1.0)
    assert apart == back < 0.2


def test_the_command_line_prints_and_keeps_the_scores(
    run: ReportRun, scored: tuple[list[as_decoded.Score], pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = as_decoded.measure
    monkeypatch.setattr(
        as_decoded, "measure", lambda _run, _progress, _chosen, _vmaf: (*scored, ["tfrc: it has no pictures"])
    )
    asked = CliRunner().invoke(app, ["score", str(run.directory)])
    assert asked.exit_code == 0, asked.output
    assert "as decoded" in asked.output and "not scored: tfrc: it has no pictures" in asked.output
    kept = RunDirectory(run.directory).table("as_decoded")
    assert kept.height == 5 * run.frame_count, "of three flows both ways, but of the transport stream as decoded"
    told = CliRunner().invoke(app, ["score", str(run.directory), "--json"])
    scores = json.loads(told.stdout)
    mean = kept.filter((pl.col("flow") == "udp") & pl.col("as_decoded"))["psnr_db"].clip(upper_bound=CAP_DB).mean()
    assert [one["flow"] for one in scores] == ["udp", "tcp", "ts+rtp"]
    assert scores[0]["as_decoded_psnr_db"] == pytest.approx(mean)
    # One flow is scored anew, and the others stay.
    monkeypatch.setattr(as_decoded, "measure", measure)
    one = CliRunner().invoke(app, ["score", str(run.directory), "udp", "--json"])
    assert [again["flow"] for again in json.loads(one.stdout)] == ["udp"]
    order = ["flow", "as_decoded", "display"]
    assert RunDirectory(run.directory).table("as_decoded").sort(order).equals(kept.sort(order))
    unknown = CliRunner().invoke(app, ["score", str(run.directory), "nosuch"])
    assert unknown.exit_code == 2 and "nosuch: the run has no such flow; it has udp" in unknown.stderr
    kept_at = run.directory / as_decoded.FILE
    kept_at.write_bytes(kept_at.read_bytes()[:-9] + b"overwrite")
    with pytest.raises(InputError, match=r"as_decoded\.parquet"):
        RunDirectory(run.directory).table("as_decoded")
