"""Movies of every codec in RTP, transport streams and files: what FFmpeg shows is what the ledger calls shown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest
from test_emulated import capable

import framewire
from framewire import report
from framewire.content_store import ContentStore, existing, key
from framewire.files import sha256
from framewire.report import cut_stream

SECONDS = 6
ENCODERS = {
    "obu": "-c:v libaom-av1 -cpu-used 8 -g 25 -lag-in-frames 19"
    " -bsf:v av1_metadata=tick_rate=25:num_ticks_per_picture=1",
    "m4v": "-c:v mpeg4 -bf 2 -g 25 -sc_threshold 1000000000",
    "h264": "-c:v libx264 -x264-params keyint=25:bframes=3:scenecut=0:threads=1",
    "h265": "-c:v libx265 -x265-params keyint=25:bframes=3:open-gop=0:scenecut=0:pools=none:log-level=none",
}
SVT = "-c:v libsvtav1 -preset 10 -g 25 -svtav1-params lp=1 -bsf:v av1_metadata=tick_rate=25:num_ticks_per_picture=1"
SVT_AND_DAV1D = all(
    name in subprocess.run(["ffmpeg", "-v", "error", what], capture_output=True, text=True, check=False).stdout
    for name, what in (("libsvtav1", "-encoders"), ("libdav1d", "-decoders"))
)
IN_CONTAINERS = [codec for codec in ENCODERS if codec != "obu"]
"""Those that transport streams and MP4 files carry."""

BARE = {"obu", "h264", "h265"}
"""Those whose films are elementary streams; FFmpeg takes m4v for a name of MP4."""

PICTURE = f"testsrc2=s=160x96:r=25:d={SECONDS},noise=alls=60:allf=t"
"""Small, because AV1 of four times as many pixels takes three times as long to encode at the same rate."""
LOSSY = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\nloss = "1 %"\n'
NARROW = '[network]\nkind = "wired"\nbottleneck = "local-device"\n[network.wire]\nrate = "1 Mbit/s"\n'
STALL = '[playout]\npolicy = "stall"\n'


@pytest.fixture(scope="module")
def films(lab_cache: Path) -> dict[str, Path]:
    """A film of 1.5 Mbit/s in each codec, encoded once for all the tests that stream them."""
    return {codec: film(lab_cache, codec) for codec in ENCODERS}


def film(cache: Path, codec: str, encoder: str | None = None) -> Path:
    options = (encoder or ENCODERS[codec]).split()
    picture = ["-f", "lavfi", "-i", PICTURE, *options, "-b:v", "1500k", "-pix_fmt", "yuv420p"]
    name = f"film-{key(picture)}.{codec}"

    def encode(scratch: Path) -> Path:
        subprocess.run(["ffmpeg", "-v", "error", *picture, scratch / name], check=True)
        return scratch / name

    return ContentStore(cache).keep(name, existing, encode)


DECODED: dict[tuple[str, ...], list[tuple[int, str]]] = {}


def timed_pictures(path: Path, *decoder: str) -> list[tuple[int, str]]:
    """Times and digests of all pictures that FFmpeg shows, in order. It makes the same of the same bytes, so that a
    film is decoded once, and so is what several transports bring whole."""
    asked = (sha256(path), path.suffix, *decoder)
    if asked not in DECODED:
        command = ["ffmpeg", "-v", "quiet", "-copyts", "-max_error_rate", "1", *decoder, "-i", path]
        command += ["-fps_mode", "passthrough", "-f", "framemd5", "-"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        columns = [line.split(",") for line in lines if not line.startswith("#")]
        DECODED[asked] = [(int(column[2]), column[-1].strip()) for column in columns]
    return DECODED[asked]


def pictures(path: Path) -> list[str]:
    """Digests of all pictures that FFmpeg shows, in order."""
    return [digest for _, digest in timed_pictures(path)]


def check_av1(received: Path, frames: pl.DataFrame, original: list[str]) -> None:
    """What FFmpeg shows of each temporal unit that came. It may be right though a frame that the unit names is missing;
    FFmpeg's reader of bare units ends there, so that they are put into another file."""
    came = frames.filter(pl.col("complete")).sort("frame")
    stream = cut_stream.cut(received, came, cut_stream.AV1, whole_file=True)
    file = received.parent.with_suffix(".ivf")
    with file.open("wb") as sink:
        stream.feed(came["frame"].to_list(), sink)
    displays = came["display"].to_list()
    decoded = timed_pictures(file, *cut_stream.decoder_of(cut_stream.AV1))
    exact = {displays[at] for at, digest in decoded if digest == original[displays[at]]}
    shown = {*frames.filter(fate="shown")["display"]}
    assert shown <= exact and exact - shown <= {*frames.filter(fate="undecodable")["display"]}
    assert len(exact - shown) <= len(frames) / 10


