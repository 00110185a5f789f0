"""Sound from one process to another over loopback: packet for packet, in both ledgers, and before other programs."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_real import COMMAND, ended, free_port, receiving, relaying, send
from test_serving import shown
from test_sound import ENCODERS, FIRST_OF_SOUND, packets

from framewire.endpoint.address import Address
from framewire.errors import RunError
from framewire.real import join
from framewire.real.ends import receive

pytestmark = pytest.mark.real_time

SECONDS = 2
FRAMES = 25 * SECONDS


def films_of_h264(place: Path) -> dict[str, Path]:
    """A film of H.264 with B frames beside sound of each codec."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    made = {}
    for codec, (_, options, rate) in ENCODERS.items():
        picture = ["-f", "lavfi", "-i", f"testsrc2=s=320x192:r=25:d={SECONDS}"]
        tone = ["-f", "lavfi", "-i", f"sine=frequency=440:sample_rate={rate}:duration={SECONDS}"]
        coded = ["-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "25", "-threads", "1"]
        coded += options[options.index("-c:a") :].split()
        made[codec] = place / f"film-{codec}.{'mp4' if codec == 'aac' else 'mkv'}"
        subprocess.run(["ffmpeg", "-v", "error", *picture, *tone, *coded, made[codec]], check=True)
    return made


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return films_of_h264(tmp_path_factory.mktemp("films"))


RTP = ("udp", "udp-whole", "udp+ifd", "udp+dependency", "rtp+tcp", "rtp+tcp+dependency")
TRANSPORT_STREAMS = ("ts", "ts+rtp", "ts+tcp")


@pytest.mark.parametrize(
    ("codec", "transport"),
    [*(("aac", one) for one in (*RTP, *TRANSPORT_STREAMS)), *((one, "udp") for one in ("mp2", "mp3", "opus")),
     *((one, "rtp+tcp") for one in ("mp2", "opus"))],
)  # fmt: skip
def test_sound_comes_packet_for_packet_and_is_in_the_ledger_of_both_ends(
    codec: str, transport: str, films: dict[str, Path], tmp_path: Path
) -> None:
    film = films[codec]
    with receiving(tmp_path / "came", "--transport", transport) as (process, port):
        options = ["--transport", transport, "--set", "movie.sound=true"]
        code, said = send(film, port, tmp_path / "sent", *options)
        assert code == 0, said
        code, out, err = ended(process)
    assert code == 0, err
    assert f"{FRAMES} whole frames; to the end" in out
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    assert run.status == "complete"
    original = packets(film)
    rows = run.sound
    assert rows["frame"].to_list() == list(range(rows.height))
    assert 0 <= len(original) - rows.height <= 3, "all but what begins after the last picture"
    assert set(rows["fate"]) == {"shown"}
    came = packets(tmp_path / "came" / "received" / f"movie.{codec}")
    assert came == original[: rows.height]
    assert packets(tmp_path / "joined" / "received" / f"{transport}.{codec}") == came
    assert run.frames["fate"].to_list() == ["shown"] * FRAMES
    if transport.startswith("udp"):
        sequences = run.results.packets["sequence"]
        of_sound = sequences.filter(sequences >= FIRST_OF_SOUND).unique().sort() - FIRST_OF_SOUND
        assert of_sound.to_list() == list(range(of_sound.len()))
        assert of_sound.len() == rows.height, "each packet of these codecs has a datagram of its own"
        assert set(run.results.packets["outcome"]) == {"delivered"}


def test_what_is_lost_of_it_between_the_machines_is_a_row_of_the_ledger(films: dict[str, Path], tmp_path: Path) -> None:
    """A relay between both ends that swallows every seventh datagram of sound, and none of the picture."""
    with receiving(tmp_path / "came") as (process, port), relaying(port, ports=3, loses=7, of=2) as before:
        code, said = send(films["aac"], before, tmp_path / "sent", "--set", "movie.sound=true")
        assert code == 0, said
        assert ended(process)[0] == 0
    run = join(tmp_path / "sent", tmp_path / "came", tmp_path / "joined")
    lost = run.sound.filter(fate="lost")
    assert lost.height == run.sound.height // 7
    assert set(lost["root_cause_place"]) == {"link"}
    assert run.sound.filter(fate="shown").height + lost.height == run.sound.height
    assert run.summary["sound_lost"].to_list() == [lost.height]
    assert run.frames["fate"].to_list() == ["shown"] * FRAMES


@contextmanager
def _described(film: Path, tmp_path: Path) -> Iterator[Path]:
    """A film that is sent with its sound in three seconds, as its description, which stands, says."""
    description = tmp_path / "film.sdp"
    command = [*COMMAND, "send", str(film), "--to", f"127.0.0.1:{free_port()}", "--set", "movie.sound=true"]
    command += ["--sdp", str(description), "--delay", "3", "--out", str(tmp_path / "sent")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 20
            while not (description.is_file() and description.read_text().count("m=") == 2):
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.05)
            yield description
        finally:
            if process.poll() is None:
                process.kill()


def times(source: Path, *options: str) -> dict[str, list[float]]:
    """When packets of video and of sound are shown, as ffprobe tells, in order."""
    command = ["ffprobe", "-v", "error", *options, "-show_entries", "packet=codec_type,pts_time", "-of", "csv=p=0"]
    told = subprocess.run([*command, source], check=True, capture_output=True, text=True, timeout=60).stdout
    rows = [line.split(",")[:2] for line in told.split()]
    return {of: sorted(float(at) for kind, at in rows if kind == of and at != "N/A") for of in ("video", "audio")}


@pytest.mark.parametrize("codec", ["aac", "mp3", "opus"])
def test_ffmpeg_plays_both_by_the_description_together_and_to_their_end(
    codec: str, films: dict[str, Path], tmp_path: Path
) -> None:
    original = times(films[codec])
    with _described(films[codec], tmp_path) as description:
        begun = time.monotonic()
        played = times(description, "-protocol_whitelist", "file,udp,rtp")
        took = time.monotonic() - begun
    # The time of the first picture is not known before the second has come.
    assert len(played["video"]) in (FRAMES - 1, FRAMES)
    assert 0 <= len(original["audio"]) - len(played["audio"]) <= 3
    assert took < 3 + SECONDS + 8, "it ends by the senders' BYE, before FFmpeg's own timeout of ten seconds"
    # FFmpeg goes by the reports, the first of which goes with the first packet of either.
    second = played["audio"][1] - played["video"][-1]
    assert second == pytest.approx(original["audio"][1] - original["video"][-1], abs=0.002)


@pytest.mark.skipif(shutil.which("gst-launch-1.0") is None, reason="needs GStreamer")
def test_gstreamer_plays_both_by_the_description(films: dict[str, Path], tmp_path: Path) -> None:
    picture, sound = tmp_path / "film.h264", tmp_path / "film.aac"
    with _described(films["aac"], tmp_path) as description:
        pipeline = (
            f"filesrc location={description} ! sdpdemux name=d "
            "d. ! application/x-rtp,media=video ! rtph264depay ! h264parse "
            f"! video/x-h264,stream-format=byte-stream,alignment=au ! filesink location={picture} "
            "d. ! application/x-rtp,media=audio ! rtpmp4gdepay ! aacparse ! audio/mpeg,stream-format=adts "
            f"! filesink location={sound}"
        )
        subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], check=True, timeout=60)
    assert shown(picture) == shown(films["aac"])
    # Its headers of ADTS say another buffer fullness: a container has none of it.
    held = tmp_path / "held.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", sound, "-c", "copy", held], check=True)
    original, came = packets(films["aac"]), packets(held)
    assert 0 <= len(original) - len(came) <= 3
    assert came == original[: len(came)]


