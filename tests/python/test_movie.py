"""Movies are made at the rate asked for, the same every time, once, and refused with one clear message."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from framewire import movie
from framewire.errors import InputError, MachineError
from framewire.movie import encoder, scene
from framewire.movie import ffmpeg as program
from framewire.movie.levels import LEVELS, level_for
from framewire.movie.probe import probe

SECONDS = 12.0  # long enough to meet the rate within 1 %, short enough for a test
GROUP = "IBBPBBPBBPBBPBB"


@pytest.fixture(scope="module")
def cache(lab_cache: Path) -> Path:
    return lab_cache


@pytest.fixture
def fresh(cache: Path, lab: movie.MadeMovie, tmp_path: Path) -> Path:
    """A cache without movies, but with the picture's layers, which take their time to draw."""
    directory = tmp_path / "cache"
    directory.mkdir()
    for layers in cache.glob("*.nut"):
        shutil.copy(layers, directory)
    return directory


@pytest.fixture(scope="module")
def lab(cache: Path) -> movie.MadeMovie:
    return movie.make(4_000_000, SECONDS, cache_dir=cache)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as a user may have: H.264-free, wide, 30 Hz, with sound."""
    path = tmp_path_factory.mktemp("clip") / "a wide clip.mkv"
    ffmpeg("-f", "lavfi", "-i", "mandelbrot=s=640x360:r=30", "-f", "lavfi", "-i", "sine", "-t", "3", "-c:v", "mpeg4",
           "-q:v", "2", "-c:a", "pcm_s16le", str(path))  # fmt: skip
    return path


def ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True)


def ffprobe(path: Path, entries: str) -> list[list[str]]:
    command = ["ffprobe", "-v", "error", "-show_entries", entries, "-of", "csv=p=0:nk=1", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [[field for field in line.split(",") if field] for line in text.splitlines() if line.strip(",")]


def types_shown(path: Path) -> str:
    rows = ffprobe(path, "frame=pict_type")
    return "".join(field for row in rows for field in row if field in "IPB")


def test_the_mean_rate_is_met_without_stuffing(lab: movie.MadeMovie) -> None:
    size = lab.path.stat().st_size
    assert abs(size * 8 / SECONDS / 4_000_000 - 1) < 0.01
    assert lab.path.read_bytes().count(bytes(64)) == 0


def test_the_group_is_the_one_promised(lab: movie.MadeMovie) -> None:
    frames = round(SECONDS * 25)
    # The first group begins with its I frame, later ones with the two B frames shown before it.
    shown = types_shown(lab.path)
    assert len(shown) == frames
    wanted = (GROUP[:13] + ("BB" + GROUP[:13]) * 20)[:frames]
    assert shown[: frames - 3] == wanted[: frames - 3]


def test_the_metadata_agrees_with_ffprobe(lab: movie.MadeMovie) -> None:
    sizes = [int(row[0]) for row in ffprobe(lab.path, "packet=size")]
    assert lab.metadata["sizes"] == sizes
    stored = json.loads(lab.path.with_suffix(".json").read_text())
    assert stored == lab.metadata
    assert stored["ffmpeg"].startswith("ffmpeg version")
    assert len(stored["types"]) == len(stored["psnr_y_db"]) == stored["frames"] == 300
    assert sum(stored["frames_by_type"].values()) == 300
    assert min(stored["psnr_y_db"]) > 28
    assert lab.duration_s == SECONDS


def test_frame_sizes_are_as_of_real_content(lab: movie.MadeMovie) -> None:
    size = lab.metadata["mean_size_by_type"]
    assert 3 < size["I"] / size["B"] < 7
    assert 1.8 < size["P"] / size["B"] < 3.5


def test_a_movie_is_made_once(lab: movie.MadeMovie, cache: Path) -> None:
    made_at = lab.path.stat().st_mtime_ns
    steps: list[str] = []
    again = movie.make(4_000_000, SECONDS, cache_dir=cache, progress=lambda step, _share: steps.append(step))
    assert again.path == lab.path
    assert again.metadata == lab.metadata
    assert (again.path.stat().st_mtime_ns, steps) == (made_at, [])


def test_the_same_ffmpeg_makes_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "PERIOD", scene.PERIOD // 3)  # of layers that are drawn twice, a third as wide
    caches = [tmp_path / "one", tmp_path / "two"]
    one, two = (movie.make(6_000_000, 1.0, cache_dir=cache) for cache in caches)
    assert one.path.read_bytes() == two.path.read_bytes()
    layers, again = (next(cache.glob("*.nut")) for cache in caches)
    assert layers.name == again.name and layers.read_bytes() == again.read_bytes()
    assert one.metadata == two.metadata


def test_a_truncated_movie_is_made_again(fresh: Path) -> None:
    made = movie.make(6_000_000, 1.0, cache_dir=fresh)
    whole = made.path.read_bytes()
    made.path.write_bytes(whole[:1000])
    assert movie.make(6_000_000, 1.0, cache_dir=fresh).path.read_bytes() == whole


def make_in_process(cache: str) -> tuple[str, int]:
    made = movie.make(5_000_000, 1.0, cache_dir=cache)
    return str(made.path), made.path.stat().st_size


def test_two_processes_make_the_same_movie(fresh: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        one, two = pool.map(make_in_process, [str(fresh)] * 2)
    assert one == two
    assert not [path.name for path in fresh.iterdir() if path.name.startswith(".")]


def test_nothing_half_made_is_left_behind(fresh: Path) -> None:
    def interrupt(step: str, share: float) -> None:
        if step.startswith("encoding"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        movie.make(5_000_000, 4.0, cache_dir=fresh, progress=interrupt)
    left = [path.name for path in fresh.iterdir() if path.suffix not in (".lock", ".nut")]
    assert left == []


def test_a_file_of_the_users(clip: Path, cache: Path) -> None:
    shares: list[float] = []
    made = movie.make(3_000_000, None, clip, cache, lambda _step, share: shares.append(share))
    assert made.metadata["source"]["name"] == clip.name
    [row] = ffprobe(made.path, "stream=codec_name,width,height,r_frame_rate")
    assert row == ["mpeg2video", "640", "360", "30/1"]
    assert made.metadata["frames"] == 90
    assert max(shares) == 1.0


def test_what_is_cut_off_is_counted_in_frames(clip: Path, cache: Path) -> None:
    assert movie.make(3_000_000, 1.0, clip, cache).metadata["frames"] == 30


def test_a_picture_too_simple_for_the_rate_is_refused(tmp_path: Path) -> None:
    grey = tmp_path / "grey.mkv"
    ffmpeg("-f", "lavfi", "-i", "color=gray:s=720x576:d=2", "-c:v", "mpeg2video", str(grey))
    with pytest.raises(InputError, match=r"grey: the mean rate came out at .* instead of 6 Mbit/s; ask for a lower"):
        movie.make(6_000_000, None, grey, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*.m2v"))


def test_stuffing_is_what_start_codes_follow(tmp_path: Path) -> None:
    """In the order of the bytes, also of a last picture that is stuffed with hundreds of kilobytes."""
    path = tmp_path / "stuffed.m2v"
    path.write_bytes(b"a" + bytes(9) + b"\1b" + bytes(10) + b"\1c" + bytes(1002) + b"\1d" + bytes(500_000))
    assert encoder._stuffing(path) == 8 + 1000


def test_a_rate_below_what_the_coarsest_quantiser_makes_is_refused_in_words(tmp_path: Path) -> None:
    """FFmpeg's second pass finds no plan for it, and FFmpeg 5.1 then crashes."""
    busy = tmp_path / "busy.mkv"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=320x240:r=30,noise=alls=60:allf=t", "-t", "0.5", "-c:v", "mpeg2video",
           "-q:v", "4", str(busy))  # fmt: skip
    told = r"busy: MPEG-2 takes [\d.]+ Mbit/s .* 0\.2 Mbit/s cannot .* higher rate, a smaller size .* h264"
    with pytest.raises(InputError, match=told):
        movie.make(200_000, None, busy, tmp_path / "cache")


