"""The sound of a file beside its video: what comes of it, packet by packet, and what is said of it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from test_emulated import capable

import framewire
from framewire import InputError, as_decoded, content, report
from framewire.movie.probe import probe
from framewire.movie.sound import sound_of
from framewire.psnr import CAP_DB
from framewire.render import Options, render, sound
from framewire.render.screens import Screen, of_run
from framewire.report import comparison, psnr
from framewire.report.data import load
from framewire.report.outcome import outcome

SECONDS = 4
ENCODERS = {
    "aac": ("mp4", "-c:v libx264 -bf 2 -g 25 -c:a aac -b:a 96k", "48000"),
    "mp2": ("mkv", "-c:v mpeg2video -bf 2 -b:v 1500k -c:a mp2 -b:a 128k", "44100"),
    "mp3": ("mkv", "-c:v libx265 -x265-params log-level=none -c:a libmp3lame -b:a 64k", "22050"),
    "opus": ("webm", "-c:v libsvtav1 -preset 10 -g 25 -svtav1-params lp=1 -c:a libopus -b:a 64k", "48000"),
}
"""By codec the container, how video and sound are encoded, and the sample rate."""

WIRED = '[network]\nkind = "wired"\n[network.wire]\nrate = "8 Mbit/s"\ndelay = "5 ms"\n'
LOSSY = f'{WIRED}loss = "3 %"\n'
FIRST_OF_SOUND = 1 << 48
"""Where sequence numbers of sound begin that has packets of RTP for itself."""
NARROW = WIRED.replace("8 Mbit/s", "500 kbit/s").replace('"wired"\n', '"wired"\nbottleneck = "local-device"\n')


def encode(path: Path, options: str, rate: str = "48000", *, sound: str = "") -> Path:
    picture = ["-f", "lavfi", "-i", f"testsrc2=s=320x192:r=25:d={SECONDS}"]
    heard = ["-f", "lavfi", "-i", sound or f"sine=frequency=440:sample_rate={rate}:duration={SECONDS}"]
    subprocess.run(["ffmpeg", "-v", "error", *picture, *heard, *options.split(), path], check=True)
    return path


def in_transport_streams(codec: str) -> bool:
    """Whether a transport stream carries the film of this codec, which has Opus beside AV1."""
    return codec != "opus"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A film with sound of each codec."""
    place = tmp_path_factory.mktemp("films")
    return {
        codec: encode(place / f"film-{codec}.{container}", options, rate)
        for codec, (container, options, rate) in ENCODERS.items()
    }


