"""Sound that is asked for: each codec by each way of a server's, packet for packet, or left out with the reason."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_real_sound import films_of_h264
from test_serving import DATAGRAMS, FRAMES, Server, serving
from test_sound import ENCODERS, packets

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return films_of_h264(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def by_rtsp(films: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, out = films["aac"].parent, tmp_path_factory.mktemp("rtsp") / "out"
    with serving(folder, out, scheme="rtsp", last="/film-opus.mkv") as server:
        yield server


def received(server: Server, path: str, out: Path) -> tuple[list[Path], str]:
    """The files of sound that a receiver kept, and what it said."""
    command = [sys.executable, "-m", "framewire", "receive", server.url(path), "--out", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert f"{FRAMES} whole frames; to the end" in ran.stdout
    kept = [file for file in (out / "received").iterdir() if file.suffix[1:] in ENCODERS]
    return kept, ran.stdout + ran.stderr


def check(original: list[str], came: list[str]) -> None:
    assert 0 <= len(original) - len(came) <= 3, "all but what begins after the last picture"
    assert came == original[: len(came)]


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_of_a_server_of_rtsp_comes_packet_for_packet(
    codec: str, films: dict[str, Path], by_rtsp: Server, tmp_path: Path
) -> None:
    (kept,), _ = received(by_rtsp, f"/{films[codec].name}", tmp_path / "came")
    # Of MPEG audio a description does not say the layer.
    assert kept.suffix == (".mp2" if codec == "mp3" else f".{codec}")
    check(packets(films[codec]), packets(kept))


@pytest.mark.parametrize("codec", ENCODERS)
def test_ffmpeg_receives_sound_of_a_server_of_rtsp_in_datagrams(
    codec: str, films: dict[str, Path], by_rtsp: Server, tmp_path: Path
) -> None:
    kept = tmp_path / f"came.{codec}"
    command = ["ffmpeg", "-v", "error", *DATAGRAMS, "-i", by_rtsp.url(f"/{films[codec].name}")]
    subprocess.run([*command, "-map", "0:a", "-c", "copy", kept], check=True, timeout=60)
    check(packets(films[codec]), packets(kept))
