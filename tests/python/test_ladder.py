"""Ladders: levels alike frame by frame, pinned rates, a streaming file that is checked, plans that are never late."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framewire import _native, cli
from framewire.errors import InputError
from framewire.movie import ladder
from framewire.movie.ladder import build, plots, presets, segment_rates
from framewire.movie.ladder.presets import Preset


def ffmpeg(*arguments: str) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *arguments], check=True)


@pytest.fixture(scope="module")
def cache(lab_cache: Path) -> Path:
    return lab_cache


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip") / "a clip.mkv"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=160x96:r=24000/1001", "-t", "4", "-c:v", "mpeg4", "-q:v", "2", str(path))
    return path


@pytest.fixture(scope="module")
def made(clip: Path, cache: Path) -> ladder.MadeLadder:
    return ladder.make(source=clip, cache_dir=cache, plan=build.Plan(segments=4))


@pytest.mark.parametrize(("codec", "levels"), [("mpeg4", "8-31, 2-10"), ("h264", "38, 26"), ("h265", "40, 28")])
def test_every_codec_makes_aligned_levels(codec: str, levels: str, clip: Path, cache: Path, tmp_path: Path) -> None:
    specs = ladder.parse_levels(levels, codec)
    out = tmp_path / "out"
    made = ladder.make(out, source=clip, codec=codec, levels=specs, cache_dir=cache, duration="2 s")
    description = made.description
    assert description["frames"] == 48
    assert description["switch_points"] == [0, 12, 24, 36]
    assert description["types"] == "IPPPPPPPPPPP" * 4
    assert [path.is_file() for path in (*made.levels, made.streaming_file)] == [True] * 3
    low, high = (level["mean_bps"] for level in description["levels"])
    assert high > 1.5 * low
    assert json.loads((out / "ladder.json").read_text()) == description


@pytest.mark.parametrize(("codec", "crf"), [("mpeg4", 26), ("h264", 36), ("h265", 26)])
def test_default_levels_of_a_file_stay_within_its_own_rate(
    codec: str, crf: int, clip: Path, cache: Path, tmp_path: Path
) -> None:
    poor = tmp_path / "poor.mp4"
    ffmpeg("-i", str(clip), "-c:v", "libx264", "-crf", str(crf), str(poor))
    packets = ["ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", str(poor)]
    sizes = subprocess.run(packets, check=True, capture_output=True, text=True).stdout.split()
    own = 8 * sum(int(size.strip(",")) for size in sizes) / 4
    levels = ladder.make(source=poor, codec=codec, cache_dir=cache, plan=build.Plan(segments=4)).description["levels"]
    low, mid, top = (level["mean_bps"] / own for level in levels)
    assert 0.5 < top < 1.01, "the best that does not take more"
    assert 0.35 * top < mid < 0.9 * top
    assert 0.35 * mid < low < 0.9 * mid
    # Levels that are asked for are what is asked for.
    asked = ladder.parse_levels(build.DEFAULT_LEVELS[codec], codec)
    given = ladder.make(source=poor, codec=codec, levels=asked, cache_dir=cache, plan=build.Plan(segments=4))
    assert [level["quality"] for level in given.description["levels"]] == [str(spec) for spec in asked]
    assert given.description["levels"][2]["mean_bps"] > 1.1 * own


def test_a_picture_that_a_codec_cannot_hold_at_the_rate_of_the_file_is_refused_in_words(
    clip: Path, cache: Path, tmp_path: Path
) -> None:
    poor = tmp_path / "poor.mp4"
    ffmpeg("-i", str(clip), "-c:v", "libx264", "-crf", "48", str(poor))
    with pytest.raises(InputError, match=r"mpeg4 has no 3 levels of this picture .*--codec.*--size.*--levels"):
        ladder.make(source=poor, cache_dir=cache, plan=build.Plan(segments=4))


def test_a_file_of_a_high_rate_has_the_default_qualities(made: ladder.MadeLadder) -> None:
    qualities = [level["quality"] for level in made.description["levels"]]
    assert qualities == ["quantisers 8-31", "quantisers 4-18", "quantisers 2-10"]


def test_the_streaming_file_holds_what_ffprobe_finds(made: ladder.MadeLadder) -> None:
    file = build.describe(made.streaming_file)
    for level, path in zip(file["levels"], made.levels, strict=True):
        command = ["ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", str(path)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert level["sizes"] == [int(line.strip(",")) for line in said.split()]
        assert level["packets"] == sum(-(-size // 1024) for size in level["sizes"])
    records = sum(level["bytes"] + 30 * level["packets"] for level in file["levels"])
    steps = sum(len(level["steps"]) for level in file["levels"])
    rest = 72 + 12 * 3 + 12 * steps + 4 + file["frames"] * (16 + 8 * 3) + 4
    assert made.streaming_file.stat().st_size == records + rest


def test_a_ladder_is_made_once_and_always_the_same(
    made: ladder.MadeLadder, clip: Path, cache: Path, tmp_path: Path
) -> None:
    steps: list[str] = []
    again = ladder.make(
        source=clip, cache_dir=cache, plan=build.Plan(segments=4), progress=lambda step, _share: steps.append(step)
    )
    assert again == made
    assert not [step for step in steps if step.startswith("encoding")]
    fresh = ladder.make(source=clip, cache_dir=tmp_path, plan=build.Plan(segments=4))
    assert fresh.streaming_file.read_bytes() == made.streaming_file.read_bytes()


def test_a_damaged_streaming_file_is_refused(made: ladder.MadeLadder, tmp_path: Path) -> None:
    whole = made.streaming_file.read_bytes()
    damaged = tmp_path / "damaged.vtp"
    damaged.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    with pytest.raises(InputError, match=r"damaged\.vtp: frame \d+ of level \d is damaged"):
        build.describe(damaged)
    damaged.write_bytes(whole[:-1])
    with pytest.raises(InputError, match="cut off"):
        build.describe(damaged)


def test_levels_that_are_not_aligned_are_refused(clip: Path, tmp_path: Path) -> None:
    options = ["-c:v", "mpeg4", "-bf", "0", "-sc_threshold", "1000000000"]
    for name, more in {"low.avi": ["-g", "12", "-q:v", "20"], "high.avi": ["-g", "15", "-q:v", "2"]}.items():
        ffmpeg("-i", str(clip), *options, *more, str(tmp_path / name))
    with pytest.raises(_native.LadderError, match="frame 12 of level 1 is no key frame, which it is in level 0"):
        _native.inspect_ladder([tmp_path / "low.avi", tmp_path / "high.avi"])


@pytest.mark.parametrize(
    ("name", "encoder", "told"),
    [
        ("avi", "mpeg4 -bf 0 -sc_threshold 1000000000 -g 12", r"high\.avi: frame 30 was skipped by its encoder"),
        ("h264", "libx264 -x264-params keyint=12:min-keyint=12:scenecut=0:bframes=0", "level 1 has 47 frames"),
        ("h265", "libx265 -x265-params keyint=12:min-keyint=12:scenecut=0:bframes=0:log-level=error", "level 1 has 47"),
    ],
)
def test_an_encoder_that_skips_frames_is_refused(
    name: str, encoder: str, told: str, clip: Path, tmp_path: Path
) -> None:
    """The frame is left out before it is encoded, which looks the same."""
    low, high = (tmp_path / f"{level}.{name}" for level in ("low", "high"))
    ffmpeg("-t", "2", "-i", str(clip), "-c:v", *encoder.split(), "-b:v", "100k", str(low))
    skips = ["-vf", "select='not(eq(n,30))'", "-fps_mode", "passthrough"]
    ffmpeg("-t", "2", "-i", str(clip), *skips, "-c:v", *encoder.split(), "-b:v", "400k", str(high))
    with pytest.raises(_native.LadderError, match=told):
        _native.inspect_ladder([low, high])


def test_a_pre_send_interval_that_ends_too_late_is_refused() -> None:
    sizes = [[10, 10, 40, 20]]
    late = _native.PlanSettings(segments=2, pre_send_s=3.5, exact=True)
    with pytest.raises(_native.LadderError, match=r"until 3\.000 s at the latest is allowed"):
        _native.plan_levels(sizes, (1, 1), late)
    plan = json.loads(_native.plan_levels(sizes, (1, 1), _native.PlanSettings(segments=2, pre_send_s=2.0)))
    assert (plan["client_buffer_bytes"], plan["pre_send_until_s"]) == (40, 2.0)
    assert plan["levels"][0]["steps"] == [[0.0, 0.0, 120], [2.0, 30.0, 240]]


def tiny(preset: Preset) -> Preset:
    """The first two segments of a preset, a second and a half each."""
    changes = {"frames": 72, "segments": preset.segments[:2], "scene_s": 0.5}
    return Preset(**(vars(preset) | changes))


# In so short a piece, a quantiser of mpeg4 more or less is more than the tolerance where rates vary strongly.
@pytest.mark.parametrize(
    ("name", "codec"),
    [("mild", "mpeg4"), ("mild", "h264"), ("mild", "h265"), ("strong", "h264"), ("strong", "h265")],
)
def test_rates_are_pinned_in_every_segment(name: str, codec: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = tiny(presets.named(name))
    monkeypatch.setattr(presets, "PRESETS", (short,))
    made = ladder.make(preset=name, codec=codec, cache_dir=cache, plan=build.Plan(segments=2))
    assert (made.description["frames"], made.description["frame_rate"]) == (72, [24_000, 1_001])
    assert made.description["types"] == "IPPPPPPPPPPP" * 6
    top = short.levels[-1].rate_bps
    for level, spec in zip(made.description["levels"], short.levels, strict=True):
        assert spec.rate_bps is not None and top is not None
        wanted = [mean * 1e3 * spec.rate_bps / top for mean in short.segments]
        assert level["segment_bps"] == pytest.approx(wanted, rel=segment_rates.TOLERANCE)


def test_the_presets_have_the_rates_of_the_paper() -> None:
    for name, mean, jumps in (("mild", 450, [(2, 100), (5, 100)]), ("strong", 985, [(2, 1000)])):
        preset = presets.named(name)
        assert sum(preset.segments) / len(preset.segments) == pytest.approx(mean)
        for segment, jump in jumps:
            rise = preset.segments[segment] - preset.segments[segment - 1]
            assert rise == pytest.approx(jump, rel=0.06)
        scenes = preset.scenes()
        assert scenes == preset.scenes()
        assert [scene.first for scene in scenes[1:]] == [scene.first + scene.frames for scene in scenes[:-1]]
        assert scenes[-1].first + scenes[-1].frames == preset.frames
    assert max(presets.named("strong").segments) == 1600


def test_figures_9_to_14_are_drawn(made: ladder.MadeLadder, tmp_path: Path) -> None:
    drawn = {figure.name: figure for figure in plots.figures(made.description)}
    wanted = ["figure-9", "figure-10", "figure-11", "figure-12", "figure-13", "figure-13-plan", "smoothed"]
    assert set(wanted) <= set(drawn)
    # As planned, nothing is missing at any time that is drawn.
    assert min(drawn["figure-12-u"].data[0]["y"]) > -1e-5
    # The best plans with its buffer: no plan peaks lower than the smoothest, and none has fewer rates than the fewest.
    planned, smooth, fewest = drawn["smoothed"].data
    assert max(smooth["y"]) <= min(max(planned["y"]), max(fewest["y"])) + 0.01
    assert len(fewest["y"]) <= min(len(planned["y"]), len(smooth["y"]))
    sent = [sum(bps * (end - start) for bps, start, end in zip(one["y"], one["x"], one["x"][1:], strict=False))
            for one in (planned, smooth, fewest)]  # fmt: skip
    assert sent == pytest.approx([sum(made.description["levels"][-1]["sizes"]) * 8e-3] * 3, rel=1e-3)
    page = plots.write_page(made.description, tmp_path / "ladder.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot('") == len(drawn)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--lab", "--preset", "mild"], "--lab and --preset: only one of SOURCE, --lab and --preset may be given"),
        (["film.mp4", "--preset", "mild"], "SOURCE and --preset: only one of SOURCE, --lab and --preset may be given"),
        ([], "one of SOURCE, --lab and --preset is needed"),
        (["--preset", "wild"], 'preset: "wild" is not allowed; did you mean "mild"? allowed is one of mild, strong'),
        (["--lab", "--codec", "vp8"], 'codec: "vp8" is not allowed; allowed is one of mpeg4, h264, h265'),
        (["--lab", "--levels", "2-40"], "a range of quantisers from 1-31"),
        (["--lab", "--codec", "h264", "--levels", "2-10"], "a constant quality (CRF) from 0 to 51"),
        (["--preset", "mild", "--duration", "9 s"], "of its own"),
        (["--lab", "--plot"], "--plot needs --out"),
        (["--lab", "--codec", "h264", "--levels", "800 kbit/s, 300 kbit/s"], "level 1 (300 kbit/s) is no better than"),
        (["--lab", "--codec", "h265", "--levels", "30, 36"], "level 1 (CRF 36) is no better than level 0 (CRF 30)"),
        (["--lab", "--levels", "2-10, 8-31"], "level 1 (quantisers 8-31) is no better than"),
    ],
)
def test_wrong_options_are_told_clearly(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(cli.app, ["movie", "ladder", *arguments])
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_a_streaming_file_is_described_on_the_command_line(made: ladder.MadeLadder) -> None:
    result = CliRunner().invoke(cli.app, ["movie", "ladder", str(made.streaming_file), "--json"])
    assert result.exit_code == 0
    described = json.loads(result.stdout)
    assert [level["bytes"] for level in described["levels"]] == [level["bytes"] for level in made.description["levels"]]


def test_levels_need_what_their_codec_takes() -> None:
    assert [str(spec) for spec in ladder.parse_levels("4-18 @ 260 kbit/s, 450 kbit/s", "mpeg4")] == [
        "quantisers 4-18, 260 kbit/s",
        "450 kbit/s",
    ]
    with pytest.raises(InputError, match="1 to 32 are allowed"):
        ladder.parse_levels(",".join(["2-10"] * 33), "mpeg4")
