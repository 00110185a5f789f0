"""The head of a report, the link behind its curves, and the scenario that a reader elsewhere can run again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from framewire.report import portable_scenario
from framewire.report.capacity import of_link
from framewire.report.data import ReportRun, load
from framewire.report.facts import facts
from framewire.report.figures.over_time import frame_throughput
from framewire.report.page import versions
from framewire.scenario import Scenario
from framewire.scenario import load as load_scenario

WIRE = {"rate": "8 Mbit/s", "delay": "20 ms", "queue": "100 ms", "loss": "1 %"}


def scenario(*, wire: dict[str, Any] | None = None, network: dict[str, Any] | None = None, **others: Any) -> Scenario:
    """One flow over a wire, or over another network with it."""
    wire = WIRE if wire is None else wire
    network = {"kind": "wired", "bottleneck": "remote"} if network is None else network
    return load_scenario({"network": network | {"wire": wire}, "flow": [{"transport": "udp"}], **others})


@pytest.fixture
def run() -> ReportRun:
    found = load(REPOSITORY / "tests/golden/format-3")
    found.scenario = scenario()
    return found


def test_the_head_names_the_network_and_the_movie(run: ReportRun) -> None:
    assert dict(facts(run))["network"] == ("wired, 8 Mbit/s, 20 ms each way, queue 100 ms, loss 1 %, bottleneck remote")
    run.scenario = scenario(wire=WIRE | {"jitter": "5 ms", "outages": [["1 s", "2 s"]]})
    assert "jitter up to 5 ms, queue 100 ms, loss 1 %, outages 1 s to 2 s" in dict(facts(run))["network"]
    run.scenario = scenario(network={"kind": "wifi", "wifi": {"standard": "802.11b", "rate": "auto", "retry": 4}})
    told = dict(facts(run))["network"]
    assert told.startswith("wifi, 802.11b, automatic rate, 4 transmissions at most, queue of the access point ")
    assert ", bottleneck local-device; behind it a wire: 8 Mbit/s, 20 ms each way" in told
    run.info["movie"] = {"width": 720, "height": 576, "frame_rate": 25.0}
    run.scenario = scenario(movie={"source": "/home/me/film.mp4", "bitrate": "1 Mbit/s", "codec": "h264"})
    assert dict(facts(run))["movie"].startswith("film.mp4, h264, 720x576, 25 frames/s"), "as it was asked for"
    run.scenario = scenario(movie={"source": "lab"})
    assert dict(facts(run))["movie"].startswith("the lab's test movie, 720x576")


@pytest.mark.parametrize(
    ("ending", "begin", "said"),
    [
        ("m2v", "00 00 01 B3 2D 02 40 33 00 00 01 B5 14", "MPEG-2"),
        ("m2v", "00 00 01 B3 2D 02 40 33 00 00 01 B8 00", "MPEG-1"),
        ("h264", "00 00 00 01 67 42 C0 1E", "H.264"),
        ("h265", "00 00 00 01 40 01 0C 01", "H.265"),
        ("obu", "12 00 0A 0B", "AV1"),
    ],
)
def test_the_head_names_the_codec_of_the_movie_that_is_there(
    ending: str, begin: str, said: str, run: ReportRun, tmp_path: Path
) -> None:
    film = tmp_path / f"film.{ending}"
    film.write_bytes(bytes.fromhex(begin) + bytes(64))
    run.info["movie"] = {"path": str(film), "width": 720, "height": 576, "frame_rate": 25.0}
    run.scenario = scenario(movie={"source": str(film)})
    assert dict(facts(run))["movie"].startswith(f"film.{ending}, {said}, 720x576")


def test_the_link_is_drawn_as_far_as_it_says_something(run: ReportRun) -> None:
    def drawn(rate: str) -> tuple[list[str], str]:
        run.scenario = scenario(wire=WIRE | {"rate": rate})
        figure = frame_throughput(run)
        return [trace["name"] for trace in figure.data], figure.hint

    names, hint = drawn("1 Mbit/s")
    assert names[0] == "link"
    assert "The grey area is what the link can carry (1 Mbit/s)" in hint
    names, hint = drawn("1 Gbit/s")
    assert "link" not in names
    assert "(1 Gbit/s) is far above this plot" in hint
    run.scenario = scenario(network={"kind": "wifi"})
    names = [trace["name"] for trace in frame_throughput(run).data]
    assert "link" not in names, "over the air there is no rate that is always there"


def test_a_trace_is_drawn_second_by_second_and_missed_where_it_is_gone(run: ReportRun, tmp_path: Path) -> None:
    trace = tmp_path / "cell.down"
    trace.write_text("".join(f"{at}\n" for at in [*range(100, 1001, 100), 1500, 2000]))
    wire = {key: value for key, value in WIRE.items() if key != "rate"}
    run.scenario = scenario(wire=wire | {"trace": str(trace)})
    link = of_link(run)
    assert link is not None
    assert link.per_second(4) == [120_000, 24_000, 120_000, 24_000], "1,500 bytes each, repeated"
    assert replace(link, outages=[(0.5, 1.25)]).per_second(2) == [60_000, 18_000]
    assert "trace cell.down (0.1 Mbit/s in the mean)" in dict(facts(run))["network"]
    (tmp_path / "elsewhere.down").write_text("")
    run.scenario = scenario(wire=wire | {"trace": str(tmp_path / "elsewhere.down")})
    assert "trace elsewhere.down, 20 ms" in dict(facts(run))["network"]
    assert "its recording (trace elsewhere.down) is no longer there" in frame_throughput(run).hint


def test_the_scenario_is_shown_without_this_machines_directories(run: ReportRun) -> None:
    sender = ["/opt/mine/sender", "--to={receiver}:{port}", "/usr/bin/true", "/dev/stdin"]
    run.scenario = scenario(movie={"source": "/home/me/My Films/film.mp4"}, wire={"trace": "/data/a.down"})
    run.scenario_text = (
        f'[movie]\nsource = "/home/me/My Films/film.mp4"\n[network.wire]\ntrace = "/data/a.down"\n'
        f"[[flow]]\nsender.command = {json.dumps(sender)}\n"
        'receiver.pipeline = "rtspsrc location=rtsp://{sender}:{port}/live/a ! video/x-h264 '
        '! filesink location=/a/b/c.ts"'
    )
    shown = portable_scenario.portable(run)
    assert shown.files == ["film.mp4", "a.down", "sender", "c.ts"]
    assert 'source = "film.mp4"' in shown.text
    assert 'trace = "a.down"' in shown.text
    assert '"sender", "--to={receiver}:{port}", "/usr/bin/true", "/dev/stdin"' in shown.text
    assert "rtsp://{sender}:{port}/live/a ! video/x-h264 ! filesink location=c.ts" in shown.text
    run.info["movie"] = {"path": "/root/.cache/framewire/movies/lab.m2v"}
    assert dict(versions(run))["movie.path"] == "lab.m2v"