def test_what_ffmpeg_says_of_a_rate_outweighs_its_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "bin" / "ffmpeg"
    crashing.parent.mkdir()
    crashing.write_text("#!/bin/sh\necho '[lavc rc] Error: bitrate too low for this video with' >&2\nkill -ABRT $$\n")
    crashing.chmod(0o755)
    monkeypatch.setenv("PATH", str(crashing.parent), prepend=":")
    with pytest.raises(InputError, match="the rate is too low for this picture"):
        program.run(["-version"], lambda _frame: None)


def test_an_elementary_stream_is_used_as_it_is(lab: movie.MadeMovie, cache: Path) -> None:
    whole = movie.prepare(lab.path)
    assert (whole.path, whole.duration_s, whole.metadata["frames"]) == (lab.path, SECONDS, 300)
    assert whole.bitrate_bps == pytest.approx(lab.bitrate_bps)
    start = movie.prepare(lab.path, duration="2 s", cache_dir=cache)
    assert start.duration_s == 2.0
    assert lab.path.read_bytes().startswith(start.path.read_bytes())
    assert start.path.stat().st_size == sum(lab.metadata["sizes"][:50])


def test_prepare_reads_quantities(lab: movie.MadeMovie, cache: Path) -> None:
    assert movie.prepare("lab", "4 Mbit/s", "12 s", cache_dir=cache).path == lab.path


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("missing.mp4", "no such file"),
        ("empty.mp4", "the file is empty"),
        ("text.mp4", "ffmpeg cannot read it"),
        ("sound.wav", "holds no video"),
        (".", "not a file"),
    ],
)
@pytest.mark.parametrize("bitrate", [3_000_000, None])
def test_what_is_no_video_is_refused(tmp_path: Path, source: str, told: str, bitrate: int | None) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("no video " * 100)
    ffmpeg("-f", "lavfi", "-i", "sine", "-t", "0.1", str(tmp_path / "sound.wav"))
    with pytest.raises(InputError, match=told):
        movie.prepare(tmp_path / source, bitrate, cache_dir=tmp_path / "cache")


