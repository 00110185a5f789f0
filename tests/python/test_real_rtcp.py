"""What the receiver of a stream in RTP reports to its sender, from one process to another over loopback."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from test_real import COMMAND, ended, free_port, receiving, relaying, send

from framewire.real import join
from framewire.report.data import load
from framewire.report.figures import of_tables

pytestmark = pytest.mark.real_time

SECONDS = 13
FULL = ("--set", "flow.0.rtcp=full")


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """H.264 beside AAC, long enough for two reports: one is sent every 6.2 s at the latest (RFC 3550, 6.3.1)."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    picture = ["-f", "lavfi", "-i", f"testsrc2=s=320x192:r=25:d={SECONDS}"]
    tone = ["-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=48000:duration={SECONDS}"]
    coded = ["-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-b:v", "1M", "-threads", "1", "-c:a", "aac"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *tone, *coded, path], check=True)
    return path


def reported(directory: Path, track: int = 0) -> pl.DataFrame:
    """What the receiver said of a track, and the sender recorded."""
    rows = pl.read_parquet(directory / "rtcp.parquet")
    return rows.filter(pl.col("from") == "receiver", track=track).filter(pl.col("lost").is_not_null())


def test_a_receiver_reports_of_both_streams_and_the_sender_records_it(film: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came") as (process, port):
        code, said = send(film, port, tmp_path / "sent", *FULL, "--set", "movie.sound=true")
        assert code == 0, said
        code, out, err = ended(process)
    assert code == 0, err
    assert f"{25 * SECONDS} whole frames; to the end" in out
    rows = pl.read_parquet(tmp_path / "sent" / "rtcp.parquet")
    for track in (0, 1):
        of_track = rows.filter(track=track)
        sent, came = (of_track.filter(pl.col("from") == end) for end in ("sender", "receiver"))
        # Each sends every 2.05 to 6.16 s (RFC 3550, 6.3.1), the first after half of that, or at once; the sender BYE.
        assert 3 <= sent.height <= 9 and 1 <= came.height <= 7
        assert sent["bye"].to_list() == [False] * (sent.height - 1) + [True]
        said_of = reported(tmp_path / "sent", track)
        assert said_of.height >= 1
        assert set(said_of["lost"]) == {0} and set(said_of["fraction_lost"]) == {0.0}
        trips = said_of["round_trip_ns"].drop_nulls()
        assert len(trips) >= 1 and trips.is_between(0, 100_000_000).all(), trips
        assert (said_of["jitter_ns"] < 1_000_000_000).all()
    document = json.loads((tmp_path / "sent" / "run.json").read_text())
    assert document["refused_reports"] == 0
    join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    sections = {section.name: section for section in of_tables(load(tmp_path / "joined"))}
    assert all(len(figure.data) >= 1 for figure in sections["reports"].figures)


def test_reports_say_the_delay_and_the_loss_of_a_relay(film: Path, tmp_path: Path) -> None:
    """It brings everything 40 ms later in each direction, and swallows every tenth packet of the picture."""
    with receiving(tmp_path / "came") as (process, port), relaying(port, ports=4, loses=10, delay_ms=40) as other:
        code, said = send(film, other, tmp_path / "sent", *FULL)
        assert code == 0, said
        assert ended(process)[0] == 0
    rows = reported(tmp_path / "sent")
    assert rows.height >= 1
    last = rows.tail(1)
    assert 0.07 < last["lost"][0] / last["highest_sequence"][0] < 0.12
    assert rows["fraction_lost"].is_between(0.05, 0.15).all()
    trips = rows["round_trip_ns"].drop_nulls()
    assert len(trips) >= 1 and trips.is_between(79_000_000, 200_000_000).all(), trips


def test_without_being_asked_for_there_are_none(film: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came") as (process, port):
        code, said = send(film, port, tmp_path / "sent", "--duration", "2 s")
        assert code == 0, said
        assert ended(process)[0] == 0
    assert "reports of the receiver" not in said
    assert not (tmp_path / "sent" / "rtcp.parquet").exists()


@contextmanager
def _sending(film: Path, tmp_path: Path, to: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A sender in two seconds, with the port at which it takes reports."""
    command = [*COMMAND, "send", str(film), "--to", f"127.0.0.1:{to}", *FULL, "--delay", "2"]
    command += ["--out", str(tmp_path / "sent")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = ""
            while "are taken at port" not in line:
                line = process.stderr.readline()
                assert line, "it says where it takes them"
            yield process, int(line.split()[-1])
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="needs GStreamer")
def test_reports_of_gstreamer_are_taken(film: Path, tmp_path: Path) -> None:
    """They come from another port than the one at which it takes those of the sender."""
    to = free_port()
    with _sending(film, tmp_path, to) as (process, port):
        caps = "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96"
        pipeline = (
            f"rtpbin name=b udpsrc port={to} caps={caps} ! b.recv_rtp_sink_0 b. ! rtph264depay ! fakesink "
            f"udpsrc port={to + 1} ! b.recv_rtcp_sink_0 "
            f"b.send_rtcp_src_0 ! udpsink host=127.0.0.1 port={port} sync=false async=false"
        )
        with subprocess.Popen(["gst-launch-1.0", "-q", *pipeline.split()]) as player:
            try:
                _, said = process.communicate(timeout=60)
            finally:
                player.kill()
    assert process.returncode == 0, said
    rows = reported(tmp_path / "sent")
    assert rows.height >= 1
    assert (rows["lost"].abs() <= 1).all()
    # Counted from the first packet on: a second of this film are some hundred.
    assert rows["highest_sequence"].is_between(1, 10_000).all()
    trips = rows["round_trip_ns"].drop_nulls()
    assert len(trips) >= 1 and trips.is_between(0, 100_000_000).all(), trips


def test_what_others_and_what_no_report_is_sent_there_is_refused_and_counted(film: Path, tmp_path: Path) -> None:
    to, forgeries = free_port(), 200
    with _sending(film, tmp_path, to) as (process, port):
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as same,
        ):
            other.bind(("127.0.0.2", 0))
            time.sleep(2.5)
            # Reports about nothing (RFC 3550, 6.4.2) of another host, and nonsense of the receiver's.
            report = bytes.fromhex("80c9000100000007")
            for _ in range(forgeries // 20):
                [other.sendto(report, ("127.0.0.1", port)) for _ in range(20)]
                same.sendto(b"nonsense", ("127.0.0.1", port))
                time.sleep(0.05)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    document = json.loads((tmp_path / "sent" / "run.json").read_text())
    assert document["refused_reports"] == forgeries + forgeries // 20
    assert pl.read_parquet(tmp_path / "sent" / "rtcp.parquet").filter(pl.col("from") == "receiver").is_empty()


SOURCE = 0xFEED_BEEF


@dataclass
class Reported:
    """A receiver report with its names (RFC 3550, sections 6.4.2 and 6.5), and when it came."""

    at: float
    of: int
    fraction: float
    lost: int
    highest: int
    answers: int
    name: str


def _reported(at: float, data: bytes) -> Reported | None:
    """None of one that is about no packets, as before two came in a row."""
    first, kind, words = struct.unpack_from("!BBH", data)
    assert (first >> 6, kind) == (2, 201), data.hex()
    behind = 4 * (words + 1)
    assert data[behind + 1] == 202
    assert data[behind + 8] == 1, "a name"
    name = data[behind + 10 : behind + 10 + data[behind + 9]].decode()
    if first & 0x1F == 0:
        return None
    of, lost, highest, _, answers, _ = struct.unpack_from("!6I", data, 8)
    return Reported(at, of, (lost >> 24) / 256, lost & 0xFFFFFF, highest, answers, name)


def _stream_of_another_program(to: int, seconds: float) -> list[Reported]:
    """Sends packets of RTP, but for every tenth, and reports from the next port; what comes there."""
    rtp, rtcp, came, numbers = *_pair(), list[Reported | None](), 0
    begun = time.monotonic()
    with rtp, rtcp:
        rtcp.setblocking(False)
        while (now := time.monotonic()) < begun + seconds:
            number = (65_500 + numbers) & 0xFFFF
            packet = struct.pack("!BBHII", 0x80, 0xE0, number, numbers * 1_800, SOURCE) + b"\x41" + bytes(99)
            if numbers % 10:
                rtp.sendto(packet, ("127.0.0.1", to))
            numbers += 1
            if numbers == 50:
                report = struct.pack("!BBHIQIII", 0x80, 200, 6, SOURCE, 0x1234_5678_9ABC_DEF0, 0, 0, 0)
                rtcp.sendto(report + _named(), ("127.0.0.1", to + 1))
            with suppress(BlockingIOError):
                came.append(_reported(now - begun, rtcp.recv(2048)))
            time.sleep(0.02)
        rtcp.sendto(struct.pack("!BBHI", 0x80, 201, 1, SOURCE) + _named() + struct.pack("!BBHI", 0x81, 203, 1, SOURCE),
                    ("127.0.0.1", to + 1))  # fmt: skip
    return [one for one in came if one is not None]


def _named() -> bytes:
    return struct.pack("!BBHIBB2sI", 0x81, 202, 3, SOURCE, 1, 2, b"me", 0)


def _pair() -> tuple[socket.socket, socket.socket]:
    """Two sockets at ports that follow each other."""
    for _ in range(100):
        first, second = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        first.bind(("127.0.0.1", 0))
        with suppress(OSError):
            second.bind(("127.0.0.1", first.getsockname()[1] + 1))
            return first, second
        first.close()
        second.close()
    raise AssertionError("no two ports are free")


def _description(directory: Path, bandwidth: str) -> Path:
    path = directory / "stream.sdp"
    path.write_text(f"v=0\nm=video 5004 RTP/AVP 96\n{bandwidth}a=rtpmap:96 H264/90000\n")
    return path


def test_the_stream_of_another_program_is_reported_of_by_the_rules(tmp_path: Path) -> None:
    with receiving(tmp_path / "came", "--codec", "h264") as (process, port):
        reports = _stream_of_another_program(port, 13)
        code, _, err = ended(process)
    assert code == 0, err
    # The first after half of 2.05 to 6.16 s, then every 2.05 to 6.16 s (RFC 3550, 6.3.1).
    assert 2 <= len(reports) <= 7
    gaps = [later.at - one.at for one, later in pairwise(reports)]
    assert all(2.0 <= gap <= 6.4 for gap in gaps), gaps
    last = reports[-1]
    assert {one.of for one in reports} == {SOURCE}
    assert last.name == "receiver@udp"
    expected = last.highest - 65_500 + 1
    assert abs(last.lost - expected / 10) <= 2
    assert 0.05 <= last.fraction <= 0.15
    # It answers the report that was sent after a second, by the middle of its time.
    assert last.answers == 0x5678_9ABC


@pytest.mark.parametrize("how", ["b=RR:0", "--rtcp none"])
def test_a_receiver_is_silent_where_the_description_or_its_user_wants_that(how: str, tmp_path: Path) -> None:
    sdp = _description(tmp_path, "b=RR:0\n" if how == "b=RR:0" else "")
    options = ["--sdp", str(sdp), *(how.split() if how.startswith("--") else [])]
    with receiving(tmp_path / "came", *options) as (process, port):
        assert _stream_of_another_program(port, 8) == []
        assert ended(process)[0] == 0


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="needs GStreamer")
def test_gstreamer_takes_reports_of_its_stream(tmp_path: Path) -> None:
    """Its reports go from the port above the stream's, at which it is answered.

    A socket here stands between, as those of gst-launch-1.0 either send or receive.
    """
    (rtp, above), at, to_gst = _pair(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM), free_port()
    at.bind(("127.0.0.1", 0))
    own = rtp.getsockname()[1]
    rtp.close()
    with receiving(tmp_path / "came", "--codec", "h264") as (process, port), at, above:
        pipeline = (
            "rtpbin name=b videotestsrc is-live=true num-buffers=250 ! video/x-raw,width=96,height=64,framerate=25/1 "
            "! x264enc tune=zerolatency key-int-max=25 ! rtph264pay config-interval=1 mtu=200 ! b.send_rtp_sink_0 "
            f"b.send_rtp_src_0 ! identity drop-probability=0.1 ! udpsink host=127.0.0.1 port={port} bind-port={own} "
            f"b.send_rtcp_src_0 ! udpsink host=127.0.0.1 port={at.getsockname()[1]} sync=false async=false "
            f"udpsrc port={to_gst} ! b.recv_rtcp_sink_0"
        )
        log = tmp_path / "gst.log"
        settings = {**os.environ, "GST_DEBUG": "rtpsource:5", "GST_DEBUG_FILE": str(log), "GST_DEBUG_NO_COLOR": "1"}
        with subprocess.Popen(["gst-launch-1.0", "-q", *pipeline.split()], env=settings) as sender:
            # Its ten seconds of film, and a few more: what waits for RTCP does not always end with the film.
            until = time.monotonic() + 14
            while sender.poll() is None and time.monotonic() < until:
                for one in select.select([at, above], [], [], 0.05)[0]:
                    data = one.recv(2048)
                    above.sendto(data, ("127.0.0.1", port + 1 if one is at else to_gst))
            sender.kill()
        assert ended(process)[0] == 0
    said = log.read_text()
    losses = [int(share, 16) / 256 for share in re.findall(r"got RB packet: SSRC \w+, FL\s+(\w+)", said)]
    assert losses and 0.03 < losses[-1] < 0.2, losses
    trips = [int(f"{whole}{part}", 16) / 65_536 for whole, part in re.findall(r"round trip (\w{4}):(\w{4})", said)]
    assert trips and trips[-1] < 0.1, trips
