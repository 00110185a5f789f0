"""Video and audio as received, joined by the command that is named: each picture is shown at its time, with its sound.

Every picture of the film carries its number in black and white bars, and its sound begins at a time that is known.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_endpoint import serving

from framewire import endpoint
from framewire.endpoint import closing_message
from framewire.endpoint.undecodable_start import UndecodableStart
from framewire.movie import ladder
from framewire.movie.ladder import build

pytestmark = pytest.mark.real_time

RATE, SECONDS, GOP, WIDTH, HEIGHT, BITS = 25, 4, 25, 224, 96, 7
SOUND_AT_S = 2.5
GIVEN = "keyint=25:min-keyint=25:scenecut=0:bframes=3"
ENCODERS = {
    "mpeg4": (".m4v", "-c:v mpeg4 -bf 2 -g 25 -sc_threshold 1000000000", ("-q:v 20", "-q:v 5")),
    "mpeg2video": (".m2v", "-c:v mpeg2video -bf 2 -g 25 -sc_threshold 1000000000", ("-q:v 20", "-q:v 5")),
    "h264": (".h264", f"-c:v libx264 -x264-params {GIVEN}", ("-crf 36", "-crf 24")),
    "hevc": (".h265", f"-c:v libx265 -preset ultrafast -x265-params {GIVEN}:log-level=error", ("-crf 36", "-crf 24")),
}


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbered pictures, and a sound that begins at `SOUND_AT_S`."""
    path = tmp_path_factory.mktemp("film") / "film.mkv"
    bars = (
        f"nullsrc=s={WIDTH}x32:r={RATE}:d={SECONDS},geq=lum='16+200*mod(floor(N/pow(2,floor(X/32))),2)':cb=128:cr=128"
    )
    below = f"testsrc2=s={WIDTH}x{HEIGHT - 32}:r={RATE}:d={SECONDS}"
    tone = f"aevalsrc='0.8*sin(880*PI*t)*gt(t,{SOUND_AT_S})':s=44100:d={SECONDS}"
    inputs = [word for source in (bars, below, tone) for word in ("-f", "lavfi", "-i", source)]
    made = ["-filter_complex", "[0][1]vstack", "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-c:a", "flac"]
    subprocess.run(["ffmpeg", "-v", "error", *inputs, *made, str(path)], check=True)
    return path


def served_file(film: Path, codec: str, directory: Path) -> Path:
    """A streaming file of two levels with B frames that were encoded before."""
    _, options, qualities = ENCODERS[codec]
    levels = []
    for number, quality in enumerate(qualities):
        level = directory / f"given{number}.mkv"
        encode = [*options.split(), *quality.split(), "-c:a", "libmp3lame"]
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(film), *encode, str(level)], check=True)
        levels.append(level)
    made = ladder.join(levels, cache_dir=directory / "cache", plan=build.Plan(segments=2))
    return made.streaming_file


def joined(viewed: dict[str, Any], out: Path) -> Path:
    """What the command that is named makes of it."""
    command = closing_message.how_it_plays(viewed, out)[1].removeprefix("with its audio: ")
    subprocess.run([*shlex.split(command), "-v", "fatal"], check=True, capture_output=True)
    return out.with_suffix(".mkv")


def offsets(film: Path) -> list[float]:
    """By how much every picture of a film is shown later than its number says, in s."""
    command = ["ffprobe", "-v", "fatal", "-select_streams", "v", "-show_entries", "frame=pts_time", "-of", "json"]
    told = json.loads(subprocess.run([*command, str(film)], check=True, capture_output=True).stdout)
    decode = ["ffmpeg", "-v", "fatal", "-i", str(film), "-map", "0:v", "-vsync", "passthrough"]
    raw = subprocess.run([*decode, "-f", "rawvideo", "-pix_fmt", "gray", "-"], check=True, capture_output=True).stdout
    size, row = WIDTH * HEIGHT, WIDTH * 16
    pictures = [raw[at + row : at + row + WIDTH] for at in range(0, len(raw), size)]
    numbers = [sum((picture[32 * bit + 16] > 116) << bit for bit in range(BITS)) for picture in pictures]
    times = [float(frame["pts_time"]) for frame in told["frames"]]
    assert len(times) == len(numbers)
    return [time - number / RATE for time, number in zip(times, numbers, strict=True)]


def sound_offset(film: Path) -> float:
    """By how much the sound of a film begins later than it did, in s."""
    decode = ["ffmpeg", "-v", "fatal", "-i", str(film), "-map", "0:a", "-ac", "1", "-ar", "8000", "-f", "s16le", "-"]
    samples = memoryview(subprocess.run(decode, check=True, capture_output=True).stdout).cast("h")
    return next(at for at, sample in enumerate(samples) if abs(sample) > 8_000) / 8_000 - SOUND_AT_S


@pytest.mark.parametrize("codec", ENCODERS)
def test_every_codec_with_b_frames_is_joined_in_step(codec: str, film: Path, tmp_path: Path) -> None:
    movie = served_file(film, codec, tmp_path)
    out = (tmp_path / "seen").with_suffix(ENCODERS[codec][0])
    with serving(movie, sessions=1) as server:
        viewed = endpoint.receive(server.address, out, title=movie.stem)
    assert (viewed["frames"], viewed["frames_before_key"], viewed["frames_lost_before_key"]) == (100, 0, 0)
    made = joined(viewed, out)
    found = offsets(made)
    assert len(found) == RATE * SECONDS
    assert max(map(abs, found)) < 1.5 / RATE
    assert abs(sound_offset(made)) < 0.06


