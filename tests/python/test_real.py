"""A movie from one process to another over loopback: both directories, and the run that is made of them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine_load
import polars as pl
import pytest
from typer.testing import CliRunner

from framewire import report
from framewire.cli import app
from framewire.endpoint.address import Address
from framewire.errors import InputError
from framewire.real import ends, join, side_of
from framewire.results import RunDirectory

pytestmark = pytest.mark.real_time

RUNNER = CliRunner()

COMMAND = [sys.executable, "-m", "framewire"]

CLOCK_ERROR_S = 0.02
"""More than a loopback of a busy machine takes for a question and its answer."""


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds of H.264 with B frames."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    return encoded(tmp_path_factory.mktemp("movie") / "movie.h264")


def encoded(path: Path) -> Path:
    """The movie in a file of the kind that its name says."""
    source = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=3"]
    coding = ["-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-bf", "2", "-b:v", "2M", "-threads", "1"]
    subprocess.run(["ffmpeg", "-v", "error", *source, *coding, str(path)], check=True)
    return path


def free_port() -> int:
    """A port of UDP and TCP that is free, with the one above it."""
    for _ in range(100):
        with socket.socket() as one, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            try:
                other.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise AssertionError("no two free ports")


@contextmanager
def receiving(out: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A receiver in a process of its own, which listens."""
    port = free_port()
    with subprocess.Popen(
        [*COMMAND, "receive", f"127.0.0.1:{port}", "--out", str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "waiting for a stream" in line, line + process.stderr.read()
            yield process, port
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and output of a process that ends by itself."""
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def send(movie: Path | str, port: int, out: Path, *options: str, **arguments: object) -> tuple[int, str]:
    """Sends from a process of its own, to its end."""
    command = [*COMMAND, "send", str(movie), "--to", f"127.0.0.1:{port}", "--out", str(out), *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **arguments)  # type: ignore[call-overload]
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize("transport", ["udp", "udp+dependency", "ts", "ts+rtp", "tcp", "rtp+tcp", "ts+tcp+dependency"])
def test_what_is_sent_comes_and_both_ends_become_one_run(transport: str, movie: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came", "--transport", transport) as (process, port):
        code, said = send(movie, port, tmp_path / "sent", "--transport", transport)
        assert code == 0, said
        code, out, err = ended(process)
    assert code == 0, err
    assert "75 whole frames; to the end" in out
    came = (tmp_path / "came" / "received" / "movie.h264").read_bytes()
    is_as_it_was = "dependency" not in transport  # which allows gaps in the parameter sets of H.264
    assert not is_as_it_was or came == movie.read_bytes()
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    assert run.status == "complete"
    assert run.results.meta["world"] == "real"
    clocks = run.results.meta["clocks"]
    assert clocks["aligned_by"] == "exchange"
    assert 0 < clocks["error_s"] < CLOCK_ERROR_S
    frames = run.frames
    assert frames["fate"].to_list() == ["shown"] * 75
    assert frames["size"].sum() == len(came)
    # What comes has left, and soon: within the error of the clocks.
    error_ns = int(1e9 * clocks["error_s"])
    assert (frames["arrival_ns"] - frames["first_byte_ns"]).min() >= -error_ns  # type: ignore[operator]
    assert frames["latency_ns"].quantile(0.5) < 50_000_000 + error_ns  # type: ignore[operator]
    assert (tmp_path / "joined" / "received" / f"{transport}.h264").read_bytes() == came
    if not transport.startswith(("tcp", "rtp+tcp", "ts+tcp")):
        packets = run.results.packets
        assert packets["outcome"].to_list() == ["delivered"] * packets.height
        assert set(packets["hop"]) == {"network"}


def test_a_run_says_where_nothing_shows_that_its_ends_are_of_one_stream(movie: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came") as (process, port):
        assert send(movie, port, tmp_path / "sent", "--duration", "1 s")[0] == 0
        assert ended(process)[0] == 0
    ends = [str(tmp_path / "sent"), str(tmp_path / "came")]
    # As of an end to which no number was told, or of a version that knew of none.
    for numbered in (True, False):
        if not numbered:
            for end in ends:
                path = Path(end, "run.json")
                document = {**json.loads(path.read_text()), "session": None}
                del document["checksums"]
                path.write_text(json.dumps(document))
        said = RUNNER.invoke(app, ["report", *ends])
        assert said.exit_code == 0, said.output
        assert ("not checked: nothing that both ends recorded" in said.output) != numbered
        (made,) = (path for path in tmp_path.glob(f"sent-joined{'' if numbered else '-2'}") if path.is_dir())
        assert json.loads((made / "run.json").read_text())["session_checked"] is numbered
        assert ("not checked: nothing that both ends recorded" in (made / "report.html").read_text()) != numbered


def test_a_report_is_made_of_both_ends_and_says_how_exact_their_clocks_are(movie: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came") as (process, port):
        options = ["--duration", "2 s", "--set", "flow.0.mtu=1400"]
        assert send(movie, port, tmp_path / "sent", *options)[0] == 0
        assert ended(process)[0] == 0
    alone = RUNNER.invoke(app, ["report", str(tmp_path / "sent")])
    assert alone.exit_code == 2
    assert "with both ends: framewire report" in alone.output
    done = RUNNER.invoke(app, ["report", str(tmp_path / "sent"), str(tmp_path / "came")])
    assert done.exit_code == 0, done.output
    said = re.fullmatch(
        r".*shown.*\nudp +100\.0 .*^results  (\S+)$\n^report   (\S+)$\n\nudp alone .*", done.stdout, re.S | re.M
    )
    assert said is not None, done.stdout
    run, report = (Path(path) for path in said.groups())
    assert (run, report) == (tmp_path / "sent-joined", tmp_path / "sent-joined" / "report.html")
    html = report.read_text(encoding="utf-8")
    assert RUNNER.invoke(app, ["report", str(tmp_path / "came"), str(tmp_path / "sent")]).exit_code == 0
    assert [*tmp_path.glob("sent-joined*")] == [run], "the same two are the same run"
    assert re.search(r"aligned by \d+ exchanges to within 0\.\d+ ms", html)
    assert "real: two ends, joined" in html
    assert "On the air" not in html, "nothing is known of the air"
    assert "IEEE 802.11" not in html.split("<h3>scenario.toml</h3>")[0], "no network of the lab took part"
    again = (
        f"framewire send movie.h264 --to 127.0.0.1:{port} --transport udp --duration '2 s' --set flow.0.mtu=1400</pre>"
    )
    assert again in html.replace("&#39;", "'")
    assert "[network" not in html, "no network of the lab took part"


STOOD_STILL_S = 0.6
"""How long a sender is stopped, as a busy machine or a laptop's lid does."""


def test_a_sender_that_stood_still_is_told_and_no_other(movie: Path, tmp_path: Path) -> None:
    """What it was late is no delay of the network; the bounds are those of the lab's own senders."""
    for transport, is_stopped in [("udp", True), ("tcp", True), ("udp", False)]:
        name = f"{transport}-{is_stopped}"
        with receiving(tmp_path / f"came-{name}", "--transport", transport) as (process, port):
            command = [*COMMAND, "send", str(movie), "--to", f"127.0.0.1:{port}", "--transport", transport]
            with subprocess.Popen(
                [*command, "--out", str(tmp_path / f"sent-{name}")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as sender:
                if is_stopped:
                    wait_for_bytes(tmp_path, f"came-{name}")
                    sender.send_signal(signal.SIGSTOP)
                    time.sleep(STOOD_STILL_S)
                    sender.send_signal(signal.SIGCONT)
                said, _ = sender.communicate(timeout=30)
            assert sender.returncode == 0, said.decode()
            assert ended(process)[0] == 0
        run = join(tmp_path / f"sent-{name}", tmp_path / f"came-{name}", tmp_path / f"run-{name}")
        proof = run.results.meta["accuracy"][transport]
        wakes = proof["wakes"]["sender"]
        assert 75 <= wakes["count"] < 2_000, "a frame or a sample each"
        is_late = (wakes["late_over_10ms"] > 1 and wakes["late_over_10ms"] * 100 > wakes["count"]) or (
            wakes["max_us"] > machine_load.WORST_MS * 1e3
        )
        assert ("the flow's sender was " in str(proof["disturbed"])) == is_late, proof
        written = report.write(run.directory, pictures=False)
        html = written.path.read_text(encoding="utf-8")
        assert f"The sender was woken {wakes['count']:,} times by its frame clock" in html
        assert ("The sender was disturbed" in html) == is_late
        assert ("the sender was disturbed" in str(written.verdict.provisional)) == is_late
        assert "contradicts itself" not in html
        if is_stopped:
            assert STOOD_STILL_S - 0.1 < wakes["max_us"] / 1e6 < STOOD_STILL_S + 3
        elif is_late:
            machine_load.too_busy(f"it woke late: {wakes}")


def wait_for_bytes(directory: Path, name: str) -> None:
    """Until a receiver has written something of the movie, wherever its unfinished directory is."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if any(path.stat().st_size for path in directory.glob(f"{name}.partial/received/*") if path.is_file()):
            return
        time.sleep(0.02)
    raise AssertionError("nothing came")


def test_a_receiver_that_is_interrupted_has_a_whole_directory(movie: Path, tmp_path: Path) -> None:
    for number, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
        came, sent = tmp_path / f"came-{code}", tmp_path / f"sent-{code}"
        with receiving(came) as (process, port):
            command = [*COMMAND, "send", str(movie), "--to", f"127.0.0.1:{port}", "--out", str(sent)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sender:
                time.sleep(2.5)
                process.send_signal(number)
                found, out, err = ended(process)
                assert sender.wait(timeout=30) == 0
        assert found == code, err
        assert "until you stopped it" in out
        document = json.loads((came / "run.json").read_text())
        assert (document["status"], document["ended_by"], document["side"]) == ("partial", "interrupted", "receiver")
        run = join(sent, came, tmp_path / f"joined-{code}")
        fates = dict(run.frames.group_by("fate").len().iter_rows())
        assert run.status == "partial"
        assert fates.get("lost", 0) > 0, "what was sent afterwards did not come"
        assert sum(fates.values()) == 75


def test_losses_are_of_the_network_and_what_was_given_up_of_the_sender(movie: Path, tmp_path: Path) -> None:
    """A relay between the two throws every tenth datagram away."""
    with receiving(tmp_path / "came") as (process, port), relaying(port, loses=10) as other:
        assert send(movie, other, tmp_path / "sent")[0] == 0
        assert ended(process)[0] == 0
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    packets = run.results.packets
    lost = packets.filter(pl.col("outcome") == "dropped")
    assert 0.08 < lost.height / packets.height < 0.12
    assert set(lost["cause"]) == {"not received"}
    frames = run.frames
    assert set(frames.filter(pl.col("fate") == "lost")["root_cause"]) == {"not received"}
    assert run.summary["packets_lost"][0] == lost.height
    whole = frames.filter(pl.col("complete")).height
    document = json.loads((tmp_path / "came" / "run.json").read_text())
    assert document["flows"][0]["received_frames"] == whole


@pytest.mark.parametrize("transport", ["udp", "ts", "ts+rtp"])
def test_what_came_of_a_damaged_frame_is_handed_on_where_that_is_asked_for(
    transport: str, movie: Path, tmp_path: Path
) -> None:
    options = ("--transport", transport, "--damaged", "pass")
    with receiving(tmp_path / "came", *options) as (process, port), relaying(port, loses=10) as other:
        assert send(movie, other, tmp_path / "sent", "--transport", transport)[0] == 0
        assert ended(process)[0] == 0
    frames = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined").frames
    handed_on = frames.filter(pl.col("handed_on") > 0)
    assert handed_on.height > 10 and set(handed_on["fate"]) == {"lost"}
    assert (handed_on["handed_on"] < handed_on["size"]).all()
    (received,) = (tmp_path / "joined" / "received").iterdir()
    whole = frames.filter("complete")["size"].sum()
    assert received.stat().st_size == whole + handed_on["handed_on"].sum()


@pytest.mark.parametrize("transport", ["tcp", "rtp+tcp", "ts+tcp"])
def test_a_reliable_stream_has_no_damaged_frames_to_hand_on(transport: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--damaged pass: by .* a reliable stream brings all of it or ends"):
        ends.receive(Address.parse("127.0.0.1:9"), transport=transport, damaged="pass", out=tmp_path / "came")
    with pytest.raises(InputError, match="one of discard, pass"):
        ends.receive(Address.parse("127.0.0.1:9"), damaged="hide", out=tmp_path / "came")


@contextmanager
def relaying(to: int, *, ports: int = 2, loses: int = 0, of: int = 0, delay_ms: int = 0) -> Iterator[int]:
    """A port and those above it, from which all goes on to another one and those above it, and back, each way so much
    later; but for each so manyth datagram of the stream at one of them."""
    program = (
        "import collections, select, socket, sys, time\n"
        "port, to, ports, loses, of, delay_ms = map(int, sys.argv[1:])\n"
        "outer = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(ports)]\n"
        "[one.bind(('127.0.0.1', port + place)) for place, one in enumerate(outer)]\n"
        "inner = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(ports)]\n"
        "back, count, under_way = {}, 0, collections.deque()\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for one in select.select(outer + inner, [], [], 0.001 if under_way else None)[0]:\n"
        "        data, peer = one.recvfrom(65536)\n"
        "        due = time.monotonic() + delay_ms / 1e3\n"
        "        if one in outer:\n"
        "            place = outer.index(one)\n"
        "            back[place] = peer\n"
        "            count += place == of\n"
        "            if place != of or not loses or count % loses:\n"
        "                under_way.append((due, inner[place], data, ('127.0.0.1', to + place)))\n"
        "        else:\n"
        "            place = inner.index(one)\n"
        "            under_way.append((due, outer[place], data, back[place]))\n"
        "    while under_way and under_way[0][0] <= time.monotonic():\n"
        "        _, by, data, there = under_way.popleft()\n"
        "        by.sendto(data, there)\n"
    )
    port = free_port()
    command = [sys.executable, "-c", program, *map(str, (port, to, ports, loses, of, delay_ms))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield port
        finally:
            process.kill()


def test_standard_input_is_a_movie_like_a_file(movie: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came", "--transport", "tcp") as (process, port), movie.open("rb") as source:
        code, said = send("-", port, tmp_path / "sent", "--transport", "tcp", stdin=source)
        assert code == 0, said
        assert ended(process)[0] == 0
    assert (tmp_path / "came" / "received" / "movie.h264").read_bytes() == movie.read_bytes()
    assert join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined").status == "complete"


def test_a_part_of_a_file_is_sent_several_times(movie: Path, tmp_path: Path) -> None:
    held = encoded(tmp_path / "movie.mkv")
    with receiving(tmp_path / "came", "--transport", "tcp") as (process, port):
        code, said = send(held, port, tmp_path / "sent", "--transport", "tcp", "--start", "2.2", "--loop", "3")
        assert code == 0, said
        assert ended(process)[0] == 0
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    assert run.frames["fate"].to_list() == ["shown"] * 75, "25 frames from the key frame at 2 s on, three times"
    assert run.frames.filter(pl.col("type") == "I").height == 3
    done = RUNNER.invoke(app, ["send", str(movie), "--to", "127.0.0.1:9", "--loop", "2"])
    assert done.exit_code == 2
    assert "an elementary stream has no times" in done.output


def test_what_is_not_possible_is_said_before_anything_is_made(movie: Path, tmp_path: Path) -> None:
    def refused(*words: str, code: int = 2) -> str:
        done = RUNNER.invoke(app, [*words, "--out", str(tmp_path / "out")])
        assert done.exit_code == code, done.output
        assert not (tmp_path / "out").exists()
        return " ".join(done.output.split())

    to = ("--to", "127.0.0.1:9")
    assert "No such file" in refused("send", str(tmp_path / "none.mp4"), *to)
    (tmp_path / "text.mp4").write_text("no movie")
    assert "text.mp4" in refused("send", str(tmp_path / "text.mp4"), *to)
    assert "directory" in refused("send", str(tmp_path), *to)
    assert 'transport: "upd"' in refused("send", str(movie), *to, "--transport", "upd")
    assert "does not carry a movie by itself" in refused("send", str(movie), *to, "--transport", "bulk")
    assert "refuses the connection" in refused("send", str(movie), *to, "--transport", "tcp", code=1)
    for name in ("http", "rtsp+udp"):
        scheme = name[:4]
        said = refused("send", str(tmp_path / "none.mp4"), *to, "--transport", name)
        assert f"its receiver asks for the movie; --serve {scheme}://127.0.0.1:" in said, "before the movie is read"
        said = refused("receive", "127.0.0.1:5004", "--transport", name)
        assert f"its receiver asks for the movie; {scheme}://HOST:PORT/PATH" in said
    serve = ("--serve", "http://127.0.0.1:0/")
    assert "--loop: does not go with --serve; --endless" in refused("send", str(movie), *serve, "--loop", "2")
    assert "--duration: this command serves movies (--serve), with which it does not go" in refused(
        "send", str(movie), *serve, "--duration", "1 s"
    )
    assert "--clients: this command sends a movie" in refused("send", str(movie), *to, "--clients", "3")
    assert "session descriptions are of RTP" in refused(
        "send", str(movie), *to, "--transport", "ts", "--sdp", str(tmp_path / "a.sdp")
    )
    assert "ADDRESS:PORT is needed" in refused("receive", "5004")
    assert "nothing came in 0.2 s" in refused("receive", f"127.0.0.1:{free_port()}", "--wait", "0.2", code=1)
    assert "not an address of this host" in refused("receive", "192.0.2.1:5004", code=1)
    assert 'codec "theora"' in refused("receive", "127.0.0.1:5004", "--codec", "theora")


def test_commands_of_adaptive_streams_stay_as_they_were(movie: Path) -> None:
    def said(*words: str) -> str:
        done = RUNNER.invoke(app, [*words])
        assert done.exit_code == 2, done.output
        return " ".join(done.output.split())

    assert "--to HOST:PORT says where that is" in said("send", str(movie), "--transport", "udp")
    assert "--duration: this command serves a streaming file" in said("send", str(movie), "--duration", "1 s")
    assert "--serve URL says where" in said("send", str(movie), "--transport", "rtsp")
    alone = "not a streaming file; --to HOST:PORT sends a movie to one receiver, --serve URL serves it"
    assert f"{movie}: {alone}".replace(" ", "") in said("send", str(movie)).replace(" ", "")
    assert "has no title" in said("receive", "127.0.0.1:5004", "movie", "--transport", "ts")
    assert "--codec: this command asks a server" in said("receive", "127.0.0.1:5004", "movie", "--codec", "h264")
    assert "--replace: this command receives a movie" in said("receive", "127.0.0.1:5004", "--replace")


def test_directories_that_do_not_belong_together_are_refused(movie: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        with receiving(tmp_path / f"came{number}", "--transport", "tcp") as (process, port):
            options = ["--transport", "tcp", "--duration", "0.4 s"]
            assert send(movie, port, tmp_path / f"sent{number}", *options)[0] == 0
            assert ended(process)[0] == 0
    assert [side_of(tmp_path / name) for name in ("sent1", "came1", ".")] == ["sender", "receiver", None]
    with pytest.raises(InputError, match="another stream"):
        join(tmp_path / "sent1", tmp_path / "came2", tmp_path / "joined")
    with pytest.raises(InputError, match="is of no receiver"):
        join(tmp_path / "sent1", tmp_path / "sent2", tmp_path / "joined")
    table = tmp_path / "came1" / "received_reads.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-40] + bytes(40))
    with pytest.raises(InputError, match="received_reads.parquet is damaged"):
        join(tmp_path / "sent1", tmp_path / "came1", tmp_path / "joined")
    table.write_bytes(whole)
    assert not (tmp_path / "joined").exists()
    assert join(tmp_path / "came1", tmp_path / "sent1", tmp_path / "joined").status == "complete", "in either order"
    assert (tmp_path / "joined" / "run.json").exists()


def test_a_whole_run_is_as_any_other(movie: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came") as (process, port):
        assert send(movie, port, tmp_path / "sent")[0] == 0
        assert ended(process)[0] == 0
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    again = RunDirectory(run.directory)
    assert again.summary["status"].to_list() == ["complete"]
    assert again.meta["flows"][0]["name"] == "udp"
