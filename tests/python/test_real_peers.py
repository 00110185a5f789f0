"""Other programs at one end of a stream: a few cells of the table of ``python -m benches.peers``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benches.peers import codecs
from benches.peers.outcome import Outcome, compared
from benches.peers.streams import PEERS, WAYS, lacking
from benches.peers.table import Case, Kept, Result, cell, experimental, summary

pytestmark = pytest.mark.real_time


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
def test_every_frame_comes(tmp_path: Path, way: str, peer: str, transport: str, codec: str) -> None:
    for program in ("ffmpeg", PEERS[peer].PROGRAM):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    outcome = WAYS[way](peer, transport, getattr(codecs, codec), tmp_path)
    assert outcome.is_whole, outcome


def test_a_frame_that_is_another_is_seen(tmp_path: Path) -> None:
    """The comparison itself: what lacks a frame, or has none, is not whole."""
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    sent = codecs.movie(codecs.H264, tmp_path)
    assert compared(sent, sent, codecs.H264, "").is_whole
    cut = tmp_path / "cut.h264"
    cut.write_bytes(sent.read_bytes()[: sent.stat().st_size // 2])
    part = compared(cut, sent, codecs.H264, "")
    assert not part.is_whole
    assert 10 < part.frames < 65
    nothing = compared(tmp_path / "none", sent, codecs.H264, "")
    assert (nothing.frames, nothing.is_whole) == (0, False)
    of_nothing = compared(tmp_path / "none", tmp_path / "none", codecs.H264, "")
    assert (of_nothing.of, of_nothing.is_whole) == (0, False)


WHOLE, CUT, LACKS = (
    Result(Outcome(75, 75)),
    Result(Outcome(74, 75, "74 came"), thirds={"FFmpeg": 73}),
    Result(None, "no"),
)


def test_what_is_missing_and_what_a_peer_lacks_are_counted_apart(tmp_path: Path) -> None:
    results = {
        Case("ts", "to", "VLC", "H.264"): WHOLE,
        Case("ts", "from", "VLC", "H.264"): CUT,
        Case("udp", "to", "VLC", "AV1"): LACKS,
    }
    assert "Of 3 streams 1 come whole, of 1 frames are missing, and 1 there cannot be" in summary(results)[0]
    assert experimental(results) == ["H.264 by `ts` (received)", "AV1 by `udp` (both ways)"]
    assert cell({"H.264": WHOLE, "H.265": CUT}) == "H.264; H.265: 74 of 75 frames (FFmpeg in framewire's place: 73)"
    kept = Kept(tmp_path / "kept.ndjson")
    for case, result in results.items():
        kept.keep(case, result)
    assert Kept(kept.path).results == results


def test_a_peers_message_is_told_without_what_is_of_one_run() -> None:
    said = (
        "[00007f30] dummy mux: Open\n[00007f31] main input error: VLC is unable to open the MRL 'rtsp://127.0.0.1:9/x'."
    )
    assert lacking(said) == "main input error: VLC is unable to open the MRL."
    assert lacking("[rtp @ 0x55cee83ddc80] Unsupported codec av1") == "Unsupported codec av1"
    assert not lacking("[00007f30] dummy mux: Open")
