"""Movies that the receiver asks for by RTSP, in both worlds; other programs read what went over the wire."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from test_emulated import capable
from test_rtp_payloads import BARE, ENCODERS, STALL, check, check_fates, films  # noqa: F401
from worlds import WORLDS

import framewire

# Nothing is lost and the queue does not fill.
WIDE = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\ndelay = "20 ms"\n'
NARROW = '[network]\nkind = "wired"\nbottleneck = "local-device"\n[network.wire]\nrate = "1 Mbit/s"\n'
NEEDS_THIS_KERNEL = pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")


# What is given up is given up at the sender; datagrams that wait for room wait there, too.
CARRIED = [
    ("rtsp", WIDE), ("rtsp", NARROW), ("rtsp+dependency", NARROW), ("rtsp+udp", WIDE), ("rtsp+udp+dependency", NARROW),
]  # fmt: skip


def scenario(film: Path, network: str, *flows: str) -> str:
    listed = "".join(f"[[flow]]\n{flow}\n" for flow in flows)
    return f'name = "test"\n[movie]\nsource = "{film}"\n{network}{STALL}{listed}'


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("transport", "network"), CARRIED)
def test_the_decoder_shows_what_the_ledger_says(
    codec: str,
    world: str,
    transport: str,
    network: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    text = scenario(films[codec], network, f'transport = "{transport}"')
    run = framewire.run(text, out=tmp_path / "run", world=world)
    assert run.status == "complete"
    check_fates(check(films[codec], run), transport, loses_nothing=transport in {"rtsp", "rtsp+udp"})
    (received,) = (run.directory / "received").iterdir()
    if transport in {"rtsp", "rtsp+udp"} and codec in BARE:
        assert received.read_bytes() == films[codec].read_bytes()


@pytest.mark.parametrize("world", WORLDS)
def test_the_movie_begins_with_play(world: str, films: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    flows = ('transport = "rtsp"', 'transport = "rtp+tcp"')
    run = framewire.run(scenario(films["h264"], WIDE, *flows), out=tmp_path / "run", world=world)
    first = {name: frame["due_ns"].min() for (name,), frame in run.frames.group_by("flow")}
    assert first["rtp+tcp"] == 0
    # A round trip of 40 ms for the connection, one each for OPTIONS, DESCRIBE and SETUP, and half a one for PLAY.
    assert 180e6 <= first["rtsp"] < 230e6, first
    gaps = run.frames.filter(flow="rtsp").sort("frame")["due_ns"].diff().drop_nulls().unique().to_list()
    assert gaps == [40_000_000]


@pytest.mark.parametrize("world", WORLDS)
def test_reports_go_between_the_packets(world: str, films: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    flows = [
        f'name = "{rtcp}"\ntransport = "rtsp"\nrtcp = "{rtcp}"' for rtcp in ("full", "no-receiver-reports", "none")
    ]
    run = framewire.run(scenario(films["h264"], WIDE, *flows), out=tmp_path / "run", world=world)
    assert run.status == "complete"
    rows = run.results.rtcp
    counts = dict(rows.group_by(name=pl.concat_str("flow", "from", separator=" ")).len().iter_rows())
    assert set(counts) == {"full sender", "full receiver", "no-receiver-reports sender"}
    assert set(rows.filter(pl.col("bye"))["flow"]) == {"full", "no-receiver-reports"}
    blocks = rows.filter((pl.col("from") == "receiver") & pl.col("lost").is_not_null())
    assert blocks["lost"].to_list() == blocks["true_lost"].to_list() == [0] * blocks.height
    assert blocks.height >= 1


@pytest.mark.real_time
@NEEDS_THIS_KERNEL
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_the_session(films: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    flows = [f'name = "{rtcp}"\ntransport = "rtsp"\nrtcp = "{rtcp}"' for rtcp in ("full", "none")]
    text = 'captures = "full"\n' + scenario(films["h264"], WIDE, *flows)
    run = framewire.run(text, out=tmp_path / "run", world="emulated")
    assert run.status == "complete"
    for number, name in enumerate(("full", "none")):
        capture = run.directory / "captures" / f"{name}.pcapng"
        decode = ["-d", f"tcp.port=={5004 + 2 * number},rtsp"]
        # At one interface alone a request may stand behind the segment that acknowledges it.
        methods = dict.fromkeys(listed(capture, decode, "rtsp.method", "rtsp.request"))
        ended = ["TEARDOWN"] if name == "full" else []
        assert list(methods) == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY", *ended]
        assert set(listed(capture, decode, "rtsp.status", "rtsp.response")) == {"200"}
        at_sender = tmp_path / f"{name}.pcapng"
        only = ["-Y", "frame.interface_id == 0", "-w", at_sender]
        subprocess.run(["tshark", "-r", capture, *only], check=True, capture_output=True)
        markers = [marker for row in listed(at_sender, decode, "rtp.marker", "rtp") for marker in row.split(",")]
        frames = run.frames.filter(flow=name).height
        assert sum(marker in {"1", "True"} for marker in markers) == frames, "each frame ends with a marker"
        described = listed(at_sender, decode, "sdp.bandwidth", "sdp")
        assert (described == ["RS:0,RR:0"]) == (name == "none"), described
        assert (len(listed(at_sender, decode, "rtcp.pt", "rtcp")) > 0) == (name == "full")
        assert listed(at_sender, decode, "_ws.malformed", "_ws.malformed") == []


@pytest.mark.real_time
@NEEDS_THIS_KERNEL
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_follows_the_session_to_its_datagrams(films: dict[str, Path], tmp_path: Path) -> None:  # noqa: F811
    text = 'captures = "full"\n' + scenario(films["h264"], WIDE, 'transport = "rtsp+udp"')
    run = framewire.run(text, out=tmp_path / "run", world="emulated")
    assert run.status == "complete"
    capture, decode = run.directory / "captures" / "rtsp+udp.pcapng", ["-d", "tcp.port==5004,rtsp"]
    methods = dict.fromkeys(listed(capture, decode, "rtsp.method", "rtsp.request"))
    assert list(methods) == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY", "TEARDOWN"]
    assert set(listed(capture, decode, "rtsp.status", "rtsp.response")) == {"200"}
    (agreed,) = dict.fromkeys(listed(capture, decode, "rtsp.transport", "rtsp.response && rtsp.transport"))
    assert "client_port=5004-5005" in agreed and "server_port=5004-5005" in agreed
    at_sender = tmp_path / "sender.pcapng"
    only = ["-Y", "frame.interface_id == 0", "-w", at_sender]
    subprocess.run(["tshark", "-r", capture, *only], check=True, capture_output=True)
    # What RTSP agreed upon says that these datagrams are RTP and RTCP.
    markers = listed(at_sender, decode, "rtp.marker", "rtp")
    assert sum(marker in {"1", "True"} for marker in markers) == run.frames.height, "each frame ends with a marker"
    # Its report, its name and BYE (RFC 3550, section 12.1); a film this short may end before the receiver reports.
    assert {200, 202, 203} <= {
        int(kind) for row in listed(at_sender, decode, "rtcp.pt", "rtcp") for kind in row.split(",")
    }
    assert listed(at_sender, decode, "_ws.malformed", "_ws.malformed") == []


def listed(capture: Path, decode: list[str], field: str, which: str) -> list[str]:
    """The field in packets that are such, without empty ones."""
    command = ["tshark", "-r", capture, *decode, "-Y", which, "-T", "fields", "-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if line]


def test_keys_are_checked() -> None:
    for rtcp in ("full", "no-receiver-reports", "none"):
        text = f'[[flow]]\ntransport = "rtsp"\nrtcp = "{rtcp}"\n'
        assert f'rtcp = "{rtcp}"' in framewire.load(text).toml
    assert 'rtcp = "full"' in framewire.load('[[flow]]\ntransport = "rtsp+ifd"\n').toml
    with pytest.raises(framewire.InputError, match="pacing.*one of sender, none"):
        framewire.load('[[flow]]\ntransport = "rtsp"\npacing = "receiver"\n')
    with pytest.raises(framewire.InputError, match="carries packets of RTP"):
        framewire.load('[[flow]]\ntransport = { format = "ts", session = "rtsp", socket = "stream" }\n')
