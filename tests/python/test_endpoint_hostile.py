"""What may go wrong with a stream: damaged files, clients that vanish, replays, floods and garbage."""

from __future__ import annotations

import contextlib
import json
import os
import random
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_endpoint import Serving, movie, serving
from typer.testing import CliRunner

from framewire import cli, endpoint

pytestmark = pytest.mark.real_time

__all__ = ["movie"]  # the fixture

HEADER_LENGTH, INDEX_PLACE = slice(36, 40), slice(40, 48)  # docs/ladder.md


def refusal(path: Path) -> str:
    """What `framewire send` says of a file that it does not serve."""
    result = CliRunner().invoke(cli.app, ["send", str(path), "--listen", "127.0.0.1:0", "--sessions", "1"])
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return " ".join(result.stderr.split())


def places(whole: bytes) -> dict[str, int]:
    """A place of each kind at which a file can be cut off."""
    (header,) = struct.unpack(">I", whole[HEADER_LENGTH])
    (index,) = struct.unpack(">Q", whole[INDEX_PLACE])
    return {
        "empty": 0,
        "within the magic": 4,
        "before the version": 8,
        "within the version": 9,
        "within the fixed part": 50,
        "within the plan": 80,
        "before the header's checksum": header - 4,
        "within the header's checksum": header - 1,
        "before the first record": header,
        "within the first record's header": header + 17,
        "behind the first record's header": header + 30,
        "within video": (header + index) // 2,
        "before the index": index,
        "within the index": index + 13,
        "before the index's checksum": len(whole) - 4,
        "before the last byte": len(whole) - 1,
    }


def test_a_file_that_is_cut_off_anywhere_is_refused(movie: Path, tmp_path: Path) -> None:
    whole, cut = movie.read_bytes(), tmp_path / "cut.vtp"
    for name, place in places(whole).items():
        cut.write_bytes(whole[:place])
        said = refusal(cut)
        assert "cut.vtp" in said, name
        assert "cut off" in said or "not a streaming file" in said, f"{name}: {said}"
    cut.write_bytes(whole + b"\0")
    assert "cut.vtp" in (said := refusal(cut)), said


def test_another_version_and_damage_are_refused_with_what_is_wrong(movie: Path, tmp_path: Path) -> None:
    whole, bad = movie.read_bytes(), tmp_path / "bad.vtp"
    bad.write_bytes(whole[:8] + struct.pack(">H", 3) + whole[10:])
    said = refusal(bad)
    assert "bad.vtp" in said and "version 3" in said, said
    (index,) = struct.unpack(">Q", whole[INDEX_PLACE])
    for place, part in ((20, "header"), (73, "header"), (index + 5, "index"), (len(whole) - 1, "index")):
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        said = refusal(bad)
        assert "bad.vtp" in said and part in said, f"{place}: {said}"


def test_damaged_video_ends_the_session_that_comes_to_it_and_not_the_server(movie: Path, tmp_path: Path) -> None:
    whole, bad = movie.read_bytes(), tmp_path / "bad.vtp"
    (header,) = struct.unpack(">I", whole[HEADER_LENGTH])
    (index,) = struct.unpack(">Q", whole[INDEX_PLACE])
    place = (header + index) // 2
    bad.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    # Fixed rate sends the top level from the start; if it is the other one that is damaged, VTP begins with it.
    with serving(bad, controller="fixed", sessions=2) as server:
        views = [endpoint.receive(server.address, None, title="bad") for _ in range(2)]
    ended = {view["ended"] for view in views}
    assert ended in ({"SourceFailed"}, {"EndOfMovie"})
    with serving(bad, controller="vtp", sessions=1) as other:
        ended.add(endpoint.receive(other.address, None, title="bad")["ended"])
    assert "SourceFailed" in ended
    if views[0]["ended"] == "SourceFailed":
        assert 5 < views[0]["frames"] < 43
        assert views[1]["frames"] == views[0]["frames"]


def test_a_client_that_is_killed_is_given_up_and_the_others_are_served(movie: Path, tmp_path: Path) -> None:
    events: list[dict[str, object]] = []

    class Watched(Serving):
        def listen(self, kind: str, event: dict[str, object]) -> None:
            super().listen(kind, event)
            events.append(event)

    server = Watched(movie, sessions=2)
    server.start()
    assert server.ready.wait(30)
    log = tmp_path / "client.jsonl"
    where = [f"127.0.0.1:{server.address.data}", movie.stem, "--control-port", str(server.address.control)]
    command = [sys.executable, "-m", "framewire", "receive", *where, "--log", str(log)]
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not any(event.get("event") == "started" for event in events) and time.monotonic() < deadline:
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.wait(30)
    other = endpoint.receive(server.address, None, title=movie.stem)
    assert (other["ended"], other["frames"]) == ("EndOfMovie", 48)
    server.join(30)
    assert not server.is_alive()
    ended = [event["reason"] for event in events if event.get("event") == "ended"]
    # Two seconds of movie are sent without a receiver, and the teardown at its end, too; or silence was noticed before.
    assert len(ended) == 2 and "EndOfMovie" in ended, ended


