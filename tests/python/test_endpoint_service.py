"""``framewire send`` as a service, and ``receive`` from a server that sends more than there is room for."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_endpoint import movie
from test_endpoint_messages import Told, long_movie, received, until

from framewire import endpoint

pytestmark = pytest.mark.real_time

__all__ = ["long_movie", "movie"]  # fixtures


def served(movie: Path, *more: str | Path, **streams: Any) -> tuple[subprocess.Popen[str], endpoint.Address]:
    """`framewire send` in a process of its own, and where it listens."""
    command = [sys.executable, "-m", "framewire", "send", str(movie), *map(str, more)]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
    ):
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        data, control = one.getsockname()[1], two.getsockname()[1]
    where = ["--listen", f"127.0.0.1:{data}", "--control-port", str(control)]
    server = subprocess.Popen([*command, *where], text=True, **({"stdout": subprocess.PIPE} | streams))
    return server, endpoint.Address("127.0.0.1", data, control)


def test_sigterm_ends_a_server_with_its_result_and_its_log_is_written_as_it_comes(movie: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    server, address = served(movie, "--log", log, "--json", stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: log.exists() and '"listening"' in log.read_text())
        assert endpoint.receive(address, None, title=movie.stem)["frames"] == 48
        assert until(lambda: '"ended"' in log.read_text()), "while it serves"
        server.send_signal(signal.SIGTERM)
        said, _ = server.communicate(timeout=30)
    finally:
        server.kill()
    assert (server.returncode, json.loads(said)["sessions"]) == (0, 1)


@pytest.mark.parametrize("how", ["closed", "full disk", "reader gone", "reader that does not read"])
def test_a_standard_error_that_takes_nothing_does_not_end_a_server(how: str, movie: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    reading, writing = os.pipe()
    streams: dict[str, Any] = {}
    if how == "closed":
        streams["preexec_fn"] = functools.partial(os.close, 2)
    elif how == "full disk":
        streams["stderr"] = os.open("/dev/full", os.O_WRONLY)
    else:
        streams["stderr"] = writing
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while how == "reader that does not read":
                os.write(writing, bytes(4096))
        os.set_blocking(writing, True)
    server, address = served(movie, "--log", log, "--json", **streams)
    if how == "reader gone":
        os.close(reading)
    try:
        assert until(lambda: log.exists() and '"listening"' in log.read_text())
        assert endpoint.receive(address, None, title=movie.stem)["ended"] == "EndOfMovie"
        server.send_signal(signal.SIGTERM)
        said, _ = server.communicate(timeout=30)
    finally:
        server.kill()
        os.close(writing)
        if how != "reader gone":
            os.close(reading)
    assert (server.returncode, json.loads(said)["sessions"]) == (0, 1)


def test_a_log_on_a_full_disk_is_given_up_and_nothing_else(movie: Path) -> None:
    server, address = served(movie, "--log", "/dev/full", "--json", stderr=subprocess.PIPE)
    try:
        assert server.stderr is not None
        assert "serving at" in server.stderr.readline()
        assert "/dev/full: cannot be written any further: No space left" in server.stderr.readline()
        assert endpoint.receive(address, None, title=movie.stem)["ended"] == "EndOfMovie"
        server.send_signal(signal.SIGTERM)
        said, complained = server.communicate(timeout=30)
    finally:
        server.kill()
    assert (server.returncode, json.loads(said)["sessions"]) == (0, 1)
    assert "cannot be written" not in complained and "Traceback" not in complained, complained


def test_no_more_is_written_than_max_size(long_movie: Path, tmp_path: Path) -> None:
    out = tmp_path / "seen.m4v"
    server = Told(long_movie, sessions=1)
    server.start()
    assert server.ready.wait(30)
    code, said, complained = received(server.address, long_movie.stem, "-o", out, "--max-size", "100 kB")
    server.join(30)
    assert (code, "until --max-size was reached" in said) == (1, True), said + complained
    assert re.search(r"stopped after \d+ whole frames: more than --max-size 100 kB would be written", complained)
    assert 50_000 < out.stat().st_size <= 100_000
    refused = received(server.address, "x", "-o", tmp_path / "other.m4v", "--max-size", "a lot")
    assert refused[0] == 2 and '"a lot"' in refused[2] and "as 16 GB" in refused[2], refused
