"""Other programs at one end of a stream: a few cells of the table in docs/real.md, which benches/peers.py makes."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    """The program that makes the table."""
    path = Path(__file__).parents[2] / "benches" / "peers.py"
    spec = importlib.util.spec_from_file_location("peers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("way", "peer", "transport", "codec"),
    [
        ("to", "FFmpeg", "udp", "H264"),
        ("from", "FFmpeg", "udp", "H265"),
        ("from", "FFmpeg", "ts", "MPEG2"),
        ("to", "GStreamer", "ts+rtp", "H264"),
        ("to", "GStreamer", "rtp+tcp", "H264"),
        ("from", "GStreamer", "rtp+tcp", "H264"),
    ],
)
def test_every_frame_comes(peers: ModuleType, tmp_path: Path, way: str, peer: str, transport: str, codec: str) -> None:
    for program in ("ffmpeg", peers.PEERS[peer]):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    outcome = peers.WAYS[way](peer, transport, getattr(peers, codec), tmp_path)
    assert outcome.is_whole, outcome


def test_a_frame_that_is_another_is_seen(peers: ModuleType, tmp_path: Path) -> None:
    """The comparison itself: what lacks a frame, or has none, is not whole."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    sent = peers.movie(peers.H264, tmp_path)
    assert peers.compared(sent, sent, peers.H264, "").is_whole
    cut = tmp_path / "cut.h264"
    cut.write_bytes(sent.read_bytes()[: sent.stat().st_size // 2])
    part = peers.compared(cut, sent, peers.H264, "")
    assert not part.is_whole
    assert 10 < part.frames < 65
    nothing = peers.compared(tmp_path / "none", sent, peers.H264, "")
    assert (nothing.frames, nothing.is_whole) == (0, False)
