"""What a probe keeps of a long movie: its frames stand in a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from framewire import frame_columns
from framewire.movie.probe import probe

GROUPS = 10_000
"""Each of 50 frames: half a million."""

COMMAND = """
import sys
from framewire import cli
try:
    cli.app(sys.argv[1:])
finally:
    # Of this program: ru_maxrss is also that of the one that started it.
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group of tiny frames, which a stream may repeat: 50 of 16 by 16, of them B pictures."""
    path = tmp_path_factory.mktemp("probe") / "group.h264"
    encoder = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "keyint=50:scenecut=0:bframes=2:b-adapt=0"]
    picture = ["-f", "lavfi", "-i", "color=s=16x16:r=25:d=2"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *encoder, path], check=True)
    return path


def peak(path: Path, out: Path, *options: str) -> int:
    """The most memory that a probe of this file needed, in MB; its output goes to a file."""
    with out.open("w") as output:
        command = [sys.executable, "-c", COMMAND, "movie", "probe", str(path), *options]
        ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=True, timeout=540)
    return int(ended.stderr.split()[-1]) // 1024


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_half_a_million_frames_need_little_more_memory_than_fifty(
    group: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    long, out = tmp_path / "long.h264", tmp_path / "out"
    with long.open("wb") as file:
        for _ in range(GROUPS // 100):
            file.write(100 * group.read_bytes())
    short = peak(group, out, *options)
    needed = peak(long, out, *options)
    said = out.read_text()
    print(f"50 frames: {short} MB, {50 * GROUPS:,} frames: {needed} MB")
    # Of each frame 24 bytes for its place in display order, and pieces of columns; an index has 150.
    assert short < needed < short + 45
    if options:
        document = json.loads(said)
        assert document["frames"] == 50 * GROUPS == 50 * len(document["groups"])
        assert {entry["types"] for entry in document["groups"]} == {document["groups"][0]["types"]}
        assert document["bytes"] == long.stat().st_size
    else:
        assert f"{50 * GROUPS} frames" in said


def test_columns_in_a_file_are_those_in_memory(group: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = tmp_path / "stream.h264"
    stream.write_bytes(1_400 * group.read_bytes())  # a little more than one piece
    in_memory = probe(stream)
    monkeypatch.setattr(frame_columns, "IN_MEMORY", 0)
    stored = probe(stream)
    assert [type(column) for column in stored.frames.values()] != [type(column) for column in in_memory.frames.values()]
    for name, column in in_memory.frames.items():
        assert len(column) == len(stored.frames[name]) == 70_000
        assert list(column) == list(stored.frames[name]), name
        for place in (0, 69_999, 65_535, 65_536, -1):
            assert column[place] == stored.frames[name][place], name
        assert list(column[65_530:65_540]) == list(stored.frames[name][65_530:65_540]), name
        with pytest.raises(IndexError):
            stored.frames[name][70_000]
    assert list(stored.groups()) == list(in_memory.groups())
    assert (stored.peak_bps(), stored.types()) == (in_memory.peak_bps(), in_memory.types())


def test_a_long_list_of_frames_is_in_several_tables(group: Path, tmp_path: Path) -> None:
    stream = tmp_path / "stream.h264"
    stream.write_bytes(201 * group.read_bytes())
    assert [len(table.keys[0].cells) for table in probe(stream).frame_tables()] == [10_000, 50]
