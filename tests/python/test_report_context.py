"""What is not decoded for a report would decode to the same: against FFmpeg, whatever is lost, in every coding."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import framewire
from framewire.movie.probe import probe
from framewire.report import psnr
from framewire.report.context import WHOLE, Context, context_of
from framewire.report.cut_stream import CutStream, coding_of, cut, luma_checksums, luma_pictures
from framewire.report.data import load
from framewire.report.reference_pictures import originals, received

SIZE = (176, 144)
GROUPS = "keyint=12:min-keyint=12:scenecut=0"
CODED = {
    "mpeg2.m2v": "-c:v mpeg2video -g 12 -bf 2 -b:v 400k",
    "interlaced.m2v": "-c:v mpeg2video -g 12 -bf 2 -flags +ildct+ilme -b:v 400k",
    "h264.h264": f"-c:v libx264 -x264-params {GROUPS}:open-gop=0:bframes=2:b-pyramid=none",
    "pyramid.h264": f"-c:v libx264 -x264-params {GROUPS}:open-gop=0:bframes=3:b-adapt=0:b-pyramid=normal",
    "fields.h264": f"-c:v libx264 -flags +ildct+ilme -x264-params {GROUPS}:open-gop=0:bframes=2:tff=1",
    "open.h264": f"-c:v libx264 -x264-params {GROUPS}:open-gop=1:bframes=2",
    "h265.h265": f"-c:v libx265 -x265-params {GROUPS}:open-gop=0:bframes=3:b-pyramid=1:log-level=none",
    "layers.h265": f"-c:v libx265 -x265-params {GROUPS}:open-gop=0:bframes=3:temporal-layers=1:log-level=none",
    "open.h265": f"-c:v libx265 -x265-params {GROUPS}:open-gop=1:bframes=2:log-level=none",
}
"""Three seconds, by file, with the options of the encoder."""

FRAMES = 75


@pytest.fixture(scope="module")
def movies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The streams; `once.m2v` is an MPEG-2 stream whose sequence header comes once, at its beginning."""
    directory = tmp_path_factory.mktemp("movies")
    made = {name: directory / name for name in CODED}
    for name, options in CODED.items():
        source = ["-f", "lavfi", "-i", f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate=25:duration=3"]
        command = ["ffmpeg", "-v", "error", *source, *options.split(), "-preset", "fast", "-threads", "1"]
        subprocess.run([*command, str(made[name])], check=True, stderr=subprocess.DEVNULL)
    made["once.m2v"] = directory / "once.m2v"
    made["once.m2v"].write_bytes(without_later_headers(made["mpeg2.m2v"].read_bytes()))
    return made


def without_later_headers(stream: bytes) -> bytes:
    """Leaves out all sequence headers but the first, with the extensions that belong to them."""
    first, *later = stream.split(b"\0\0\1\xb3")[1:]
    return b"".join([b"\0\0\1\xb3", first, *(group[group.index(b"\0\0\1\xb8") :] for group in later)])


@functools.cache
def opened(path: Path) -> tuple[CutStream, pl.DataFrame]:
    """A movie, cut, and its frames."""
    columns = probe(path).frames
    ledger = pl.DataFrame({name: list(columns[name]) for name in ("display", "type", "gop", "size")})
    ledger = ledger.with_row_index("frame").cast({"frame": pl.Int32})
    assert ledger.height == FRAMES
    return cut(path, ledger, coding_of(path), whole_file=False), ledger


@functools.cache
def shown_whole(path: Path) -> list[int]:
    """Checksums of all pictures of a movie, in the order in which they are shown."""
    return luma_checksums(opened(path)[0], list(range(FRAMES)))


ALL = pytest.mark.parametrize("name", [*CODED, "once.m2v"])


@ALL
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_pictures_that_are_called_unchanged_are(name: str, data: st.DataObject, movies: dict[str, Path]) -> None:
    stream, ledger = opened(movies[name])
    context = context_of(stream, ledger)
    display = dict(ledger.select("frame", "display").iter_rows())
    lost = data.draw(st.sets(st.integers(0, FRAMES - 1), max_size=8))
    came = [frame for frame in range(FRAMES) if frame not in lost]
    kept = sorted(context.unchanged(came))
    if not kept:
        return
    event("something is known")
    assert context.unchanged(kept) == {*kept}, "of nothing that is not decoded"
    reference = shown_whole(movies[name])
    assert luma_checksums(stream, kept) == [reference[slot] for slot in sorted(display[frame] for frame in kept)]


@ALL
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_what_is_decoded_for_some_pictures_shows_them_as_the_whole_movie_does(
    name: str, data: st.DataObject, movies: dict[str, Path]
) -> None:
    stream, ledger = opened(movies[name])
    display = dict(ledger.select("frame", "display").iter_rows())
    wanted = data.draw(st.sets(st.integers(0, FRAMES - 1), min_size=1, max_size=4))
    needed = context_of(stream, ledger).closure(wanted)
    assert wanted <= {*needed} and needed == sorted({*needed})
    reference = shown_whole(movies[name])
    shown = sorted(display[frame] for frame in needed)
    sums = dict(zip(shown, luma_checksums(stream, needed), strict=True))
    assert {slot: sums[slot] for slot in (display[frame] for frame in wanted)} == {
        slot: reference[slot] for slot in (display[frame] for frame in wanted)
    }


def parts(context: Context) -> tuple[int, int]:
    """Frames that are decoded for one of the last group, and frames known without the fourth of the second group."""
    return len(context.closure([FRAMES - 1])), len(context.unchanged([at for at in range(FRAMES) if at != 12 + 4]))


def test_most_is_known_where_groups_stand_alone_and_little_where_they_do_not(movies: dict[str, Path]) -> None:
    found = {name: parts(context_of(*opened(path))) for name, path in movies.items()}
    for name in ("mpeg2.m2v", "interlaced.m2v", "h264.h264", "pyramid.h264", "fields.h264", "h265.h265", "layers.h265"):
        decoded, known = found[name]
        assert 1 <= decoded <= 12, (name, decoded)
        assert FRAMES - 12 <= known < FRAMES, (name, known)
    for name in ("open.h264", "open.h265"):  # it begins with the only IDR picture
        assert found[name] == (FRAMES, 12 + 4), name
    decoded, known = found["once.m2v"]
    assert decoded == FRAMES, "what is decoded needs the first header"
    assert known == found["mpeg2.m2v"][1], "with every I frame a decoder has all headers"
    once, mpeg2 = (context_of(*opened(movies[name])) for name in ("once.m2v", "mpeg2.m2v"))
    without_the_second_group = [*range(12), *range(24, FRAMES)]
    assert not once.unchanged(without_the_second_group) and mpeg2.unchanged(without_the_second_group)
    assert [*once.groups(range(FRAMES))] == [WHOLE] and len(mpeg2.groups(range(FRAMES))) == 7


QUEUES = ("tcp", "tcp+ifd", "tcp+ifd-optimised", "tcp+dependency", "tcp+leaky", "tcp+keyframe", "tcp+obs")


@ALL
def test_scores_are_those_of_everything_decoded(
    name: str, movies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what every queue leaves of a stream that the link cannot carry."""
    rate = movies[name].stat().st_size * 8 / 3
    flows = "".join(f'[[flow]]\nname = "{one.replace("+", "-")}"\ntransport = "{one}"\n' for one in QUEUES)
    wire = f'[network]\nkind = "wired"\n[network.wire]\nrate = "{int(rate * 0.6)} bit/s"\nqueue = "100 ms"\n'
    text = f'name = "{name.partition(".")[0]}"\n[movie]\nsource = "{movies[name]}"\n{wire}{flows}'
    if not probe(movies[name]).sequence["frame_rate"]:
        text = text.replace("[movie]\n", '[movie]\nframe_rate = "25 Hz"\n')
    run = framewire.run(text, out=tmp_path / "run", world="simulated").directory
    whole, problems = compared_whole(run)
    decoded: list[int] = []
    decoder = psnr.luma_checksums

    def counted(stream: CutStream, frames: Any) -> list[int]:
        decoded.append(len(frames))
        return decoder(stream, frames)

    monkeypatch.setattr(psnr, "luma_checksums", counted)
    scores = psnr.measure(load(run))
    assert {one.name: scores.of(one)["mse"].to_list() for one in load(run).flows if scores.of(one).height} == whole
    assert scores.problems.keys() == problems
    assert sum(any(errors) for errors in whole.values()) >= 4, "something was missing"
    if name in ("mpeg2.m2v", "interlaced.m2v", "h264.h264"):
        assert not decoded, "nothing that was received had to be decoded"


def compared_whole(run: Path) -> tuple[dict[str, list[float]], set[str]]:
    """Mean squared errors with everything decoded, that was sent and that was received, and every slot compared; and
    flows of which other pictures come than the ledger has."""
    there = load(run)
    original = originals(there)[0][0]
    size = original.width, original.height
    sent = [*luma_pictures(original.stream, original.ledger["frame"].to_list(), *size)]
    assert len(sent) == original.ledger.height
    errors: dict[str, list[float]] = {}
    problems: set[str] = set()
    for flow in original.flows:
        one = received(there, flow, original)
        got = [*luma_pictures(one.stream, one.decodable, *size)]
        if len(got) != len(one.slots):
            problems.add(flow.name)
            continue
        decoded = dict(zip(one.slots, got, strict=True))
        screen = [bytes([16]) * len(sent[0]) if at is None else decoded[at] for at in one.display.source]
        pairs = ((np.frombuffer(picture, np.uint8).astype(np.int64) for picture in pair)
                 for pair in zip(sent, screen, strict=True))  # fmt: skip
        errors[flow.name] = [int(((one - other) ** 2).sum()) / len(sent[0]) for one, other in pairs]
    return errors, problems
