"""Sound that is asked for: each codec by each way of a server's, packet for packet, or left out with the reason."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_real_sound import films_of_h264
from test_serving import DATAGRAMS, FRAMES, Server, serving
from test_sound import ENCODERS, packets

from framewire.real.ends import ask

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return films_of_h264(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def by_http(films: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(films["aac"].parent, tmp_path_factory.mktemp("http") / "out", "--pace", "client") as server:
        yield server


@contextmanager
def of_python(folder: Path) -> Iterator[str]:
    """Files as they are, by another server."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as held:
        serves = threading.Thread(target=held.serve_forever)
        serves.start()
        try:
            yield f"http://127.0.0.1:{held.server_port}"
        finally:
            held.shutdown()
            serves.join()


@pytest.fixture(scope="module")
def by_rtsp(films: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, out = films["aac"].parent, tmp_path_factory.mktemp("rtsp") / "out"
    with serving(folder, out, scheme="rtsp", last="/film-opus.mkv") as server:
        yield server


def received(url: str, out: Path) -> tuple[list[Path], list[str]]:
    """The files of sound that a receiver kept, and why it left sound out."""
    events: list[dict[str, Any]] = []
    end = ask(url, out=out, listener=events.append)
    assert (end.result["whole"], end.result["status"]) == (FRAMES, "complete")
    kept = [file for file in (out / "received").iterdir() if file.suffix[1:] in ENCODERS]
    return kept, [event["reason"] for event in events if event["event"] == "sound left out"]


def check(original: list[str], came: list[str]) -> None:
    assert 0 <= len(original) - len(came) <= 3, "all but what begins after the last picture"
    assert came == original[: len(came)]


def check_kept(kept: Path, codec: str, film: Path) -> None:
    """What framewire kept of a film's sound. Of MPEG audio neither a description nor an index says the layer."""
    assert kept.suffix == (".mp2" if codec == "mp3" else f".{codec}")
    check(packets(film), packets(kept))


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_of_a_server_of_rtsp_comes_packet_for_packet(
    codec: str, films: dict[str, Path], by_rtsp: Server, tmp_path: Path
) -> None:
    (kept,), _ = received(by_rtsp.url(f"/{films[codec].name}"), tmp_path / "came")
    check_kept(kept, codec, films[codec])


@pytest.mark.parametrize("codec", ENCODERS)
def test_ffmpeg_receives_sound_of_a_server_of_rtsp_in_datagrams(
    codec: str, films: dict[str, Path], by_rtsp: Server, tmp_path: Path
) -> None:
    kept = tmp_path / f"came.{codec}"
    command = ["ffmpeg", "-v", "error", *DATAGRAMS, "-i", by_rtsp.url(f"/{films[codec].name}")]
    subprocess.run([*command, "-map", "0:a", "-c", "copy", kept], check=True, timeout=60)
    check(packets(films[codec]), packets(kept))


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_of_a_file_comes_packet_for_packet(
    codec: str, films: dict[str, Path], by_http: Server, tmp_path: Path
) -> None:
    (kept,), left_out = received(by_http.url(f"/mp4/{films[codec].stem}.mp4"), tmp_path / "came")
    check_kept(kept, codec, films[codec])
    assert not left_out


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_in_fragments_comes_packet_for_packet(codec: str, films: dict[str, Path], tmp_path: Path) -> None:
    command = ["ffmpeg", "-v", "error", "-i", films[codec], "-c", "copy", "-movflags"]
    subprocess.run([*command, "frag_keyframe+empty_moov+default_base_moof", tmp_path / "film.mp4"], check=True)
    with of_python(tmp_path) as server:
        (kept,), _ = received(f"{server}/film.mp4", tmp_path / "came")
    check_kept(kept, codec, films[codec])


@pytest.mark.parametrize("codec", ENCODERS)
def test_sound_of_a_transport_stream_comes_packet_for_packet_and_opus_is_left_out_of_no_other_form(
    codec: str, films: dict[str, Path], by_http: Server, tmp_path: Path
) -> None:
    found, _ = received(by_http.url(f"/ts/{films[codec].stem}.ts"), tmp_path / "came")
    if codec == "opus":
        assert not found
        assert by_http.said.count("without its sound") == 1
        assert "film-opus.mkv: http+ts without its sound: " in by_http.said
        return
    (kept,) = found
    check_kept(kept, codec, films[codec])


@pytest.mark.parametrize("codec", ["aac", "mp2"])
def test_sound_in_a_transport_stream_of_ffmpeg_comes_packet_for_packet(
    codec: str, films: dict[str, Path], tmp_path: Path
) -> None:
    subprocess.run(["ffmpeg", "-v", "error", "-i", films[codec], "-c", "copy", tmp_path / "film.ts"], check=True)
    with of_python(tmp_path) as server:
        (kept,), _ = received(f"{server}/film.ts", tmp_path / "came")
    check_kept(kept, codec, films[codec])


def test_sound_that_is_not_received_is_left_out_with_the_reason(films: dict[str, Path], tmp_path: Path) -> None:
    command = ["ffmpeg", "-v", "error", "-i", films["aac"], "-c:v", "copy", "-ac", "6", "-c:a", "libopus"]
    subprocess.run([*command, "-movflags", "faststart", tmp_path / "film.mp4"], check=True)
    with of_python(tmp_path) as server:
        found, left_out = received(f"{server}/film.mp4", tmp_path / "came")
    assert (found, left_out) == ([], ["Opus of more than two channels is not received"])


def test_sound_that_is_not_carried_leaves_the_picture_of_a_file(films: dict[str, Path], tmp_path: Path) -> None:
    """AC-3 alone, and before AAC, by a server that knows nothing of it; in fragments, too."""
    for name, kept in (("alone", []), ("first", ["-map", "0:a", "-c:a:1", "copy"])):
        command = ["ffmpeg", "-v", "error", "-i", films["aac"], "-map", "0:v", "-map", "0:a", *kept, "-c:v", "copy"]
        for form in ("faststart", "frag_keyframe+delay_moov+default_base_moof"):
            film = tmp_path / f"{name}.mp4"
            subprocess.run([*command, "-c:a:0", "ac3", "-movflags", form, "-y", film], check=True)
            out = tmp_path / f"{name}-{form[:4]}"
            with of_python(tmp_path) as server:
                found, left_out = received(f"{server}/{film.name}", out)
            if kept:
                assert left_out == []
                check(packets(films["aac"]), packets(*found))
            else:
                assert (found, left_out) == ([], ['samples of "ac-3" are not read'])


def test_of_two_tracks_of_sound_the_first_is_received_and_the_other_told_of(
    films: dict[str, Path], tmp_path: Path
) -> None:
    command = ["ffmpeg", "-v", "error", "-i", films["aac"], "-f", "lavfi", "-i", "sine=r=44100:d=2", "-c:v", "copy"]
    command += ["-map", "0:v", "-map", "0:a", "-map", "1:a", "-c:a:0", "copy", "-c:a:1", "aac"]
    subprocess.run([*command, "-movflags", "faststart", tmp_path / "film.mp4"], check=True)
    subprocess.run([*command, tmp_path / "film.ts"], check=True)
    with of_python(tmp_path) as server:
        for name in ("film.mp4", "film.ts"):
            events: list[dict[str, Any]] = []
            out = tmp_path / f"came-{name}"
            ask(f"{server}/{name}", out=out, listener=events.append)
            assert [event["tracks"] for event in events if event["event"] == "other sound"] == [1]
            check(packets(films["aac"]), packets(out / "received" / "movie.aac"))


def test_sound_that_cannot_be_read_leaves_the_video_of_a_server(films: dict[str, Path], tmp_path: Path) -> None:
    """Of AAC whose sample rate changes on the way."""
    for rate in ("44100", "48000"):
        tone = ["-f", "lavfi", "-i", f"sine=sample_rate={rate}:duration=1", "-c:a", "aac", tmp_path / f"{rate}.aac"]
        subprocess.run(["ffmpeg", "-v", "error", *tone], check=True)
    changing = tmp_path / "changing.aac"
    changing.write_bytes((tmp_path / "44100.aac").read_bytes() + (tmp_path / "48000.aac").read_bytes())
    command = ["ffmpeg", "-v", "error", "-i", films["aac"], "-i", changing, "-map", "0:v", "-map", "1:a", "-c", "copy"]
    subprocess.run([*command, tmp_path / "film.ts"], check=True)
    with serving(tmp_path / "film.ts", tmp_path / "served", "--pace", "client") as server:
        assert "film.ts: served without its sound: " in server.said
        found, _ = received(server.url("/mp4/film.mp4"), tmp_path / "came")
        document, _ = server.end()
    assert not found
    assert [*document["sound_left_out"]] == ["film.ts"]