def packets(path: Path) -> list[str]:
    """Digests of the packets of sound of a file, as FFmpeg finds them, in the form that a stream of its own has."""
    muxer = {".aac": "adts", ".mp4": "adts", ".mp2": "mp2", ".mp3": "mp3"}.get(path.suffix)
    if path.suffix == ".mp4":  # a container has the header of all packets once
        stream = path.with_suffix(".own.aac")
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", path, "-map", "0:a", "-c", "copy", "-f", muxer, stream],
                       check=True)  # fmt: skip
        return packets(stream)
    command = ["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split(",")[5].strip() for line in lines if not line.startswith("#")]


def text(film: Path, network: str, *transports: str) -> str:
    flows = "".join(f'[[flow]]\ntransport = "{transport}"\n' for transport in transports)
    return f'name = "test"\n[movie]\nsource = "{film}"\nsound = true\n{network}{flows}'


def check(film: Path, run: framewire.Run, *, complete: bool) -> None:
    """What FFmpeg finds in the sound as received are the packets that the ledger calls whole."""
    original = packets(film)
    for flow in run.summary["flow"]:
        rows = run.sound.filter(flow=flow)
        assert rows["frame"].to_list() == list(range(rows.height))
        assert 0 <= len(original) - rows.height <= 3, "all but what begins after the last picture"
        (received,) = (path for path in (run.directory / "received").glob(f"{flow}.*") if path.suffix[1:] in ENCODERS)
        whole = [digest for digest, came in zip(original, rows["complete"], strict=False) if came]
        assert packets(received) == whole
        assert (len(whole) == rows.height) == complete, flow
        assert run.results.frames.filter(flow=flow).height == 25 * SECONDS


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_comes_packet_for_packet(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    of_streams = ("ts", "ts+rtp", "ts+tcp", "ts+dependency", "ts+tcp+dependency", "http", "http+ts", "http+fmp4")
    of_streams = tuple(one for one in of_streams if in_transport_streams(codec) or "ts" not in one)
    of_packets = ("udp", "udp+dependency", "rtp+tcp", "rtp+tcp+dependency")
    scenario = text(films[codec], WIRED, *of_streams, *of_packets)
    run = framewire.run(scenario, out=tmp_path / "run", world="simulated")
    check(films[codec], run, complete=True)
    assert set(run.summary["sound_lost"]) == {0}
    assert run.results.meta["sound"]["sample_rate"] == int(ENCODERS[codec][2])


@pytest.mark.parametrize("network", [WIRED, LOSSY])
def test_pictures_are_scored_beside_it(network: str, films: dict[str, Path], tmp_path: Path) -> None:
    """Its packets are no frame's, whatever came of them: what came of each frame is that of a run without."""
    found = []
    for heard in ("true", "false"):
        scenario = text(films["mp2"], network, "rtp", "rtsp+udp").replace("sound = true", f"sound = {heard}")
        run = load(framewire.run(scenario, out=tmp_path / heard, world="simulated").directory)
        scores, _, why_not = as_decoded.measure(run)
        assert why_not == [] and [one.flow for one in scores] == ["rtp", "rtsp+udp"]
        found.append(scores)
    of_sound, alone = found
    if network == WIRED:
        assert of_sound == alone and {one.as_decoded_psnr_db for one in of_sound} == {CAP_DB}
        return
    for one in (*of_sound, *alone):
        assert one.damaged > 5 and one.discarded_psnr_db + 1 < one.as_decoded_psnr_db < CAP_DB


@pytest.mark.parametrize("codec", ENCODERS)
def test_what_is_lost_of_it_is_known(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    transports = ("ts", "ts+rtp", "udp") if in_transport_streams(codec) else ("udp", "udp+dependency")
    run = framewire.run(text(films[codec], LOSSY, *transports), out=tmp_path / "run", world="simulated")
    check(films[codec], run, complete=False)
    lost = run.sound.filter(fate="lost")
    assert set(lost["root_cause_place"]) == {"link"}
    assert sum(run.summary["sound_lost"]) == lost.height


def test_frames_are_given_up_and_sound_is_not(films: dict[str, Path], tmp_path: Path) -> None:
    scenario = text(films["mp2"], NARROW, "ts+dependency", "ts+tcp+dependency")
    run = framewire.run(scenario, out=tmp_path / "run", world="simulated")
    check(films["mp2"], run, complete=True)
    assert all(lost > 0 for lost in run.summary["lost"])
    datagrams = run.results.packets.filter(flow="ts+dependency", direction="forward")
    assert datagrams["sequence"].null_count() == 0
    assert datagrams["frame"].null_count() > run.sound.filter(flow="ts+dependency").height / 2, (
        "of sound there is no frame"
    )


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("codec", ENCODERS)
def test_it_does_so_over_the_kernels_sockets(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    transports = (
        "ts",
        "ts+rtp",
        "ts+tcp+dependency",
        "udp-blocking",
        "rtp+tcp+dependency",
        "http",
        "http+ts",
        "http+fmp4",
    )
    transports = tuple(one for one in transports if in_transport_streams(codec) or "ts" not in one)
    scenario = text(films[codec], WIRED, *transports)
    reported = 'transport = "udp-blocking"\n'
    run = framewire.run(scenario.replace(reported, f'{reported}rtcp = "full"\n'), out=tmp_path / "run")
    check(films[codec], run, complete=True)
    packets = run.results.packets.filter(flow="udp-blocking", direction="forward")
    of_sound = packets.filter(pl.col("sequence") >= FIRST_OF_SOUND)["sequence"].unique().sort() - FIRST_OF_SOUND
    assert of_sound.to_list() == list(range(of_sound.len())) and of_sound.len() > 0
    assert set(run.results.rtcp["track"]) == {0, 1}


def test_the_report_says_what_was_lost_and_how_far_sound_and_picture_are_apart(
    films: dict[str, Path], tmp_path: Path
) -> None:
    run = framewire.run(text(films["mp2"], NARROW, "ts", "ts+tcp+dependency"), out=tmp_path / "run", world="simulated")
    page = report.build(run.directory).read_text(encoding="utf-8")
    assert all(words in page for words in ("Sound and picture apart", "Latency of sound", "sound lost", "sound waits"))
    silent = f'[movie]\nsource = "{films["mp2"]}"\n{WIRED}[[flow]]\ntransport = "ts"\n'
    run = framewire.run(silent, out=tmp_path / "silent", world="simulated")
    assert "ound and picture apart" not in report.build(run.directory).read_text(encoding="utf-8")
    assert run.sound.is_empty()
    assert run.summary["sound_lost"].to_list() == [None]


def test_the_report_says_how_late_sound_arrived_beside_its_wait_in_the_queue(
    films: dict[str, Path], tmp_path: Path
) -> None:
    """In RTP over UDP it waits in no queue, and behind all that the device holds of the picture."""
    scenario = text(films["mp2"], NARROW, "udp+dependency")
    run = load(framewire.run(scenario, out=tmp_path / "run", world="simulated").directory)
    (one,) = outcome(run, psnr.unmeasured()).flows
    latencies = sorted(latency / 1e6 for latency in run.sound["latency_ns"].drop_nulls())
    assert one.sound_wait_max_ms is not None and one.sound_p50_ms is not None and one.sound_max_ms is not None
    assert one.sound_wait_max_ms < 10 < 100 < one.sound_p50_ms < one.sound_max_ms < 2_000
    assert one.sound_max_ms == latencies[-1]
    (said,) = (entry["sound"] for entry in run.info["flows"])
    assert said == {
        "shown": one.sound_shown, "late": one.sound_late, "lost": one.sound_lost, "not_offered": 0,
        "wait_max_ms": one.sound_wait_max_ms, "latency_p50_ms": one.sound_p50_ms, "latency_p95_ms": one.sound_p95_ms,
        "latency_max_ms": one.sound_max_ms, "apart_ms": pytest.approx(one.apart_ms),
    }  # fmt: skip
    assert sum(latency <= one.sound_p50_ms for latency in latencies) == -(-len(latencies) // 2)
    assert [column.title for column in comparison.columns([one])][-5:-1] == [
        "sound waits", "sound p50", "sound p95", "sound max"
    ]  # fmt: skip
    silent = replace(one, **{f"sound_{name}_ms": None for name in ("p50", "p95", "max")})
    assert "sound p50" not in [column.title for column in comparison.columns([silent])]


def test_a_campaign_counts_sound_apart(films: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "sound.toml").write_text(
        f'repeats = 2\nscenario.movie = {{ source = "{films["aac"]}", sound = true }}\n'
        'scenario.network = { kind = "wired", wire = { rate = "8 Mbit/s" } }\nscenario.flow = [{ transport = "ts" }]\n'
        '[axes]\nnetwork.wire.loss = ["0 %", "5 %"]\n'
    )
    results = framewire.campaign(tmp_path / "sound.toml", out=tmp_path / "out")
    frames, sound = results.frames.collect(), results.sound.collect()
    assert frames.height == 4 * 25 * SECONDS
    assert set(sound["type"]) == {"A"}
    assert 0 < sound.filter(fate="lost").height == results.summary["sound_lost"].sum()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[movie]\nsound = true\n[[flow]]\ntransport = "ts"', "the lab's own movie has no sound"),
        ('[movie]\nsource = "{film}"\nsound = true\n[[flow]]\ntransport = "tcp"', "sound, and tcp does not"),
        (
            '[movie]\nsource = "{film}"\nsound = true\n[[flow]]\nname = "a"\ntransport = "tcp"',
            "sound, and flow a by tcp does not",
        ),
        ('[movie]\nsource = "{film}"\nsound = 1\n[[flow]]\ntransport = "ts"', "movie.sound"),
    ],
)
def test_what_carries_none_is_refused_by_name(more: str, told: str, films: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="movie.sound") as caught:
        framewire.load(more.replace("{film}", str(films["aac"])))
    assert told in str(caught.value)


def test_sound_that_cannot_be_sent_is_refused_with_what_to_do(tmp_path: Path) -> None:
    video = "-c:v mpeg2video -b:v 1M"
    gap = "sine=d=1,asetpts=PTS+gte(T\\,0.5)*0.5/TB"
    made = {
        "it has no sound": encode(tmp_path / "silent.mkv", f"{video} -an"),
        "its sound is vorbis": encode(tmp_path / "vorbis.mkv", f"{video} -c:a libvorbis"),
        "here carries AAC and MPEG audio; the sound is Opus": encode(tmp_path / "o.mkv", f"{video} -c:a libopus"),
        "a gap of 0.5": encode(tmp_path / "gap.mkv", f"{video} -c:a mp2", sound=gap),
    }
    for told, film in made.items():
        with pytest.raises(InputError, match="without movie.sound its video is sent alone") as caught:
            framewire.run(text(film, WIRED, "ts"), out=tmp_path / "run", world="simulated")
        assert told in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def tracks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film with AC-3, AAC of the left tone and, by default, MPEG audio of the right one."""
    path = tmp_path_factory.mktemp("tracks") / "film.mkv"
    made = [f"-f lavfi -i sine=f={tone}:d=2" for tone in (300, 440, 880)]
    command = f"ffmpeg -v error -f lavfi -i testsrc2=s=96x64:r=25:d=2 {' '.join(made)} -map 0 -map 1 -map 2 -map 3"
    coded = "-c:v mpeg2video -c:a:0 ac3 -c:a:1 aac -c:a:2 mp2 -disposition:a 0 -disposition:a:2 default"
    subprocess.run([*command.split(), *coded.split(), path], check=True)
    return path


@pytest.mark.parametrize(("asked", "number", "codec"), [("", 3, "mp2"), ("sound_track = 2\n", 2, "aac")])
def test_of_several_tracks_the_default_or_the_one_that_is_named_is_sent(
    asked: str, number: int, codec: str, tracks: Path, tmp_path: Path
) -> None:
    scenario = text(tracks, WIRED, "ts", "rtp+tcp").replace("sound = true\n", f"sound = true\n{asked}")
    run = framewire.run(scenario, out=tmp_path / "run", world="simulated")
    alone = tmp_path / f"alone.{codec}"
    command = ["ffmpeg", "-v", "error", "-i", tracks, "-map", f"0:a:{number - 1}", "-c", "copy", alone]
    subprocess.run(command, check=True)
    for flow in ("ts", "rtp+tcp"):
        came = packets(run.directory / "received" / f"{flow}.{codec}")
        assert came == packets(alone)[: len(came)] and len(came) > 70
    note = run.results.meta["sound_left_out"]
    assert note.startswith(f"of the movie's 3 tracks of sound number {number} was sent ({codec}, 44100 Hz, 1 channel)")
    assert "movie.sound_track chooses another" in note


def test_a_track_of_sound_that_is_not_there_or_not_carried_is_refused(tracks: Path) -> None:
    for number, told in ((1, "its sound is ac3"), (4, "its tracks of sound are 1 (ac3, 44100 Hz, 1 channel), 2 (aac")):
        with pytest.raises(InputError) as caught:
            content.check(framewire.load(text(tracks, WIRED, "ts"), set=[f"movie.sound_track={number}"]))
        assert told in str(caught.value)
        if number == 1:
            assert "movie.sound_track = 2 is carried" in str(caught.value)
    silent = f'[movie]\nsource = "{tracks}"\nsound_track = 1\n[[flow]]\ntransport = "ts"'
    with pytest.raises(
        InputError, match=r"movie.sound_track.*1 is not allowed; allowed is only beside movie.sound = true"
    ):
        framewire.load(silent)


def test_sound_that_changes_is_an_error_of_the_file_that_has_it(tmp_path: Path) -> None:
    """And not of the file in the cache into which it is taken out."""
    whole = encode(tmp_path / "whole.mkv", "-c:v mpeg2video -b:v 1M -an")
    parts = b""
    for rate in ("44100", "48000"):
        tone = ["-f", "lavfi", "-i", f"sine=sample_rate={rate}:duration=1", "-c:a", "aac", tmp_path / f"{rate}.aac"]
        subprocess.run(["ffmpeg", "-v", "error", *tone], check=True)
        parts += (tmp_path / f"{rate}.aac").read_bytes()
    (tmp_path / "both.aac").write_bytes(parts)
    film = tmp_path / "film.ts"
    command = ["ffmpeg", "-v", "error", "-i", whole, "-i", tmp_path / "both.aac", "-c", "copy", film]
    subprocess.run(command, check=True)
    with pytest.raises(InputError, match=r"film.ts: .*without movie.sound its video is sent alone") as caught:
        framewire.run(text(film, WIRED, "ts"), out=tmp_path / "run", world="simulated")
    assert "-sound-" not in str(caught.value), "no name of the cache"


def test_sound_of_one_packet_is_sent(tmp_path: Path) -> None:
    """Containers do not say how long the last packet is."""
    whole = encode(tmp_path / "whole.mkv", "-c:v mpeg2video -b:v 1M -c:a aac")
    film, alone = tmp_path / "one.mkv", tmp_path / "one.aac"
    command = ["ffmpeg", "-v", "error", "-i", whole, "-c", "copy", "-frames:a", "1"]
    subprocess.run([*command, film], check=True)
    subprocess.run([*command, "-vn", alone], check=True)
    run = framewire.run(text(film, WIRED, "ts", "udp", "rtp+tcp"), out=tmp_path / "run", world="simulated")
    assert run.sound["fate"].to_list() == ["shown"] * 3
    for flow in ("ts", "udp", "rtp+tcp"):
        assert packets(run.directory / "received" / f"{flow}.aac") == packets(alone)


def test_a_probe_shows_the_tracks_of_sound(films: dict[str, Path]) -> None:
    for codec, film in films.items():
        probed = probe(film)
        rate = ENCODERS[codec][2]
        assert probed.tracks is not None
        assert [(one.codec, one.sample_rate, one.channels) for one in probed.tracks] == [(codec, int(rate), 1)]
        assert f"with sound: {codec}, {rate} Hz, 1 channel" in str(probed.tables().renderables[0])
        document = probed.as_json(with_frames=False)
        assert document["sound"] is True
        assert json.loads(json.dumps(document["tracks"]))[0]["codec"] == codec


def samples(run: report.data.ReportRun, screen: Screen, begin_s: float, end_s: float) -> NDArray[np.int16]:
    with sound.heard(run, screen, begin_s, end_s) as path:
        return np.fromfile(path, dtype="<i2").reshape(-1, sound.CHANNELS)


def test_in_a_film_each_packet_is_heard_that_came_in_time_and_others_are_silence(
    films: dict[str, Path], tmp_path: Path
) -> None:
    directory = framewire.run(text(films["mp2"], LOSSY, "ts", "udp"), out=tmp_path / "run", world="simulated").directory
    run = report.data.load(directory)
    screens, _ = of_run(run)
    sent = samples(run, screens[0], 0, SECONDS)
    assert np.abs(sent[: sound.RATE * 3]).max(axis=1).astype(bool).mean() > 0.9, "a tone is no silence"
    for screen in screens[1:]:
        rows = run.sound.filter(flow=screen.label).sort("frame")
        came, begins = rows["fate"] == "shown", rows["display_ns"] / 1e9
        assert 0 < came.sum() < rows.height
        film = samples(run, screen, 0, SECONDS)
        bounds = [round(begin * sound.RATE) for begin in (*begins, SECONDS)]
        for first, last, is_there in zip(bounds, bounds[1:], came, strict=False):
            expected = sent[first:last] if is_there else np.zeros_like(sent[first:last])
            assert (film[first:last] == expected).all()
        assert (samples(run, screen, 1.5, 3) == film[round(1.5 * sound.RATE) : 3 * sound.RATE]).all(), (
            "a part is the same"
        )
    assert sound.chosen(run, screens, None, ("udp",)) is screens[2]
    assert sound.chosen(run, screens, "none") is None
    with pytest.raises(InputError, match="--sound tcp: allowed is sent, ts, udp or none"):
        sound.chosen(run, screens, "tcp")


def test_a_player_that_waits_plays_sound_beside_its_picture(films: dict[str, Path], tmp_path: Path) -> None:
    slow = NARROW.replace("500 kbit/s", "250 kbit/s")
    scenario = text(films["aac"], f'{slow}[playout]\npolicy = "stall"\n', "ts+tcp")
    directory = framewire.run(scenario, out=tmp_path / "run", world="simulated").directory
    run = report.data.load(directory)
    screen = of_run(run)[0][1]
    behind = [(at or 0) - slot / screen.frame_rate for slot, at in enumerate(screen.shown_at_s)]
    assert max(behind) > 0.5, "it waits"
    packets = list(sound.packets_of(run, screen))
    assert len(packets) == run.sound.height
    for packet in packets:
        assert packet.at_s - packet.begin_s == pytest.approx(behind[int(packet.begin_s * screen.frame_rate)])
    film, _ = render(directory, options=Options(width=64))
    probing = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,duration", "-of", "json", film]
    found = subprocess.run(probing, check=True, capture_output=True).stdout
    streams = {one["codec_name"]: float(one["duration"]) for one in json.loads(found)["streams"]}
    assert streams["aac"] == pytest.approx(streams["h264"], abs=0.05)
    assert streams["h264"] == pytest.approx(SECONDS + max(behind), abs=0.1)


def durations(film: Path) -> list[str]:
    """Of each packet of sound, as ffprobe tells them."""
    command = ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=duration", "-of", "csv=p=0"]
    return subprocess.run([*command, film], check=True, capture_output=True, text=True).stdout.split()


def test_a_packet_without_a_duration_is_as_long_as_its_codec_says(films: dict[str, Path], tmp_path: Path) -> None:
    film = tmp_path / "copied.mkv"
    video = ["-c:v", "libx265", "-x265-params", "log-level=none", "-c:a", "copy"]
    subprocess.run(["ffmpeg", "-v", "error", "-i", films["aac"], "-t", "2", *video, film], check=True)
    told = durations(film)
    if "N/A" not in told:
        pytest.skip("this FFmpeg tells the durations of all packets")
    assert told.index("N/A") == 0 and told.count("N/A") == 1
    taken = sound_of(film, tmp_path / "cache")
    assert packets(taken.path) == packets(films["aac"])[: len(told)]
    # Nothing says of another codec how long it is: the first packet is no place for a guess.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("framewire.movie.sound._samples", lambda _track: None)
        with pytest.raises(InputError, match=r"no duration, at 0\.00 s, .* ffmpeg -i copied\.mkv -c copy copied\.mp4"):
            sound_of(film, tmp_path / "cache")
    # A gap behind it is still one.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("framewire.movie.sound._samples", lambda _track: 300)
        with pytest.raises(InputError, match="have a gap of 0.015 s at 0.02 s"):
            sound_of(film, tmp_path / "cache")
