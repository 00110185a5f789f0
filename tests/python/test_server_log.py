"""What a server says of its clients, and which of its answers is whose."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from test_serving import FRAMES, RUNNER, folder, serving

from framewire import report
from framewire.cli import app
from framewire.errors import InputError
from framewire.real import join
from framewire.real.ends import ask

__all__ = ["folder"]

pytestmark = pytest.mark.real_time


def test_an_answer_and_its_receiver_are_told_from_all_others(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    with serving(folder / "film.mkv", first, "--pace", "client") as server:
        server.get("/mp4/film.mp4")  # by another program, and whole
        ask(server.url("/mp4/film.mp4"), out=one)
        ask(server.url("/ts/film.ts"), out=two)
        document, clients = server.end()
    with serving(folder / "film.mkv", second, "--pace", "client") as server:
        ask(server.url("/mp4/film.mp4"), out=other)
        server.end()
    looks = [client for client in clients if client["user_agent"].endswith("(look)")]
    assert {client["ended"] for client in looks} == {"looked at"} and len(looks) == 2
    assert (document["answers"], document["cut_short"], document["ledgers"]) == (5, 0, 3)
    by_what = {}
    for ledger in (first / "clients").iterdir():
        described = json.loads((ledger / "run.json").read_text())
        by_what[described["served"]["what"], described["session"] is None] = ledger
    assert set(by_what) == {("/mp4/film.mp4", True), ("/mp4/film.mp4", False), ("/ts/film.ts", False)}
    # Of a server's directory that answer is taken which is to this receiver, whichever is named first.
    for receiver, what in ((one, "/mp4/film.mp4"), (two, "/ts/film.ts")):
        run = join(receiver, first, tmp_path / f"joined-{receiver.name}")
        assert set(run.frames.filter(track=0)["fate"]) == {"shown"}
        assert json.loads((run.directory / "run.json").read_text())["session"] == _session(by_what[what, False])
    for ledger, receiver, reasons in (
        (by_what["/mp4/film.mp4", True], one, ["no receiver of framewire's", str(by_what["/mp4/film.mp4", False])]),
        (by_what["/ts/film.ts", False], one, ["another stream", str(by_what["/mp4/film.mp4", False])]),
        (by_what["/mp4/film.mp4", False], other, ["another stream", "none of this server's answers"]),
    ):
        with pytest.raises(InputError) as caught:
            join(ledger, receiver, tmp_path / "none")
        for reason in (*reasons, str(ledger), str(receiver)):
            assert reason in str(caught.value)
    with pytest.raises(InputError, match=r"(?s)none of the answers of the server .*receive at .*, /ts/film.ts"):
        join(first, other, tmp_path / "none")
    # A receiver that asked nobody, as one of another program's stream.
    silent = json.loads((one / "run.json").read_text()) | {"session": None}
    del silent["checksums"]
    (one / "run.json").write_text(json.dumps(silent))
    with pytest.raises(InputError, match="nothing says that it is the end of"):
        join(by_what["/mp4/film.mp4", False], one, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def _session(ledger: Path) -> str | None:
    session: str | None = json.loads((ledger / "run.json").read_text())["session"]
    return session


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_what_came_by_rtsp_is_compared_picture_by_picture(codec: str, folder: Path, tmp_path: Path) -> None:
    """A description brings parameter sets, which stand in front of the movie as received: no part of a frame."""
    film = tmp_path / "film.mkv"
    options = ["-c:v", codec, "-x265-params", "log-level=none"] if codec == "libx265" else ["-c:v", codec]
    command = ["ffmpeg", "-v", "error", "-i", str(folder / "film.mkv"), "-an", *options, "-g", "25", str(film)]
    subprocess.run(command, check=True)
    served, came = tmp_path / "served", tmp_path / "came"
    with serving(film, served, scheme="rtsp", last="/film.mkv") as server:
        ask(server.url("/film.mkv"), out=came)
        server.end()
    described = json.loads((came / "run.json").read_text())["flows"][0]
    (received,) = (came / "received").iterdir()
    assert received.stat().st_size == described["received_bytes"] + described["parameter_set_bytes"]
    assert described["parameter_set_bytes"] > 20
    run = join(served, came, tmp_path / "joined")
    (kept,) = (run.directory / "received").iterdir()
    assert kept.read_bytes() == received.read_bytes()[described["parameter_set_bytes"] :]
    path = report.write(run.directory).path
    assert "no pictures are compared" not in path.read_text()
    pictures = pl.read_parquet(run.directory / "psnr.parquet")
    assert pictures.height > 0 and pictures["psnr_db"].is_not_null().any()


def test_every_request_is_on_the_console_and_in_the_record(folder: Path, tmp_path: Path) -> None:
    with serving(folder / "film.mkv", tmp_path / "served", "--pace", "client") as server:
        assert (server.status("/mp4/flim.mp4"), server.status("/film.mkv", "-X", "PUT")) == (404, 405)
        assert server.status("/film.mkv", "-I") == 200
        ask(server.url("/mp4/film.mp4"), out=tmp_path / "came")
        server.process.terminate()
        out, said = server.process.communicate(timeout=20)
    for line in (
        "GET /mp4/flim.mp4 refused: 404 Not Found",
        "PUT /film.mkv refused: 405 Method Not Allowed",
        "HEAD /film.mkv complete",
        "looked at: what framewire receive does first",
    ):
        assert said.count(line) == 1, said
    assert "3 answers to " in out and "cut short" not in out and "2 requests refused" in out
    assert "framewire receive at 127.0.0.1:" in out and "/mp4/film.mp4, complete" in out
    lines = [json.loads(line) for line in (tmp_path / "served" / "clients.ndjson").read_text().splitlines()]
    assert [line["ended"] for line in lines] == ["refused", "refused", "complete", "looked at", "complete"]
    assert lines[0]["user_agent"].startswith("curl/")
    done = RUNNER.invoke(app, ["report", str(tmp_path / "served"), str(tmp_path / "came")])
    assert done.exit_code == 0, done.output


def test_a_form_without_the_sound_is_named_and_so_is_how_far_it_has_come(folder: Path, tmp_path: Path) -> None:
    films = tmp_path / "films"
    films.mkdir()
    copied = ["ffmpeg", "-v", "error", "-i", str(folder / "film.mkv"), "-c:v", "copy"]
    subprocess.run([*copied, "-c:a", "libopus", str(films / "opus.mkv")], check=True)
    subprocess.run([*copied, "-c:a", "copy", str(films / "aac.mkv")], check=True)
    with serving(films, tmp_path / "served", "--pace", "client") as server:
        page = server.get("/").decode()
        server.end()
    assert page.count("with sound") == 2 and page.count("with sound, http+ts without its sound") == 1
    assert "opus.mkv: http+ts without its sound: http+ts sends a transport stream, which" in server.said
    for number, name in enumerate(("aac.mkv", "opus.mkv"), 1):
        assert f"preparing {name} ({number} of 2; it serves when all are ready)" in server.said


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_frames_that_a_slow_client_lost_are_told(folder: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.mkv"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=640x480:r=25:d=6"]
    encoding = ["-c:v", "libx264", "-b:v", "6M", "-minrate", "6M", "-maxrate", "6M", "-bufsize", "1M", "-bf", "2"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *encoding, "-g", "25", str(film)], check=True)
    options = ["--transport", "http+ts+dependency", "--ahead", "0"]
    with serving(film, tmp_path / "served", *options, "--set", 'flow.1.send_buffer="32 kB"') as server:
        server.get("/ts/film.ts", "-o", "/dev/null", "--limit-rate", "150k")
        server.process.terminate()
        _, said = server.process.communicate(timeout=20)
    (line,) = ((tmp_path / "served" / "clients.ndjson").read_text()).splitlines()
    given_up = json.loads(line)["given_up"]
    assert 0 < given_up < 6 * 25 and FRAMES < 6 * 25
    assert f"complete, but {given_up} of 150 frames given up: the client was too slow" in said