class Relay(threading.Thread):
    """Stands between a client and a server, and sends everything again and again, and garbage, to both."""

    def __init__(self, server: endpoint.Address) -> None:
        super().__init__(daemon=True)
        bound = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
        for one in bound:
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)
        self.client_side, self.server_side = bound[:2], bound[2:]
        self.server = [(server.host, server.data), (server.host, server.control)]
        self.client: list[tuple[str, int] | None] = [None, None]
        self.address = endpoint.Address("127.0.0.1", *(one.getsockname()[1] for one in self.client_side))
        self.over = threading.Event()
        self.injected = {"server": 0, "client": 0}

    def run(self) -> None:
        draw = random.Random(7)
        old: list[list[bytes]] = [[], []]
        with selectors.DefaultSelector() as selector:
            for place in (0, 1):
                selector.register(self.client_side[place], selectors.EVENT_READ, ("client", place))
                selector.register(self.server_side[place], selectors.EVENT_READ, ("server", place))
            while not self.over.is_set():
                for key, _ in selector.select(0.1):
                    origin, place = key.data
                    with contextlib.suppress(BlockingIOError):
                        datagram, sender = key.fileobj.recvfrom(65_535)  # type: ignore[union-attr]
                        if origin == "client":
                            self.client[place] = sender
                            old[place].append(datagram)
                            self.forward("server", place, [datagram])
                            again = [datagram] * 20 + [draw.choice(old[place])] * 20
                            self.inject("server", place, [*again, draw.randbytes(draw.randrange(1_500))])
                        else:
                            self.forward("client", place, [datagram])
                            self.inject("client", place, [datagram, draw.randbytes(draw.randrange(1_500))])

    def forward(self, to: str, place: int, datagrams: list[bytes]) -> None:
        sockets, addresses = (self.server_side, self.server) if to == "server" else (self.client_side, self.client)
        address = addresses[place]
        if address is not None:
            for datagram in datagrams:
                sockets[place].sendto(datagram, address)

    def inject(self, to: str, place: int, datagrams: list[bytes]) -> None:
        self.injected[to] += len(datagrams)
        self.forward(to, place, datagrams)


@contextlib.contextmanager
def relay(server: endpoint.Address) -> Iterator[Relay]:
    thread = Relay(server)
    thread.start()
    try:
        yield thread
    finally:
        thread.over.set()
        thread.join(30)
        for one in (*thread.client_side, *thread.server_side):
            one.close()


def test_replays_floods_and_garbage_change_nothing(movie: Path, tmp_path: Path) -> None:
    out = tmp_path / "received.m4v"
    with serving(movie, sessions=1) as server, relay(server.address) as between:
        viewed = endpoint.receive(between.address, out, title=movie.stem)
    assert (viewed["ended"], viewed["frames"], viewed["frames_lost"]) == ("EndOfMovie", 48, 0)
    # Every packet came twice, and garbage with it.
    assert viewed["drops"].get("Stale", 0) >= viewed["packets"] // 2
    assert viewed["drops"].get("Malformed", 0) > 0
    assert sum(viewed["drops"].values()) <= 2 * between.injected["client"]
    probe = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]
    said = subprocess.run([*probe, "-f", "m4v", str(out)], check=True, capture_output=True, text=True)
    assert (said.stdout.strip(), said.stderr) == ("48", "")


def test_a_flood_from_strangers_is_counted_and_no_memory_is_kept_for_it(movie: Path) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    with serving(movie, sessions=1) as server:
        before = resident()
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as stranger:
            over = threading.Event()

            def flood() -> None:
                draw = random.Random(1)
                while not over.is_set():
                    for port in (server.address.data, server.address.control):
                        stranger.sendto(draw.randbytes(draw.choice((0, 8, 36, 200, 1_400))), ("127.0.0.1", port))

            thread = threading.Thread(target=flood, daemon=True)
            thread.start()
            viewed = endpoint.receive(server.address, None, title=movie.stem)
            over.set()
            thread.join(10)
        assert resident() - before < 32 << 20
    assert (viewed["ended"], viewed["frames_lost"]) == ("EndOfMovie", 0)
    assert set(server.result["drops"]) <= {"Malformed", "NoRoom", "Foreign", "Unexpected"}
    assert server.result["drops"]["Malformed"] > 100


def test_a_server_that_talks_nonsense_is_given_up(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
            one.settimeout(0.1)
        over = threading.Event()

        def babble(one: socket.socket) -> None:
            draw = random.Random(3)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    asked, client = one.recvfrom(65_535)
                    one.sendto(asked, client)
                    one.sendto(draw.randbytes(200), client)

        threads = [threading.Thread(target=babble, args=(one,), daemon=True) for one in sockets]
        for thread in threads:
            thread.start()
        data, control = (one.getsockname()[1] for one in sockets)
        arguments = ["receive", f"127.0.0.1:{data}", "movie", "--control-port", str(control), "--json"]
        result = CliRunner().invoke(cli.app, arguments)
        over.set()
        for thread in threads:
            thread.join(10)
    told = json.loads(result.stdout)
    assert (told["ended"], told["frames"]) == ("Vanished", 0)
    assert sum(told["drops"].values()) > 2
