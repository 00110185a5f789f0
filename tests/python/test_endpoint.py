"""Adaptive streams over loopback: what is served is what is received, and no client without the key is served."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framewire import cli, endpoint
from framewire.errors import InputError, RunError
from framewire.movie import ladder
from framewire.movie.ladder import build
from framewire.movie.ladder.sound import Audio

pytestmark = pytest.mark.real_time

ANY = endpoint.Address("127.0.0.1", 0, 0)


def made_movie(directory: Path, seconds: int) -> Path:
    """A streaming file of two levels."""
    clip = directory / "clip.mkv"
    source = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=24", "-t", str(seconds)]
    subprocess.run(["ffmpeg", "-v", "error", *source, "-c:v", "mpeg4", "-q:v", "2", str(clip)], check=True)
    specs = ladder.parse_levels("16-31, 4-8", "mpeg4")
    return ladder.make(source=clip, levels=specs, cache_dir=directory, plan=build.Plan(segments=2)).streaming_file


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds."""
    return made_movie(tmp_path_factory.mktemp("movie"), 2)


class Serving(threading.Thread):
    """A server in a thread of its own, from when it listens until its sessions have ended."""

    def __init__(self, path: Path, **settings: Any) -> None:
        super().__init__(daemon=True)
        self.path, self.settings = path, settings
        self.ready = threading.Event()
        self.address = ANY
        self.result: dict[str, Any] = {}

    def run(self) -> None:
        self.result = endpoint.send(self.path, ANY, listener=self.listen, **self.settings)

    def listen(self, kind: str, event: dict[str, Any]) -> None:
        if kind == "listening":
            data, control = (int(event[which].rpartition(":")[2]) for which in ("data", "control"))
            self.address = endpoint.Address("127.0.0.1", data, control)
            self.ready.set()


@contextlib.contextmanager
def serving(path: Path, **settings: Any) -> Iterator[Serving]:
    server = Serving(path, **settings)
    server.start()
    assert server.ready.wait(30)
    yield server
    server.join(30)
    assert not server.is_alive()


@pytest.mark.parametrize("controller", endpoint.CONTROLLERS)
def test_the_movie_arrives_whole_and_decodes(controller: str, movie: Path, tmp_path: Path) -> None:
    out = tmp_path / "received.m4v"
    events: list[dict[str, Any]] = []
    with serving(movie, controller=controller, sessions=1) as server:
        viewed = endpoint.receive(
            server.address,
            out,
            title=movie.stem,
            tfrc=controller == "tfrc",
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


@pytest.mark.parametrize("repeats", [False, True])
def test_several_clients_are_served_at_once(repeats: bool, movie: Path) -> None:
    with serving(movie, sessions=6) as server:
        results: list[dict[str, Any]] = []

        def view() -> None:
            results.append(endpoint.receive(server.address, None, title=movie.stem, repeats=repeats))

        views = [threading.Thread(target=view) for _ in range(6)]
        for one in views:
            one.start()
        for one in views:
            one.join(60)
    assert [result["frames"] for result in results] == [48] * 6
    drops = server.result["drops"]
    if repeats:  # a server that repeats nothing drops offers: docs/vtp.md
        assert list(drops) == ["Unexpected"] and 6 <= drops["Unexpected"] <= 36
    else:
        assert drops == {}


def test_a_key_that_is_not_shared_and_a_title_that_does_not_exist(movie: Path) -> None:
    key = b"sixteen bytes or more"
    with serving(movie, key=key, sessions=1) as server:
        unknown = endpoint.receive(server.address, None, title="other", key=key)
        assert (unknown["ended"], unknown["frames"]) == ("UnknownTitle", 0)
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as hostile:
            for size in (0, 1, 36, 60, 1_200, 9_000):
                hostile.sendto(bytes(size), ("127.0.0.1", server.address.data))
        assert endpoint.receive(server.address, None, title=movie.stem, key=key)["frames"] == 48
    # Offers of repeats, which this server does not have, are dropped beside them.
    assert server.result["drops"]["NotAuthentic"] == 6


def test_what_cannot_be_says_why(movie: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='controller: "x" is not allowed; allowed is one of vtp,'):
        endpoint.send(movie, ANY, controller="x")
    with pytest.raises(InputError, match=r"k = 0"):
        endpoint.send(movie, ANY, ack_every=0)
    with pytest.raises(InputError, match=r'estimate "k" does not exist; "bytes over gaps" and "k over k - 1" do'):
        endpoint.send(movie, ANY, estimate="k")
    with pytest.raises(InputError, match="bytes of header mean nothing"):
        endpoint.send(movie, ANY, estimate="k over k - 1", estimate_header=28)
    with pytest.raises(InputError, match="0 to 1500 bytes"):
        endpoint.send(movie, ANY, estimate_header=1_501)
    with pytest.raises(InputError, match="key has 3 bytes, at least 16"):
        endpoint.send(movie, ANY, key=b"abc")
    with pytest.raises(InputError, match="title"):
        endpoint.receive(ANY, None, title="x" * 256)
    with pytest.raises(InputError, match=r"absent\.vtp: No such file"):
        endpoint.send(tmp_path / "absent.vtp", ANY)
    cut = tmp_path / "cut.vtp"
    cut.write_bytes(movie.read_bytes()[:1_000])
    with pytest.raises(InputError, match=r"cut\.vtp: .* it is cut off"):
        endpoint.send(cut, ANY)
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match="in use"):
            endpoint.send(movie, endpoint.Address("127.0.0.1", held.getsockname()[1], 0))
    for text in ("127.0.0.1", ":5004", "127.0.0.1:x", "::1:5004", "[::1"):
        with pytest.raises(InputError, match="ADDRESS:PORT"):
            endpoint.Address.parse(text)
    with pytest.raises(InputError, match="port 70000: 0 to 65535 are allowed"):
        endpoint.Address.parse("127.0.0.1:70000")
    with pytest.raises(InputError, match="--control-port: port 65536"):
        endpoint.Address.parse("127.0.0.1:5004", control=65_536)
    with pytest.raises(InputError, match="control packets need the next port"):
        endpoint.Address.parse("127.0.0.1:65535")
    assert endpoint.Address.parse("127.0.0.1:65535", control=5004) == endpoint.Address("127.0.0.1", 65_535, 5_004)
    assert endpoint.Address.parse("127.0.0.1:5004") == endpoint.Address("127.0.0.1", 5004, 5005)


