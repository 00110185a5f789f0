"""Applications of the user's own at both ends of a flow: pipelines and commands in the emulated world."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import machine_load
import polars as pl
import pytest
from own_program import children

import framewire
from framewire import application_congestion, emulator, movie
from framewire.errors import InputError, MachineError
from framewire.scenario import read

SECONDS = 4
FRAMES = SECONDS * 25
PLAIN = """
[[flow]]
name = "plain"
sender.pipeline = "fdsrc ! mpegvideoparse ! tcpclientsink host={receiver} port={port} sync=false"
receiver.pipeline = "tcpserversrc host={address} port={port} ! fdsink"
"""
FFMPEG = """
[[flow]]
name = "ffmpeg"
sender.command = ["ffmpeg", "-loglevel", "warning", "-f", "mpegvideo", "-probesize", "32", "-analyzeduration", "0",
    "-i", "pipe:0", "-c", "copy", "-f", "mpeg2video", "tcp://{receiver}:{port}"]
receiver.command = ["ffmpeg", "-loglevel", "warning", "-f", "mpegvideo", "-i", "tcp://{address}:{port}?listen=1",
    "-c", "copy", "-f", "mpeg2video", "pipe:1"]
"""
RTP = """
[[flow]]
name = "rtp"
sender.pipeline = "fdsrc ! mpegvideoparse ! rtpmpvpay ! udpsink host={receiver} port={port} sync=false"
receiver.pipeline = '''udpsrc port={port} buffer-size=2000000
    caps="application/x-rtp, media=video, clock-rate=90000, encoding-name=MPV" ! rtpmpvdepay ! fdsink sync=false'''
"""
SRT = """
[[flow]]
name = "srt"
sender.pipeline = '''fdsrc ! mpegvideoparse ! mpegtsmux alignment=7
    ! srtsink uri=srt://{receiver}:{port} latency=120 sync=false'''
receiver.pipeline = '''srtsrc uri=srt://:{port}?mode=listener latency=120 ! tsdemux ! video/mpeg
    ! fdsink sync=false'''
"""
RTP_NAL = """
[[flow]]
name = "rtp"
sender.pipeline = "fdsrc ! {parser} ! {caps} ! PAY mtu=1200 ! udpsink host={receiver} port={port} sync=false"
receiver.pipeline = '''udpsrc port={port} buffer-size=2000000
    caps="application/x-rtp, media=video, clock-rate=90000, encoding-name=NAME" ! DEPAY
    ! {caps} ! fdsink sync=false'''
"""
LISTEN = "import socket, sys; server = socket.create_server(('{address}', {port})); peer, _ = server.accept(); "
"""The beginning of a receiver in Python: ``peer`` is the connection."""


def capable() -> str | None:
    """Why applications cannot be tried here, or None."""
    try:
        program = emulator.find()
    except MachineError as error:
        return str(error)
    for needed in ("ffmpeg", "gst-launch-1.0"):
        if shutil.which(needed) is None:
            return f"{needed} is not installed"
    answer = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False)
    return None if answer.returncode == 0 else f"the emulator's doctor says: {answer.stderr}"


pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no applications here: {capable()}"),
]


@pytest.fixture(scope="module")
def film(lab_cache: Path) -> Path:
    """A few seconds of the lab movie at 2 Mbit/s."""
    return movie.make(2_000_000, SECONDS, cache_dir=lab_cache).path


def scenario(film: Path, flows: str, wire: str = 'rate = "8 Mbit/s"\ndelay = "10 ms"') -> str:
    network = f'[network]\nkind = "wired"\n[network.wire]\n{wire}\n'
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}\n{flows}'


def command(name: str, sender: list[str], receiver: list[str]) -> str:
    commands = f"sender.command = {json.dumps(sender)}\nreceiver.command = {json.dumps(receiver)}"
    return f'[[flow]]\nname = "{name}"\n{commands}\n'


def by_flow(result: framewire.Run) -> dict[str, dict[str, object]]:
    return {row["flow"]: row for row in result.summary.iter_rows(named=True)}


@pytest.fixture(scope="module")
def start_s() -> float:
    """What a pipeline takes to start and to end; the first time it also makes its list of elements."""
    for _ in range(2):
        begun = time.monotonic()
        subprocess.run(["gst-launch-1.0", "-q", "fakesrc", "num-buffers=1", "!", "fakesink"], check=True)
    return time.monotonic() - begun


@pytest.fixture(scope="module")
def tcp(start_s: float, film: Path, tmp_path_factory: pytest.TempPathFactory) -> framewire.Run:
    """GStreamer, ffmpeg and the lab's own TCP over copies of one network."""
    flows = f'{PLAIN}{FFMPEG}[[flow]]\nname = "own"\ntransport = "tcp"\n'
    result = machine_load.run(scenario(film, flows), tmp_path_factory.mktemp("tcp"))
    if start_s > 1 and any("in time for the first frame" in failure for failure in result.failures):
        machine_load.too_busy(f"programs take {start_s:.1f} s to start: {result.failures}")
    return result


