"""The messages of ``framewire send`` and ``receive`` to a user, and what they leave behind."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_endpoint import Serving, heard, made_movie, movie, probed, serving
from typer.testing import CliRunner

from framewire import cli, endpoint
from framewire.endpoint import closing_message, receive_cli
from framewire.errors import InputError, RunError
from framewire.movie import ladder
from framewire.movie.ladder import build

pytestmark = pytest.mark.real_time

__all__ = ["heard", "movie"]  # fixtures


def received(server: endpoint.Address, *arguments: str | Path) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of ``framewire receive``, each on one line."""
    where = [f"{server.host}:{server.data}", "--control-port", str(server.control)]
    result = CliRunner().invoke(cli.app, ["receive", *where, *map(str, arguments)])
    return result.exit_code, " ".join(result.stdout.split()), " ".join(result.stderr.split())


@contextlib.contextmanager
def silence() -> Any:
    """Two ports from which nothing comes."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        yield endpoint.Address("127.0.0.1", *(one.getsockname()[1] for one in held))


def test_files_that_are_there_are_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    out, other, sound = tmp_path / "holiday.m4v", tmp_path / "other.m4v", tmp_path / "other.mp3"
    out.write_text("kept")
    sound.write_text("kept too")
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        address = endpoint.Address("127.0.0.1", *[server.getsockname()[1]] * 2)
        code, _, said = received(address, "movie", "--out", out)
        assert code == 2 and f"{out}: exists already; name another file, or say --replace" in said
        code, _, said = received(address, "movie", "--out", other)
        assert code == 2 and f"{sound}: exists already (audio would be written there" in said
        assert not other.exists()
        code, _, said = received(address, "movie", "--out", tmp_path / "video.aac")
        assert code == 2 and ".aac is for the audio" in said
        for ending in (".mp4", ".mkv", ".mov", ".webm", ".avi", ".MP4"):
            code, _, said = received(address, "movie", "--out", tmp_path / f"half{ending}", "--replace")
            assert code == 2 and f"is no {ending} but an elementary stream; name it so, as half.m4v, .h264" in said
            assert said.count("error:") == 1 and "the command that is printed then makes a film of it" in said
        code, _, said = received(address, "movie", "--out", tmp_path)
        assert code == 2 and "is a directory" in said
        with pytest.raises(BlockingIOError):
            server.recv(2_000)
    assert (out.read_text(), sound.read_text()) == ("kept", "kept too")


def test_replace_writes_anew_and_keeps_what_was_there_when_nothing_comes(movie: Path, tmp_path: Path) -> None:
    out = tmp_path / "seen.m4v"
    out.write_bytes(b"kept" * 1_000_000)
    with serving(movie, sessions=1) as server:
        refused = endpoint.receive(server.address, out, title="other", replace=True)
        assert refused["ended"] == "UnknownTitle" and out.read_bytes()[:8] == b"keptkept"
        endpoint.receive(server.address, tmp_path / "new.m4v", title="other")
        assert not (tmp_path / "new.m4v").exists(), "nothing came"
        with pytest.raises(InputError, match="exists already"):
            endpoint.receive(server.address, out, title=movie.stem)
        viewed = endpoint.receive(server.address, out, title=movie.stem, replace=True)
    assert out.stat().st_size == viewed["bytes"] < 4_000_000
    assert not out.read_bytes().startswith(b"kept")


def test_what_cannot_be_written_is_said_and_what_is_no_file_is_written_to(movie: Path, tmp_path: Path) -> None:
    with serving(movie, sessions=1) as server:
        with pytest.raises(RunError, match="absent"):
            endpoint.receive(server.address, tmp_path / "absent" / "seen.m4v", title=movie.stem)
        assert endpoint.receive(server.address, Path("/dev/null"), title=movie.stem)["frames"] == 48


def test_no_server_is_told_from_one_that_fell_silent_and_from_a_wrong_title(movie: Path, tmp_path: Path) -> None:
    with silence() as nobody:
        out = tmp_path / "seen.m4v"
        code, said, complained = received(nobody, "movie", "--out", out)
    assert (code, said) == (1, "")
    assert "no answer for 3 s; still asking" in complained
    assert f"error: 127.0.0.1:{nobody.data}: no answer in 10 s: is a server there" in complained
    assert "--key-file" in complained and not out.exists()
    with serving(movie, sessions=1) as server:
        code, _, complained = received(server.address, "other")
        assert code == 1 and "no movie of the title 'other'; a title is the name of the server's file" in complained
        code, said, complained = received(server.address, movie.stem)
        assert code == 0 and "48 whole frames" in said and "0 lost; to the end of the movie" in said
        assert "no answer" not in complained


def verdict(**given: Any) -> str | None:
    viewed = {"ended": "Vanished", "frames": 0, "packets": 0, "frames_by_level": [], "drops": {}}
    return closing_message.why_it_ended({**viewed, **given}, server="here:1", title="x", keyed=bool(given.get("keyed")))


def spoken(capsys: pytest.CaptureFixture[str], *, by: str, **given: Any) -> str:
    """What ``framewire receive`` prints of a session with audio."""
    viewed = {"ended": "Stopped", "packets": 9, "frames": 20, "frames_lost": 30, "frames_by_level": [20], "bytes": 0}
    receive_cli._show({**viewed, "audio": {"file": "a.mp3", "packets": 40, "lost": 396}, **given}, None, by=by)
    return capsys.readouterr().out


def test_what_was_never_sent_is_not_called_lost(capsys: pytest.CaptureFixture[str]) -> None:
    said = spoken(capsys, by="you")
    assert "20 whole frames (20 of level 0), what followed did not come; until you stopped it" in said
    assert "40 packets of audio, what followed did not come: a.mp3" in said and "396" not in said
    assert "what followed did not come: a.mp3" in spoken(capsys, by="the server", ended="Vanished")
    said = spoken(capsys, by="the server", ended="EndOfMovie")
    assert "30 lost; to the end of the movie" in said and "40 packets of audio, 396 lost: a.mp3" in said


def test_each_end_has_words_of_its_own() -> None:
    assert verdict(ended="EndOfMovie") is None
    told = [
        verdict(),
        verdict(keyed=True),
        verdict(drops={"NotAuthentic": 3}),
        verdict(drops={"Malformed": 3}),
        verdict(frames_by_level=[0, 0]),
        verdict(frames_by_level=[7, 0], frames=7, packets=20),
        verdict(ended="UnknownTitle"),
        verdict(ended="Busy"),
        verdict(ended="SourceFailed"),
        verdict(ended="Stopped"),
    ]
    assert all(one is not None and one.startswith("here:1: ") for one in told)
    assert len(set(told)) == len(told)
    assert "share your key" in str(told[1]) and "want a key" in str(told[0])
    assert "fell silent after 7 whole frames" in str(told[5])


@pytest.fixture(scope="module")
def long_movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty seconds, so that a session can be interrupted."""
    return made_movie(tmp_path_factory.mktemp("long"), 30)


