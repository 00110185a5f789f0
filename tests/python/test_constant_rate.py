"""Transport streams of constant rate between two processes: what other programs make of them, and what the run says."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from pathlib import Path

import polars as pl
import pytest
from test_emulated import capable
from test_real import ended, free_port, receiving, send
from test_real_sound import FRAMES, films_of_h264
from test_sound import WIRED

import framewire
from framewire import Run
from framewire.real import join
from framewire.report import comparison, psnr
from framewire.report.data import load
from framewire.report.outcome import outcome

pytestmark = pytest.mark.real_time

RATE = 5_000_000
AT_RATE = ["--set", "movie.sound=true", "--set", "flow.0.ts_rate=5 Mbit/s"]
PACKET = 188


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of H.264 with B frames and AAC."""
    return films_of_h264(tmp_path_factory.mktemp("films"))["aac"]


def _sent_to_a_socket(film: Path, transport: str, out: Path) -> list[bytes]:
    """The transport packets of each datagram that comes to a socket of UDP."""
    came: list[bytes] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        port = free_port()
        listener.bind(("127.0.0.1", port))
        listener.settimeout(60)

        def take() -> None:
            header = 12 if transport == "ts+rtp" else 0
            while datagram := listener.recv(4_096):
                came.append(datagram[header:])

        reader = threading.Thread(target=take)
        reader.start()
        code, said = send(film, port, out, "--transport", transport, *AT_RATE)
        listener_port = listener.getsockname()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", listener_port)
        reader.join()
        assert code == 0, said
    return came


def _references(stream: bytes) -> list[tuple[int, int]]:
    """Clock references and the places of their packets (ISO/IEC 13818-1, 2.4.3.4)."""
    found = []
    for place in range(0, len(stream), PACKET):
        packet = stream[place : place + PACKET]
        assert packet[0] == 0x47
        if packet[3] & 0x20 and packet[4] > 0 and packet[5] & 0x10:
            word = int.from_bytes(packet[6:12], "big")
            found.append((place, (word >> 15) * 300 + (word & 0x1FF)))
    return found


