"""What the receiver of a stream in RTP reports to its sender, from one process to another over loopback."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