@pytest.mark.parametrize(("codec", "kept"), [("aac", 5), ("mp2", 2), ("opus", 0)])
def test_sound_of_ffmpeg_is_received_by_its_description(
    codec: str, kept: int, films: dict[str, Path], tmp_path: Path
) -> None:
    """FFmpeg 5.1 sends several access units in a packet, and at the end leaves out those that it kept for the next."""
    port = free_port()
    sends = ["ffmpeg", "-v", "error", "-re", "-i", str(films[codec]), "-sdp_file", str(tmp_path / "film.sdp")]
    sends += ["-map", "0:v", "-c", "copy", "-f", "rtp", f"rtp://127.0.0.1:{port}"]
    sends += ["-map", "0:a", "-c", "copy", "-f", "rtp", f"rtp://127.0.0.1:{port + 2}"]
    subprocess.run([*sends[:3], "-t", "0.1", *sends[3:]], check=True)
    command = [*COMMAND, "receive", f"127.0.0.1:{port}", "--sdp", str(tmp_path / "film.sdp"), "--silence", "1"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "came")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "waiting for a stream" in process.stderr.readline()
        subprocess.run(sends, check=True)
        code, out, err = ended(process)
    assert code == 0, err
    assert f"{FRAMES} whole frames" in out
    original, came = packets(films[codec]), packets(tmp_path / "came" / "received" / f"movie.{codec}")
    assert len(original) - len(came) <= kept
    assert came == original[: len(came)]


