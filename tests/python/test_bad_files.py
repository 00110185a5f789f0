"""A user's own file that cannot be sent as it is: the error names the file, the track and what is wrong with it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import framewire
from framewire.errors import InputError
from framewire.movie import prepare, sound
from framewire.movie.probe import probe

X264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "2")
KEY = ("-encryption_scheme", "cenc-aes-ctr", "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb")
KEY_ID = ("-encryption_kid", "a7e61c373e219033c21091fa607bf3b8")


def ffmpeg(*arguments: str | Path) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of H.264 and AAC in MP4."""
    path = tmp_path_factory.mktemp("films") / "film.mp4"
    ffmpeg(
        "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2", *X264, "-c:a", "aac", path
    )
    return path


def without(stream: bytes, is_header: Callable[[int], bool]) -> bytes:
    """A stream with start codes without what stands behind some of them."""
    parts = re.split(rb"(?=\x00\x00\x01)", stream)
    return b"".join(part for part in parts if len(part) < 4 or not is_header(part[3]))


def refused(path: Path, *said: str, tmp_path: Path) -> None:
    """Probing, preparing and running say the same of it."""
    text = f'[movie]\nsource = "{path}"\n[[flow]]\ntransport = "udp"\n'
    attempts: tuple[Callable[[], object], ...] = (
        lambda: probe(path),
        lambda: prepare(path, cache_dir=tmp_path / "cache"),
        lambda: framewire.run(text, out=tmp_path / "run"),
    )
    for attempt in attempts:
        with pytest.raises(InputError) as raised:
            attempt()
        assert all(part in str(raised.value) for part in (path.name, *said)), str(raised.value)


def test_a_codec_that_is_not_carried(film: Path, tmp_path: Path) -> None:
    vp8 = tmp_path / "film.webm"
    ffmpeg("-i", film, "-an", "-t", "1", "-c:v", "libvpx", vp8)
    refused(vp8, "vp8 in matroska,webm", "MPEG-4 part 2, H.264, H.265 and AV1", tmp_path=tmp_path)


def length_delimited(stream: bytes) -> bytes:
    """A stream in the low-overhead format of AV1 (5.2) as one of annex B: sizes before each unit, frame and OBU."""

    def sized(data: bytes) -> bytes:
        size, code = len(data), bytearray()
        while size > 127:
            code.append(size & 127 | 128)
            size >>= 7
        return bytes([*code, size]) + data

    units: list[list[bytes]] = []
    at = 0
    while at < len(stream):
        header, extension = stream[at], stream[at] >> 2 & 1
        size, end = 0, at + 1 + extension
        for shift in range(0, 56, 7):
            size, more, end = size | (stream[end] & 127) << shift, stream[end] >> 7, end + 1
            if not more:
                break
        if header >> 3 & 15 == 2:  # OBU_TEMPORAL_DELIMITER
            units.append([])
        units[-1].append(bytes([header & ~2]) + stream[at + 1 : at + 1 + extension] + stream[end : end + size])
        at = end + size
    return b"".join(sized(sized(b"".join(map(sized, unit)))) for unit in units)


def test_av1_in_the_length_delimited_format(film: Path, tmp_path: Path) -> None:
    whole, delimited = tmp_path / "film.obu", tmp_path / "delimited.obu"
    ffmpeg("-i", film, "-an", "-t", "0.4", "-c:v", "libsvtav1", "-preset", "12", whole)
    assert probe(whole, "25 Hz").duration_s == pytest.approx(0.4)
    delimited.write_bytes(length_delimited(whole.read_bytes()))
    refused(delimited, "AV1 in the length-delimited format (annex B", "low-overhead format", tmp_path=tmp_path)
    back = tmp_path / "back.obu"
    ffmpeg("-f", "av1", "-i", delimited, "-c", "copy", back)
    assert probe(back, "25 Hz").duration_s == pytest.approx(0.4, abs=0.05)


def test_no_video(film: Path, tmp_path: Path) -> None:
    alone = tmp_path / "sound.m4a"
    ffmpeg("-i", film, "-vn", "-c", "copy", alone)
    refused(alone, "it holds no video", tmp_path=tmp_path)


