"""By which transport a client was sent a movie: in the ledger of the answer, at its own end, and in the run of both."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_serving import FRAMES, encode, serving

from framewire import as_decoded, stats
from framewire.errors import InputError
from framewire.real import join
from framewire.report.data import load

pytestmark = pytest.mark.real_time

SECONDS = FRAMES // 25


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    film = tmp_path_factory.mktemp("films") / "film.mkv"
    encode(film, SECONDS)
    return film


def document_of(directory: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((directory / "run.json").read_text())
    return document


def received(url: str, out: Path, *options: str) -> None:
    command = [sys.executable, "-m", "framewire", "receive", url, "--out", str(out), *options]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_each_answer_is_of_the_transport_that_its_client_asked_for(film: Path, tmp_path: Path) -> None:
    asked = {
        "http": [("/mp4/film.mp4", "http"), ("/fmp4/film.mp4", "http+fmp4"), ("/ts/film.ts", "http+ts")],
        "rtsp": [("/film.mkv", "rtsp"), ("/film.mkv", "rtsp+udp")],
    }
    for scheme, movies in asked.items():
        last = "/" if scheme == "http" else "/film.mkv"
        with serving(film, tmp_path / scheme, "--pace", "client", scheme=scheme, last=last) as server:
            for number, (path, name) in enumerate(movies):
                options = ["--transport", name] if name == "rtsp+udp" else []
                received(server.url(path), tmp_path / f"{scheme}-{number}", *options)
            server.end()
        for number, (_, name) in enumerate(movies):
            came = tmp_path / f"{scheme}-{number}"
            run = join(tmp_path / scheme, came, tmp_path / f"{scheme}-{number}-joined")
            (flow,) = document_of(run.directory)["flows"]
            assert (flow["name"], flow["transport"]) == (name, name)
            assert set(run.frames["flow"]) == {name} and set(run.summary["transport"]) == {name}
            assert f'transport = "{name}"' in (run.directory / "scenario.toml").read_text()
            assert set(run.frames.filter(track=0)["complete"]) == {True}


def test_ends_that_name_different_transports_are_not_joined(film: Path, tmp_path: Path) -> None:
    with serving(film, tmp_path / "served", "--pace", "client") as server:
        received(server.url("/ts/film.ts"), tmp_path / "came")
        server.end()
    document = document_of(tmp_path / "came")
    document["flows"][0]["transport"] = "http"
    document.pop("checksums")  # as of a directory that somebody has changed
    (tmp_path / "came" / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"it came by http, and .* was sent by http\+ts; a server of an older version"):
        join(tmp_path / "served", tmp_path / "came", tmp_path / "joined")


@pytest.mark.parametrize("path", ["/mp4/film.mp4", "/fmp4/film.mp4", "/ts/film.ts"])
def test_what_a_server_that_was_stopped_did_not_send_is_not_lost(path: str, tmp_path: Path) -> None:
    film = tmp_path / "film.mkv"
    encode(film, 6)
    with serving(film, tmp_path / "served", "--ahead", "0") as server:
        command = [sys.executable, "-m", "framewire", "receive", server.url(path), "--out", str(tmp_path / "came")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as client:
            until = time.monotonic() + 20
            while time.monotonic() < until and not any(
                file.stat().st_size > 20_000 for file in tmp_path.glob("came*/received/movie.h264")
            ):
                time.sleep(0.02)
            _, clients = server.end()
            said, _ = client.communicate(timeout=30)
    assert clients[-1]["ended"] == "the server was stopped", said
    run = join(tmp_path / "served", tmp_path / "came", tmp_path / "joined")
    document = document_of(run.directory)
    assert (run.status, run.failures, document["ended_by"]) == ("partial", (), "interrupted")
    fates = dict(run.frames.filter(track=0).group_by("fate").len().iter_rows())
    assert fates["shown"] > 5 and fates["not offered"] > 50, fates
    assert fates.get("lost", 0) <= 2, "what was under way"


def test_damage_on_the_way_of_datagrams_is_counted_and_scored(film: Path, tmp_path: Path) -> None:
    with (
        serving(film, tmp_path / "served", scheme="rtsp", last="/film.mkv") as server,
        losing(server.port, every=20) as port,
    ):
        received(f"rtsp://127.0.0.1:{port}/film.mkv", tmp_path / "came", "--transport", "rtsp+udp")
        server.end()
    joined = join(tmp_path / "served", tmp_path / "came", tmp_path / "joined")
    (came,) = document_of(tmp_path / "came")["flows"]
    packets, frames = joined.results.packets, joined.frames.filter(track=0)
    lost = packets.filter(pl.col("outcome") == "dropped")
    assert set(lost["cause"]) == {"not received"} and lost.height > 3
    assert frames["complete"].sum() == came["received_frames"] < FRAMES
    assert set(frames.filter(fate="lost")["root_cause"]) == {"not received"}
    run = load(joined.directory)
    (score,), _, missing = as_decoded.measure(run)
    assert not missing and score.flow == "rtsp+udp"
    # Those whose first packet came: of the others there is no beginning that a decoder could have.
    first = packets.filter(pl.col("sequence") < stats.FIRST_OF_SOUND).sort("sequence").group_by("frame").first()
    begun = first.filter(
        pl.col("outcome") != "dropped", pl.col("frame").is_in(frames.filter(~pl.col("complete"))["frame"])
    )
    assert 0 < begun.height == score.damaged <= came["incomplete_frames"]
    assert score.as_decoded_psnr_db is not None and score.discarded_psnr_db is not None
    assert score.as_decoded_psnr_db > score.discarded_psnr_db


@contextmanager
def losing(to: int, *, every: int) -> Iterator[int]:
    """The port of a relay to a server, from which each so manyth datagram of the video does not come."""
    command = [sys.executable, str(Path(__file__).with_name("rtsp_relay.py")), str(to), str(every)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None
            yield int(relay.stdout.readline())
        finally:
            relay.kill()
