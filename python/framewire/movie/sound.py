"""The sound of a user's file, sent as it is beside its video: what ffmpeg takes out of a container without decoding.

It becomes a stream whose packets say how long they are: MPEG audio, AAC in ADTS frames (ISO/IEC 14496-3, 1.A.2), for
which ffmpeg makes the header of each packet from what the container says once for all, or Opus in Ogg (RFC 7845). No
time stamps of such a stream are read. So the time of its first packet is kept beside it, and a file whose sound does
not go on without a gap from there is refused.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from framewire import _native, content_store
from framewire.errors import InputError, MachineError
from framewire.files import sha256
from framewire.movie import cache, ffmpeg
from framewire.movie.picture import Progress

__all__ = ["CARRIED", "Sound", "Track", "choose", "refusal", "sound_of", "tracks_of"]

CARRIED = {
    "aac": ("adts", ".aac"),
    "mp2": ("mp2", ".mp2"),
    "mp3": ("mp3", ".mp3"),
    "opus": ("ogg", ".opus"),
}
"""By ffmpeg's name of a codec the format in which its packets are written, and how such files end."""

_WITHOUT_TAGS = ["-write_xing", "0", "-id3v2_version", "0"]

UNEVEN = Fraction(1, 2)
"""Of a packet's time: by more than that a packet may not be away from its place. Containers round to milliseconds."""


Refusal = Callable[[str], str | None]
"""Why flows do not carry a codec of this name; None where they do."""

_ALONE = "without movie.sound its video is sent alone"


@dataclass(frozen=True)
class Track:
    """A track of sound, as its container describes it."""

    codec: str
    """ffmpeg's name."""
    sample_rate: int
    channels: int
    language: str | None
    is_default: bool = False
    """Its container says that a player is to choose it."""

    def __str__(self) -> str:
        language = f" ({self.language})" if self.language else ""
        return f"{self.codec}, {self.sample_rate} Hz, {self.channels} channel{'s' * (self.channels != 1)}{language}"


@dataclass(frozen=True)
class Sound:
    """Sound that is ready to be sent."""

    path: Path
    """An elementary stream, or Opus in Ogg."""
    start_ns: int
    """When its first packet begins to play, from the first picture shown."""


@dataclass(frozen=True)
class _Packet:
    at: Fraction
    duration: Fraction | None
    """None where nothing says it: containers do not of a packet behind which there is none."""


def tracks_of(path: Path) -> list[Track]:
    """The tracks of sound of a file with video."""
    return [
        Track(
            str(stream.get("codec_name", "unknown")),
            int(stream.get("sample_rate") or 0),
            int(stream.get("channels") or 0),
            (stream.get("tags") or {}).get("language"),
            bool((stream.get("disposition") or {}).get("default")),
        )
        for stream in ffmpeg.probe(path)["sound"]
    ]


def choose(path: Path, number: int | None = None, why: Refusal | None = None) -> int:
    """The number, from 1, of the track of a file that is sent: that one, or else the file's default or the first one,
    of those that are carried. ``why`` says why flows do not carry a codec of `CARRIED`.

    Raises InputError for a file without sound or without such a track, and for a codec that is not carried.
    """
    tracks = tracks_of(path)
    if not tracks:
        raise InputError(f"{path}: it has no sound; {_ALONE}")
    if number is not None and number > len(tracks):
        have = ", ".join(f"{at} ({track})" for at, track in enumerate(tracks, 1))
        raise InputError(f"{path}: movie.sound_track = {number}: its tracks of sound are {have}")
    carried = [at for at, track in enumerate(tracks, 1) if _refused(track, why) is None]
    default = next((at for at in carried if tracks[at - 1].is_default), None)
    chosen = number or default or next(iter(carried), 1)
    if (reason := _refused(tracks[chosen - 1], why)) is not None:
        raise InputError(f"{path}: {reason}; {_others(carried)}{_ALONE}")
    ffmpeg.refuse_encrypted(path, f"a:{chosen - 1}", "sound")
    return chosen


def _refused(track: Track, why: Refusal | None) -> str | None:
    reason = refusal(track)
    return why(track.codec) if reason is None and why is not None else reason


def _others(carried: list[int]) -> str:
    return f"movie.sound_track = {carried[0]} is carried; " if carried else ""


def refusal(track: Track) -> str | None:
    """Why flows cannot carry a track, or None.

    >>> refusal(Track("vorbis", 48000, 2, None)), refusal(Track("opus", 48000, 2, None))
    ('its sound is vorbis, and flows carry AAC, MPEG audio of layers II and III and Opus', None)
    """
    if track.codec in CARRIED:
        return None
    return f"its sound is {track.codec}, and flows carry AAC, MPEG audio of layers II and III and Opus"