def test_an_encrypted_track(film: Path, tmp_path: Path) -> None:
    protected = tmp_path / "protected.mp4"
    ffmpeg("-i", film, "-c", "copy", *KEY, *KEY_ID, protected)
    refused(protected, "its video (track 0) is encrypted (DRM)", tmp_path=tmp_path)
    other = tmp_path / "other.mp4"
    other.write_bytes(protected.read_bytes().replace(b"schm\0\0\0\0cenc", b"schm\0\0\0\0cbcs"))
    with pytest.raises(InputError, match=r"other.mp4: its video \(track 0\) is encrypted"):
        probe(other)
    with pytest.raises(InputError, match=r"protected.mp4: its sound \(track 1\) is encrypted"):
        sound.choose(protected)
    assert sound.choose(film) == 1


def test_a_film_that_is_encrypted_behind_a_clear_beginning(film: Path, tmp_path: Path) -> None:
    """Its index says so, in a second sample entry; its first packets do not. A server of such a file is refused too."""
    clear, lead = tmp_path / "clear.mp4", tmp_path / "lead.mp4"
    ffmpeg("-i", film, "-c", "copy", "-movflags", "faststart", clear)
    code = bytearray(clear.read_bytes())
    entry = code.index(b"avc1", code.index(b"stsd")) - 4
    length = int.from_bytes(code[entry : entry + 4])
    second = code[entry : entry + 4] + b"encv" + code[entry + 8 : entry + length]
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd"):
        at = code.index(kind) - 4
        code[at : at + 4] = (int.from_bytes(code[at : at + 4]) + length).to_bytes(4)
    at = code.index(b"stsd") + 8
    code[at : at + 4] = (2).to_bytes(4)
    for kind in re.finditer(b"stco", bytes(code)):  # all samples stand that much later
        count = int.from_bytes(code[kind.end() + 4 : kind.end() + 8])
        for at in range(kind.end() + 8, kind.end() + 8 + 4 * count, 4):
            code[at : at + 4] = (int.from_bytes(code[at : at + 4]) + length).to_bytes(4)
    code[entry + length : entry + length] = second
    lead.write_bytes(code)
    refused(lead, "its video (track 0) is encrypted (DRM)", tmp_path=tmp_path)
    another = tmp_path / "another.mp4"
    another.write_bytes(code.replace(b"encv", b"avc1"))
    assert probe(another).duration_s == pytest.approx(2)
    # An index that is damaged says nothing of it, and is refused for what it is.
    for damage in (code[: entry + 20], code.replace(b"stbl\0", b"stbl\xff")):
        broken = tmp_path / "broken.mp4"
        broken.write_bytes(damage)
        with pytest.raises(InputError, match=r"broken.mp4: "):
            probe(broken)


@pytest.mark.parametrize(
    ("codec", "options", "is_header"),
    [
        ("H.264", (*X264, "-f", "h264"), lambda code: code & 31 in (7, 8)),
        (
            "H.265",
            ("-c:v", "libx265", "-x265-params", "log-level=none:pools=none", "-f", "hevc"),
            lambda code: code >> 1 & 63 in (32, 33, 34),
        ),
        ("MPEG-4 part 2", ("-c:v", "mpeg4", "-f", "m4v"), lambda code: code in (0xB5, *range(0x30))),
    ],
)
def test_headers_that_are_missing(
    codec: str, options: tuple[str, ...], is_header: Callable[[int], bool], film: Path, tmp_path: Path
) -> None:
    whole, bare = tmp_path / "whole.stream", tmp_path / "bare.stream"
    ffmpeg("-i", film, "-an", *options, whole)
    assert probe(whole, "25 Hz").duration_s == pytest.approx(2)
    bare.write_bytes(without(whole.read_bytes(), is_header))
    with pytest.raises(
        InputError, match=f"bare.stream: an elementary stream of {re.escape(codec)} without the headers"
    ):
        probe(bare)