def _decoded(source: Path) -> tuple[list[str], str]:
    """Checksums of all pictures and of the sound as coded, by FFmpeg."""
    of = ["ffmpeg", "-v", "error", "-i", str(source)]
    pictures = subprocess.run([*of, "-map", "0:v", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
    sound = subprocess.run([*of, "-map", "0:a", "-c", "copy", "-f", "adts", "-"], check=True, capture_output=True)
    sums = [line.split(",")[-1].strip() for line in pictures.stdout.splitlines() if not line.startswith("#")]
    return sums, sound.stdout.hex()


@pytest.mark.parametrize("transport", ["ts", "ts+rtp"])
def test_every_clock_reference_has_its_place_and_ffmpeg_decodes_the_film(
    transport: str, film: Path, tmp_path: Path
) -> None:
    datagrams = _sent_to_a_socket(film, transport, tmp_path / "sent")
    stream = b"".join(datagrams)
    references = _references(stream)
    assert len(references) >= len(datagrams), "each datagram has one"
    (first_place, first), *others = references
    apart = [at - first - (place - first_place) * 8 * 27e6 / RATE for place, at in others]
    assert max(map(abs, apart)) < 2, "2.4.2.2 allows 500 ns, 13 ticks"
    packets = [stream[place : place + 3] for place in range(0, len(stream), PACKET)]
    null = packets.count(b"\x47\x1f\xff")
    run = json.loads((tmp_path / "sent" / "run.json").read_text())
    assert run["flows"][0]["stuffing_bytes"] == null * PACKET
    assert 0.3 < null / len(packets) < 0.9
    file = tmp_path / "came.ts"
    file.write_bytes(stream)
    pictures, sound = _decoded(file)
    expected_pictures, expected_sound = _decoded(film)
    assert pictures == expected_pictures
    # What begins after the last picture is not sent.
    assert expected_sound.startswith(sound) and len(sound) > 0.9 * len(expected_sound)


@pytest.mark.parametrize("transport", ["ts", "ts+rtp", "ts+tcp"])
def test_both_ends_become_one_run_that_says_what_is_stuffing(transport: str, film: Path, tmp_path: Path) -> None:
    with receiving(tmp_path / "came", "--transport", transport) as (process, port):
        code, said = send(film, port, tmp_path / "sent", "--transport", transport, *AT_RATE)
        assert code == 0, said
        code, out, err = ended(process)
    assert code == 0, err
    assert f"{FRAMES} whole frames; to the end" in out
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    assert run.frames["fate"].to_list() == ["shown"] * FRAMES
    assert set(run.sound["fate"]) == {"shown"}
    # Two seconds, and half of one until the last sound is sent.
    stuffing = json.loads((run.directory / "run.json").read_text())["flows"][0]["stuffing_bytes"]
    assert 0.5 * RATE / 8 < stuffing / 2.5 < RATE / 8
    assert_rate(run, transport)


@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("transport", ["ts", "ts+rtp", "ts+tcp", "http+ts"])
def test_what_comes_over_the_kernels_sockets_has_the_rate(transport: str, film: Path, tmp_path: Path) -> None:
    flow = f'[[flow]]\ntransport = "{transport}"\nts_rate = "5 Mbit/s"\n'
    scenario = f'name = "test"\n[movie]\nsource = "{film}"\nsound = true\n{WIRED}{flow}'
    run = framewire.run(scenario, out=tmp_path / "run")
    assert run.frames["fate"].to_list() == ["shown"] * FRAMES
    assert_rate(run, transport)


def assert_rate(run: Run, transport: str) -> None:
    """What came has the rate that was stated, and headers of RTP; the time of its last group of packets is not seen."""
    summary = run.summary.row(0, named=True)
    packets = run.results.packets.filter(pl.col("outcome") == "delivered")
    headers = 12 * packets["sequence"].n_unique() / packets["payload"].sum() if transport == "ts+rtp" else 0.0
    exact = RATE / (1 - headers)
    # Of 2.7 s, a group is 2.1 ms. A woken sender or receiver may be some milliseconds late, and a connection of the
    # network in the kernel takes its round trip of 10 ms before the first bytes.
    assert 0.997 * exact < summary["packet_throughput_bps"] < 1.01 * exact
    assert 0.01 * RATE < summary["frame_throughput_bps"] < 0.5 * RATE


def test_a_rate_that_is_too_low_is_refused_before_anything_is_sent(film: Path, tmp_path: Path) -> None:
    options = ["--transport", "ts", "--set", "movie.sound=true", "--set", "flow.0.ts_rate=250 kbit/s"]
    code, said = send(film, free_port(), tmp_path / "sent", *options)
    assert code != 0
    assert 'ts_rate = "250 kbit/s" is too low: this movie needs' in " ".join(said.split())


def test_the_report_says_how_much_is_stuffing(film: Path, tmp_path: Path) -> None:
    flows = '[[flow]]\ntransport = "ts"\nts_rate = "5 Mbit/s"\n[[flow]]\nname = "varies"\ntransport = "ts"\n'
    scenario = f'name = "test"\n[movie]\nsource = "{film}"\nsound = true\n{WIRED}{flows}'
    directory = framewire.run(scenario, out=tmp_path / "run", world="simulated").directory
    constant, varies = outcome(load(directory), psnr.unmeasured()).flows
    said = json.loads((directory / "run.json").read_text())["flows"][0]
    # All that left came: datagrams of a transport stream without RTP are nothing but packets of it.
    packets = pl.read_parquet(directory / "packets.parquet").filter(flow="ts")
    assert said["transport_stream_bytes"] == packets["payload"].sum()
    share = 100 * said["stuffing_bytes"] / said["transport_stream_bytes"]
    assert 50 < share < 99 and constant.stuffing_percent == pytest.approx(share)
    assert varies.stuffing_percent is None
    shown, rows = comparison.columns([constant, varies]), comparison.rows([constant, varies])
    place = [column.title for column in shown].index("stuffing")
    assert [cells[place].text for _, cells in rows] == [comparison.share_text(share), comparison.NOT_MEASURED]
    assert not any(cells[place].best for _, cells in rows)
    assert "stuffing" not in [column.title for column in comparison.columns([varies])]
