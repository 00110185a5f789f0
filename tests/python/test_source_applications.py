"""An ordinary ffmpeg sends the user's own file (`{source}`) and another receives it: what a user has at hand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import machine_load
import polars as pl
import pytest
from test_applications import by_flow, capable, command, scenario

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(capable() is not None, reason=f"no applications here: {capable()}"),
]

FRAMES = 75
FFMPEG = ["ffmpeg", "-loglevel", "error"]
TOLD = ["-c", "copy", "-copyinkf", "-flush_packets", "1"]
"""Everything that comes is given out as it comes, also behind a key frame that did not."""
IN_BAND = ["-bsf:v", "h264_mp4toannexb"]
"""An MP4 has the parameter sets in its head; so they go in the stream, before each key frame."""


def film(path: Path, *encoder: str) -> Path:
    """Three seconds in a container, as a user has them."""
    picture = ["-f", "lavfi", "-i", f"testsrc2=size=640x360:rate=25:duration={FRAMES / 25:g}"]
    subprocess.run([*FFMPEG, *picture, *encoder, "-b:v", "1500k", "-g", "25", str(path)], check=True)
    return path


def over_rtp(payload_type: int, encoding: str, bitstream: list[str], muxer: str) -> str:
    """RTP (RFC 3550), told to the receiver by a session description (RFC 8866) on its standard input."""
    session = rf"v=0\nc=IN IP4 {{address}}\nm=video {{port}} RTP/AVP {payload_type}\na=rtpmap:{payload_type} {encoding}"
    at_once = "-probesize 32 -analyzeduration 0"  # else it looks at the stream for seconds before it gives out any
    receiver = (
        f"{' '.join(FFMPEG)} -protocol_whitelist pipe,udp,rtp {at_once} -f sdp -i - {' '.join(TOLD)} -f {muxer} -"
    )
    sender = [*FFMPEG, "-re", "-i", "{source}", "-an", "-c", "copy", *bitstream]
    return command(
        "rtp",
        [*sender, "-f", "rtp", "rtp://{receiver}:{port}?pkt_size=1200"],
        ["sh", "-c", f"printf '{session}\\n' | exec {receiver}"],
    )


OVER_TS = command(
    "ts",
    [*FFMPEG, "-re", "-i", "{source}", "-c", "copy", "-f", "mpegts", "udp://{receiver}:{port}?pkt_size=1316"],
    [
        *(*FFMPEG, "-probesize", "5000", "-analyzeduration", "100000", "-f", "mpegts", "-i", "udp://{address}:{port}"),
        *(*TOLD, "-f", "h264", "-"),
    ],
)


def test_an_h264_file_comes_through_rtp_and_losses_have_their_cause(tmp_path: Path) -> None:
    source = film(tmp_path / "film.mp4", "-c:v", "libx264", "-preset", "ultrafast")
    flow = over_rtp(96, "H264/90000", IN_BAND, "h264")
    result = machine_load.run(scenario(source, flow, 'rate = "20 Mbit/s"\nloss = "1 %"'), tmp_path)
    row = by_flow(result)["rtp"]
    assert (row["status"], row["frames"]) == ("complete", FRAMES)
    lost = result.frames.filter(pl.col("fate") == "lost")
    with machine_load.excused(result):
        # Of some 560 packets one in a hundred is lost, by the seed; every frame that was hurt is named with the reason.
        hurt = lost.filter(pl.col("root_cause") == "random loss")
        assert 2 <= hurt.height <= 20
        assert set(hurt["root_cause_place"]) == {"link"}
        # The last frame stays in ffmpeg, which waits for what comes behind it; and what a loss leaves of another frame.
        own = lost.filter(pl.col("root_cause") == "not given out by the receiver's application")
        assert hurt.height + own.height == lost.height
        assert own.height <= 4
        assert row["shown"] >= 10  # type: ignore[operator]
        assert result.frames.filter(pl.col("fate") == "undecodable")["root_cause"].null_count() == 0


def test_an_mpeg2_file_comes_through_rtp(tmp_path: Path) -> None:
    source = film(tmp_path / "film.mkv", "-c:v", "mpeg2video")
    flow = over_rtp(32, "MPV/90000", [], "mpeg2video")
    result = machine_load.run(scenario(source, flow, 'rate = "20 Mbit/s"'), tmp_path)
    row = by_flow(result)["rtp"]
    assert (row["status"], row["frames"]) == ("complete", FRAMES)
    with machine_load.excused(result):
        assert FRAMES - 2 <= row["shown"] < FRAMES  # type: ignore[operator]
        lost = result.frames.filter(pl.col("fate") == "lost")
        assert set(lost["root_cause"]) == {"not given out by the receiver's application"}


def test_an_h264_file_comes_through_a_transport_stream(tmp_path: Path) -> None:
    source = film(tmp_path / "film.mp4", "-c:v", "libx264", "-preset", "ultrafast")
    result = machine_load.run(scenario(source, OVER_TS, 'rate = "20 Mbit/s"'), tmp_path)
    row = by_flow(result)["ts"]
    assert (row["status"], row["frames"]) == ("complete", FRAMES), result.failures
    with machine_load.excused(result):
        assert FRAMES - 4 <= row["shown"] <= FRAMES  # type: ignore[operator]
        lost = result.frames.filter(pl.col("fate") == "lost")
        assert lost["root_cause"].null_count() == lost.height, "inside a container the cause is not known"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_a_closed_home_is_named_with_what_opens_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    source = film(home / "film.mp4", "-c:v", "libx264", "-preset", "ultrafast")
    os.chown(home, 1000, 1000)
    home.chmod(0o700)
    for name, more in (("none", ""), ("all", 'sender.capabilities = "all"\n')):
        (tmp_path / name).mkdir()
        result = machine_load.run(scenario(source, OVER_TS + more, 'rate = "20 Mbit/s"'), tmp_path / name)
        closed = [said for said in result.failures if f"{home} is closed to it (mode 0700, of user 1000)" in said]
        assert (len(closed), result.status) == ((1, "partial") if name == "none" else (0, "complete")), result.failures
        assert all('capabilities = "all"' in said and said.startswith("flow ts: sender: ") for said in closed)