@pytest.mark.parametrize("flow", ["plain", "ffmpeg"])
def test_an_application_over_tcp_fares_as_the_labs_own_tcp(tcp: framewire.Run, film: Path, flow: str) -> None:
    assert tcp.failures == ()
    rows = by_flow(tcp)
    theirs, ours = rows[flow], rows["own"]
    assert theirs["status"] == "complete"
    assert (theirs["frames"], theirs["lost"], ours["lost"]) == (FRAMES, 0, 0)
    assert (tcp.directory / "received" / f"{flow}.m2v").read_bytes() == film.read_bytes()
    forward = tcp.results.packets.filter((pl.col("direction") == "forward") & (pl.col("payload") > 0))
    # A tail may be sent twice, as a probe; of each byte one copy counts.
    once = forward.unique(subset=["flow", "sequence"]).group_by("flow").agg(pl.col("payload").sum())
    payload = dict(once.iter_rows())
    assert payload[flow] == payload["own"] == film.stat().st_size
    # Both are paced by the same frame clock. ffmpeg's receiver looks at some frames before it gives out the first, so
    # that its first one comes later; its last one comes as early.
    last = dict(tcp.frames.group_by("flow").agg(pl.col("arrival_ns").max()).iter_rows())
    with machine_load.excused(tcp, flow, "own"):
        assert abs(last[flow] - last["own"]) < 0.5e9
        if flow == "plain":
            assert theirs["duration_s"] == pytest.approx(ours["duration_s"], rel=0.1)
            assert theirs["frame_throughput_bps"] == pytest.approx(ours["frame_throughput_bps"], rel=0.1)


def test_a_fed_sender_gets_each_frame_when_it_is_due(tcp: framewire.Run) -> None:
    frames = tcp.frames.filter(pl.col("flow") == "plain")
    assert (frames["offered_ns"] == frames["due_ns"]).all()
    waited = frames.select(waited=pl.col("queued_ns") - pl.col("offered_ns"))["waited"]
    assert waited.min() >= 0  # type: ignore[operator]
    # A busy machine takes frames late, and never early: what the lab adds by itself, the quickest tenth has as well.
    assert waited.quantile(0.1) < 10_000_000  # type: ignore[operator]
    # Nothing comes before it was taken.
    assert (frames["arrival_ns"] >= frames["queued_ns"] + 10_000_000).all()
    assert frames["first_byte_ns"].null_count() == FRAMES, "not measured, so not told"


