"""Adaptive streams over loopback: what is served is what is received, and nobody gets in who should not."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framewire import cli, stream
from framewire.errors import InputError, RunError
from framewire.movie import ladder
from framewire.movie.ladder import making

ANY = stream.Address("127.0.0.1", 0, 0)


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A streaming file of two levels and two seconds."""
    directory = tmp_path_factory.mktemp("movie")
    clip = directory / "clip.mkv"
    source = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=24", "-t", "2"]
    subprocess.run(["ffmpeg", "-v", "error", *source, "-c:v", "mpeg4", "-q:v", "2", str(clip)], check=True)
    specs = ladder.parse_levels("16-31, 4-8", "mpeg4")
    plan = making.Plan(segments=2)
    return ladder.make(source=clip, levels=specs, cache_dir=directory, plan=plan).streaming_file


class Serving(threading.Thread):
    """A server in a thread of its own, from when it listens until its sessions have ended."""

    def __init__(self, path: Path, **settings: Any) -> None:
        super().__init__(daemon=True)
        self.path, self.settings = path, settings
        self.ready = threading.Event()
        self.address = ANY
        self.result: dict[str, Any] = {}

    def run(self) -> None:
        self.result = stream.send(self.path, ANY, listener=self.listen, **self.settings)

    def listen(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "listening":
            data, control = (int(event[which].rpartition(":")[2]) for which in ("data", "control"))
            self.address = stream.Address("127.0.0.1", data, control)
            self.ready.set()


@contextlib.contextmanager
def serving(path: Path, **settings: Any) -> Iterator[Serving]:
    server = Serving(path, **settings)
    server.start()
    assert server.ready.wait(30)
    yield server
    server.join(30)
    assert not server.is_alive()


@pytest.mark.parametrize("controller", stream.CONTROLLERS)
def test_the_movie_arrives_whole_and_decodes(controller: str, movie: Path, tmp_path: Path) -> None:
    out = tmp_path / "received.m4v"
    events: list[dict[str, Any]] = []
    with serving(movie, controller=controller, sessions=1) as server:
        viewed = stream.receive(
            server.address,
            out,
            title=movie.stem,
            tfrc=controller == "tfrc",
            repeats=controller == "better",
            listener=lambda _kind, event: events.append(event),
        )
    assert (viewed["ended"], viewed["frames"], viewed["frames_lost"]) == ("EndOfMovie", 48, 0)
    assert sum(viewed["frames_by_level"]) == 48
    assert viewed["bytes"] == out.stat().st_size
    assert [event["frame"] for event in events if event["event"] == "frame"] == list(range(48))
    if controller == "fixed":
        assert viewed["frames_by_level"] == [0, 48]
    assert server.result["sessions"] == 1
    probe = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]
    said = subprocess.run([*probe, "-f", "m4v", str(out)], check=True, capture_output=True, text=True)
    assert (said.stdout.strip(), said.stderr) == ("48", "")


def test_several_clients_are_served_at_once(movie: Path) -> None:
    with serving(movie, sessions=6) as server:
        results: list[dict[str, Any]] = []
        views = [
            threading.Thread(target=lambda: results.append(stream.receive(server.address, None, title=movie.stem)))
            for _ in range(6)
        ]
        for view in views:
            view.start()
        for view in views:
            view.join(60)
    assert [result["frames"] for result in results] == [48] * 6
    assert server.result["drops"] == {}


def test_a_key_that_is_not_shared_and_a_title_that_does_not_exist(movie: Path) -> None:
    key = b"sixteen bytes or more"
    with serving(movie, key=key, sessions=1) as server:
        unknown = stream.receive(server.address, None, title="other", key=key)
        assert (unknown["ended"], unknown["frames"]) == ("UnknownTitle", 0)
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as hostile:
            for size in (0, 1, 36, 60, 1_200, 9_000):
                hostile.sendto(bytes(size), ("127.0.0.1", server.address.data))
        assert stream.receive(server.address, None, title=movie.stem, key=key)["frames"] == 48
    assert sum(server.result["drops"].values()) == 6


def test_what_cannot_be_says_why(movie: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"controller 'x' does not exist; vtp"):
        stream.send(movie, ANY, controller="x")
    with pytest.raises(InputError, match=r"k = 0"):
        stream.send(movie, ANY, ack_every=0)
    with pytest.raises(RunError, match="key has 3 bytes, at least 16"):
        stream.send(movie, ANY, key=b"abc")
    with pytest.raises(RunError, match="absent"):
        stream.send(tmp_path / "absent.vtp", ANY)
    cut = tmp_path / "cut.vtp"
    cut.write_bytes(movie.read_bytes()[:1_000])
    with pytest.raises(RunError, match=r"cut\.vtp"):
        stream.send(cut, ANY)
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match="in use"):
            stream.send(movie, stream.Address("127.0.0.1", held.getsockname()[1], 0))
    for text in ("127.0.0.1", ":5004", "127.0.0.1:x", "127.0.0.1:70000"):
        with pytest.raises(InputError, match="ADDRESS:PORT"):
            stream.Address.parse(text)
    assert stream.Address.parse("127.0.0.1:5004") == stream.Address("127.0.0.1", 5004, 5005)


def test_the_commands_and_ctrl_c(movie: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "framewire", "send", str(movie), "--listen", "127.0.0.1:0", "--log", str(log)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        words = server.stderr.readline().split()
        data, control = (word.rpartition(":")[2] for word in words if word.startswith("127.0.0.1"))
        out = tmp_path / "received.m4v"
        arguments = ["receive", f"127.0.0.1:{data}", movie.stem, "--control-port", control, "-o", str(out)]
        result = CliRunner().invoke(cli.app, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["frames"] == 48
        refused = CliRunner().invoke(cli.app, ["receive", f"127.0.0.1:{data}", "other", "--control-port", control])
        assert refused.exit_code == 1
        assert "UnknownTitle" in refused.output
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
    finally:
        server.kill()
        server.communicate()
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds[0] == "listening"
    assert kinds.count("event") >= 2
