"""Adaptive streams of a ladder and bulk connections as flows of a scenario, from the file to the report."""

from __future__ import annotations

import io
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import framewire
from framewire import content, report
from framewire.errors import InputError
from framewire.movie import ladder
from framewire.report import filmstrip, plot_data, psnr
from framewire.report.data import load as load_run
from framewire.terminal import comparison

REPOSITORY = Path(__file__).parents[2]
SECONDS = 12


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    """A streaming file of three levels, 100, 250 and 600 kbit/s."""
    levels = ladder.parse_levels("100 kbit/s, 250 kbit/s, 600 kbit/s", "h264")
    made = ladder.make(codec="h264", levels=levels, duration=SECONDS, cache_dir=lab_cache)
    return made.streaming_file


@pytest.fixture(scope="module")
def run(film: Path, tmp_path_factory: pytest.TempPathFactory) -> framewire.Run:
    """The example, with a smaller ladder: a connection comes and goes."""
    smaller = {
        "movie.ladder": str(film),
        "network.wire.rate": "1200 kbit/s",
        "flow.reno.start": "3 s",
        "flow.reno.stop": "8 s",
        "flow.reno.connections": 2,
    }
    out = tmp_path_factory.mktemp("runs") / "run"
    return framewire.run(REPOSITORY / "scenarios" / "vtp.toml", set=smaller, out=out, world="simulated")


def test_the_tables_have_levels_where_there_are_levels_and_nothing_of_frames_without_frames(run: framewire.Run) -> None:
    summary = {row["flow"]: row for row in run.summary.iter_rows(named=True)}
    assert (run.status, run.ended_by) == ("complete", None)
    frames = {row["frames"] for flow, row in summary.items() if flow != "reno"}
    assert len(frames) == 1 and summary["vtp"]["frames"] == run.results.meta["ladder"]["frames"]
    fates = ("shown", "late", "undecodable", "lost")
    assert all(
        sum(summary[flow][fate] for fate in fates) == summary[flow]["frames"] for flow in ("vtp", "vtp-hybrid", "fixed")
    )
    assert summary["fixed"]["level_mean"] == 2.0 and summary["fixed"]["level_switches"] == 0
    assert 0.0 <= summary["vtp"]["level_mean"] < 2.0
    bulk = summary["reno"]
    unmeasured = [*fates, "frames", "lost_i", "frame_runs_1", "shed_bytes", "latency_p95_ms", "level_mean", "stalls"]
    assert all(bulk[name] is None for name in unmeasured)
    assert bulk["duration_s"] == 5.0 and 50_000 < bulk["packet_throughput_bps"] < 900_000
    assert set(run.frames["flow"]) == {"vtp", "vtp-hybrid", "fixed"}
    assert set(run.frames.filter(pl.col("flow") == "fixed")["level"]) == {2}
    states = run.results.flows
    assert set(states.filter(pl.col("flow") == "reno")["connection"]) == {0, 1}
    assert states.filter(pl.col("flow") == "vtp")["sending_rate_bps"].drop_nulls().len() > 100
    assert run.results.meta["movie"] is None


def test_what_was_received_decodes_to_the_frames_that_came(run: framewire.Run) -> None:
    kept = run.directory / "received" / "fixed.h264"
    assert not (run.directory / "received" / "reno.m2v").exists()
    command = ["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of", "json"]
    told = json.loads(subprocess.run([*command, str(kept)], check=True, capture_output=True, text=True).stdout)
    complete = run.frames.filter((pl.col("flow") == "fixed") & pl.col("complete")).height
    assert int(told["streams"][0]["nb_read_packets"]) == complete


def test_the_report_draws_cross_traffic_beside_the_streams_and_levels_over_time(run: framewire.Run) -> None:
    html = report.build(run.directory).read_text(encoding="utf-8")
    for said in (
        "Level of each frame",
        "Sending rate of adaptive streams",
        "cross traffic",
        "reno: 2 TCP connections (reno)",
    ):
        assert said in html, said
    opened = load_run(run.directory)
    assert [flow.name for flow in opened.streams] == ["vtp", "vtp-hybrid", "fixed"]
    carried = plot_data.carried(opened, opened.flows[3])
    mbit = float(carried["bps"].sum()) / 1e6
    total = run.summary.filter(pl.col("flow") == "reno").select(pl.col("packet_throughput_bps") * 5e-6).item()
    assert total <= mbit < total + 1.0, "what was in the socket when it was stopped came later"
    assert carried.filter(pl.col("at_s") < 3)["bps"].sum() == 0


def psnr_of_levels(film: Path, scratch: Path) -> dict[int, list[float]]:
    """ffmpeg's own comparison of each level, frame by frame, with the top one."""
    levels = sorted(film.parent.glob("*.h264"))
    assert len(levels) == 3
    told = {}
    for level, path in enumerate(levels):
        log = scratch / f"{level}.log"
        inputs = ["-r", "25", "-i", str(path), "-r", "25", "-i", str(levels[-1])]
        command = ["ffmpeg", "-v", "error", *inputs, "-lavfi", f"psnr=stats_file={log}", "-f", "null", "-"]
        subprocess.run(command, check=True)
        told[level] = [float(value) for value in re.findall(r"psnr_y:(\S+)", log.read_text())]
    return told