def check(film: Path, run: framewire.Run) -> pl.DataFrame:
    """Compares what the ledger calls shown with what FFmpeg shows; returns the ledger."""
    (received,) = (run.directory / "received").iterdir()
    frames = run.frames.sort("display")
    original = pictures(film)
    assert len(set(original)) == len(original) == len(frames) == 25 * SECONDS
    if received.suffix == ".obu":
        check_av1(received, frames, original)
        return frames
    shown = [digest for digest, fate in zip(original, frames["fate"], strict=True) if fate == "shown"]
    known = set(original)
    assert [digest for digest in pictures(received) if digest in known] == shown
    assert set(frames["fate"]) <= {"shown", "undecodable", "lost"}
    return frames


def check_fates(frames: pl.DataFrame, transport: str, *, loses_nothing: bool) -> None:
    """All frames are shown, or some are lost; a queue by dependency leaves none that cannot be decoded."""
    fates = {fate: frames.filter(fate=fate).height for fate in ("shown", "undecodable", "lost")}
    if loses_nothing:
        assert fates["shown"] == len(frames)
    else:
        assert 0 < fates["shown"] < len(frames)
        assert fates["lost"] > 0
        assert fates["undecodable"] == 0 or "dependency" not in transport


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize(
    ("transport", "network"),
    [
        ("udp", LOSSY),
        ("udp", NARROW),
        ("udp-whole", NARROW),
        ("udp+ifd", NARROW),
        ("udp+dependency", NARROW),
        ("udp-blocking", NARROW),
        ("rtp+tcp", NARROW),
        ("rtp+tcp+dependency", NARROW),
        ("tcp", NARROW),
        ("ts", LOSSY),
        ("ts+tcp", NARROW),
        ("http", NARROW),
    ],
)
def test_the_decoder_shows_what_the_ledger_says(
    codec: str, transport: str, network: str, films: dict[str, Path], tmp_path: Path
) -> None:
    if codec == "obu" and "ts" in transport:
        with pytest.raises(framewire.errors.InputError, match="the movie is AV1"):
            framewire.run(f'[movie]\nsource = "{films[codec]}"\n[[flow]]\ntransport = "{transport}"\n')
        return
    flow = f'[[flow]]\ntransport = "{transport}"\n'
    text = f'name = "test"\n[movie]\nsource = "{films[codec]}"\n{network}{STALL}{flow}'
    frames = check(films[codec], framewire.run(text, out=tmp_path / "run", world="simulated"))
    check_fates(frames, transport, loses_nothing=transport in ("udp-blocking", "rtp+tcp", "tcp", "ts+tcp", "http"))