def without_plan(movie: bytes) -> bytes:
    """A streaming file without the plans that its header carries, and with the right checksums."""

    def number(at: int, size: int) -> int:
        return int.from_bytes(movie[at : at + size], "big")

    levels, length, index = number(10, 2), number(36, 4), number(40, 8)
    header, at = bytearray(movie[:72]), 72
    for _ in range(levels):
        header += movie[at : at + 8] + bytes(4)
        at += 12 + 12 * number(at + 8, 4)
    header += movie[at : length - 4]
    cut = length - 4 - len(header)
    for place, size in ((36, 4), (40, 8), (48, 8)):
        header[place : place + size] = (number(place, size) - cut).to_bytes(size, "big")
    header += zlib.crc32(header).to_bytes(4, "big")
    entries, entry = bytearray(movie[index:-4]), 16 + 8 * levels
    for start in range(0, len(entries), entry):
        offset = int.from_bytes(entries[start : start + 8], "big") - cut
        entries[start : start + 8] = offset.to_bytes(8, "big")
    entries += zlib.crc32(entries).to_bytes(4, "big")
    return bytes(header) + movie[length:index] + bytes(entries)


def test_files_that_cannot_be_sent_are_wrong_input(movie: Path, tmp_path: Path) -> None:
    planless = tmp_path / "planless.vtp"
    planless.write_bytes(without_plan(movie.read_bytes()))
    assert build.describe(planless)["frames"] == 48, "every byte of it is right"
    other = tmp_path / "other.vtp"
    other.write_bytes(b"nothing of the kind")
    cases = [
        (planless, "planless.vtp: it has no plan, which says how fast each level is to be sent"),
        (other, "other.vtp: not a streaming file"),
        (tmp_path / "absent.vtp", "absent.vtp: No such file"),
        (tmp_path, "Is a directory"),
    ]
    for path, expected in cases:
        refused = CliRunner().invoke(cli.app, ["send", str(path), "--listen", "127.0.0.1:0", "--sessions", "1"])
        assert refused.exit_code == 2, refused.output
        assert expected in refused.output.replace("\n", "")
    absent = ["--key-file", str(tmp_path / "absent.key")]
    refused = CliRunner().invoke(cli.app, ["send", str(movie), *absent])
    assert (refused.exit_code, "absent.key: the key cannot be read" in refused.output) == (2, True), refused.output


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
        assert "no movie of the title 'other'" in refused.output
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130
    finally:
        server.kill()
        server.communicate()
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds[0] == "listening"
    assert kinds.count("event") >= 2


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of two seconds with a tone of 440 Hz that is a second longer."""
    clip = tmp_path_factory.mktemp("heard") / "tone.mkv"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=24:d=2"]
    tone = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=3"]
    subprocess.run(
        ["ffmpeg", "-v", "error", *picture, *tone, "-c:v", "mpeg4", "-q:v", "2", "-c:a", "flac", str(clip)], check=True
    )
    return clip


def pitch(path: Path) -> float:
    """How often a sound rises through zero, in Hz, in the middle second of its first channel."""
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-ss", "0.5", "-t", "1", "-ac", "1", "-f", "s16le", "-"]
    raw = subprocess.run(command, check=True, capture_output=True).stdout
    samples = memoryview(raw).cast("h").tolist()
    rises = sum(before < 0 <= after for before, after in itertools.pairwise(samples))
    rate = probed(path)["sample_rate"]
    return rises * int(rate) / len(samples)


def probed(path: Path) -> dict[str, Any]:
    entries = "stream=codec_name,sample_rate,channels,nb_read_packets"
    command = ["ffprobe", "-v", "error", "-count_packets", "-show_entries", entries, "-of", "json", str(path)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["streams"][0]
    return told


@pytest.mark.parametrize(
    ("codec", "controller", "samples"), [("mp3", "vtp-hybrid", 1152), ("aac", "vtp", 1024), ("mp2", "fixed", 1152)]
)
def test_the_audio_of_a_file_comes_out_beside_the_video(
    heard: Path, tmp_path: Path, codec: str, controller: str, samples: int
) -> None:
    made = ladder.make(
        tmp_path / "made",
        source=heard,
        levels=ladder.parse_levels("16-31, 4-8", "mpeg4"),
        plan=build.Plan(segments=2),
        audio=Audio(codec, 96_000),
        cache_dir=tmp_path / "cache",
    )
    described = build.describe(made.streaming_file)["audio"]
    assert (described["codec"], described["sample_rate"], described["channels"]) == (codec, 44_100, 2)
    assert 1 + (2 * 44_100 - 1) // samples == described["packets"], "those that begin within two seconds"
    assert described["mean_bps"] == pytest.approx(96_000, rel=0.15)
    told: list[dict[str, Any]] = []
    with serving(made.streaming_file, controller=controller, sessions=1) as server:
        out = tmp_path / "received.m4v"
        viewed = endpoint.receive(
            server.address,
            out,
            title=made.streaming_file.stem,
            listener=lambda _kind, event: told.append(event),
        )
    sound = out.with_suffix(f".{codec}")
    assert viewed["audio"] == {"file": str(sound), "packets": described["packets"], "lost": 0}
    assert (viewed["frames"], viewed["frames_lost"]) == (48, 0)
    assert sound.stat().st_size == described["bytes"]
    here = probed(sound)
    assert (here["codec_name"], here["sample_rate"], int(here["channels"])) == (codec, "44100", 2)
    assert int(here["nb_read_packets"]) == described["packets"]
    assert pitch(sound) == pytest.approx(440, abs=2)


def test_audio_is_left_out_where_there_is_none_and_where_it_is_to_be(heard: Path, movie: Path, tmp_path: Path) -> None:
    command = ["movie", "ladder", str(heard), "--levels", "16-31, 4-8", "--segments", "2", "--json"]
    told = CliRunner().invoke(cli.app, [*command, "--out", str(tmp_path / "quiet"), "--no-audio"])
    assert told.exit_code == 0, told.output
    quiet = tmp_path / "quiet" / "movie.vtp"
    assert json.loads(told.stdout)["audio"] is None
    assert quiet.read_bytes()[8:10] == b"\0\1" == movie.read_bytes()[8:10]
    with serving(movie, sessions=1) as server:
        viewed = endpoint.receive(server.address, tmp_path / "seen.m4v", title=movie.stem)
    assert viewed["audio"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["quiet", "seen.m4v"]


def test_audio_that_cannot_be_is_refused(heard: Path) -> None:
    with pytest.raises(InputError, match='audio codec: "opus" is not allowed; allowed is one of mp3, aac, mp2$'):
        Audio("opus")
    with pytest.raises(InputError, match="audio rate 1000 bit/s: 16000 to 384000 bit/s are allowed"):
        Audio(rate_bps=1_000)
    with pytest.raises(InputError, match="packet 0 of the audio has .* bytes; packets of 128 are to be written"):
        ladder.make(source=heard, levels=ladder.parse_levels("16-31", "mpeg4"), payload=128, cache_dir=heard.parent)