def lost_by_capture(result: framewire.Run, flow: str) -> set[int]:
    """Frames of which a packet was lost, told by tshark alone: the stream's bytes are counted along the packets."""
    fields = [
        "-d",
        "udp.port==5004,rtp",
        "-T",
        "fields",
        "-E",
        "separator=,",
        *(word for name in ("frame.interface_id", "rtp.seq", "udp.length") for word in ("-e", name)),
    ]
    capture = result.directory / "captures" / f"{flow}.pcapng"
    listed = subprocess.run(["tshark", "-r", capture, "-Y", "rtp", *fields], capture_output=True, text=True, check=True)
    packets = [tuple(map(int, line.split(","))) for line in listed.stdout.split()]
    arrived = {sequence for interface, sequence, _ in packets if interface == 1}
    ends = result.frames.filter(pl.col("flow") == flow)["size"].cum_sum().to_list()
    lost, at, frame = set(), 0, 0
    for interface, sequence, length in packets:
        if interface == 0:
            while at >= ends[frame]:
                frame += 1
            if sequence not in arrived:
                lost.add(frame)
            at += length - 8 - 12 - 4  # UDP, RTP and MPEG video headers (RFC 768, RFC 3550, RFC 2250)
    assert at == ends[-1], "the pipeline sent the whole movie"
    return lost


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_frame_is_lost_exactly_where_one_of_its_packets_was(film: Path, tmp_path: Path) -> None:
    lossy = machine_load.run(scenario(film, RTP, 'rate = "20 Mbit/s"\nloss = "3 %"'), tmp_path)
    frames = lossy.frames
    lost = frames.filter(pl.col("fate") == "lost")
    expected = lost_by_capture(lossy, "rtp")
    with machine_load.excused(lossy):
        assert 5 <= len(expected) <= 90
        assert set(lost["frame"]) == expected
        assert set(lost["root_cause"]) == {"random loss"}
        assert set(lost["root_cause_place"]) == {"link"}
    assert (lost["bytes_received"] < lost["size"]).all()


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("codec", ["h264", "h265"])
def test_the_cause_of_a_loss_is_read_out_of_fragments_of_nal_units(codec: str, tmp_path: Path) -> None:
    """By the payload formats of RFC 6184 and RFC 7798; tshark tells the frames apart by their last packets' markers."""
    film = tmp_path / f"film.{codec}"
    encoder = {"h264": ["libx264"], "h265": ["libx265", "-x265-params", "log-level=none"]}[codec]
    picture = ["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=3"]
    rate = ["-b:v", "2M", "-g", "25", "-preset", "ultrafast"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, "-c:v", *encoder, *rate, str(film)], check=True)
    text = RTP_NAL.replace("DEPAY", f"rtp{codec}depay").replace("PAY", f"rtp{codec}pay").replace("NAME", codec.upper())
    lossy = machine_load.run(scenario(film, text, 'rate = "20 Mbit/s"\nloss = "3 %"'), tmp_path)
    fields = [
        "-d",
        "udp.port==5004,rtp",
        "-T",
        "fields",
        "-e",
        "frame.interface_id",
        "-e",
        "rtp.seq",
        "-e",
        "rtp.marker",
        "-e",
        "udp.length",
    ]
    capture = lossy.directory / "captures" / "rtp.pcapng"
    listed = subprocess.run(["tshark", "-r", capture, "-Y", "rtp", *fields], capture_output=True, text=True, check=True)
    packets = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    arrived = {sequence for interface, sequence, *_ in packets if interface == 1}
    hurt: dict[int, int] = {}
    frame = 0
    for interface, sequence, marker, length in packets:
        if interface == 0:
            if sequence not in arrived:
                hurt[frame] = max(length, hurt.get(frame, 0))
            frame += marker
    assert frame == lossy.frames.height
    lost = lossy.frames.filter(pl.col("fate") == "lost")
    with machine_load.excused(lossy):
        assert 3 <= len(hurt) <= 60
        assert set(lost["root_cause"]) == {"random loss"}
        assert set(lost["root_cause_place"]) == {"link"}
        # Delimiters and parameter sets fit in 64 bytes, and a frame without them is whole.
        assert {frame for frame, length in hurt.items() if length > 64} <= set(lost["frame"]) <= set(hurt)
    assert (lossy.directory / "received" / f"rtp.{codec}").is_file()


def test_srt_comes_through_with_its_own_latency(film: Path, tmp_path: Path) -> None:
    result = machine_load.run(scenario(film, SRT, 'rate = "20 Mbit/s"\ndelay = "10 ms"\nloss = "8 %"'), tmp_path)
    row = by_flow(result)["srt"]
    assert row["status"] == "complete"
    # It sends again what was lost, and gives up what is too late by then: more on a busy machine. Without that, every
    # third frame would be lost, which has eight packets or so; with it, five at the start are, and one or two more.
    with machine_load.excused(result):
        assert row["lost"] <= 20  # type: ignore[operator]
    assert row["latency_p50_ms"] > 120  # type: ignore[operator]
    lost = result.frames.filter(pl.col("fate") == "lost")
    assert lost["root_cause"].null_count() == lost.height, "inside a container the cause is not known"