class Told(Serving):
    """A server that keeps what it tells, and can be asked for it."""

    def __init__(self, path: Path, **settings: Any) -> None:
        super().__init__(path, **settings)
        self.events: list[dict[str, Any]] = []

    def listen(self, kind: str, event: dict[str, Any]) -> None:
        super().listen(kind, event)
        self.events.append(event)


def until(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)
    return what()


@pytest.mark.parametrize(
    ("controller", "tfrc", "complaints"), [("tfrc", False, 1), ("vtp", True, 1), ("vtp", False, 0)]
)
def test_both_sides_say_when_reports_are_not_of_use(
    long_movie: Path, controller: str, tfrc: bool, complaints: int, tmp_path: Path
) -> None:
    server = Told(long_movie, controller=controller, sessions=1)
    server.start()
    assert server.ready.wait(30)
    where = [f"127.0.0.1:{server.address.data}", "--control-port", str(server.address.control)]
    command = [sys.executable, "-m", "framewire", "receive", *where, long_movie.stem, "-o", str(tmp_path / "seen.m4v")]
    client = subprocess.Popen(
        [*command, "--transport", "tfrc" if tfrc else "vtp-hybrid"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert until(lambda: any(event.get("event") == "started" for event in server.events))
    time.sleep(6.5)
    client.send_signal(signal.SIGINT)
    said, complained = client.communicate(timeout=30)
    assert client.returncode == 130
    assert complained.count("warning: the server has used no report of this side for 5 s") == complaints
    assert "error" not in complained
    assert "until you stopped it" in said
    server.join(30)
    assert sum(event.get("event") == "no feedback" for event in server.events) == complaints
    assert server.result["sessions"] == 1


def test_a_fixed_rate_needs_no_reports_and_nobody_is_warned(long_movie: Path) -> None:
    server = Told(long_movie, controller="fixed", sessions=1)
    server.start()
    assert server.ready.wait(30)
    heard: list[dict[str, Any]] = []

    def view() -> None:
        endpoint.receive(server.address, None, title=long_movie.stem, listener=lambda _, event: heard.append(event))

    threading.Thread(target=view, daemon=True).start()
    assert until(lambda: sum(event["event"] == "frame" for event in heard) > 24 * 6)
    assert not [event for event in [*heard, *server.events] if event.get("event") == "no feedback"]


def test_ctrl_c_ends_a_server_with_its_summary_and_clients_are_named(movie: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "framewire", "send", str(movie), "--listen", "localhost:0", "--log", str(log)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        words_of_it = server.stderr.readline().split()
        data, control = (int(word.rpartition(":")[2]) for word in words_of_it if word.startswith("127.0.0.1"))
        viewed = endpoint.receive(endpoint.Address("localhost", data, control), None, title=movie.stem)
        assert viewed["frames"] == 48
        server.send_signal(signal.SIGINT)
        said, complained = server.communicate(timeout=30)
    finally:
        server.kill()
    assert server.returncode == 130
    assert said.startswith("1 session; 99 % of packets left within")
    assert "error" not in complained and "interrupted" not in complained
    assert complained.count(" comes; 1 client") == 1 and complained.count(" goes after ") == 1
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["kind"] for event in events[:2]] == ["listening", "event"]
    told = [event for event in events if event["kind"] == "event"]
    assert {event["event"] for event in told} <= {"started", "level", "ended"}
    assert told[0]["event"] == "started" and told[0]["data"].startswith("127.0.0.1:")
    assert (told[-1]["event"], told[-1]["reason"]) == ("ended", "EndOfMovie")
    assert all(event["from"] != event["to"] for event in told if event["event"] == "level")


@pytest.mark.parametrize(
    ("end", "code", "words_of_it"),
    [
        (signal.SIGINT, 1, r"until the server stopped it.*error: .*stopped after \d+ whole frames, before"),
        (signal.SIGKILL, 1, r"the server fell silent after \d+ whole"),
    ],
)
def test_a_server_that_stops_is_told_from_one_that_is_killed(
    end: signal.Signals, code: int, words_of_it: str, long_movie: Path, tmp_path: Path
) -> None:
    out, log = tmp_path / "seen.m4v", tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "framewire", "send", str(long_movie), "--listen", "127.0.0.1:0", "--log", str(log)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        heading = server.stderr.readline().split()
        data, control = (int(word.rpartition(":")[2]) for word in heading if word.startswith("127.0.0.1"))

        def stop() -> None:
            assert until(lambda: out.exists() and out.stat().st_size > 0)
            server.send_signal(end)

        threading.Thread(target=stop).start()
        told, said, complained = received(endpoint.Address("127.0.0.1", data, control), long_movie.stem, "-o", out)
        server.wait(30)
    finally:
        server.kill()
        server.communicate()
    assert told == code, complained
    assert re.search(words_of_it, said + complained), complained
    assert complained.count("error") == 1
    assert "plays with: ffplay" in said and 0 < out.stat().st_size < 2_000_000


def test_a_name_of_both_kinds_is_taken_as_ipv4_and_one_of_ipv6_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    six = (socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("2001:db8::1", 0, 0, 0))
    four = (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("192.0.2.1", 0))
    for found, host in (([six, four], "192.0.2.1"), ([six], "[2001:db8::1]")):
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=found, **__: found)
        assert endpoint.Address("both.example", 1, 2).resolved() == endpoint.Address(host, 1, 2)


def test_names_are_resolved_and_what_no_name_is_is_refused(movie: Path) -> None:
    assert endpoint.Address("localhost", 1, 2).resolved() == endpoint.Address("127.0.0.1", 1, 2)
    for text in ("127.0.0.1", "[::1]"):
        assert endpoint.Address(text, 1, 2).resolved().host == text
    for name in ("nobody.invalid", "a..b"):
        with pytest.raises(InputError, match=f"address '{name}:5004': no address of '{name}' is known"):
            endpoint.receive(endpoint.Address(name, 5004, 5005), None, title="x")
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as held:
        held.bind(("127.0.0.1", 0))
        taken = held.getsockname()[1]
        with pytest.raises(RunError, match=rf"port {taken} .* in use.*--control-port names another"):
            endpoint.send(movie, endpoint.Address("127.0.0.1", 0, taken))
        with pytest.raises(RunError, match="in use") as refused:
            endpoint.send(movie, endpoint.Address("127.0.0.1", taken, 0))
        assert "--control-port" not in str(refused.value)


@pytest.mark.parametrize("b_frames", [0, 2])
@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_a_picture_in_display_order_is_joined_with_its_sound_as_it_is(
    codec: str, b_frames: int, tmp_path: Path
) -> None:
    encoder = {"h264": "libx264", "hevc": "libx265"}[codec]
    options = [f"-{encoder[3:]}-params", f"bframes={b_frames}:log-level=none", "-f", codec]
    lavfi = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i"]
    movie, sound = tmp_path / f"movie.{codec}", tmp_path / "movie.aac"
    subprocess.run([*lavfi, "testsrc2=s=96x64:r=25:d=2", "-c:v", encoder, *options, movie], check=True)
    subprocess.run([*lavfi, "sine=d=2", "-c:a", "aac", sound], check=True)
    name = {"h264": "H.264", "hevc": "H.265"}[codec]
    video = ["-f", codec, "-framerate", "25"]
    joins = closing_message.joining_command(name, video, movie, ["-i", str(sound)])
    subprocess.run([*shlex.split(joins), "-v", "error"], check=True)
    pictures = ["-map", "0:v", "-f", "framemd5", "-"]
    shown = [
        [line.split(",") for line in told.splitlines() if not line.startswith("#")]
        for file in (movie, movie.with_suffix(".mkv"))
        for told in [subprocess.run(["ffmpeg", "-v", "error", "-i", file, *pictures], check=True, capture_output=True,
                                    text=True).stdout]
    ]  # fmt: skip
    assert ("-c" in shlex.split(joins)) == (b_frames == 0)
    same = [row[-1] for row in shown[0]] == [row[-1] for row in shown[1]]
    assert (len(shown[1]), same) == (50, b_frames == 0)
    packets = ["-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0"]
    ran = subprocess.run(
        ["ffprobe", "-v", "error", *packets, movie.with_suffix(".mkv")], check=True, capture_output=True
    )
    times = sorted(float(time.strip(b",")) for time in ran.stdout.split())
    assert [round((time - times[0]) * 25, 1) for time in times] == list(range(50))


def test_the_commands_that_it_names_play_and_join_what_came(heard: Path, tmp_path: Path) -> None:
    made = ladder.make(
        source=heard,
        levels=ladder.parse_levels("16-31, 4-8", "mpeg4"),
        cache_dir=tmp_path,
        plan=build.Plan(segments=2),
    )
    out = tmp_path / "seen.m4v"
    with serving(made.streaming_file, sessions=1) as server:
        viewed = endpoint.receive(server.address, out, title=made.streaming_file.stem)
    assert (viewed["codec"], viewed["frames_per_second"]) == ("MPEG-4 part 2", 24.0)
    assert viewed["ffmpeg_format"] == "m4v"
    plays, joins = closing_message.how_it_plays(viewed, out)
    assert plays == f"{out}: MPEG-4 part 2; plays with: ffplay -f m4v -framerate 24 {out}"
    subprocess.run([*shlex.split(joins.removeprefix("with its audio: ")), "-v", "error"], check=True)
    film = out.with_suffix(".mkv")
    entries = ["-show_entries", "stream=codec_name,avg_frame_rate:format=duration", "-of", "json"]
    told = json.loads(
        subprocess.run(["ffprobe", "-v", "error", *entries, film], check=True, capture_output=True).stdout
    )
    assert [one["codec_name"] for one in told["streams"]] == ["mpeg4", "mp3"]
    assert told["streams"][0]["avg_frame_rate"] == "24/1"
    assert float(told["format"]["duration"]) == pytest.approx(2, abs=0.1)
    assert probed(out.with_suffix(".mp3"))["codec_name"] == "mp3"
    missing = closing_message.how_it_plays({**viewed, "frames_lost": 12}, out)
    assert missing[-1].startswith("12 frames are missing within the film: ") and len(missing) == 3
    assert len(closing_message.how_it_plays({**viewed, "frames_lost": 12, "ended": "Stopped"}, out)) == 2
    assert len(closing_message.how_it_plays({**viewed, "audio": None, "frames_lost": 12}, out)) == 1
    assert closing_message.how_it_plays({**viewed, "bytes": 0}, out) == closing_message.how_it_plays(viewed, None) == []