def sound_of(
    path: Path, cache_dir: Path | None = None, progress: Progress | None = None, track: int | None = None
) -> Sound:
    """A track of sound of a file, from 1, as a stream of its own, kept in the cache; None: the one that is chosen.

    Raises InputError for a file without sound, a codec that is not carried, and time stamps that leave gaps or go back.
    """
    number = choose(path, track)
    which = f"a:{number - 1}"
    muxer, suffix = CARRIED[tracks_of(path)[number - 1].codec]
    if progress is not None:
        progress(f"taking the sound out of {path.name}", 0.0)
    start = _begin_of_even(path, which) - _first_picture(path)
    recipe = {"ffmpeg": ffmpeg.version_of("ffmpeg"), "sha256": sha256(path), "sound": muxer} | (
        {"track": number} if number > 1 else {}
    )
    store = cache.store(cache_dir)

    def take_out(scratch: Path) -> Path:
        out = scratch / f"sound{suffix}"
        tags = _WITHOUT_TAGS if muxer == "mp3" else []
        chosen = ["-map", f"0:{which}", "-c", "copy", "-fflags", "+bitexact", "-map_metadata", "-1", *tags]
        ffmpeg.run(["-i", f"file:{path}", *chosen, "-f", muxer, str(out)], lambda _frame: None)
        return out

    name = f"{path.stem}-sound-{content_store.key(recipe)}{suffix}"
    try:
        kept = store.keep(name, content_store.existing, take_out)
    except OSError as error:
        raise MachineError(f"{store.directory}: the sound cannot be kept here: {error.strerror or error}") from error
    taken_out = Sound(kept, round(start * 1_000_000_000))
    try:  # what flows cannot send is an error of the user's file, not of one in the cache
        _native.load_movie(None, None, (kept, taken_out.start_ns))
    except _native.MovieError as error:
        raise InputError(
            f"{path}: its sound cannot be sent: {str(error).removeprefix(f'{kept}: ')}; {_ALONE}"
        ) from None
    return taken_out


def _begin_of_even(path: Path, which: str) -> Fraction:
    """When the track (ffmpeg's specifier) begins, of which each packet plays where the one before it ends."""
    packets = _packets_of(path, which)
    first = next(packets, None)
    if first is None:
        raise InputError(f"{path}: its track of sound is empty")
    known, before = _duration_of_codec(path, which), first
    for packet in packets:
        duration = before.duration or known
        if duration is None:
            raise InputError(
                f"{path}: a packet of its sound has no duration, at {float(before.at):.2f} s, and they are needed; an "
                f"MP4 file has them: ffmpeg -i {path.name} -c copy {path.stem}.mp4; {_ALONE}"
            )
        away = packet.at - (before.at + duration)
        if abs(away) > UNEVEN * duration:
            what = f"a gap of {float(away):.3f} s" if away > 0 else f"a step of {float(-away):.3f} s back"
            raise InputError(
                f"{path}: the time stamps of its sound have {what} at {float(packet.at):.2f} s, and what is sent has "
                f"none; {_ALONE}"
            )
        before = packet
    return first.at


def _duration_of_codec(path: Path, which: str) -> Fraction | None:
    """How long each packet is where the codec says it; None where each may be another time, or that is not known.

    ffmpeg tells no duration of the first packet of AAC in Matroska where the video has no durations yet.
    """
    told = _ffprobe(path, which, "stream=codec_name,profile,sample_rate")["streams"][0]
    samples, rate = _samples(told), int(told.get("sample_rate") or 0)
    return Fraction(samples, rate) if samples and rate else None


def _samples(track: dict[str, Any]) -> int | None:
    """The samples of a packet, at the rate that is heard.

    AAC has 1024 (ISO/IEC 14496-3, 4.5.1.1), of which spectral band replication makes twice as many; MPEG audio 1152,
    and layer III at the lower rates of its second part 576 (ISO/IEC 11172-3, 2.4.2.1; 13818-3, 2.4.2.1).

    >>> _samples({"codec_name": "aac", "profile": "LC"}), _samples({"codec_name": "aac", "profile": "HE-AACv2"})
    (1024, 2048)
    >>> [_samples({"codec_name": "mp3", "sample_rate": rate}) for rate in ("32000", "24000")]
    [1152, 576]
    >>> _samples({"codec_name": "aac", "profile": "LD"}), _samples({"codec_name": "opus"})
    (None, None)
    """
    match track.get("codec_name"):
        case "aac":
            return {"Main": 1_024, "LC": 1_024, "LTP": 1_024, "HE-AAC": 2_048, "HE-AACv2": 2_048}.get(
                str(track.get("profile"))
            )
        case "mp2":
            return 1_152
        case "mp3":
            return 1_152 if int(track.get("sample_rate") or 0) >= 32_000 else 576
    return None


def _packets_of(path: Path, which: str) -> Iterator[_Packet]:
    """The packets of a track, one by one: a long file has millions."""
    unit = Fraction(_ffprobe(path, which, "stream=time_base")["streams"][0]["time_base"])
    command = ["ffprobe", "-v", "error", "-select_streams", which, "-show_entries", "packet=pts,duration", "-of"]
    command += ["csv=p=0", f"file:{path}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            for line in filter(str.strip, process.stdout):
                yield _packet(path, line, unit)
        except BaseException:
            process.kill()
            raise
    ffmpeg.refuse_crash("ffprobe", process.returncode)


def _packet(path: Path, line: str, unit: Fraction) -> _Packet:
    """A packet as ffprobe writes it: its time and its duration, and perhaps that there is something beside it."""
    at, duration, *_ = [*line.strip().split(","), ""]
    if not at.removeprefix("-").isdecimal():
        raise InputError(f"{path}: packets of its sound have no time stamps, which are needed; {_ALONE}")
    return _Packet(int(at) * unit, int(duration) * unit if duration.isdecimal() else None)


def _first_picture(path: Path) -> Fraction:
    """When the first picture is shown."""
    stream = _ffprobe(path, "V:0", "stream=start_pts,time_base")["streams"][0]
    return Fraction(int(stream.get("start_pts") or 0)) * Fraction(stream["time_base"])


def _ffprobe(path: Path, streams: str, entries: str) -> dict[str, Any]:
    command = ["ffprobe", "-v", "error", "-select_streams", streams, "-show_entries", entries, "-of", "json"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    ffmpeg.refuse_crash("ffprobe", result.returncode)
    if result.returncode != 0:
        raise InputError(f"{path}: ffmpeg cannot read its sound: {(result.stderr.strip().splitlines() or ['?'])[-1]}")
    told: dict[str, Any] = json.loads(result.stdout)
    return told
