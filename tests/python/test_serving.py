"""A server of movies over loopback, and the programs that fetch from it."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from framewire import _native
from framewire.cli import app
from framewire.errors import InputError, RunError
from framewire.real import join
from framewire.real.cli import receive
from framewire.real.ends import ask
from framewire.real.serving import MOST_CLIENTS, Place, serve

pytestmark = pytest.mark.real_time

RUNNER = CliRunner()

UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}

SECONDS = 2
FRAMES = 25 * SECONDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film of H.264 with sound, one of MPEG-2 without, and what is no film."""
    if shutil.which("ffmpeg") is None or shutil.which("curl") is None:
        pytest.skip("needs ffmpeg and curl")
    folder = tmp_path_factory.mktemp("films")
    picture = ["-f", "lavfi", "-i", f"testsrc2=s=320x240:r=25:d={SECONDS}"]
    mpeg2 = ["-c:v", "mpeg2video", "-b:v", "1M", "old film.mpg"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *mpeg2], check=True, cwd=folder)
    encode(folder / "film.mkv", SECONDS)
    (folder / "notes.txt").write_text("no film")
    (folder / ".hidden.mkv").symlink_to("film.mkv")
    (folder / "elsewhere").symlink_to(__file__)
    return folder


def encode(film: Path, seconds: int) -> None:
    """A film of H.264 with sound."""
    picture = ["-f", "lavfi", "-i", f"testsrc2=s=320x240:r=25:d={seconds}"]
    tone = ["-f", "lavfi", "-i", f"sine=f=440:d={seconds}", "-c:a", "aac"]
    h264 = ["-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-bf", "2", "-b:v", "500k", "-threads", "1"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *tone, *h264, film], check=True)


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    paths: list[str]
    out: Path

    scheme: str = "http"
    said: str = ""

    def url(self, path: str, user: str = "") -> str:
        return f"{self.scheme}://{user}127.0.0.1:{self.port}{path}"

    def get(self, path: str, *options: str) -> bytes:
        """What curl fetches."""
        command = ["curl", "-sS", "--max-time", "30", *options, self.url(path)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def status(self, path: str, *options: str) -> int:
        return int(self.get(path, "-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", *options))

    def end(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """What it recorded, once it is stopped: of itself, and of its clients."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, out + err
        lines = (self.out / "clients.ndjson").read_text().splitlines()
        return json.loads((self.out / "run.json").read_text()), [json.loads(line) for line in lines]


@contextmanager
def serving(source: Path, out: Path, *options: str, scheme: str = "http", last: str = "/") -> Iterator[Server]:
    """Serves until the end of the context."""
    command = [sys.executable, "-m", "framewire", "send", str(source), "--serve", f"{scheme}://127.0.0.1:0/"]
    with subprocess.Popen(
        [*command, "--out", str(out), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            said, port = "", 0
            paths: list[str] = []
            while not paths or paths[-1] != last:
                line = process.stderr.readline()
                assert line, said
                said += line
                if line.startswith("serving at"):
                    port = int(line.split("/ ;")[0].rsplit(":", 1)[1])
                elif port:
                    paths.append(line.strip())
            yield Server(process, port, paths, out, scheme, said)
        finally:
            if process.poll() is None:
                process.kill()


def shown(path: Path | str, kind: str = "v", *options: str) -> list[str]:
    """The MD5 of every frame that FFmpeg decodes."""
    as_they_come = ["-fps_mode", "passthrough"] if kind == "v" else []
    command = ["ffmpeg", "-v", "error", *options, "-i", str(path), "-map", f"0:{kind}", *as_they_come]
    command += ["-f", "framemd5", "-"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.rsplit(",", 1)[1].strip() for line in told.splitlines() if not line.startswith("#")]


def test_every_film_of_a_folder_is_had_as_it_is_and_as_mp4_and_as_a_stream(folder: Path, tmp_path: Path) -> None:
    with serving(folder, tmp_path / "served", "--pace", "client") as server:
        assert server.paths == [
            *("/film.mkv", "/mp4/film.mp4", "/fmp4/film.mp4", "/ts/film.ts"),
            *("/old%20film.mpg", "/mp4/old%20film.mp4", "/fmp4/old%20film.mp4", "/ts/old%20film.ts", "/"),
        ]
        for name in ("film.mkv", "old film.mpg"):
            original, escaped = folder / name, name.replace(" ", "%20")
            assert server.get(f"/{escaped}") == original.read_bytes()
            stem = escaped.rsplit(".", 1)[0]
            for path in (f"/mp4/{stem}.mp4", f"/fmp4/{stem}.mp4", f"/ts/{stem}.ts"):
                assert shown(server.url(path)) == shown(original), path
        sound = shown(folder / "film.mkv", "a")
        assert shown(server.url("/ts/film.ts"), "a") == sound
        # The first packet is what an encoder puts before the first sample; a file says that it is not to be heard.
        for path in ("/mp4/film.mp4", "/fmp4/film.mp4"):
            assert shown(server.url(path), "a")[1:] == sound[1:]
        mp4 = server.get("/mp4/film.mp4")
        assert mp4.index(b"moov") < mp4.index(b"mdat")
        for first, last in ((0, 0), (1_000, 9_999), (20_000, len(mp4) - 1)):
            assert server.get("/mp4/film.mp4", "-r", f"{first}-{last}") == mp4[first : last + 1]
        both = server.get(
            "/film.mkv", "-o", str(tmp_path / "one"), server.url("/old%20film.mpg"), "-w", "%{num_connects}"
        )
        assert both.endswith(b"0"), "the connection is kept"
        head = server.get("/mp4/film.mp4", "-I").decode()
        assert f"Content-Length: {len(mp4)}" in head
        page = server.get("/").decode()
        assert '<video controls preload="none" src="/mp4/old%20film.mp4">' in page
        document, clients = server.end()
    assert (document["side"], document["cut_short"], document["lateness_s"]["frames"]) == ("server", 0, 0)
    assert document["answers"] == len(clients)
    assert document["bytes"] > sum(client["bytes"] for client in clients)
    assert {client["ended"] for client in clients} == {"complete"}


def test_sound_that_is_left_out_is_told_in_the_console_on_the_page_and_in_the_record(
    folder: Path, tmp_path: Path
) -> None:
    films = tmp_path / "films"
    films.mkdir()
    tone = ["-f", "lavfi", "-i", f"sine=f=440:d={SECONDS}", "-map", "0:v", "-map", "1:a", "-c:v", "copy"]
    for name, codec in (("a.mkv", "ac3"), ("b.mkv", "aac")):
        making = ["ffmpeg", "-v", "error", "-i", str(folder / "film.mkv"), *tone, "-c:a", codec, str(films / name)]
        subprocess.run(making, check=True)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", folder / "film.mkv", "-an", "-c", "copy", films / "c.mkv"], check=True
    )
    for scheme, last in (("http", "/"), ("rtsp", "/c.mkv")):
        with serving(films, tmp_path / scheme, "--pace", "client", scheme=scheme, last=last) as server:
            assert "a.mkv: served without its sound: its sound is ac3, and flows carry AAC" in server.said
            assert server.said.count("without its sound") == 1, server.said
            page = server.get("/").decode() if scheme == "http" else ""
            document, _ = server.end()
        assert page.count("without its sound (ac3)") == page.count("with sound") == (scheme == "http")
        assert [*document["sound_left_out"]] == ["a.mkv"]
        assert document["sound_left_out"]["a.mkv"].startswith("its sound is ac3")
    done = RUNNER.invoke(app, ["report", str(tmp_path / "http")])
    assert done.exit_code == 2
    assert "no client was sent a movie from its beginning" in " ".join(done.output.split())
    with pytest.raises(InputError, match="is of a server, which has a ledger for each client in clients/"):
        join(tmp_path / "http", tmp_path / "http", tmp_path / "joined")


def test_a_page_is_no_movie_and_a_client_that_has_enough_broke_nothing(folder: Path, tmp_path: Path) -> None:
    with serving(folder, tmp_path / "served", "--pace", "client") as server:
        with pytest.raises(RunError, match=r"it is a page \(text/html.*and no movie: the URL of an MP4 file"):
            ask(server.url("/"), out=tmp_path / "none")
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # it resets what it closes
            client.sendall(b"GET /ts/film.ts HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1)
        time.sleep(0.5)
        _, clients = server.end()
    page, movie = (entry["ended"] for entry in clients)
    assert page == "looked at"
    assert movie in {"complete", "the client left"}, "the kernel may have taken all of it before the client closed"


def test_films_go_by_their_frame_clock_and_streams_may_have_no_end(folder: Path, tmp_path: Path) -> None:
    with serving(folder / "film.mkv", tmp_path / "served", "--endless", "--ahead", "0.4") as server:
        begun = time.monotonic()
        assert len(server.get("/mp4/film.mp4")) > 0
        took_s = time.monotonic() - begun
        # The last frame is due 1.96 s after the first, less what is ahead.
        assert 1.55 < took_s < 3.0, took_s
        stream = cut(server, "/ts/film.ts", 4.0)
        (tmp_path / "stream.ts").write_bytes(stream)
        frames = shown(tmp_path / "stream.ts")
        original = shown(folder / "film.mkv")
        assert 2 * FRAMES - 15 < len(frames) < 3 * FRAMES
        assert frames[: FRAMES + 20] == [*original, *original[:20]], "it begins anew where it has ended"
        document, clients = server.end()
    assert [client["ended"] for client in clients] == ["complete", "the client left"]
    assert (clients[0]["frames"], clients[0]["given_up"]) == (FRAMES, 0)
    assert document["lateness_s"]["frames"] > FRAMES
    assert document["endless"] and document["pacing"] == "sender"


def cut(server: Server, path: str, seconds: float) -> bytes:
    """What curl has when it goes after a time."""
    command = ["curl", "-sS", "--max-time", str(seconds), server.url(path)]
    return subprocess.run(command, check=False, capture_output=True).stdout


def test_nothing_outside_of_the_folder_is_had(folder: Path, tmp_path: Path) -> None:
    with serving(folder, tmp_path / "served") as server:
        outside = ["/../etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/notes.txt", "/.hidden.mkv", "/mp4/"]
        outside += ["/elsewhere", "/film.mkv/", "/film.mkv%00", "/mp4/../film.mkv", "/%2e%2e/films0/film.mkv"]
        for path in outside:
            assert server.status(path) == 404, path
        assert server.status("/film.mkv", "-X", "PUT") == 405
        assert server.status("/film.mkv", "-H", f"X: {'y' * 20_000}") == 431
        document, clients = server.end()
    told = [(client["method"], client["what"], client["ended"], client["reason"]) for client in clients]
    asked = [path for path in outside if path != "/film.mkv%00"]
    assert [one for one in told if one[1] in asked] == [("GET", path, "refused", "404 Not Found") for path in asked]
    assert ("PUT", "/film.mkv", "refused", "405 Method Not Allowed") in told
    assert told[-1] == (None, None, "refused", "431 Request Header Fields Too Large")
    assert (document["answers"], document["refused_requests"]) == (0, len(outside) + 2)
    assert document["limits"]["header_bytes"] == 16_384


def test_connections_that_say_nothing_shut_nobody_out(folder: Path, tmp_path: Path) -> None:
    options = ["--clients", "20", "--first-request", "1"]
    with serving(folder / "film.mkv", tmp_path / "served", *options) as server, ExitStack() as stack:
        at = ("127.0.0.1", server.port)
        silent = [stack.enter_context(socket.create_connection(at, 5)) for _ in range(200)]
        slow = stack.enter_context(socket.create_connection(at, 5))
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert server.status("/film.mkv") == 200
        rss_kib = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4
        slow.settimeout(5)
        assert slow.recv(100).startswith(b"HTTP/1.1 408 "), "half of a request is none"
        for one in silent:
            one.settimeout(5)
            assert one.recv(100) == b""
        document, clients = server.end()
    assert document["connections"] == 202
    assert 180 <= document["refused"] <= 183
    assert [client["ended"] for client in clients] == ["complete", "refused"]
    assert clients[1]["reason"] == "408 Request Timeout"
    assert rss_kib < 400_000


INTERLEAVED = ("-rtsp_transport", "tcp")
DATAGRAMS = ("-rtsp_transport", "udp")


@pytest.mark.parametrize("carried", [INTERLEAVED, DATAGRAMS], ids=["tcp", "udp"])
def test_ffmpeg_plays_every_film_of_a_folder_by_rtsp_with_its_sound(
    carried: tuple[str, str], folder: Path, tmp_path: Path
) -> None:
    with serving(folder, tmp_path / "served", scheme="rtsp", last="/old%20film.mpg") as server:
        assert server.paths == ["/film.mkv", "/old%20film.mpg"]
        assert shown(server.url("/film.mkv"), "v", *carried) == shown(folder / "film.mkv")
        assert shown(server.url("/film.mkv"), "a", *carried) == shown(folder / "film.mkv", "a")
        assert shown(server.url("/old%20film.mpg"), "v", *carried) == shown(folder / "old film.mpg")
        document, clients = server.end()
    assert [client["ended"] for client in clients] == ["complete"] * 3
    assert document["lateness_s"]["frames"] == 3 * (FRAMES - 1)


def test_ffmpeg_shows_pictures_and_sound_together_whatever_reports_say_meanwhile(folder: Path, tmp_path: Path) -> None:
    # Sender reports come within 6.2 s, and FFmpeg goes by them from then on.
    with serving(folder, tmp_path / "served", "--endless", scheme="rtsp", last="/old%20film.mpg") as server:
        command = ["ffprobe", "-v", "error", *INTERLEAVED, "-read_intervals", "%+8", "-of", "csv=p=0"]
        entries = ["-show_entries", "packet=codec_type,pts_time"]
        found = subprocess.run(
            [*command, *entries, server.url("/film.mkv")], check=True, capture_output=True, text=True, timeout=60
        ).stdout
    rows = [line.split(",")[:2] for line in found.split()]
    video, sound = (
        sorted(float(pts) for kind, pts in rows if kind == wanted and pts != "N/A") for wanted in ("video", "audio")
    )
    # The time of the first picture is not known before the second has come.
    assert video[0] == pytest.approx(0.04, abs=0.002)
    assert sound[0] == pytest.approx(0.0, abs=0.025)
    assert len(video) > 150
    # Of the last group, pictures that are sent later are missing.
    apart = [round(later - earlier, 3) for earlier, later in pairwise(video[:-4])]
    assert set(apart) <= {0.039, 0.04, 0.041}, apart
    of_first_turn = [round(later - earlier, 3) for earlier, later in pairwise(sound[:80])]
    assert set(of_first_turn) <= {0.023, 0.024}, of_first_turn


def test_ffmpeg_plays_from_the_key_frame_before_a_place_by_rtsp(folder: Path, tmp_path: Path) -> None:
    """FFmpeg asks from the beginning, pauses, and asks again from the place."""
    with serving(folder, tmp_path / "served", scheme="rtsp", last="/old%20film.mpg") as server:
        original = shown(folder / "film.mkv")
        for carried in (INTERLEAVED, DATAGRAMS):
            # Key frames are a second apart.
            assert shown(server.url("/film.mkv"), "v", "-noaccurate_seek", "-ss", "1.2", *carried) == original[25:]
        server.end()


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="needs GStreamer")
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_gstreamer_plays_by_rtsp_who_knows_the_password(protocol: str, folder: Path, tmp_path: Path) -> None:
    options = ["--user", "camera:secret"]
    with serving(folder / "film.mkv", tmp_path / "served", *options, scheme="rtsp", last="/film.mkv") as server:
        out = tmp_path / "film.h264"
        source = f"rtspsrc name=s protocols={protocol} location={server.url('/film.mkv')} user-id=camera user-pw=secret"
        picture = "s. ! application/x-rtp,media=video ! rtph264depay ! h264parse"
        picture += f" ! video/x-h264,stream-format=byte-stream,alignment=au ! filesink location={out}"
        sound = "s. ! application/x-rtp,media=audio ! rtpmp4gdepay ! fakesink"
        pipeline = f"{source} {picture} {sound}".split()
        subprocess.run(["gst-launch-1.0", "-q", *pipeline], check=True, timeout=30)
        assert shown(out) == shown(folder / "film.mkv")
        for user in ("", "camera:guess@"):
            command = ["ffmpeg", "-v", "error", *INTERLEAVED, "-i", server.url("/film.mkv", user), "-f", "null", "-"]
            said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
            assert said.returncode and "401 Unauthorized" in said.stderr
        assert shown(server.url("/film.mkv", "camera:secret@"), "v", *INTERLEAVED) == shown(out)
        document, clients = server.end()
    assert document["user"] == "camera"
    refused = [client for client in clients if client["ended"] == "refused"]
    # Who has the password is asked for it first, which is no refusal (RFC 7616, 3.3); the others are refused once each.
    assert [client["reason"] for client in refused] == ["401 Unauthorized"] * 2
    assert len(clients) - len(refused) == 2
    assert "secret" not in (tmp_path / "served" / "run.json").read_text()


@pytest.mark.parametrize("path", ["/mp4/film.mp4", "/fmp4/film.mp4", "/ts/film.ts", "/film.mkv"])
def test_a_receiver_asks_for_a_movie_and_records_it(path: str, folder: Path, tmp_path: Path) -> None:
    scheme, last = ("rtsp", "/film.mkv") if path == "/film.mkv" else ("http", "/")
    user = ["--user", "camera:secret"] if scheme == "rtsp" else []
    with serving(folder / "film.mkv", tmp_path / "served", *user, scheme=scheme, last=last) as server:
        command = [sys.executable, "-m", "framewire", "receive", server.url(path), "--out", str(tmp_path / "came")]
        ran = subprocess.run([*command, *user], capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        assert f"{FRAMES} whole frames; to the end" in ran.stdout
        server.end()
    said = ran.stdout.splitlines()
    (joining,) = (line for line in said if line.startswith("with its sound: "))
    subprocess.run(shlex.split(joining.removeprefix("with its sound: ")), check=True, capture_output=True)
    assert "-c copy" not in joining, "the film has B frames"
    film = tmp_path / "came" / "received" / "movie.mkv"
    assert (len(shown(film)), len(shown(film, "a"))) == (FRAMES, len(shown(folder / "film.mkv", "a")))
    film.unlink()
    document = check_received(tmp_path / "came", folder / "film.mkv")
    count = document["flows"][0]["received_sound"]
    assert f"{count} packets of its sound: {tmp_path / 'came' / 'received' / 'movie.aac'}" in said


def check_received(came: Path, film: Path) -> dict[str, Any]:
    """That a receiver kept all of a film, and what it says of that."""
    received = came / "received"
    assert shown(received / "movie.h264") == shown(film)
    document: dict[str, Any] = json.loads((came / "run.json").read_text())
    sound = shown(received / "movie.aac", "a")
    original = shown(film, "a")
    # An encoder's first packet stands before the first sample; nothing is missing at either end.
    assert len(sound) == len(original)
    assert sound[1:] == original[1:]
    assert document["flows"][0]["received_sound"] == len(sound)
    assert (document["side"], document["status"], document["ended_by"]) == ("receiver", "complete", None)
    assert document["flows"][0]["incomplete_frames"] == 0
    return document


def test_a_receiver_asks_for_datagrams_by_rtsp(folder: Path, tmp_path: Path) -> None:
    # A receiver's first reports go 1.0 to 3.1 s behind the beginning (RFC 3550, section 6.3.1).
    film = tmp_path / "film.mkv"
    encode(film, 2 * SECONDS)
    with serving(film, tmp_path / "served", scheme="rtsp", last="/film.mkv") as server:
        command = [sys.executable, "-m", "framewire", "receive", server.url("/film.mkv"), "--transport", "rtsp+udp"]
        out = ["--out", str(tmp_path / "came")]
        ran = subprocess.run([*command, *out], capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        assert f"{2 * FRAMES} whole frames; to the end" in ran.stdout
        _, clients = server.end()
    document = check_received(tmp_path / "came", film)
    assert (document["flows"][0]["transport"], document["of_others"]) == ("rtsp+udp", 0)
    (answer,) = [one for one in clients if one["ended"] == "complete"]
    ledger = tmp_path / "served" / "clients" / str(answer["connection"])
    reports = pl.read_parquet(ledger / "rtcp.parquet")
    # The server heard what its client says of each stream, at the ports that it gave for it.
    for track in (0, 1):
        assert reports.filter(pl.col("from") == "receiver", track=track).height >= 1
    run = join(ledger, tmp_path / "came", tmp_path / "joined")
    assert set(run.frames.filter(track=0)["fate"]) == {"shown"}


def test_datagrams_of_gst_rtsp_server_are_received_and_what_to_do_without_them_is_said(
    folder: Path, tmp_path: Path
) -> None:
    server = [Path("/usr/bin/python3"), Path("benches/rtsp_server.py")]
    needs = "import gi; gi.require_version('GstRtspServer', '1.0')"
    if subprocess.run([server[0], "-c", needs], check=False).returncode:
        pytest.skip("needs gir1.2-gst-rtsp-server-1.0")
    for options, is_refused in (([], False), (["--interleaved"], True)):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with subprocess.Popen([*server, *options, folder / "film.mkv", str(port)]) as process:
            try:
                wait_for(port)
                out = tmp_path / f"came-{is_refused}"
                if is_refused:
                    with pytest.raises(RunError, match=r"461 .*no datagrams; ask for the transport rtsp,"):
                        receive(False, f"rtsp://127.0.0.1:{port}/movie", transport="rtsp+udp", out=out)
                    continue
                end = ask(f"rtsp://127.0.0.1:{port}/movie", transport="rtsp+udp", out=out)
                assert (end.result["whole"], end.result["dropped"]) == (FRAMES, 0)
                assert shown(out / "received" / "movie.h264") == shown(folder / "film.mkv")
            finally:
                process.kill()


def wait_for(port: int) -> None:
    """Waits until something listens there."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    pytest.fail("nothing listens")


SILENT = 1_200
"""Connections that say nothing, or begin a request and no more: more than the 1,000 that a server has at a time."""


@pytest.mark.parametrize("scheme", ["http", "rtsp"])
def test_among_thousands_that_say_nothing_a_client_is_served(scheme: str, folder: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < SILENT + 200:
        pytest.skip(f"this process may open {hard} files, and needs {SILENT + 200} (ulimit -n)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, SILENT + 200), hard))
    path, last = ("/ts/film.ts", "/") if scheme == "http" else ("/film.mkv", "/film.mkv")
    try:
        with ExitStack() as held, serving(folder / "film.mkv", tmp_path / "served", scheme=scheme, last=last) as server:
            before = resident(server.process.pid)
            for number in range(SILENT):
                client = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                client.sendall([b"", b"O", b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n"][number % 3])
            end = ask(server.url(path), out=tmp_path / "came")
            assert (end.result["whole"], end.result["status"]) == (FRAMES, "complete")
            grown = resident(server.process.pid) - before
            assert grown < SILENT * 32 << 10, f"{grown / SILENT / 1024:.1f} KiB for each"
            document, _ = server.end()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert document["connections"] == SILENT + 2
    # The receiver's first connection, on which it looks, is gone before its second.
    assert SILENT + 1 - 1_000 <= document["refused"] <= SILENT + 2 - 1_000


@pytest.mark.parametrize("scheme", ["http", "rtsp"])
def test_where_all_have_asked_one_more_is_told_so(scheme: str, folder: Path, tmp_path: Path) -> None:
    last = "/" if scheme == "http" else "/film.mkv"
    options = ["--clients", "20"]
    with (
        serving(folder / "film.mkv", tmp_path / "served", *options, scheme=scheme, last=last) as server,
        ExitStack() as held,
    ):
        request = {"http": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "rtsp": b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"}[
            scheme
        ]
        for _ in range(20):
            client = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            client.sendall(request)
            assert b" 200 OK" in client.recv(1 << 16)
        more = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
        assert more.recv(1 << 16).split(b"\r\n")[0] in {
            b"HTTP/1.1 503 Service Unavailable",
            b"RTSP/1.0 503 Service Unavailable",
        }
        assert more.recv(1) == b""
        with pytest.raises(RunError, match="503"):
            ask(server.url("/ts/film.ts" if scheme == "http" else "/film.mkv"), out=tmp_path / "came")


def resident(process: int) -> int:
    """Bytes of memory that a process has (proc_pid_status(5))."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize("path", ["/mp4/film.mp4", "/fmp4/film.mp4", "/ts/film.ts", "/film.mkv"])
def test_what_a_client_was_sent_and_what_it_received_is_a_run(path: str, folder: Path, tmp_path: Path) -> None:
    scheme, last = ("rtsp", "/film.mkv") if path == "/film.mkv" else ("http", "/")
    served, came = tmp_path / "served", tmp_path / "came"
    with serving(folder / "film.mkv", served, scheme=scheme, last=last) as server:
        ask(server.url(path), out=came)
        document, clients = server.end()
    answer = next(
        one for one in reversed(clients) if one["ended"] == "complete"
    )  # what was only looked at is before it
    ledger = served / "clients" / str(answer["connection"])
    described = json.loads((ledger / "run.json").read_text())
    assert (described["side"], described["status"], described["served"]) == ("sender", "complete", answer)
    assert document["ledgers"] == len([*(served / "clients").iterdir()]) == 1, "of a look there is none"
    done = RUNNER.invoke(app, ["report", str(served)])
    assert done.exit_code == 2
    assert f"framewire receive at {answer['peer']}, {path}, complete" in " ".join(done.output.split())
    assert (ledger / "rtcp.parquet").is_file() == (scheme == "rtsp")
    if scheme == "rtsp":
        reports = pl.read_parquet(ledger / "rtcp.parquet")
        own = reports.filter(pl.col("from") == "sender", track=0)
        assert own["packets"].max() >= FRAMES and own["bye"].to_list()[-1:] == [True]
        assert reports["sent_ns"].is_null().eq(reports["from"] == "receiver").all()
        assert reports["arrived_ns"].is_null().eq(reports["from"] == "sender").all()
    run = join(ledger, came, tmp_path / "joined")
    if scheme == "rtsp":
        joined = pl.read_parquet(tmp_path / "joined" / "rtcp.parquet")
        assert joined.equals(reports) and set(joined["flow"]) == set(run.frames["flow"])
    frames = run.frames
    video = frames.filter(track=0)
    assert run.status == "complete" and set(video["fate"]) == {"shown"} and video.height == FRAMES
    described = json.loads((tmp_path / "joined" / "run.json").read_text())
    (accuracy,) = described["accuracy"].values()
    assert (accuracy["disturbed"], described["clocks"]["aligned_by"]) == (None, "fastest packet")
    ahead = 2.0 if scheme == "http" else 0.0
    assert (video["offered_ns"] <= video["due_ns"]).sum() >= (FRAMES - 1 if ahead else 0)
    assert video["latency_ns"].max() < 0.5e9
    assert video["latency_ns"].min() > -(ahead + 0.1) * 1e9


def test_a_ledger_ends_where_its_client_leaves_and_parts_have_none(folder: Path, tmp_path: Path) -> None:
    with serving(folder / "film.mkv", tmp_path / "served", "--ahead", "0.2") as server:
        cut(server, "/ts/film.ts", 1.0)
        server.get("/mp4/film.mp4", "-r", "1000-2000")
        server.get("/film.mkv")
        server.end()
    (ledger,) = (tmp_path / "served" / "clients").iterdir()
    described = json.loads((ledger / "run.json").read_text())
    assert (described["status"], described["served"]["what"]) == ("partial", "/ts/film.ts")
    events = pl.read_parquet(ledger / "sent_events.parquet").filter(pl.col("frame") < FRAMES)
    assert 15 <= events.filter(event="offered").height <= 60, "a second of 25 frames, and what is due at once"


def test_more_clients_than_ledgers_are_served_and_counted(folder: Path, tmp_path: Path) -> None:
    most, more = 64, 3
    with serving(folder / "film.mkv", tmp_path / "served", "--ahead", "0") as server, ExitStack() as stack:
        at = ("127.0.0.1", server.port)
        for _ in range(most + more):
            client = stack.enter_context(socket.create_connection(at, 5))
            client.sendall(b"GET /ts/film.ts HTTP/1.1\r\nHost: a\r\n\r\n")
            client.settimeout(5)
            date = client.recv(4096).split(b"Date: ")[1].split(b"\r\n")[0].decode()
            assert abs(parsedate_to_datetime(date).timestamp() - time.time()) < 5
        document, clients = server.end()
    assert (document["ledgers"], document["without_ledger"]) == (most, more)
    assert document["limits"]["ledgers_at_a_time"] == most
    assert sorted(client["ledger"] for client in clients) == [False] * more + [True] * most
    assert len([*(tmp_path / "served" / "clients").iterdir()]) == most


def test_a_receiver_says_what_another_server_lacks(folder: Path, tmp_path: Path) -> None:
    """Of Python's server of files: a file that FFmpeg made, one with its index behind, and what is no movie."""
    held = tmp_path / "held"
    held.mkdir()
    for name, options in (("front.mp4", ["-movflags", "faststart"]), ("behind.mp4", [])):
        source = ["ffmpeg", "-v", "error", "-i", str(folder / "film.mkv"), "-c", "copy", *options, str(held / name)]
        subprocess.run(source, check=True)
    (held / "words.mp4").write_text("no movie")
    command = [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(held)]
    with subprocess.Popen(
        [*command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=UNBUFFERED
    ) as it:
        try:
            assert it.stdout is not None
            port = int(it.stdout.readline().split("port ")[1].split()[0])
            end = ask(f"http://127.0.0.1:{port}/front.mp4", out=tmp_path / "came")
            assert end.result["whole"] == FRAMES
            assert shown(tmp_path / "came" / "received" / "movie.h264") == shown(folder / "film.mkv")
            for name, reason in (("behind", "stands behind the samples"), ("words", "not an MP4"), ("none", "404")):
                with pytest.raises(RunError, match=reason):
                    ask(f"http://127.0.0.1:{port}/{name}.mp4", out=tmp_path / name)
                assert not (tmp_path / name).exists()
        finally:
            it.kill()
    with pytest.raises(RunError, match="nothing listens|refuses"):
        ask(f"rtsp://127.0.0.1:{port}/film.mkv", out=tmp_path / "none")


def test_what_cannot_be_asked_for_is_refused() -> None:
    for url in ("ftp://a/b", "http://", "http://a", "rtsp://u:p@a/b", "http://127.0.0.1/a b", "http://a:x/b"):
        with pytest.raises(InputError, match="URL|host and a path|escaped"):
            ask(url)
    for url in ("http://127.0.0.1/a", "rtsp://127.0.0.1/a"):
        with pytest.raises(InputError, match="--user"):
            ask(url, user="nobody")
    with pytest.raises(InputError, match="--transport"):
        ask("http://127.0.0.1/a", transport="rtsp+udp")
    with pytest.raises(InputError, match='transport: "udp" is not allowed'):
        ask("rtsp://127.0.0.1/a", transport="udp")


def test_the_most_clients_are_those_of_the_server() -> None:
    assert MOST_CLIENTS == _native.MOST_CLIENTS


def test_what_cannot_be_served_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    for url in ("ftp://127.0.0.1/", "http:///", "http://127.0.0.1/film", "127.0.0.1:80", "http://127.0.0.1:x/"):
        with pytest.raises(InputError, match="--serve"):
            Place.parse(url)
    for port in ("80x", "65536", "-1"):
        with pytest.raises(InputError, match="its port is no number from 0 to 65535"):
            Place.parse(f"rtsp://127.0.0.1:{port}/")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="there is no file in it with video"):
        serve(empty, "http://127.0.0.1:0/")
    with pytest.raises(InputError, match=r"http\+ts is served"):
        serve(folder, "http://127.0.0.1:0/", transport="udp")
    with pytest.raises(InputError, match=r"flow\.0\.ts_rate: what is served has no constant rate; .*--transport ts"):
        serve(folder, "http://127.0.0.1:0/", transport="http+ts", set=["flow.0.ts_rate=5 Mbit/s"])
    with pytest.raises(InputError, match="clients = 0"):
        serve(folder, "http://127.0.0.1:0/", clients=0)