def test_another_codec_without_a_bitrate_is_refused(clip: Path, tmp_path: Path) -> None:
    assert movie.prepare(clip, cache_dir=tmp_path / "cache").path.suffix == ".m4v"
    vp8 = tmp_path / "clip.webm"
    ffmpeg("-i", str(clip), "-t", "1", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-an", str(vp8))
    with pytest.raises(InputError, match=r"vp8 in matroska.*MPEG-4 part 2, H.264, H.265 and AV1; state a bitrate"):
        movie.prepare(vp8)


@pytest.mark.parametrize("value", [0, -1, 99_999, 80_000_001, float("nan"), "6", "6 Mbps", "-6 Mbit/s", ""])
def test_bitrates_out_of_range_are_refused(value: str | float) -> None:
    with pytest.raises(InputError, match="is allowed"):
        movie.parse_bitrate(value)


def test_every_level_of_mpeg_2_can_be_asked_for() -> None:
    for level in LEVELS:
        rate = movie.parse_bitrate(f"{level.bitrate_bps} bit/s")
        assert (rate, level_for(720, 576, Fraction(25), rate)) == (level.bitrate_bps, level)
    assert LEVELS[-1].bitrate_bps == 80_000_000, "of High Level, table 8-13"


@pytest.mark.parametrize("value", [0, 0.1, 86_401, "60", "1 h", "ten s"])
def test_durations_out_of_range_are_refused(value: str | float) -> None:
    with pytest.raises(InputError, match="is allowed"):
        movie.parse_duration(value)


def test_a_missing_ffmpeg_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="ffmpeg is not installed"):
        movie.make(4_000_000, 1.0, cache_dir=tmp_path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match=r"file/cache: the movie cannot be kept here"):
        movie.make(4_000_000, 1.0, cache_dir=tmp_path / "file" / "cache")


def test_where_movies_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FRAMEWIRE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert movie.cache_directory() == Path("/home/someone/.cache/framewire/movies")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert movie.cache_directory() == Path("/var/cache/framewire/movies")
    monkeypatch.setenv("FRAMEWIRE_CACHE", "/big")
    assert movie.cache_directory() == Path("/big/movies")


def digits(picture: bytes) -> Iterator[str]:
    width = scene.COUNTER_SIZE[0]
    for row in range(0, len(picture), width):
        yield "".join("#" if pixel > 128 else "." for pixel in picture[row : row + width])


def test_the_counter_counts() -> None:
    pictures = list(scene.counter_pictures(1_501))
    assert len(set(pictures)) == 1_501
    width, height = scene.COUNTER_SIZE
    assert {len(picture) for picture in pictures} == {width * height}
    # Frame 1500 is one minute: the second digit of the minutes is a 1, drawn five times as large as its glyph.
    glyph = [row[6 + 6 * 5 :: 5][:5] for row in list(digits(pictures[1_500]))[6 : 6 + 35 : 5]]
    assert glyph == ["..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."]


def test_every_layer_is_drawn_and_placed() -> None:
    for layer in scene.LAYERS:
        assert scene.layers_graph().count(f"[{layer.name}]") == 1
        assert f"[{layer.name}]" in scene.scene_graph()


@pytest.mark.parametrize("codec", ["h264", "h264-pyramid", "h265"])
def test_other_codecs_meet_the_rate_with_the_types_that_are_promised(codec: str, cache: Path) -> None:
    made = movie.make(1_000_000, 4.0, cache_dir=cache, codec=codec)
    shown = types_shown(made.path)
    assert made.path.suffix == {"h265": ".h265"}.get(codec, ".h264")
    assert sum(made.metadata["sizes"]) == made.path.stat().st_size
    # Four seconds: within a quarter of the buffer of one second.
    assert made.bitrate_bps == pytest.approx(1e6, rel=0.07)
    assert len(shown) == 100 and shown.count("I") == 2 and shown[0] == shown[50] == "I"
    assert shown[1:49] == "BBBP" * 12


def test_mpeg4_part_2_meets_the_rate_in_closed_groups_of_two_seconds(cache: Path) -> None:
    made = movie.make(1_000_000, 4.0, cache_dir=cache, codec="mpeg4")
    assert made.path.suffix == ".m4v"
    assert sum(made.metadata["sizes"]) == made.path.stat().st_size
    assert made.bitrate_bps == pytest.approx(1e6, rel=0.07)
    # A closed group ends with a P frame: 49 frames are the most of two seconds.
    assert types_shown(made.path) == ("I" + "BBP" * 16) * 2 + "IP"
    groups = probe(made.path).as_json(False)["groups"]
    assert [group["closed"] for group in groups] == [True] * 3


def test_a_codec_without_an_encoder_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"vp9" is not allowed; allowed is one of mpeg2, h264'):
        movie.make(1_000_000, 1.0, cache_dir=tmp_path, codec="vp9")
    with pytest.raises(InputError, match="a file in AV1 is sent as it is, without a bitrate"):
        movie.make(1_000_000, 1.0, cache_dir=tmp_path, codec="av1")