def test_a_sender_that_paces_itself_counts_from_its_first_packet(film: Path, tmp_path: Path) -> None:
    sender = [
        "sh",
        "-c",
        "sleep 1.5; exec ffmpeg -loglevel error -re -f mpegvideo -i {movie} -c copy -f mpeg2video "
        "tcp://{receiver}:{port}",
    ]
    receiver = [
        sys.executable,
        "-c",
        LISTEN + "[sys.stdout.buffer.write(b) or sys.stdout.buffer.flush() "
        "for b in iter(lambda: peer.recv(65536), b'')]",
    ]
    result = machine_load.run(scenario(film, command("own-pace", sender, receiver)), tmp_path)
    frames = result.frames
    assert result.summary["lost"].to_list() == [0]
    first_due = frames["due_ns"][0]
    assert first_due > 1_500_000_000
    packets = result.results.packets.filter((pl.col("direction") == "forward") & (pl.col("payload") > 0))
    assert abs(first_due - packets["finished_ns"].to_list()[0]) < 5_000_000
    assert frames["offered_ns"].null_count() == FRAMES


def test_what_the_application_dropped_is_not_blamed_on_the_network(film: Path, tmp_path: Path) -> None:
    # A queue that drops before a sink that blocks: the network loses nothing.
    leaky = PLAIN.replace(
        "tcpclientsink", "queue leaky=downstream max-size-time=0 max-size-bytes=0 max-size-buffers=2 ! tcpclientsink"
    )
    result = machine_load.run(scenario(film, leaky, 'rate = "1 Mbit/s"\ndelay = "5 ms"'), tmp_path)
    lost = result.frames.filter(pl.col("fate") == "lost")
    assert lost.height > 10
    assert set(lost["root_cause_place"]) == {"sender-pipeline"}
    assert set(lost["root_cause"]) == {"not sent by the sender's application"}


