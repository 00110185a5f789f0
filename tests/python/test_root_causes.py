"""What a report blames: the root cause of all frames that a viewer missed, not only of those that were lost."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import framewire
from framewire import burst_losses, movie, report, stats
from framewire.render import screens
from framewire.report.data import ReportRun, load
from framewire.report.figures import losses
from framewire.report.metrics import metrics
from framewire.report.psnr import unmeasured

LINK = "on the link"
QUEUE = "queue in the network"


def ran(directory: Path, cache: Path, queue: str, loss: str) -> ReportRun:
    """I frames, of up to 120 kB, leave in one burst, and any packet may be lost."""
    film = movie.make(3_000_000, 4, cache_dir=cache).path
    wire = f'[network.wire]\nrate = "12 Mbit/s"\nqueue = "{queue}"\nloss = "{loss}"\n'
    flows = '[[flow]]\ntransport = "rtp"\n[[flow]]\ntransport = "tcp"\n'
    text = f'movie = {{ source = "{film}" }}\n[network]\nkind = "wired"\n{wire}{flows}'
    return load(framewire.run(text, world="simulated", out=directory).directory)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, lab_cache: Path) -> ReportRun:
    """The queue has no room for most I frames; most frames that are lost are others, on the link."""
    return ran(tmp_path_factory.mktemp("full") / "run", lab_cache, "32 KiB", "1 %")


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory, lab_cache: Path) -> ReportRun:
    return ran(tmp_path_factory.mktemp("roomy") / "run", lab_cache, "500 KiB", "1 %")


def missing(run: ReportRun) -> pl.DataFrame:
    return run.frames.filter((pl.col("flow") == "rtp") & pl.col("fate").is_in(["lost", "undecodable"]))


def share_of(rows: pl.DataFrame, cause: str) -> float:
    return rows.filter(pl.col("root_cause") == cause).height / rows.height


def test_the_scenarios_tell_the_two_apart(full: ReportRun, roomy: ReportRun) -> None:
    of_full = missing(full)
    assert share_of(of_full.filter(pl.col("fate") == "lost"), "random loss") > 0.5, (
        "by lost frames alone it is the link"
    )
    assert share_of(of_full, "queue full") > 0.55
    assert share_of(missing(roomy), "random loss") == 1.0


def test_the_verdict_blames_what_frames_go_back_to(full: ReportRun, roomy: ReportRun) -> None:
    for run, where, cause, other in ((full, QUEUE, "queue full", LINK), (roomy, LINK, "random loss", QUEUE)):
        (account,) = [str(one) for one in report.judge(run.directory).others if "rtp" in one]
        rows = missing(run)
        share = 100 * share_of(rows, cause)
        assert f"the root cause of {f'{share:.1f}' if share < 100 else '100'} % of these: {where} ({cause});" in account
        assert other not in account
        of_rtp, of_tcp = (metrics(run, flow, unmeasured()) for flow in run.flows)
        assert sum(of_rtp.causes.values()) == rows.height
        assert of_tcp.causes == {} and of_tcp.causes_by_place == {}


def test_the_plot_and_the_table_count_each_frame_at_its_root_cause(full: ReportRun) -> None:
    figure, rows = losses.by_place(full), missing(full)
    drawn = {trace["name"]: trace["x"] for trace in figure.data}
    for name, cause in ((QUEUE, "queue full"), (LINK, "random loss")):
        of_rtp, of_tcp = drawn[name]
        assert of_rtp == pytest.approx(100 * share_of(rows, cause) * rows.height / full.frame_count, abs=1e-3)
        assert of_tcp == 0
    assert "Lost and undecodable frames" in figure.hint
    table = stats.loss_by_place(full.frames).filter(pl.col("flow") == "rtp")
    assert table["undecodable"].sum() == rows.filter(pl.col("fate") == "undecodable").height
    assert table["lost"].sum() == rows.filter(pl.col("fate") == "lost").height


def test_spread_is_advised_where_most_of_what_is_missing_goes_back_to_bursts(full: ReportRun, roomy: ReportRun) -> None:
    assert full.scenario is not None and roomy.scenario is not None
    (note,) = burst_losses.notes(full.scenario, full.frames)
    rows = missing(full)
    of_queue = rows.filter(pl.col("root_cause") == "queue full").height
    assert note.startswith(f"of 100 frames of rtp {rows.height} were lost or could not be decoded, {of_queue} of them ")
    assert burst_losses.notes(roomy.scenario, roomy.frames) == []


def test_a_film_says_where_it_began(full: ReportRun) -> None:
    rtp = next(screen for screen in screens.of_run(full)[0] if screen.label == "rtp")
    said = set(rtp.missing)
    assert f"undecodable ({QUEUE})" in said and f"lost ({LINK})" in said and "" in said
