"""Files of the user's: kept as they are, taken out of containers without encoding, or refused in words."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from framewire import _native, cli, content, movie, progress
from framewire.errors import InputError, MachineError
from framewire.movie import cut_off, levels, source
from framewire.movie import ffmpeg as program
from framewire.movie.codecs import named
from framewire.movie.elementary_stream import as_it_is
from framewire.movie.probe import Probe, probe
from framewire.scenario import load

SMALL = "testsrc2=s=160x96:r=30"


def ffmpeg(*arguments: str | Path) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)


def encode(path: Path, *options: str, picture: str = SMALL, seconds: str = "1", sound: bool = False) -> Path:
    heard = ["-f", "lavfi", "-i", "sine"] if sound else []
    ffmpeg("-f", "lavfi", "-i", picture, *heard, "-t", seconds, *options, path)
    return path


X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-pix_fmt", "yuv420p")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))


def told(path: Path, *entries: str) -> list[str]:
    """What ffprobe says of the video of a file, in its own order of entries."""
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries", f"stream={','.join(entries)}"]
    text = subprocess.run([*command, "-of", "json", str(path)], check=True, capture_output=True, text=True).stdout
    stream = json.loads(text)["streams"][0]
    return [str(stream.get(entry)) for entry in entries]


def field_order(path: Path) -> str:
    """That of the first frame: of the streams of H.264, this FFmpeg names the wrong field."""
    return source._field_order(path)


def shown(found: Probe) -> str:
    """What a probe prints, in lines that do not end."""
    console = Console(file=io.StringIO(), width=400)
    console.print(found.tables())
    return console.file.getvalue()  # type: ignore[attr-defined]


def pictures(path: Path) -> str:
    """Hashes of every decoded picture, without their times."""
    shown = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(path),
        "-map",
        "0:V:0",
        "-fps_mode",
        "passthrough",
        "-f",
        "framemd5",
        "-",
    ]
    lines = subprocess.run(shown, check=True, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line.rsplit(",", 1)[1] for line in lines if not line.startswith("#"))


def test_a_film_whose_audio_begins_first_becomes_a_ladder_with_the_defaults(tmp_path: Path) -> None:
    # AAC in Matroska begins 23 ms before the picture: the AVI file of a level began with frames that were not there.
    film = encode(tmp_path / "film.mkv", *X264, "-c:a", "aac", sound=True)
    assert source.video_of(film).start_s > 0
    result = CliRunner().invoke(cli.app, ["movie", "ladder", str(film), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.stderr
    facts = told(tmp_path / "out" / "level0.avi", "width", "height", "r_frame_rate", "nb_frames")
    assert facts == ["160", "96", "30/1", "30"]


@pytest.mark.parametrize(
    ("rate", "kept"), [("30", "30/1"), ("30000/1001", "30000/1001"), ("24000/1001", "24000/1001"), ("50", "50/1")]
)
def test_a_transcoded_file_keeps_size_and_frame_rate(rate: str, kept: str, tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mp4", *X264, picture=f"testsrc2=s=176x112:r={rate}")
    made = movie.make(1_000_000, None, film)
    assert told(made.path, "width", "height", "r_frame_rate") == ["176", "112", kept]
    assert made.metadata["frames"] == round(Fraction(rate))


@pytest.mark.parametrize("codec", ["mpeg2", "h264", "h265", "mpeg4"])
def test_interlacing_shape_and_colour_are_kept_where_the_codec_can(codec: str, tmp_path: Path) -> None:
    colour = ("-color_primaries", "bt470bg", "-color_trc", "gamma28", "-colorspace", "bt470bg")
    woven = "testsrc2=s=160x96:r=50,tinterlace=interleave_bottom,setsar=16/15"
    fields = ("-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-top", "0", "-q:v", "3")
    film = encode(tmp_path / "film.ts", *fields, *colour, picture=woven)
    steps: list[str] = []
    made = movie.make(800_000, None, film, codec=codec, progress=lambda step, _share: steps.append(step))
    shape = told(made.path, "sample_aspect_ratio", "color_primaries", "color_transfer", "color_space", "r_frame_rate")
    # FFmpeg's encoder of MPEG-4 part 2 writes no video_signal_type.
    colours = ["None"] * 3 if codec == "mpeg4" else ["bt470bg"] * 3
    assert shape == ["16:15", *colours, "25/1"]
    kept = field_order(made.path) == "bottom"
    assert kept or field_order(made.path) == "progressive"
    assert kept == named(codec).fields
    assert kept != any("interlaced frames progressive" in step for step in steps)


def test_a_size_that_is_asked_for_keeps_the_shape(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mp4", *X264, picture="testsrc2=s=320x180:r=25,setsar=4/3")
    made = movie.make(300_000, None, film, codec="h264", size="160x160", frame_rate="12.5 Hz")
    assert told(made.path, "width", "height", "sample_aspect_ratio", "r_frame_rate") == ["160", "68", "1:1", "25/2"]


def test_a_variable_frame_rate_is_made_constant_and_said(tmp_path: Path) -> None:
    thinned = f"{SMALL},select='not(eq(mod(n,7),3))'"
    film = encode(tmp_path / "film.mp4", *X264, "-fps_mode", "vfr", picture=thinned, seconds="2")
    steps: list[str] = []
    made = movie.make(500_000, None, film, codec="h264", progress=lambda step, _share: steps.append(step))
    assert (made.metadata["frame_rate"], made.metadata["frames"]) == (30, 59)
    assert any("variable frame rate" in step and "30 frames/s" in step for step in steps)
    # As it is, no frame is added: all of them at the mean rate, for as long as the file lasts.
    as_is = movie.prepare(film)
    assert as_is.metadata["frames"] == 51 < made.metadata["frames"]
    assert as_is.duration_s == pytest.approx(2.0, abs=0.07)
    assert pictures(as_is.path) == pictures(film)


@pytest.mark.parametrize(("rate", "kept"), [("30", (30, 1)), ("24", (24, 1)), ("30000/1001", (30_000, 1001))])
@pytest.mark.parametrize("codec", [X264, ("-c:v", "mpeg2video", "-bf", "2")])
def test_empty_slots_of_an_avi_file_are_no_frames(
    codec: tuple[str, ...], rate: str, kept: tuple[int, int], tmp_path: Path
) -> None:
    whole = encode(tmp_path / "film.mov", *codec, picture=f"testsrc2=s=160x96:r={rate}", seconds="2")
    film = tmp_path / "film.avi"
    ffmpeg("-i", whole, "-c", "copy", film)
    frames = int(told(whole, "nb_frames")[0])
    assert told(film, "nb_frames") != told(whole, "nb_frames")  # or this version leaves no slot empty
    found = probe(film)
    assert (found.sequence["frame_rate"], len(found.frames["size"]), found.uneven_rate) == (kept, frames, None)
    steps: list[str] = []
    taken = as_it_is(film, None, None, progress=lambda step, _share: steps.append(step))
    assert taken.metadata["duration_s"] == pytest.approx(frames * kept[1] / kept[0])
    assert not any("evenly" in step for step in steps)
    made = movie.make(1_000_000, None, film)
    assert (made.metadata["frames"], made.metadata["frame_rate"]) == (frames, pytest.approx(kept[0] / kept[1]))


THINNED = "testsrc2=s=160x96:r=30,select='mod(n\\,3)'"
"""Two of three frames, where they were: 20 in a second, at distances of one and two thirtieths."""


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "film.ts", "film.avi"])
def test_frames_at_uneven_distances_are_sent_at_their_mean_and_this_is_said(name: str, tmp_path: Path) -> None:
    reordered = "0" if name.endswith("avi") else "2"
    film = encode(tmp_path / name, *X264[:4], "-bf", reordered, "-vsync", "vfr", picture=THINNED, seconds="6")
    steps: list[str] = []
    taken = as_it_is(film, None, None, progress=lambda step, _share: steps.append(step))
    assert taken.metadata["duration_s"] == pytest.approx(6, abs=0.1)
    assert [step for step in steps if "evenly" in step and "20" in step and "mean" in step]
    found = probe(film)
    assert found.duration_s == pytest.approx(6, abs=0.1) and found.uneven_rate == pytest.approx(20, abs=0.3)
    assert "at uneven distances" in shown(found)


def test_a_stream_that_states_another_rate_than_its_container_is_not_played_faster_without_a_word(
    tmp_path: Path,
) -> None:
    film = encode(tmp_path / "film.mkv", "-c:v", "mpeg2video", "-vsync", "vfr", picture=THINNED, seconds="6")
    steps: list[str] = []
    taken = as_it_is(film, None, None, progress=lambda step, _share: steps.append(step))
    assert taken.metadata["duration_s"] == pytest.approx(4, abs=0.1)
    assert [step for step in steps if "another speed" in step and "20" in step], steps


def test_packets_that_are_fields_are_half_a_frame_each(tmp_path: Path) -> None:
    data = Path(os.environ.get("FRAMEWIRE_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
    field_pairs = data / "field_pairs.264"  # libx264 codes no fields apart
    if not field_pairs.is_file():
        pytest.skip(f"no {field_pairs}")
    film = tmp_path / "film.mp4"
    ffmpeg("-fflags", "+genpts", "-r", "50", "-i", field_pairs, "-c", "copy", film)
    assert told(film, "nb_frames", "avg_frame_rate") == ["600", "50/1"]
    found = probe(film)
    assert (len(found.frames["size"]), found.sequence["frame_rate"], found.duration_s) == (300, (25, 1), 12)
    taken = as_it_is(film, 4.0, None)
    assert taken.metadata["duration_s"] == pytest.approx(4, abs=0.1)


def test_a_program_stream_without_times_has_no_rate() -> None:
    assert source._rates(Fraction(90_000), None, "progressive") == (None, None)


def test_what_mpeg2_cannot_hold_is_refused_with_what_can_be_asked_for() -> None:
    assert levels.level_for(720, 576, Fraction(25), 15_000_000).name == "Main"
    assert levels.level_for(1280, 720, Fraction(30), 6_000_000).name == "High 1440"
    assert levels.level_for(1280, 720, Fraction(60), 6_000_000).name == "High"
    with pytest.raises(InputError, match="no 15 frames/s, only 23.976, 24, 25, 29.97, 30, 50, 59.94, 60: ask"):
        levels.level_for(640, 480, Fraction(15), 1_000_000)
    with pytest.raises(InputError, match="cannot hold 1920x1080 at 60 frames/s.*--size"):
        levels.level_for(1920, 1080, Fraction(60), 1_000_000)


@pytest.mark.parametrize(
    ("name", "options", "suffix"),
    [
        ("film.mp4", X264, ".h264"),
        ("film.mkv", X264, ".h264"),
        ("film.ts", ("-c:v", "mpeg2video", "-q:v", "4", "-bf", "2"), ".m2v"),
        ("film.avi", ("-c:v", "mpeg1video", "-q:v", "4"), ".m1v"),
        ("film.mov", ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error"), ".h265"),
    ],
)
def test_a_container_is_taken_without_transcoding(
    name: str, options: tuple[str, ...], suffix: str, tmp_path: Path
) -> None:
    film = encode(tmp_path / name, *options)
    made = movie.prepare(film)
    assert (made.path.suffix, made.metadata["frames"], made.duration_s) == (suffix, 30, 1.0)
    assert pictures(made.path) == pictures(film)
    assert movie.prepare(film).path.stat().st_mtime_ns == made.path.stat().st_mtime_ns, "found in the cache"


FASTSTART = ("-movflags", "+faststart")


def cut(path: Path, part: float) -> Path:
    """The beginning of a file, beside it."""
    whole = path.read_bytes()
    short = path.with_stem("cut")
    short.write_bytes(whole[: int(len(whole) * part)])
    return short


@pytest.mark.parametrize(
    ("name", "options", "promised"),
    [
        ("film.mp4", (*X264, *FASTSTART), "its index promises 60 "),
        ("film.mov", ("-c:v", "libx265", "-x265-params", "log-level=error", *FASTSTART), "its index promises 60 "),
        ("film.mkv", X264, "it promises about 60 "),
        ("film.avi", ("-c:v", "mpeg1video", "-q:v", "4"), "its index promises 60 "),
        ("film.mp4", (*X264, "-g", "10", "-movflags", "+frag_keyframe+empty_moov"), "it promises about "),
    ],
)
def test_a_file_that_is_cut_off_is_refused(name: str, options: tuple[str, ...], promised: str, tmp_path: Path) -> None:
    film = encode(tmp_path / name, *options, seconds="2")
    assert movie.prepare(film).metadata["frames"] == 60
    size = film.stat().st_size
    for part in (0.5, 0.7):
        short = cut(film, part)
        told = rf"the file is cut off: \d+ frames are there, and {promised}.*\({int(size * part)} bytes of \d+\)"
        with pytest.raises(InputError, match=told):
            movie.prepare(short)
        with pytest.raises(InputError, match="is cut off"):
            movie.make(300_000, None, short)
        # What the message asks for: the rest is a whole file.
        ffmpeg("-v", "quiet", "-i", short, "-c", "copy", tmp_path / f"rest{film.suffix}")
        assert 0 < program.packets_of(tmp_path / f"rest{film.suffix}") < 60
        source.video_of(tmp_path / f"rest{film.suffix}")


def test_frames_that_a_cut_leaves_are_counted(tmp_path: Path) -> None:
    # Frames of one size, of which the index says where each begins: the cut goes through the eleventh.
    film = encode(tmp_path / "film.mp4", *X264, "-bf", "0", *FASTSTART, seconds="2")
    listed = ["ffprobe", "-v", "error", "-show_entries", "packet=pos", "-of", "csv=p=0", str(film)]
    places = [int(line.strip(",")) for line in subprocess.check_output(listed, text=True).split()]
    for end, there in ((places[10] + 2, 10), (places[10], 10), (film.stat().st_size - 1, 59)):
        short = tmp_path / "short.mp4"
        short.write_bytes(film.read_bytes()[:end])
        with pytest.raises(InputError, match=f": {there} frames are there, and its index promises 60 "):
            source.video_of(short)


@pytest.mark.parametrize(
    ("container", "element", "rest"),
    [("mov,mp4", b"\0\0\0\x08free", b""), ("avi", b"RIFF\x02\0\0\0AV", b"RIFF\x02\0\0\0A")],
)
def test_a_file_of_elements_without_end_is_refused_in_words(
    container: str, element: bytes, rest: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "empty boxes.mp4"
    monkeypatch.setattr(cut_off, "MOST_BOXES", 1000)
    path.write_bytes(element * 1000)
    cut_off.refuse_cut_off(path, container, {}, None)
    path.write_bytes(element * 1000 + (rest or element))
    with pytest.raises(InputError, match=r"empty boxes.mp4: more than 1,000 boxes or chunks at its outermost level"):
        cut_off.refuse_cut_off(path, container, {}, None)


def test_a_file_is_looked_into_once_and_again_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(source, "refuse_cut_off", lambda path, *_: asked.append(path))
    film = encode(tmp_path / "film.mp4", *X264)
    assert source.video_of(film) == source.video_of(film) and len(asked) == 1
    (tmp_path / "link.mp4").symlink_to(film)
    assert source.video_of(tmp_path / "link.mp4").path.name == "link.mp4" and len(asked) == 2
    whole = encode(tmp_path / "other.mp4", *X264, picture="testsrc2=s=320x192:r=30").read_bytes()
    film.write_bytes(whole)
    assert (source.video_of(film).width, len(asked)) == (320, 3)
    film.write_bytes(bytes(len(whole)))  # as long, with the same name and place
    for _ in range(2):
        with pytest.raises(InputError, match="ffmpeg cannot read it"):
            source.video_of(film)


def test_a_file_that_is_cut_off_becomes_no_ladder_and_no_valid_scenario(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mp4", *X264, *FASTSTART, seconds="2")
    short = cut(film, 0.5)
    scenario = tmp_path / "mine.toml"
    scenario.write_text(f'[movie]\nsource = "{short.name}"\n[[flow]]\ntransport = "tcp"\n')
    runs: tuple[tuple[str, ...], ...] = (
        ("scenario", "check", str(scenario)),
        ("run", str(scenario)),
        ("movie", "ladder", str(short)),
        ("movie", "ladder", str(short), str(film)),
    )
    for arguments in runs:
        result = CliRunner().invoke(cli.app, list(arguments))
        assert (result.exit_code, "cut.mp4" in result.output, "is cut off" in result.output) == (2, True, True), (
            arguments
        )


def test_whole_files_are_not_taken_for_cut_off_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = encode(tmp_path / "film.mp4", *X264, "-g", "10", *FASTSTART, sound=True, seconds="2")
    # The picture begins behind its first frames: an edit list hides some that the index counts.
    ffmpeg("-ss", "0.5", "-i", film, "-c", "copy", *FASTSTART, tmp_path / "edited.mp4")
    edited = (tmp_path / "edited.mp4").read_bytes()
    assert b"elst" in edited
    # All frames are there, and the box around them says that it is larger.
    at = edited.rindex(b"mdat") - 4
    size = int.from_bytes(edited[at : at + 4], "big")
    (tmp_path / "wrong.mp4").write_bytes(edited[:at] + (size + 1000).to_bytes(4, "big") + edited[at + 4 :])
    source.video_of(tmp_path / "wrong.mp4")

    def counted(*_of: object) -> int:
        raise AssertionError("the packets of a whole file are counted")

    monkeypatch.setattr(program, "packets_of", counted)
    source.video_of(tmp_path / "edited.mp4")
    for name in ("film.mkv", "film.ts", "film.avi", "film.mov"):
        ffmpeg("-i", film, "-c", "copy", tmp_path / name)
        source.video_of(tmp_path / name)
    for name in ("piped.mkv", "piped.avi"):  # sizes are not known when they are written
        piped = tmp_path / name
        muxer = {"mkv": "matroska", "avi": "avi"}[piped.suffix[1:]]
        command = ["ffmpeg", "-v", "error", "-i", str(film), "-c", "copy", "-f", muxer, "pipe:1"]
        piped.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
        source.video_of(piped)
    film.write_bytes(film.read_bytes() + b"\xff" * 100)  # and nothing that a box could be
    source.video_of(film)


@pytest.mark.parametrize("name", ["still.png", "still.jpg"])
def test_a_still_picture_is_not_asked_for_a_bitrate(name: str, tmp_path: Path) -> None:
    ffmpeg("-f", "lavfi", "-i", SMALL, "-frames:v", "1", tmp_path / name)
    with pytest.raises(InputError, match=r"a still picture \(\w+, one frame\); a movie is needed$"):
        movie.prepare(tmp_path / name)


def test_another_codec_in_a_container_needs_a_bitrate(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mkv", "-c:v", "ffv1")
    with pytest.raises(InputError, match=r"ffv1 in matroska.*state a bitrate"):
        movie.prepare(film)


def without_timing(stream: bytes) -> bytes:
    """Clears the VUI of each sequence parameter set (ITU-T H.264, 7.3.2.1.1): all behind it ends with the stop bit."""
    parts = list(nal_units(stream))
    return b"".join(b"\0\0\0\1" + (_without_vui(nal) if nal[0] & 0x1F == 7 else nal) for nal in parts)


def nal_units(stream: bytes) -> Iterator[bytes]:
    place = stream.find(b"\0\0\1")
    while place >= 0:
        following = stream.find(b"\0\0\1", place + 3)
        end = len(stream) if following < 0 else following
        yield stream[place + 3 : end].rstrip(b"\0")
        place = following


def _without_vui(nal: bytes) -> bytes:
    bits = "".join(f"{byte:08b}" for byte in nal.replace(b"\0\0\3", b"\0\0"))
    place = 32  # header, profile, constraints, level

    def exp_golomb() -> int:
        nonlocal place
        zeros = bits.index("1", place) - place
        value = int(bits[place + zeros : place + 2 * zeros + 1], 2) - 1
        place += 2 * zeros + 1
        return value

    assert nal[1] == 66, "baseline: ultrafast without B frames and 8x8 transforms"
    exp_golomb(), exp_golomb()  # seq_parameter_set_id, log2_max_frame_num_minus4
    if exp_golomb() == 0:  # pic_order_cnt_type
        exp_golomb()
    exp_golomb()  # max_num_ref_frames
    place += 1
    exp_golomb(), exp_golomb()  # size in macroblocks
    assert bits[place] == "1", "frame_mbs_only_flag"
    place += 2
    if bits[place] == "1":  # frame_cropping_flag
        place += 1
        for _ in range(4):
            exp_golomb()
    else:
        place += 1
    kept = bits[:place] + "01"  # no VUI, rbsp_stop_one_bit
    kept += "0" * (-len(kept) % 8)
    plain = int(kept, 2).to_bytes(len(kept) // 8, "big")
    return plain.replace(b"\0\0", b"\0\0\3") if b"\0\0" in plain else plain


X264_BASELINE = ("-c:v", "libx264", "-profile:v", "baseline", "-preset", "ultrafast", "-pix_fmt", "yuv420p")


def test_a_stream_without_timing_takes_a_frame_rate(tmp_path: Path) -> None:
    path = tmp_path / "untimed.h264"
    path.write_bytes(without_timing(encode(tmp_path / "timed.h264", *X264_BASELINE).read_bytes()))
    assert _native.stated_frame_rate(path) is None
    with pytest.raises(InputError, match=r"does not tell its frame rate; state it \(movie.frame_rate, --frame-rate\)"):
        movie.prepare(path)
    made = movie.prepare(path, frame_rate="29.97 Hz")
    assert _native.stated_frame_rate(made.path) == (30_000, 1_001)
    assert (made.metadata["frames"], made.duration_s) == (30, pytest.approx(1.001))
    assert pictures(made.path) == pictures(path)
    # In a container it has the container's.
    ffmpeg("-r", "30", "-i", path, "-c", "copy", tmp_path / "film.mp4")
    taken = movie.prepare(tmp_path / "film.mp4")
    assert (_native.stated_frame_rate(taken.path), taken.duration_s) == ((30, 1), 1.0)
    # A probe needs no rate, and says that it has none.
    assert "frame rate unknown" in str(probe(path).tables().renderables[0])
    document = probe(path).as_json(False)
    assert (document["frames"], document["duration_s"], document["mean_bps"]) == (30, None, None)
    assert probe(path, "30 Hz").as_json(False)["duration_s"] == 1.0


def test_another_frame_rate_than_the_stated_one_needs_an_encoding(tmp_path: Path) -> None:
    stream = encode(tmp_path / "film.h264", *X264)
    assert as_it_is(stream, None, None, frame_rate=Fraction(30)).path == stream
    with pytest.raises(InputError, match="states 30 frames/s, so that 25 would play it at another speed"):
        movie.prepare(stream, frame_rate="25 Hz")


def test_probe_reads_what_receive_writes(tmp_path: Path) -> None:
    stream = encode(tmp_path / "received.m4v", "-c:v", "mpeg4", "-bf", "2", "-q:v", "5", "-f", "m4v")
    found = probe(stream).as_json(True)
    assert (found["sequence"]["codec"], found["sequence"]["frame_rate"]) == ("MPEG-4 part 2", (30, 1))
    command = ["ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", str(stream)]
    sizes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert [frame["size"] for frame in found["frame_index"]] == [int(size.strip(",")) for size in sizes]
    assert {kind["type"] for kind in found["types"]} == {"I", "P", "B"}


@pytest.mark.parametrize("codec", ["mpeg2", "h264", "h265", "mpeg4"])
def test_a_still_picture_is_refused_before_it_is_encoded(codec: str, tmp_path: Path) -> None:
    still = tmp_path / "still.png"
    ffmpeg("-f", "lavfi", "-i", SMALL, "-frames:v", "1", still)
    steps: list[str] = []
    with pytest.raises(InputError, match=r"a still picture \(png, one frame\); a movie is needed"):
        movie.make(1_000_000, None, still, codec=codec, progress=lambda step, _share: steps.append(step))
    assert steps == []


def test_a_picture_that_is_too_small_is_refused(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mkv", "-c:v", "ffv1", picture="testsrc2=s=14x96:r=25")
    with pytest.raises(InputError, match=r"14x96; 16x16 and more is needed"):
        movie.make(100_000, None, film)


def test_a_program_is_asked_for_its_version_once_until_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "ffmpeg"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for number, version in enumerate(("5.1", "7.0")):
        fake.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho 'ffmpeg version {version}'\necho more\n")
        fake.chmod(0o755)
        os.utime(fake, (number, number))
        assert [program.version_of("ffmpeg") for _ in range(3)] == [f"ffmpeg version {version}"] * 3
        assert (tmp_path / "asked").read_text() == "asked\n" * (number + 1)
    fake.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="is not installed"):
        program.version_of("ffmpeg")


def test_a_crash_of_ffmpeg_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "bin" / "ffmpeg"
    crashing.parent.mkdir()
    crashing.write_text("#!/bin/sh\necho 'malloc_consolidate(): invalid chunk size' >&2\nkill -ABRT $$\n")
    crashing.chmod(crashing.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(crashing.parent), prepend=":")
    with pytest.raises(MachineError, match=r"ffmpeg crashed \(SIGABRT\)") as caught:
        program.run(["-version"], lambda _frame: None)
    assert "malloc" not in str(caught.value)


def test_the_share_of_an_elementary_stream_is_known(tmp_path: Path) -> None:
    stream = encode(tmp_path / "film.h264", *X264, seconds="4")
    shares: list[float] = []
    movie.make(300_000, None, stream, codec="h264", progress=lambda _step, share: shares.append(share))
    assert max(shares) == 1.0


@pytest.mark.parametrize("codec", ["mpeg4", "h264", "h265"])
def test_an_interlaced_file_becomes_a_ladder(codec: str, tmp_path: Path) -> None:
    woven = "testsrc2=s=160x96:r=50,tinterlace=interleave_top,setsar=16/15"
    fields = ("-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-top", "1", "-q:v", "3")
    film = encode(tmp_path / "film.ts", *fields, picture=woven)
    levels = ["--levels", "8-31, 2-10"] if codec == "mpeg4" else ["--levels", "38, 24"]
    out = tmp_path / "out"
    result = CliRunner().invoke(cli.app, ["movie", "ladder", str(film), "--codec", codec, "--out", str(out), *levels])
    assert result.exit_code == 0, result.stderr
    [level] = out.glob("level1.*")
    assert field_order(level) == ("progressive" if codec == "h265" else "top")
    assert told(level, "sample_aspect_ratio") == ["16:15"]


def test_a_long_step_shows_how_much_of_it_is_done() -> None:
    written = io.StringIO()
    display = progress.Lines(Console(file=written), every_s=0.0)
    for share in (0.0, 0.25, 1.0):
        display({"event": "step", "text": "encoding, pass 1 of 2", "share": share})
    assert written.getvalue().splitlines() == ["encoding, pass 1 of 2 ...", "encoding, pass 1 of 2: 25%"]
    drawn = io.StringIO()
    with progress.Bars(Console(file=drawn, force_terminal=True, width=80)) as bars:
        bars({"event": "step", "text": "encoding, pass 1 of 2", "share": 0.25})
    assert "25.0%" in drawn.getvalue()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("film.mp4", X264),
        ("film.mkv", ("-c:v", "mpeg2video")),
        ("film.ts", ("-c:v", "mpeg2video")),
        ("film.avi", ("-c:v", "mpeg4")),
        ("film.mov", ("-c:v", "libx265", "-x265-params", "log-level=error")),
        ("film.mpg", ("-c:v", "mpeg1video")),
        ("film.flv", X264),
    ],
)
def test_a_probe_looks_into_containers(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    film = encode(tmp_path / name, *options, seconds="2")
    found = probe(film).as_json(True)
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries", "packet=size", "-of", "csv=p=0"]
    packets = subprocess.check_output([*command, film], text=True).split()
    assert found["path"] == str(film)
    assert (found["frames"], found["duration_s"]) == (len(packets), pytest.approx(2.0, abs=0.1))
    sizes = [int(size.strip(",")) for size in packets]
    # Start codes stand for lengths, and headers before key frames, which a container may have once.
    assert sum(sizes) * 0.99 <= found["bytes"] <= sum(sizes) + 200 * len(sizes)
    assert not list(tmp_path.glob("*.h26*")), "nothing is left behind"


def test_a_probe_says_that_players_turn_the_picture(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mp4", *X264, seconds="1")
    turned = tmp_path / "turned.mp4"
    rotate = ["ffmpeg", "-v", "error", "-i", str(film), "-c", "copy", "-metadata:s:v", "rotate=90", str(turned)]
    subprocess.run(rotate, check=True)
    assert abs(probe(turned).as_json(False)["rotation"]) == 90
    assert "players turn it by" in str(probe(turned).tables().renderables[0])
    assert probe(film).as_json(False)["rotation"] == 0
    assert "players" not in str(probe(film).tables().renderables[0])


def test_a_probe_says_what_cannot_be_sent_and_why(tmp_path: Path) -> None:
    vorbis, aac = tmp_path / "vorbis.mkv", tmp_path / "aac.mkv"
    for path, codec in ((vorbis, "libvorbis"), (aac, "aac")):
        encode(path, *X264, "-c:a", codec, "-ac", "2", sound=True)
    (why,) = probe(vorbis).as_json(False)["cannot_be_sent"]
    assert why.startswith(
        "its sound is vorbis, and flows carry AAC, MPEG audio of layers II and III and Opus: without movie.sound"
    )
    assert f"cannot be sent as it is: {why}" in " ".join(_printed(probe(vorbis)).split())
    assert probe(aac).as_json(False)["cannot_be_sent"] == [] and "cannot be sent" not in _printed(probe(aac))


def test_a_probe_says_what_it_does_not_look_into(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", seconds="1")
    with pytest.raises(InputError, match=r"film.webm: vp9 in matroska,webm, and the lab carries .* encode it anew"):
        probe(film)


def test_a_probe_says_of_what_is_no_movie_what_all_commands_say(tmp_path: Path) -> None:
    still, sound = tmp_path / "still.png", tmp_path / "sound.mp3"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x64", "-frames:v", "1", str(still))
    ffmpeg("-f", "lavfi", "-i", "sine", "-t", "0.5", str(sound))
    (tmp_path / "text.mp4").write_text("no video")
    with (tmp_path / "zeros.264").open("wb") as file:
        file.truncate(1 << 30)
    reasons = {"still.png": r"a still picture \(png, one frame\)", "sound.mp3": "it holds no video",
            "text.mp4": "ffmpeg cannot read it", "zeros.264": "no video is found in it"}  # fmt: skip
    for name, reason in reasons.items():
        with pytest.raises(InputError, match=reason) as refused:
            probe(tmp_path / name)
        assert "MPEG video" not in str(refused.value)


def test_a_file_whose_index_was_never_written_is_called_cut_off(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mp4", *X264, seconds="1")
    short = tmp_path / "short.mp4"
    short.write_bytes(film.read_bytes()[: film.stat().st_size // 2])
    for look in (probe, movie.prepare, source.video_of):
        with pytest.raises(InputError, match=r"short.mp4: it has no index \(moov\).* cut off, or still being written"):
            look(short)


def damaged(film: Path, begin: bytes, length: int | None = None) -> Path:
    """A copy with zeros behind where this stands: so many, or to the end of what it holds."""
    data = bytearray(film.read_bytes())
    at = data.index(begin) + len(begin)
    end = len(data) if length is None else at + length
    data[at:end] = bytes(end - at)
    path = film.with_stem("damaged")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "options", "begin"),
    [
        ("film.mp4", (*X264, "-movflags", "+faststart"), b"mdat"),
        ("film.avi", X264, b"movi"),
        ("film.avi", ("-c:v", "mpeg2video"), b"movi"),
    ],
)
def test_a_damaged_file_is_called_so_before_a_run_and_by_everything(
    name: str, options: tuple[str, ...], begin: bytes, tmp_path: Path
) -> None:
    broken = damaged(encode(tmp_path / name, *options, seconds="1"), begin)
    kind = "an MP4 or MOV file" if name.endswith("mp4") else "an AVI file"
    told = rf"damaged\.\w+: it begins as {kind} and is damaged: .* get it again"
    scenario = {"movie": {"source": str(broken)}, "flow": [{"transport": "udp"}]}
    encoded = {**scenario, "movie": {"source": str(broken), "bitrate": "300 kbit/s"}}
    looks = [
        lambda: probe(broken),
        lambda: movie.prepare(broken),
        lambda: content.check(load(scenario)),
        lambda: content.check(load(encoded)),
    ]
    for look in looks:
        with pytest.raises(InputError, match=r"is damaged: .* get it again from where it is whole") as refused:
            look()
        assert "Output file" not in str(refused.value) and "0x" not in str(refused.value)
    with pytest.raises(InputError, match=told):
        probe(broken)


def test_a_file_whose_description_is_damaged_is_called_so(tmp_path: Path) -> None:
    broken = damaged(encode(tmp_path / "film.avi", *X264, seconds="1"), b"strh", 36)
    with pytest.raises(InputError, match=r"damaged\.avi: it begins as an AVI file and is damaged|holds no video"):
        probe(broken)
    # Where it is the machine that fails, nothing is said of the file.
    with pytest.raises(InputError, match="could not make the movie.*No space left on device"):
        program.run(["-f", "lavfi", "-i", SMALL, "-t", "1", "-f", "rawvideo", "/dev/full"], lambda _: None, broken)


def test_a_probe_has_the_columns_that_a_codec_has_and_tells_of_sound(tmp_path: Path) -> None:
    silent = encode(tmp_path / "silent.mp4", *X264, seconds="1")
    heard = tmp_path / "heard.mp4"
    ffmpeg("-i", silent, "-f", "lavfi", "-i", "sine", "-c:v", "copy", "-t", "1", heard)
    groups = encode(tmp_path / "groups.m2v", "-c:v", "mpeg2video", seconds="1")
    texts = [_printed(probe(path)) for path in (silent, heard, groups)]
    assert ["broken link" in text for text in texts] == [False, False, True]
    assert ["no sound" in text for text in texts] == [True, False, False]
    assert ["with sound" in text for text in texts] == [False, True, False]
    assert [probe(path).as_json(False)["sound"] for path in (silent, heard, groups)] == [False, True, None]


def _printed(found: Probe) -> str:
    console = Console(width=120)
    with console.capture() as text:
        console.print(found.tables())
    return text.get()


def test_a_movie_is_made_of_a_source_by_either_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    film = str(encode(tmp_path / "film.mp4", *X264, seconds="1"))
    made = [
        CliRunner().invoke(cli.app, ["movie", "make", *named, "--bitrate", "300 kbit/s"])
        for named in ([film], ["--source", film])
    ]
    assert [one.exit_code for one in made] == [0, 0], [one.output for one in made]
    assert made[0].stdout == made[1].stdout != ""
    both = CliRunner().invoke(cli.app, ["movie", "make", film, "--source", film])
    assert (both.exit_code, "SOURCE and --source are the same" in both.output) == (2, True)


def test_a_probe_opens_files_only(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    loop = tmp_path / "loop"
    loop.symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(loop)
    (tmp_path / "text").write_text("text")
    reasons = (
        (fifo, "not a file"),
        (tmp_path, "not a file"),
        (tmp_path / "none", "no such file"),
        (loop, "symbolic links that lead to each other and to no file"),
        (tmp_path / "text" / "film.m2v", "not a directory"),
    )
    for path, reason in reasons:
        with pytest.raises(InputError) as refused:
            probe(path)
        assert str(refused.value) == f"{path}: {reason}; a video file is needed"
    with pytest.raises(InputError, match="symbolic links that lead to each other"):
        content.check(load({"movie": {"ladder": str(loop)}, "flow": [{"transport": "vtp"}]}))


def test_what_cannot_be_encoded_is_no_valid_scenario(tmp_path: Path) -> None:
    film = encode(tmp_path / "film.mkv", "-c:v", "ffv1", picture="testsrc2=s=160x96:r=15")
    ffmpeg("-f", "lavfi", "-i", SMALL, "-frames:v", "1", tmp_path / "still.png")
    flow = 'bitrate = "500 kbit/s"\n[[flow]]\ntransport = "udp"\n'
    for name, reason in ((film.name, "no 15 frames/s"), ("still.png", "a still picture")):
        scenario = tmp_path / "mine.toml"
        scenario.write_text(f'[movie]\nsource = "{name}"\n{flow}')
        result = CliRunner().invoke(cli.app, ["scenario", "check", str(scenario)])
        told = " ".join(result.output.split())
        assert (result.exit_code, reason in told, f'movie.source = "{tmp_path / name}"' in told) == (2, True, True), (
            told
        )
