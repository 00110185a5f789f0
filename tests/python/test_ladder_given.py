"""Ladders of the user's own encodes, where a ladder is put, and what is said of files that are something else."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framewire import cli
from framewire.errors import InputError
from framewire.movie import ladder
from framewire.movie.ladder import build, same_movie
from framewire.movie.ladder import install as made_module

ALIKE = "keyint=12:min-keyint=12:scenecut=0:bframes=0"


def ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True)


def command(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli.app, ["movie", *map(str, arguments)])


def said(result: Any) -> str:
    return " ".join(str(result.stderr).split())


def encode(path: Path, crf: int, *more: str, parameters: str = ALIKE, seconds: str = "2") -> Path:
    picture = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=24", "-f", "lavfi", "-i", "sine=440"]
    sound = ["-c:a", "aac"] if path.suffix in (".mp4", ".mkv") else ["-an"]
    coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", str(crf), "-x264-params", parameters]
    ffmpeg(*picture, "-t", seconds, *coded, *sound, *more, str(path))
    return path


@pytest.fixture(scope="module")
def encodes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An elementary stream, and two containers of which the upper has audio that counts."""
    directory = tmp_path_factory.mktemp("encodes")
    return [encode(directory / name, crf) for name, crf in (("low.h264", 40), ("mid.mkv", 32), ("high [1].mp4", 22))]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))