def units(path: Path, kind: str) -> list[bytes]:
    """The frames of an elementary stream."""
    command = ["ffprobe", "-v", "error", "-f", kind, "-show_entries", "packet=size", "-of", "csv=p=0", str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    data, at, found = path.read_bytes(), 0, []
    for line in told.split():
        found.append(data[at : at + int(line.strip(","))])
        at += len(found[-1])
    found[-1] += data[at:]
    return found


def kept(frames: list[bytes], out: Path, *, lost: set[int], keys: range) -> dict[str, Any]:
    """Writes a stream as it is received where those are lost; what is said of it."""
    lead, whole = UndecodableStart(), [index for index in range(len(frames)) if index not in lost]
    out.write_bytes(b"".join(frames[index] for index in whole))
    for index, frame in enumerate(frames):
        if index in lost:
            lead({"event": "lost", "first": index, "count": 1})
        else:
            lead({"event": "frame", "frame": index, "key": index in keys, "bytes": len(frame)})
    viewed = {"frames": len(whole), "frames_lost": len(lost), "bytes": out.stat().st_size, "ended": "EndOfMovie"}
    lead.settle(viewed, out)
    assert viewed["bytes"] == out.stat().st_size
    return viewed


@pytest.mark.parametrize(("codec", "name"), [("mpeg4", "MPEG-4 part 2"), ("h264", "H.264"), ("hevc", "H.265")])
def test_what_is_said_of_losses_is_so(codec: str, name: str, film: Path, tmp_path: Path) -> None:
    ending, options, (_, quality) = ENCODERS[codec]
    source, out, sound = tmp_path / f"all{ending}", tmp_path / f"seen{ending}", tmp_path / "seen.mp3"
    options = options.replace("-bf 2", "-bf 0")  # of which every key frame is the first of its group in display order
    kind = "m4v" if codec == "mpeg4" else codec
    encode = ["ffmpeg", "-v", "error", "-i", str(film), "-map", "0:v", *options.split(), *quality.split(), "-f", kind]
    subprocess.run([*encode, str(source)], check=True)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(film), "-map", "0:a", "-write_xing", "0", str(sound)], check=True
    )
    frames = units(source, kind)
    assert len(frames) == RATE * SECONDS
    audio = {"file": str(sound), "packets": 1, "lost": 0}
    heard = {"audio": audio, "codec": name, "ffmpeg_format": kind, "frames_per_second": float(RATE)}
    keys = range(0, RATE * SECONDS, GOP)

    def told(lost: set[int]) -> tuple[dict[str, Any], str, list[float], float]:
        viewed = {**kept(frames, out, lost=lost, keys=keys), **heard}
        out.with_suffix(".mkv").unlink(missing_ok=True)
        made = joined(viewed, out)
        return viewed, " ".join(closing_message.how_it_plays(viewed, out)[2:]), offsets(made), sound_offset(made)

    assert told(set())[1] == ""
    # The first key frame is lost, and some behind it: what is left of its group is not written, in sound neither.
    viewed, said, shown, heard_at = told({0, 3, 4})
    assert (viewed["frames_before_key"], viewed["frames_lost_before_key"]) == (25, 3)
    assert out.read_bytes() == b"".join(frames[GOP:])
    assert said == (
        "the first key frame did not come whole: the video begins 25 frames later, at the next one, and its audio "
        "begins there too"
    )
    assert len(shown) == 75 and max(abs(offset + 1) for offset in shown) < 0.02
    assert abs(heard_at + 1) < 0.06
    # Frames within, with a key frame and without.
    for lost in (set(range(55, 60)), set(range(50, 62))):
        viewed, said, shown, heard_at = told(lost)
        assert (viewed["frames_before_key"], abs(heard_at) < 0.06) == (0, True)
        assert said.startswith(f"{len(lost)} frames are missing within the film: ")
        if codec == "mpeg4":
            assert "late against the audio, by up to a second a gap" in said
            assert all(-0.02 < offset < 1 for offset in shown[-GOP:])
        else:
            assert f"ahead of its audio, at the end by {len(lost) / RATE:.2f} s" in said
            assert shown[-GOP:] == pytest.approx([-len(lost) / RATE] * GOP, abs=0.02)


def test_without_a_key_frame_nothing_is_cut_and_nothing_is_said_to_play(tmp_path: Path) -> None:
    out = tmp_path / "seen.m4v"
    viewed = {**kept([b"abc"] * 5, out, lost={0}, keys=range(1)), "codec": "H.264", "ffmpeg_format": "h264"}
    viewed |= {"frames_per_second": 25.0}
    assert (viewed["frames_before_key"], out.read_bytes()) == (None, b"abc" * 4)
    told = closing_message.how_it_plays({**viewed, "audio": None}, out)
    assert told == [f"{out}: no key frame came whole, without which no player shows anything of it"]


def test_a_long_stream_is_cut_at_its_beginning_and_nowhere_else(tmp_path: Path) -> None:
    frames = [bytes([index]) * 700_001 for index in range(6)]
    out = tmp_path / "seen.h264"
    assert kept(frames, out, lost={0}, keys=range(0, 6, 2))["bytes"] == 4 * 700_001
    assert out.read_bytes() == b"".join(frames[2:])