@pytest.mark.parametrize(
    ("codec", "transport"), [("aac", "ts"), ("mp2", "ts"), ("mp3", "ts"), ("aac", "ts+tcp"), ("opus", "ts")]
)
def test_sound_in_a_transport_stream_of_ffmpeg_is_kept_by_its_codec(
    codec: str, transport: str, films: dict[str, Path], tmp_path: Path
) -> None:
    """Which it is, the stream says; Opus is not received in it."""
    port = free_port()
    to = f"udp://127.0.0.1:{port}?pkt_size=1316" if transport == "ts" else f"tcp://127.0.0.1:{port}"
    sends = ["ffmpeg", "-v", "error", "-re", "-i", str(films[codec]), "-map", "0:v", "-map", "0:a"]
    command = [*COMMAND, "receive", f"127.0.0.1:{port}", "--transport", transport, "--codec", "h264", "--silence", "1"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "came")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "waiting for a stream" in process.stderr.readline()
        subprocess.run([*sends, "-c", "copy", "-f", "mpegts", to], check=True)
        code, out, err = ended(process)
    assert code == 0, err
    assert f"{FRAMES} whole frames" in out
    received = tmp_path / "came" / "received"
    if codec == "opus":
        assert [file.name for file in received.iterdir()] == ["movie.h264"]
        return
    assert {file.name for file in received.iterdir()} == {"movie.h264", f"movie.{codec}"}
    assert packets(received / f"movie.{codec}") == packets(films[codec])


def test_sound_that_is_not_received_is_left_out_with_the_reason_and_a_taken_port_is_named(tmp_path: Path) -> None:
    port = free_port()
    description = tmp_path / "film.sdp"
    video = f"v=0\nm=video {port} RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1\n"
    description.write_text(f"{video}m=audio {port + 2} RTP/AVP 97\na=rtpmap:97 vorbis/44100/2\n")
    said: list[str] = []
    at = Address.parse(f"127.0.0.1:{port}")
    with pytest.raises(RunError, match="nothing came"):
        receive(at, sdp=description, wait_s=0.3, listener=lambda event: said.append(str(event)))
    assert any("vorbis is not received" in event for event in said), said
    description.write_text(f"{video}m=audio {port + 2} RTP/AVP 14\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", port + 2))
        with pytest.raises(RunError, match="it is for the sound"):
            receive(at, sdp=description, wait_s=0.3)