def test_encodes_of_the_user_become_a_ladder_bit_by_bit(encodes: list[Path], tmp_path: Path) -> None:
    result = command("ladder", *encodes, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert all(name in result.stdout for name in ("low.h264", "mid.mkv", "high [1].mp4", "movie.vtp"))
    described = build.describe(tmp_path / "out" / "movie.vtp")
    assert (described["frames"], described["switch_points"]) == (48, [0, 12, 24, 36])
    assert (described["audio"]["channels"], described["audio"]["sample_rate"]) == (2, 44100)
    assert len(json.loads((tmp_path / "out" / "ladder.json").read_text())["plan"]["levels"]) == 3
    # Levels are what the encoder made: the first as a file, the others by the hash of what is decoded.
    assert (tmp_path / "out" / "level0.h264").read_bytes() == encodes[0].read_bytes()
    for number, source in enumerate(encodes):
        assert decoded(tmp_path / "out" / f"level{number}.h264") == decoded(source)


def decoded(path: Path) -> str:
    hashed = ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v", "-f", "hash", "-"]
    return subprocess.run(hashed, check=True, capture_output=True, text=True).stdout


def test_mpeg4_out_of_a_container_repeats_its_headers(tmp_path: Path) -> None:
    levels = []
    for quantiser in (20, 4):
        levels.append(tmp_path / f"{quantiser}.mp4")
        picture = ["-f", "lavfi", "-i", "testsrc2=s=160x96:r=24", "-t", "2"]
        coded = ["-c:v", "mpeg4", "-g", "12", "-bf", "0", "-sc_threshold", "1000000000", "-q:v", str(quantiser)]
        ffmpeg(*picture, *coded, str(levels[-1]))
    made = ladder.join(levels, cache_dir=tmp_path / "cache")
    assert made.description["switch_points"] == [0, 12, 24, 36]
    assert made.description["audio"] is None
    assert ladder.join(levels, cache_dir=tmp_path / "cache") == made


def test_encodes_that_are_not_aligned_are_refused_with_level_and_frame(encodes: list[Path], tmp_path: Path) -> None:
    other = encode(tmp_path / "other.mp4", 10, parameters=ALIKE.replace("12", "15"))
    told = said(command("ladder", *encodes, other, "--out", tmp_path / "out"))
    assert "frame 12 of level 3 is no key frame, which it is in level 0" in told
    assert "level 3: " in told
    short = encode(tmp_path / "short.mp4", 10, seconds="1")
    assert "level 1 has 24 frames, level 0 has 48" in said(command("ladder", encodes[0], short))
    assert "from the lowest to the highest" in said(command("ladder", *reversed(encodes)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options",
    [["--levels", "30, 20"], ["--codec", "h264"], ["--size", "160x96"], ["--duration", "1 s"], ["--preset", "mild"]],
)
def test_encodes_are_not_encoded_again(options: list[str], encodes: list[Path]) -> None:
    result = command("ladder", *encodes, *options)
    assert result.exit_code == 2
    told = "one of SOURCE, --lab and --preset" if "--preset" in options else f"{options[0]}: several files are levels"
    assert told in said(result)


def test_what_is_no_level_is_refused_by_name(encodes: list[Path], tmp_path: Path) -> None:
    sound = tmp_path / "sound.mp3"
    ffmpeg("-f", "lavfi", "-i", "sine=440", "-t", "1", str(sound))
    assert "sound.mp3: it holds no video" in said(command("ladder", encodes[0], sound))
    clip = tmp_path / "clip.webm"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x64:r=24", "-t", "1", "-c:v", "vp8", str(clip))
    assert "clip.webm: vp8 video; levels are of MPEG-1, MPEG-2, MPEG-4 part 2, H.264, H.265 or AV1" in said(
        command("ladder", encodes[0], clip)
    )
    made = ladder.join(encodes, cache_dir=tmp_path)
    assert "movie.vtp: a streaming file, which is a whole ladder" in said(
        command("ladder", encodes[0], made.streaming_file)
    )


def test_a_ladder_is_not_written_over_another(encodes: list[Path], tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "out" / "notes.txt"
    assert command("ladder", *encodes, "--out", out).exit_code == 0
    mine.write_text("mine", encoding="utf-8")
    assert command("ladder", *encodes, "--out", out).exit_code == 0, "the same one again changes nothing"
    refused = command("ladder", *encodes[:2], "--out", out)
    assert refused.exit_code == 2
    assert "exists already, with another ladder" in said(refused)
    assert len(list(out.glob("level*"))) == 3
    assert command("ladder", *encodes[:2], "--out", out, "--replace", "--no-audio").exit_code == 0
    kept = {path.name for path in out.iterdir()}
    assert kept == {"level0.h264", "level1.h264", "movie.vtp", "ladder.json", "notes.txt"}
    for options in ([], ["--replace"]):
        strange = tmp_path / "strange"
        strange.mkdir(exist_ok=True)
        (strange / "thesis.tex").touch()
        assert "exists already, and holds no ladder" in said(command("ladder", *encodes, "--out", strange, *options))
    assert [path.name for path in strange.iterdir()] == ["thesis.tex"]


def fake_ladder(place: Path, levels: int) -> made_module.MadeLadder:
    """Files that are one as far as copying goes."""
    place.mkdir()
    contents = {f"level{number}.avi": f"{number} of {levels}" for number in range(levels)}
    contents |= {"movie.vtp": f"all {levels}"}
    for name, text in contents.items():
        (place / name).write_text(text)
    description = {"streaming_file": "movie.vtp", "files": {name: len(text) for name, text in contents.items()}}
    (place / "ladder.json").write_text(json.dumps(description))
    return made_module.MadeLadder(place, description)


def contents(directory: Path) -> dict[str, str] | None:
    return {path.name: path.read_text() for path in directory.iterdir()} if directory.is_dir() else None


class Interrupted:
    """Calls of what puts files into place, of which the n-th is interrupted, before or after it was done."""

    def __init__(self, at: int, after: bool) -> None:
        self.at, self.after, self.calls = at, after, 0

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            mine = self.calls == self.at
            if mine and not self.after:
                raise KeyboardInterrupt
            result = real(*arguments, **options)
            if mine:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("there", ["nothing", "empty", "a ladder and notes"])
def test_a_copy_that_is_interrupted_changes_nothing(
    there: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step: files copied, old ones set aside, new ones moved into place."""
    new, out = fake_ladder(tmp_path / "new", 2), tmp_path / "place" / "out"
    out.parent.mkdir()
    if there == "empty":
        out.mkdir()
    elif there != "nothing":
        made_module.copied(fake_ladder(tmp_path / "old", 3), out)
        (out / "notes.txt").write_text("mine")
    before = contents(out)
    done, at = False, 0
    while not done:
        at += 1
        interrupted = Interrupted(at, after)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "copyfile", interrupted.wrap(shutil.copyfile))
            for name in ("replace", "rename"):
                patch.setattr(Path, name, interrupted.wrap(getattr(Path, name)))
            try:
                made_module.copied(new, out)
                done = True
            except KeyboardInterrupt:
                whole = there == "nothing" and after and interrupted.calls == 5
                assert contents(out) == (contents(new.directory) if whole else before), at
                assert [path.name for path in out.parent.iterdir()] == ([] if before is None and not whole else ["out"])
                if whole:
                    shutil.rmtree(out)
    assert at == {"nothing": 6, "empty": 9, "a ladder and notes": 15}[there]
    notes = {"notes.txt": "mine"} if there.endswith("notes") else {}
    assert contents(out) == (contents(new.directory) or {}) | notes
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_a_killed_copy_left_can_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / f"{made_module.SCRATCH}left" / "new").mkdir(parents=True)
    made_module.settle(out, replace=False, kept=None)
    made_module.copied(fake_ladder(tmp_path / "two", 2), out)
    (out / "movie.vtp").unlink()
    with pytest.raises(InputError, match="--replace"):
        made_module.settle(out, replace=False, kept=None)
    made_module.settle(out, replace=True, kept=None)
    made_module.copied(fake_ladder(tmp_path / "three", 3), out)
    assert made_module.found(out) is not None


def test_a_file_of_the_user_with_a_name_of_the_ladder_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made_module.copied(fake_ladder(tmp_path / "two", 2), out)
    (out / "level2.avi").write_text("mine")
    before = contents(out)
    with pytest.raises(InputError, match=r"level2\.avi: exists already, and is not of the ladder there"):
        made_module.copied(fake_ladder(tmp_path / "three", 3), out)
    assert contents(out) == before


def test_nothing_is_encoded_for_a_directory_that_is_refused(encodes: list[Path], tmp_path: Path) -> None:
    ladder.join(encodes, tmp_path / "out", cache_dir=tmp_path / "cache")
    steps: list[str] = []
    with pytest.raises(InputError, match="exists already"):
        ladder.make(
            tmp_path / "out", source=encodes[0], cache_dir=tmp_path / "cache",
            progress=lambda step, _share: steps.append(step),
        )  # fmt: skip
    assert not [step for step in steps if step.startswith("encoding")]


def test_of_a_streaming_file_only_what_it_knows_is_shown(encodes: list[Path], tmp_path: Path) -> None:
    made = ladder.join(encodes, cache_dir=tmp_path)
    shown = command("ladder", made.streaming_file).stdout
    assert "quality" not in shown
    buffer = made.description["plan"]["client_buffer_bytes"] / 1e3
    assert f"client buffer: {buffer:.1f} kB for the whole ladder" in shown
    assert shown.count(f"{buffer:.1f}") == 1


def test_files_of_another_kind_are_told_by_name(encodes: list[Path], tmp_path: Path) -> None:
    made = ladder.join(encodes, cache_dir=tmp_path)
    probed = command("probe", made.streaming_file)
    assert probed.exit_code == 2
    assert "movie.vtp: is a streaming file: framewire movie ladder FILE describes it" in said(probed)
    for source, kind in ((encodes[2], "an MP4 or MOV file"), (encodes[0], "a video elementary stream")):
        wrong = tmp_path / "wrong.vtp"
        wrong.write_bytes(source.read_bytes())
        assert f"it looks like {kind}" in said(command("ladder", wrong))
    wrong.write_bytes(b"something else altogether")
    told = said(command("ladder", wrong))
    assert "not a streaming file" in told
    assert "looks like" not in told


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--payload", "63", "64 to 65000 bytes"),
        ("--payload", "65001", "64 to 65000 bytes"),
        ("--segments", "0", "1 to the number of frames"),
        ("--startup", "0.0", "more than 0 s"),
        ("--startup", "nan", "more than 0 s"),
        ("--pre-send", "0.0", "more than 0 s"),
        ("--buffer", "-1", "1 byte and more"),
        ("--buffer", "0", "1 byte and more"),
    ],
)
def test_options_out_of_range_are_told_by_name_before_anything_is_encoded(
    option: str, value: str, allowed: str, encodes: list[Path], tmp_path: Path
) -> None:
    for sources in (encodes, encodes[:1]):
        result = command("ladder", *sources, f"{option}={value}")
        assert result.exit_code == 2
        assert f"{option}: {value} is not allowed; allowed is {allowed}" in said(result)
    assert not (tmp_path / "cache").exists()


def test_more_segments_than_frames_are_told_where_the_frames_are_known(tmp_path: Path) -> None:
    result = command("ladder", "--lab", "--duration", "1 s", "--segments", "25")
    assert "--segments: 25 is not allowed; allowed is 1 to 24" in said(result)
    assert not (tmp_path / "cache").exists()


def test_options_within_their_ranges_are_not_refused() -> None:
    for payload in (64, 65_000):
        build.check_options(payload, build.Plan(segments=24, startup_s=1e-9, pre_send_s=0.1, buffer=1), 24)
    build.check_options(1024, build.Plan())


CODED = {
    "avi": "mpeg4 -g 12 -bf 0 -sc_threshold 1000000000",
    "m2v": "mpeg2video -g 12 -bf 0 -sc_threshold 1000000000",
    "h264": f"libx264 -x264-params {ALIKE}",
    "h265": f"libx265 -x265-params {ALIKE}:log-level=error",
}


def drawn(path: Path, picture: str, *quality: str) -> Path:
    coded = ["-pix_fmt", "yuv420p", "-c:v", *CODED[path.suffix[1:]].split()]
    ffmpeg("-f", "lavfi", "-i", picture, "-t", "2", *coded, *quality, str(path))
    return path


@pytest.mark.parametrize("suffix", CODED)
def test_levels_of_two_movies_are_refused_with_level_frame_and_time(suffix: str, tmp_path: Path) -> None:
    coarse, fine = (["-crf", "45"], ["-crf", "20"]) if suffix.startswith("h26") else (["-q:v", "31"], ["-q:v", "2"])
    low = drawn(tmp_path / f"low.{suffix}", "testsrc2=s=160x96:r=24", *coarse)
    same = drawn(tmp_path / f"same.{suffix}", "testsrc2=s=160x96:r=24", *fine)
    # Another movie from the second of its key frames on.
    cut = "testsrc2=s=160x96:r=24,drawbox=t=fill:c=gray:enable='gte(n,12)',noise=c0s=40:c0f=t"
    other = drawn(tmp_path / f"other.{suffix}", cut, *fine)
    assert ladder.join([low, same], cache_dir=tmp_path / "kept").description["switch_points"] == [0, 12, 24, 36]
    told = said(command("ladder", low, other, "--out", tmp_path / "out"))
    assert "frame 12 (0.500 s) of level 1 is another picture than in level 0: they have a correlation of" in told
    assert "0.7 is the least that is allowed" in told
    assert f"level 1: {other}" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("picture", "least", "told"),
    [
        ("testsrc2=s=320x192:r=24", 0.95, 4),
        ("mandelbrot=s=320x192:r=24", 0.95, 4),
        ("smptebars=s=320x192:r=24", 0.95, 4),
        ("testsrc2=s=320x192:r=24,fade=in:0:30", 0.95, 3),
        ("color=c=black:s=320x192:r=24", None, 0),
        ("color=c=gray:s=320x192:r=24,noise=c0s=30:c0f=t", None, 0),
    ],
)
def test_the_same_movie_passes_at_the_lowest_quality(
    picture: str, least: float | None, told: int, tmp_path: Path
) -> None:
    """By a wide margin, and flat pictures are not judged."""
    best = same_movie._key_frames(drawn(tmp_path / "best.avi", picture, "-q:v", "2"))
    assert len(best) == 4
    for name, quality in {"coarse": ["-q:v", "31"], "slow": ["-b:v", "100k"]}.items():
        worst = same_movie._key_frames(drawn(tmp_path / f"{name}.avi", picture, *quality))
        judged = [same_movie.correlation(*pair) for pair in zip(best, worst, strict=True)]
        found = [one for one in judged if one is not None]
        assert len(found) == told
        assert least is None or min(found) > least > same_movie.LEAST_CORRELATION


def test_different_movies_are_told_even_between_black_bars(tmp_path: Path) -> None:
    barred = ",pad=320:192:0:24"
    pictures = [
        "testsrc2=s=320x192:r=24", "smptebars=s=320x192:r=24", "color=c=black:s=320x192:r=24",
        f"testsrc2=s=320x144:r=24{barred}", f"mandelbrot=s=320x144:r=24{barred}",
    ]  # fmt: skip
    shown = [
        same_movie._key_frames(drawn(tmp_path / f"{number}.avi", picture, "-q:v", "2"))
        for number, picture in enumerate(pictures)
    ]
    for number, one in enumerate(shown):
        for other in shown[:number]:
            found = [same_movie.correlation(*pair) for pair in zip(one, other, strict=True)]
            assert min(value for value in found if value is not None) < same_movie.LEAST_CORRELATION