def test_what_is_not_installed_is_named_before_anything_starts(film: Path, tmp_path: Path) -> None:
    absent = command("x", ["no-such-program", "{movie}"], ["cat"])
    with pytest.raises(MachineError, match=r'flow\.0\.sender \(x\): the program "no-such-program" is not installed'):
        machine_load.run(scenario(film, absent), tmp_path)
    element = PLAIN.replace("mpegvideoparse", "nosuchelement")
    with pytest.raises(MachineError, match=r'flow\.0\.sender\.pipeline.*"nosuchelement".*GST_PLUGIN_PATH'):
        machine_load.run(scenario(film, element), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_simulated_world_refuses_applications(film: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"flow\.0\.sender \(plain\): .*only in the emulated world"):
        machine_load.run(scenario(film, PLAIN), tmp_path, world="simulated")


def test_a_receiver_that_dies_early_is_told_with_its_last_words(film: Path, tmp_path: Path) -> None:
    receiver = [sys.executable, "-c", LISTEN + "peer.recv(50000); sys.exit('I have had enough')"]
    sender = [
        "ffmpeg",
        "-loglevel",
        "error",
        "-f",
        "mpegvideo",
        "-i",
        "-",
        "-c",
        "copy",
        "-f",
        "mpeg2video",
        "tcp://{receiver}:{port}",
    ]
    started = time.monotonic()
    result = machine_load.run(scenario(film, command("x", sender, receiver)), tmp_path)
    assert time.monotonic() - started < 60, "it is not the limit of 76 s that ended it"
    assert result.status == "partial"
    [failure] = result.failures
    assert "flow x: receiver: ended with exit code 1" in failure
    assert "I have had enough" in failure
    assert "I have had enough" in (result.directory / "logs" / "x.receiver.log").read_text()


def test_a_receiver_that_never_listens_and_a_sender_that_never_connects_are_no_hang(film: Path, tmp_path: Path) -> None:
    deaf = command("deaf", ["cat", "-"], ["sleep", "1000"])
    silent = command("silent", ["sleep", "1000"], [sys.executable, "-c", LISTEN]).replace(
        'name = "silent"', 'name = "silent"\nsender.input = "frames"'
    )
    started = time.monotonic()
    result = machine_load.run('limit = "6 s"\n' + scenario(film, deaf + silent), tmp_path)
    assert time.monotonic() - started < 60
    assert result.status == "partial"
    assert result.ended_by == "time limit"
    assert any("flow deaf: receiver: did not listen on port 5004" in failure for failure in result.failures)
    lost = result.frames.filter((pl.col("flow") == "silent") & (pl.col("fate") == "lost"))
    assert lost.height == FRAMES
    assert "not taken by the sender's application" in set(lost["root_cause"])


def test_a_stream_in_which_nothing_is_found_is_told(film: Path, tmp_path: Path) -> None:
    receiver = [sys.executable, "-c", LISTEN + "[print('chatter') for _ in iter(lambda: peer.recv(65536), b'')]"]
    sender = [
        sys.executable,
        "-c",
        "import socket, sys, shutil; s = socket.create_connection(('{receiver}', {port})); "
        "shutil.copyfileobj(sys.stdin.buffer, s.makefile('wb', 0))",
        "-",
    ]
    result = machine_load.run(scenario(film, command("x", sender, receiver)), tmp_path)
    [failure] = result.failures
    assert "no frame of the movie was found" in failure
    assert "elementary stream" in failure


def test_hosts_of_applications_have_the_congestion_control_of_the_scenario(film: Path, tmp_path: Path) -> None:
    """And not that of this machine, which no comparison would have chosen; or the run reports it."""
    tell = "import sys; sys.stderr.write(open('/proc/sys/net/ipv4/tcp_congestion_control').read()); "
    connect = "import socket; socket.create_connection(('{receiver}', {port})).sendall(sys.stdin.buffer.read())"
    flow = command("x", [sys.executable, "-c", tell + connect, "-"], [sys.executable, "-c", tell + LISTEN])
    machine = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    for name in ("reno", "cubic"):
        text = flow.replace('name = "x"', f'name = "x"\ncongestion = "{name}"')
        result = machine_load.run('limit = "6 s"\n' + scenario(film, text), tmp_path / name)
        meta = result.results.meta
        had = meta["kernel"]["settings"]["net.ipv4.tcp_congestion_control"]
        assert had == (name if name in allowed else machine)
        assert had in (result.directory / "logs" / "x.sender.log").read_text()
        assert had in (result.directory / "logs" / "x.receiver.log").read_text()
        told = application_congestion.note(read(result.results.scenario), meta, result.results.protocols)
        assert (told is None) == (had == name)
    together = 'layout = "together"\n' + scenario(film, flow + flow.replace('"x"', '"y"\ncongestion = "reno"'))
    with pytest.raises(InputError, match="flow y, congestion: applications that share hosts share it"):
        machine_load.run(together, tmp_path / "together")


MARK = f"framewire-test-{os.getpid()}"


def marked() -> list[int]:
    """Processes that were started by this test's applications."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def families(film: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose applications start others that ignore every request to end."""
    stubborn = f"trap '' INT TERM; (trap '' INT TERM; exec -a {MARK}-child sleep 1000) & "
    sender = ["bash", "-c", stubborn + "cat >/dev/tcp/{receiver}/{port}; wait", f"{MARK}-sender", "-"]
    receiver = [
        "bash",
        "-c",
        stubborn + f'exec -a {MARK}-python {sys.executable} -c "{LISTEN}input()"',
        f"{MARK}-receiver",
    ]
    file, log = tmp_path / "families.toml", tmp_path / "families.log"
    file.write_text(scenario(film, command("families", sender, receiver)))
    program = [sys.executable, "-c", "from framewire.cli import main; main()"]
    arguments = ["run", str(file), "--out", str(tmp_path / "out"), "--no-report"]
    with log.open("w") as words:
        process = subprocess.Popen([*program, *arguments], stdout=subprocess.DEVNULL, stderr=words)
    deadline = time.monotonic() + 120
    # The emulator and the command line have the mark nowhere: only applications do.
    while len(marked()) < 4 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    if process.poll() is not None and "overloaded" in log.read_text():
        machine_load.too_busy(log.read_text())
    assert len(marked()) >= 4, f"two applications, each with a child: {log.read_text()}"
    yield process
    process.kill()
    process.wait()


def wait_until_gone(seconds: float) -> list[int]:
    deadline = time.monotonic() + seconds
    while marked() and time.monotonic() < deadline:
        time.sleep(0.1)
    return marked()


def test_nothing_of_an_application_is_left_after_kill_9(families: subprocess.Popen[bytes]) -> None:
    families.kill()
    families.wait()
    assert wait_until_gone(60) == []


def test_the_emulator_killed_alone_takes_its_applications_along(families: subprocess.Popen[bytes]) -> None:
    [child] = children(families.pid)
    os.kill(child, signal.SIGKILL)
    assert wait_until_gone(60) == [], "the kernel does it: no process is left to ask"


def test_an_interrupted_run_ends_its_applications_and_is_a_partial_result(
    families: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    families.send_signal(signal.SIGINT)
    assert families.wait(120) == 130
    assert wait_until_gone(20) == []
    partial = framewire.Run(tmp_path / "out", "partial")
    assert partial.results.meta["ended_by"] == "interrupted"
