"""Quantisers from the bit stream and PSNR of ladders, against what FFmpeg says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from framewire.errors import InputError
from framewire.movie.ladder import quality
from framewire.movie.ladder.build import MadeLadder
from framewire.movie.ladder.quantisers import quantisers_of
from framewire.psnr import decibel

FRAMES = 30


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of a test picture whose quantisers change: at a rate, with an I frame each twelve."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not installed")
    path = tmp_path_factory.mktemp("quality") / "level.avi"
    picture = ["-f", "lavfi", "-i", "testsrc2=size=240x192:rate=24000/1001,trim=end_frame=30"]
    options = ["-c:v", "mpeg4", "-g", "12", "-bf", "0", "-b:v", "300k", "-qmin", "2", "-qmax", "31", "-threads", "1"]
    run("ffmpeg", "-v", "error", "-y", *picture, "-frames:v", str(FRAMES), *options, str(path))
    return path


def run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_quantisers_are_those_of_every_macroblock_that_ffmpeg_decodes(encoded: Path) -> None:
    told = run("ffmpeg", "-v", "debug", "-debug", "qp", "-threads", "1", "-i", str(encoded), "-f", "null", "-")
    # A line for each row of 15 macroblocks, two digits each, behind the line that begins a picture.
    frames: list[set[int]] = []
    for line in told.splitlines():
        if "New frame, type:" in line:
            frames.append(set())
        elif (match := re.search(r"\] ((?:[ \d]\d){15})\s*$", line)) and frames:
            frames[-1] |= {int(match[1][place : place + 2]) for place in range(0, 30, 2)}
    frames = [one for one in frames if one][-FRAMES:]
    found = quantisers_of(encoded)
    assert len(found) == FRAMES == len(frames)
    assert len(set(found)) > 3, "they change"
    assert all(value in one for value, one in zip(found, frames, strict=True))
    # FFmpeg prints what it used for skipped macroblocks as well: the frame's own quantiser is all there is.
    assert [{value} for value in found] == frames


def test_what_has_no_quantisers_is_refused(encoded: Path, tmp_path: Path) -> None:
    data = encoded.read_bytes()
    for name, broken, told in (
        ("none.avi", b"RIFF", "no AVI"),
        ("coded.avi", data.replace(b"\x00\x00\x01\xb6", b"\x00\x00\x01\xb7"), "0 VOPs"),
        ("layer.avi", re.sub(rb"\x00\x00\x01[\x20-\x2f]", b"\x00\x00\x01\xb5", data), "before the first"),
    ):
        path = tmp_path / name
        path.write_bytes(broken)
        with pytest.raises(InputError, match=told):
            quantisers_of(path)


def test_psnr_is_that_of_equation_7_now_and_for_frozen_frames(encoded: Path, tmp_path: Path) -> None:
    picture = ["-f", "lavfi", "-i", "testsrc2=size=240x192:rate=24000/1001,trim=end_frame=30"]
    by_lag = quality._psnr(encoded, picture, FRAMES)
    assert [len(lag) for lag in by_lag] == [FRAMES] * (quality.FROZEN + 1)
    # By hand: luminance of both as raw bytes.
    size = 240 * 192

    def luminance(*source: str) -> list[bytes]:
        raw = tmp_path / "raw.gray"
        run("ffmpeg", "-v", "error", "-y", *source, "-frames:v", str(FRAMES), "-vf", "format=yuv420p,extractplanes=y",
            "-f", "rawvideo", "-pix_fmt", "gray", str(raw))  # fmt: skip
        data = raw.read_bytes()
        return [data[start : start + size] for start in range(0, len(data), size)]

    before, after = luminance(*picture), luminance("-i", str(encoded))
    for lag, frame in ((0, 0), (0, 17), (3, 20), (12, 29)):
        squares = sum((a - b) ** 2 for a, b in zip(before[frame], after[frame - lag], strict=True))
        assert by_lag[lag][frame] == pytest.approx(decibel(squares / size, quality.LARGEST_DB), abs=1e-9)
    # And by FFmpeg's own filter, which prints errors of two decimals.
    stats = tmp_path / "psnr.txt"
    graph = f"[0:v]setpts=N[a];[1:v]setpts=N[b];[a][b]psnr=stats_file={stats}"
    run("ffmpeg", "-v", "error", "-i", str(encoded), *picture, "-filter_complex", graph, "-f", "null", "-")
    told = [float(error) for error in re.findall(r"mse_y:([0-9.]+)", stats.read_text())]
    assert [255**2 / 10 ** (one / 10) for one in by_lag[0]] == pytest.approx(told, abs=0.0051)
    assert sum(by_lag[0]) / FRAMES > sum(by_lag[1][1:]) / (FRAMES - 1) + 1, "a frozen frame is worse"


def test_a_ladder_of_a_file_has_no_picture_to_compare_with(tmp_path: Path) -> None:
    made = MadeLadder(tmp_path, {"preset": None, "levels": [], "frames": 1})
    with pytest.raises(InputError, match="preset"):
        quality.measure(made)