@pytest.mark.skipif(not SVT_AND_DAV1D, reason="ffmpeg has no libsvtav1 or no libdav1d")
@pytest.mark.parametrize(("transport", "network"), [("udp", LOSSY), ("udp+ifd", NARROW)])
def test_of_svt_av1_all_is_scored_that_the_ledger_calls_shown(
    transport: str, network: str, lab_cache: Path, tmp_path: Path
) -> None:
    """Behind a loss libaom leaves out pictures of these streams that can be decoded, and dav1d shows them."""
    movie = film(lab_cache, "obu", SVT)
    text = f'[movie]\nsource = "{movie}"\n{network}{STALL}[[flow]]\ntransport = "{transport}"\n'
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    frames = check(movie, run)
    report.write(run.directory)
    scores = pl.read_parquet(run.directory / "psnr.parquet").sort("display")
    exact = {*scores.filter(mse=0)["display"]}
    shown = {*frames.filter(fate="shown")["display"]}
    assert 0 < len(shown) < 25 * SECONDS == scores.height
    assert shown <= exact and len(exact - shown) <= 15


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("codec", ENCODERS)
def test_it_does_so_over_the_kernels_sockets(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    text = f'name = "test"\n[movie]\nsource = "{films[codec]}"\n{LOSSY}{STALL}[[flow]]\ntransport = "udp"\n'
    frames = check(films[codec], framewire.run(text, out=tmp_path / "run", world="emulated"))
    assert 0 < frames.filter(fate="lost").height < len(frames) / 3


@pytest.mark.parametrize("codec", ["h264", "h265"])
def test_a_report_scores_what_came_with_other_start_codes(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    """RTP carries none, and those of the movie are all of four bytes."""
    code = films[codec].read_bytes().replace(b"\0\0\0\1", b"\0\0\1").replace(b"\0\0\1", b"\0\0\0\1")
    film = tmp_path / f"film.{codec}"
    film.write_bytes(code)
    flows = "".join(f"[[flow]]\ntransport = '{transport}'\n" for transport in ("udp", "tcp"))
    run = framewire.run(f"[movie]\nsource = '{film}'\n{LOSSY}{flows}", out=tmp_path / "run", world="simulated")
    received = {name: (run.directory / "received" / f"{name}.{codec}").stat().st_size for name in ("udp", "tcp")}
    assert received["udp"] < run.frames.filter(flow="udp", complete=True)["size"].sum() < received["tcp"]
    report.write(run.directory)
    scores = pl.read_parquet(run.directory / "psnr.parquet").filter(flow="udp")
    own = run.frames.filter(flow="udp", fate="shown").height
    assert (scores["mse"] == 0).sum() == own > 0, "what is shown is the movie's own picture"
    assert scores.height == 25 * SECONDS


def test_the_packet_table_says_what_of_a_packet_is_not_of_the_frame(films: dict[str, Path], tmp_path: Path) -> None:
    text = f'name = "test"\n[movie]\nsource = "{films["h264"]}"\n{LOSSY}[[flow]]\ntransport = "udp"\n'
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    packets = run.results.packets.filter(pl.col("frame").is_not_null())
    # RTP alone before a NAL unit, two bytes more before a fragment, and of several NAL units one and two for each: the
    # parameter sets have a packet of their own, and frames here are larger than one.
    assert set(packets["headers"]) <= {12, 14, *(13 + 2 * units for units in range(2, 9))}
    assert 14 in packets["headers"] and packets["headers"].max() > 14
    # Start codes are not in packets: what is left is a little less than the movie.
    carried = (
        packets.filter(pl.col("direction") == "forward").select(pl.col("payload") - pl.col("headers")).sum().item()
    )
    assert 0.99 < carried / films["h264"].stat().st_size < 1


def test_slices_fields_and_parameter_sets_that_change_come_through_everything(tmp_path: Path) -> None:
    """Three encodes one behind the other: 160x96 in three slices, 128x96 of another profile, and 160x96 interlaced."""
    parts = [
        ("160x96", ["-x264-params", "slices=3:threads=1"]),
        ("128x96", ["-profile:v", "baseline"]),
        ("160x96", ["-x264-params", "tff=1:threads=1"]),
    ]
    joined = b""
    for number, (size, options) in enumerate(parts):
        part = tmp_path / f"part{number}.264"
        picture = ["-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d=0.4", "-pix_fmt", "yuv420p", "-c:v", "libx264"]
        subprocess.run(["ffmpeg", "-v", "error", *picture, *options, part], check=True)
        joined += part.read_bytes()
    film = tmp_path / "film.h264"
    film.write_bytes(joined)
    original = pictures(film)
    assert len(original) == 30
    flows = ("udp", "udp+dependency", "rtp+tcp", "ts", "ts+rtp", "http", "http+fmp4", "http+ts", "rtsp", "rtsp+udp")
    flow = "".join(f'[[flow]]\ntransport = "{transport}"\n' for transport in flows)
    network = '[network]\nkind = "wired"\n[network.wire]\nrate = "100 Mbit/s"\n'
    text = f'name = "test"\n[movie]\nsource = "{film}"\n{network}{STALL}{flow}'
    run = framewire.run(text, out=tmp_path / "run", world="simulated")
    assert {*run.frames["fate"]} == {"shown"}
    received = {path.stem: pictures(path) for path in (run.directory / "received").iterdir()}
    assert {*received} == {*flows}
    assert [name for name, shown in received.items() if shown != original] == []