def test_pictures_of_a_level_score_what_they_lack_of_the_top_one(
    film: Path, run: framewire.Run, tmp_path: Path
) -> None:
    expected = psnr_of_levels(film, tmp_path)
    result = psnr.measure(load_run(run.directory))
    assert (result.failure, result.problems) == (None, {})
    scored = result.table.join(run.frames, on=["flow", "display"], how="left")
    assert scored.height == run.frames.height
    shown = scored.filter(pl.col("on_screen") == pl.col("display"))
    assert shown.height == run.frames.filter(pl.col("fate") == "shown").height
    for flow, level, display, decibel in shown.select("flow", "level", "display", "psnr_db").iter_rows():
        assert decibel == pytest.approx(expected[level][display], abs=0.01), (flow, display)
    lower = shown.filter(pl.col("level") == 0)
    assert lower.height > 50 and lower["psnr_db"].is_finite().all()
    frozen = scored.filter(pl.col("on_screen") != pl.col("display"))
    assert frozen.height > 0 and frozen["mse"].min() > 0  # type: ignore[operator]


def test_the_filmstrip_has_a_row_for_the_top_level_and_each_stream(run: framewire.Run) -> None:
    strip = filmstrip.make(load_run(run.directory), psnr.unmeasured())
    assert strip.failure is None
    assert [row.label for row in strip.rows] == ["top level", "vtp", "vtp-hybrid", "fixed"]
    assert all(row.problem is None and len(row.cells) == len(strip.moments) for row in strip.rows)
    top, *_, fixed = strip.rows
    same = [a.picture == b.picture for a, b in zip(top.cells, fixed.cells, strict=True)]
    assert same == [cell.frozen_s == 0 and cell.picture is not None for cell in fixed.cells] and True in same


def test_a_ladder_that_was_moved_is_said_to_be(run: framewire.Run, tmp_path: Path) -> None:
    opened = load_run(run.directory)
    gone = str(tmp_path / "gone.vtp")
    opened.info["ladder"] = opened.info["ladder"] | {"path": gone}
    opened = replace(opened, directory=tmp_path)
    assert psnr.measure(opened).failure == f"the ladder that was sent is no longer at {gone}"
    assert filmstrip.make(opened, psnr.unmeasured()).failure == f"the ladder that was sent is no longer at {gone}"


def test_the_table_on_the_screen_shows_both_kinds(run: framewire.Run) -> None:
    from rich.console import Console

    console = Console(width=140, record=True, file=io.StringIO())
    console.print(comparison(run.summary.iter_rows(named=True)))
    text = console.export_text()
    assert "switches" in text and "reno" in text


def test_others_send_the_top_level_where_they_can(film: Path, tmp_path: Path) -> None:
    flows = "".join(f'[[flow]]\ntransport = "{name}"\n' for name in ("vtp", "tcp"))
    text = f'[movie]\nladder = "{film}"\n[network]\nkind = "wired"\n[network.wire]\nrate = "5 Mbit/s"\n{flows}'
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    tcp = run.summary.filter(pl.col("flow") == "tcp").row(0, named=True)
    assert tcp["shown"] == tcp["frames"] == run.results.meta["ladder"]["frames"]
    top = run.results.meta["ladder"]["levels_bps"][-1]
    assert abs(run.results.meta["movie"]["bitrate"] - top) < 2
    assert run.frames.filter(pl.col("flow") == "tcp")["level"].null_count() == tcp["frames"]


def test_a_campaign_varies_what_they_do(film: Path, tmp_path: Path) -> None:
    scenario = {
        "movie": {"ladder": str(film)},
        "layout": "together",
        "network": {"kind": "wired", "wire": {"rate": "700 kbit/s", "queue": "30 packets", "loss": "1 %"}},
        "flow": [{"transport": "vtp"}, {"transport": "bulk"}],
    }
    axes = {"flow.bulk.connections": [1, 4]}
    metrics = ["shown_percent", "level_mean", "packet_throughput_bps"]
    spec = {"name": "rivals", "scenario": scenario, "axes": axes, "repeats": 2, "metrics": metrics}
    result = framewire.campaign(spec, out=tmp_path / "campaign", jobs=2)
    assert not result.failures
    summary = result.summary
    assert summary.filter(pl.col("flow") == "bulk")["shown"].null_count() == 4
    assert summary.filter(pl.col("flow") == "vtp")["level_mean"].null_count() == 0


def test_files_that_are_no_ladder_are_named(film: Path, tmp_path: Path) -> None:
    def refused(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            content.prepare(framewire.load(f'movie.ladder = "{path}"\n[[flow]]\ntransport = "vtp"'))
        return str(caught.value)

    assert "movie.ladder" in refused(tmp_path / "absent.vtp") and "no such file" in refused(tmp_path / "absent.vtp")
    assert "lab-" not in refused(tmp_path / "absent.vtp")
    assert refused(tmp_path / "mild").endswith('; the lab\'s own is "lab-mild"')
    cut = tmp_path / "cut.vtp"
    cut.write_bytes(film.read_bytes()[:50_000])
    assert "movie.ladder" in refused(cut)
