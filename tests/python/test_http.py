"""Movies over HTTP: FFmpeg shows of the movie as received what the ledger calls shown, and Wireshark reads the rest."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from test_emulated import capable
from test_rtp_payloads import BARE, ENCODERS, LOSSY, NARROW, STALL, check, check_fates, films, pictures  # noqa: F401

import framewire
from framewire.report.data import load
from framewire.report.endings import under_way
from framewire.report.metrics import startup_s

UNHURRIED = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\ndelay = "10 ms"\n'


def scenario(film: Path, network: str, *transports: str) -> str:
    flows = "".join(f'[[flow]]\ntransport = "{transport}"\n' for transport in transports)
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}{STALL}{flows}'


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize("transport", ["http", "http+ts", "http+ts+dependency", "http+fmp4", "http+fmp4+dependency"])
def test_the_decoder_shows_what_the_ledger_says(
    codec: str,
    transport: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = scenario(films[codec], NARROW, transport)
    if codec == "obu" and "ts" in transport:
        with pytest.raises(framewire.InputError, match="the movie is AV1"):
            framewire.run(text, out=tmp_path / "run", world="simulated")
        return
    frames = check(films[codec], framewire.run(text, out=tmp_path / "run", world="simulated"))
    check_fates(frames, transport, loses_nothing="dependency" not in transport)
    if transport == "http" and codec in BARE:
        # What a narrow link brings is as it was, to the byte.
        (received,) = (tmp_path / "run" / "received").iterdir()
        assert received.read_bytes() == films[codec].read_bytes()


def test_a_viewer_waits_for_the_connection_and_for_what_is_asked(
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    transports = {"udp": 10, "tcp": 30, "http": 40, "http+ts": 40, "http+fmp4": 40}
    text = scenario(films["h264"], UNHURRIED, *transports)
    run = load(framewire.run(text, out=tmp_path / "run", world="simulated").directory)
    for flow in run.streams:
        # 10 ms each way: a datagram takes one, the first byte of a connection three, an answer four (RFC 9293, 3.5).
        waits = (startup_s(run, flow) or 0) - run.player(flow).startup_s
        assert 0 < 1e3 * waits - transports[flow.name] < 2, flow.name


STOPPED = 'limit = "1.5 s"\n'
CUT = 'outages = [["0.5 s", "1.5 s"]]\n'


def test_what_was_under_way_in_time_when_a_run_ended_early_is_not_lost(
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    """What an outage holds up is due by the end with a player that begins at once, and not with one that waits."""
    transports = ["http", "http+ts", "tcp", "rtp+tcp"]
    text = STOPPED + scenario(films["h264"], UNHURRIED.replace("20 Mbit/s", "2 Mbit/s"), *transports)
    for startup, network, loses in [("1 s", "", False), ("3 s", CUT, False), ("50 ms", CUT, True)]:
        playout = f'[playout]\nstartup = "{startup}"\n'
        changed = text.replace(STALL, network + playout)
        run = framewire.run(changed, out=tmp_path / f"{startup}{len(network)}", world="simulated")
        assert (run.status, run.ended_by) == ("partial", "time limit")
        frames = run.frames
        met = frames.filter((pl.col("fate") == "not offered") & pl.col("offered_ns").is_not_null())
        lost = frames.filter(pl.col("fate") == "lost")
        assert met["root_cause"].null_count() == met.height
        assert met.filter(pl.col("deadline_ns") <= 1_400_000_000).is_empty(), "none of them was due"
        assert lost.filter(pl.col("deadline_ns") > 1_700_000_000).is_empty(), "all of them were"
        assert (lost.height > 0) == loses, (startup, lost.select("flow", "frame", "deadline_ns", "root_cause"))
        if not loses:
            assert "http" in met["flow"], "a file goes as fast as it is taken"
            assert (under_way(frames) != "") == (met.height > 0)
            assert str(met.height) in under_way(frames)


def test_a_file_is_sent_without_a_frame_clock_and_nothing_of_it_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(framewire.InputError, match="the file is there from the beginning"):
        framewire.run('[[flow]]\ntransport = "http"\npacing = "sender"\n', out=tmp_path / "run")
    with pytest.raises(framewire.InputError, match="before the first one is sent, so that none can be given up"):
        framewire.run('[[flow]]\ntransport = "http+dependency"\n', out=tmp_path / "run")


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("transport", ["http", "http+ts", "http+ts+dependency", "http+fmp4", "http+fmp4+dependency"])
def test_it_does_so_over_the_kernels_sockets(
    transport: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    network = NARROW if "dependency" in transport else LOSSY
    run = framewire.run(scenario(films["h264"], network, transport), out=tmp_path / "run", world="emulated")
    frames = check(films["h264"], run)
    check_fates(frames, transport, loses_nothing="dependency" not in transport)


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_the_exchange_and_the_file_that_it_finds_plays(
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = f'captures = "full"\n{scenario(films["h264"], UNHURRIED, "http", "http+ts", "http+fmp4")}'
    run = framewire.run(text, out=tmp_path / "run", world="emulated")
    as_http = ["-d", "tcp.port==5004,http"]
    asked = {
        "http": ("/movie.mp4", "video/mp4"),
        "http+ts": ("/movie.ts", "video/mp2t"),
        "http+fmp4": ("/movie.mp4", "video/mp4"),
    }
    for transport, (path, kind) in asked.items():
        capture = tmp_path / f"{transport}.pcapng"
        only_once(run.directory / "captures" / f"{transport}.pcapng", capture)
        fields = ["http.request.method", "http.request.uri", "http.response.code", "http.content_type"]
        command = ["tshark", "-r", capture, *as_http, "-Y", "http", "-T", "fields", "-E", "separator=,"]
        command += [option for field in fields for option in ("-e", field)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert told == [f"GET,{path},,", f",,200,{kind}"], transport
        exported = tmp_path / f"{transport} objects"
        command = ["tshark", "-Q", "-r", capture, *as_http, "--export-objects", f"http,{exported}"]
        subprocess.run(command, check=True, capture_output=True)
        (file,) = exported.iterdir()
        assert pictures(file) == pictures(films["h264"]), transport
        if path == "/movie.mp4" and shutil.which("gst-launch-1.0"):
            assert pictures(through_gstreamer(file)) == pictures(films["h264"])


def through_gstreamer(file: Path) -> Path:
    """The stream of H.264 in an MP4 file, as GStreamer finds it."""
    out = file.with_suffix(".h264")
    parse = ["qtdemux", "!", "h264parse", "!", "video/x-h264,stream-format=byte-stream,alignment=au"]
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={file}", "!", *parse, "!", "filesink", f"location={out}"]
    subprocess.run(command, check=True, timeout=60)
    return out


def only_once(capture: Path, out: Path) -> None:
    """A capture without the second sight of each packet: as it entered the network, of the two hosts' interfaces."""
    entered = ["frame.interface_id == 0 && ip.src == 10.77.0.1", "frame.interface_id == 1 && ip.src == 10.77.0.2"]
    either = " || ".join(f"({one})" for one in entered)
    subprocess.run(["tshark", "-r", capture, "-Y", either, "-w", out], check=True, capture_output=True)


def test_frames_of_a_file_come_before_they_are_due_where_the_network_is_faster_than_the_movie(
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = scenario(films["h264"], UNHURRIED, "http", "http+ts")
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    # The connection takes a round trip of 20 ms, and the request half of one.
    first = run.frames.filter(frame=0).select("flow", "due_ns").sort("flow")
    assert all(30e6 <= due < 31e6 for due in first["due_ns"])
    latencies = run.frames.group_by("flow").agg(
        pl.col("latency_ns").max() / 1e6, pl.col("latency_ns").min().alias("least")
    )
    by_flow = {row["flow"]: row for row in latencies.iter_rows(named=True)}
    assert by_flow["http"]["least"] < -2e9 and by_flow["http"]["latency_ns"] < 60
    assert by_flow["http+ts"]["least"] > 10e6 and by_flow["http+ts"]["latency_ns"] < 60