@pytest.mark.parametrize(
    ("options", "suffix", "is_header", "said"),
    [
        (
            (*X264, "-f", "h264"),
            "264",
            lambda code: code & 31 == 8,
            "no picture in .* bytes of H.264: none with its headers",
        ),
        (
            ("-c:v", "mpeg2video", "-f", "mpeg2video"),
            "m2v",
            lambda code: code in (0xB3, 0xB5),
            "begins as a video elementary",
        ),
    ],
    ids=["picture parameter sets", "sequence headers"],
)
def test_some_of_the_headers_are_missing(
    options: tuple[str, ...], suffix: str, is_header: Callable[[int], bool], said: str, film: Path, tmp_path: Path
) -> None:
    whole, bare = tmp_path / f"whole.{suffix}", tmp_path / f"bare.{suffix}"
    ffmpeg("-i", film, "-an", *options, whole)
    bare.write_bytes(without(whole.read_bytes(), is_header))
    with pytest.raises(InputError, match=f"bare.{suffix}: .*{said}"):
        probe(bare)


@pytest.mark.parametrize("transport", ["ts+tcp", "rtsp"])
def test_video_that_ends_before_its_sound_ends_the_movie(transport: str, film: Path, tmp_path: Path) -> None:
    short, early = tmp_path / "short.mp4", tmp_path / "early.mp4"
    ffmpeg("-i", film, "-t", "0.6", "-an", "-c", "copy", short)
    ffmpeg("-i", short, "-i", film, "-map", "0:v", "-map", "1:a", "-c", "copy", early)
    text = f'[movie]\nsource = "{early}"\nsound = true\n[[flow]]\ntransport = "{transport}"\n'
    run = framewire.run(text, out=tmp_path / "run")
    seconds = run.frames.height / 25
    assert 0.6 <= seconds < 0.8, "with the frames that the last ones need"
    assert seconds - 0.03 <= run.sound.height * 1024 / 44_100 <= seconds + 0.07, "sound as far as the movie lasts"
    assert {*run.frames["fate"], *run.sound["fate"]} == {"shown"}


def test_sound_that_ends_before_the_video_is_all_sent(film: Path, tmp_path: Path) -> None:
    short, early = tmp_path / "short.m4a", tmp_path / "early.mp4"
    ffmpeg("-i", film, "-t", "0.5", "-vn", "-c", "copy", short)
    ffmpeg("-i", film, "-i", short, "-map", "0:v", "-map", "1:a", "-c", "copy", early)
    text = f'[movie]\nsource = "{early}"\nsound = true\n[[flow]]\ntransport = "rtp+tcp"\n'
    run = framewire.run(text, out=tmp_path / "run")
    assert run.frames.height == 50 and 20 <= run.sound.height <= 24, "packets of 23 ms"
    assert {*run.frames["fate"], *run.sound["fate"]} == {"shown"}


def test_a_recording_that_stops_within_a_packet_is_one_without_that(film: Path, tmp_path: Path) -> None:
    """Of its sound, too: a transport stream promises nothing of what follows."""
    whole, cut = tmp_path / "whole.ts", tmp_path / "cut.ts"
    ffmpeg("-i", film, "-c", "copy", whole)
    code = whole.read_bytes()
    kept = []
    for length in range(len(code) // 2, len(code) // 2 + 12 * 188, 188):
        cut.write_bytes(code[:length])
        text = f'[movie]\nsource = "{cut}"\nsound = true\n[[flow]]\ntransport = "rtp+tcp"\n'
        run = framewire.run(text, out=tmp_path / f"run{length}", world="simulated")
        assert {*run.frames["fate"], *run.sound["fate"]} == {"shown"}
        kept.append(run.sound.height)
    assert 20 < min(kept) <= max(kept) < 70


def test_a_clock_that_leaps_is_no_matter_of_the_video(film: Path, tmp_path: Path) -> None:
    """Of sound, which has no rate but that of its packets, it is an error; frames go evenly, and it is said."""
    leaps = tmp_path / "leaps.mkv"
    later = "setts=ts=TS+gt(N\\,20)*5000"
    ffmpeg("-i", film, "-c", "copy", "-bsf:v", later, "-bsf:a", later, leaps)
    said: list[str] = []
    made = prepare(leaps, cache_dir=tmp_path / "cache", progress=lambda step, _share: said.append(step))
    assert made.metadata["frames"] == 50
    assert any("sending the frames evenly, at the mean of their variable rate" in step for step in said), said
    with pytest.raises(InputError, match=r"leaps.mkv: the time stamps of its sound have a gap of .* s at"):
        sound.sound_of(leaps, tmp_path / "cache")
