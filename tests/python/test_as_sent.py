"""Frames with a gap behind a queue that changes what it sends: how they began is worked out from those that came whole.

The reference is the same flow with `damaged = "pass"`: its receiver keeps what came of each frame, byte for byte.
"""

from __future__ import annotations

import subprocess

import pytest
from typer.testing import CliRunner

import framewire
from framewire import as_decoded
from framewire.as_decoded.first_bytes import AsSent, beginning
from framewire.as_decoded.received_parts import arrivals
from framewire.cli import app
from framewire.report.cut_stream import starts_of
from framewire.report.data import ReportRun, load
from framewire.report.decoding import identical
from framewire.report.reference_pictures import Pictures, Received

GROUPS = {"closed": "open-gop=0", "open": "open-gop=1"}
NETWORK = """
[network]
kind = "wired"
bottleneck = "local-device"
[network.wire]
rate = "500 kbit/s"
queue = "200 ms"
loss = "3 %"
"""


@pytest.fixture(scope="module", params=GROUPS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReportRun:
    """H.264 over a link that is too slow for it, so that the queue drops; two receivers of the same packets."""
    directory = tmp_path_factory.mktemp(request.param)
    film = directory / "film.h264"
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x192:r=25:d=12,noise=alls=20:allf=t", "-pix_fmt", "yuv420p"]
    coding = f"keyint=25:bframes=3:scenecut=0:threads=1:{GROUPS[request.param]}"
    subprocess.run(
        ["ffmpeg", "-v", "error", *picture, "-c:v", "libx264", "-b:v", "1M", "-x264-params", coding, film], check=True
    )
    flow = '[[flow]]\ntransport = "udp+dependency"\n'
    (directory / "lossy.toml").write_text(
        f'movie = {{ source = "{film}" }}\n{NETWORK}{flow}name = "discard"\n{flow}name = "pass"\ndamaged = "pass"\n'
    )
    return load(framewire.run(directory / "lossy.toml", world="simulated", out=directory / "run").directory)


def test_frames_begin_as_they_were_sent(run: ReportRun) -> None:
    (original,), problems = Pictures(run).originals
    assert not problems
    found = Pictures(run)
    discard, kept = run.streams
    received, passed = (found.received(flow, original) for flow in (discard, kept))
    assert not identical(received.stream, original.stream, [*received.stream.places]), "the queue changed something"
    sent = AsSent(discard, received, original.stream)
    # Where the packet before is missing, a receiver may not know that a frame begins: it passes on a few less.
    passed_on = {one.frame for one in arrivals(run, kept) if not one.whole}
    every = [one for one in arrivals(run, discard) if one.payload is not None]
    assert passed_on <= {one.frame for one in every} and len(every) <= len(passed_on) + 2
    damaged = [one for one in every if one.frame in passed_on]
    known = [one for one in damaged if sent.knows(one.frame)]
    assert len(known) > 3
    for one in known:
        assert units(beginning(sent, one, 1460)) == units(passed.stream.read(one.frame))
    # Where the bytes of the movie would do for all, nothing had to be worked out.
    without = [one for one in damaged if units(beginning(original.stream, one, 1460)) != of(passed, one.frame)]
    assert without
    # Of open groups it changes numbers of slices: of frames among those nothing is guessed.
    changed = [one for one in without if slices_differ(beginning(original.stream, one, 1460), passed, one.frame)]
    assert not {one.frame for one in changed} & {one.frame for one in known}
    if run.directory.parent.name.startswith("closed"):
        assert not changed and known == damaged
    else:
        assert changed and known != damaged


def test_such_a_flow_is_scored_and_says_what_it_left_out(run: ReportRun) -> None:
    (discard, kept), table, missing = as_decoded.measure(run)
    assert not missing and table.height == 4 * run.frame_count
    assert discard.damaged is not None and kept.damaged is not None
    assert kept.left_out == 0 and kept.damaged > 5
    # A frame whose beginning its receiver could not be sure of is not among those passed on.
    assert 0 <= discard.damaged + discard.left_out - kept.damaged <= 2
    assert (discard.left_out > 0) == (not run.directory.parent.name.startswith("closed"))
    asked = CliRunner().invoke(app, ["score", str(run.directory), "discard"])
    assert asked.exit_code == 0, asked.output
    assert ("how they began is not known" in asked.stderr) == (discard.left_out > 0)


def of(received: Received, frame: int) -> list[bytes]:
    return units(received.stream.read(frame))


def units(code: bytes) -> list[bytes]:
    """NAL units without start codes, of which there are longer and shorter ones."""
    starts = [*starts_of(code)]
    return [code[at + 3 : end].rstrip(b"\0") for at, end in zip(starts, [*starts[1:], len(code)], strict=True)]


def slices_differ(code: bytes, received: Received, frame: int) -> bool:
    pairs = zip(units(code), of(received, frame), strict=True)
    return any(one != other for one, other in pairs if one[0] & 0x1F in (1, 5))
