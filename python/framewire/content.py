"""What the flows of a scenario send: a movie, the levels of a ladder, both or neither, made or found in the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framewire import _native, files
from framewire.content_store import existing
from framewire.errors import InputError
from framewire.files import sha256
from framewire.scenario import DatagramFlow, Movie, Scenario, StreamFlow, check_network

if TYPE_CHECKING:
    from framewire.movie.sound import Sound

__all__ = ["Content", "check", "check_codec", "prepare", "streams_movie", "top_level"]

Progress = Callable[[str, float], None]

LADDERS = "lab-"
"""How the names of the lab's ladders begin; the rest is that of a preset."""


@dataclass(frozen=True)
class Content:
    """Files that are ready to be sent."""

    movie: Path | None
    """A video elementary stream."""
    ladder: Path | None
    """A streaming file."""
    duration_s: float | None
    """Length of what takes longer; None where there is neither."""
    facts: dict[str, Any]
    """What is known of the movie, as far as it identifies it."""
    sound: Sound | None = None
    """The sound beside the movie, where it is sent."""
    sound_left_out: str | None = None
    """Which sound of the movie is not sent, and how it would be: all where it was not asked for, or other tracks."""

    @property
    def paths(self) -> list[Path]:
        """The files that are there."""
        sound = None if self.sound is None else self.sound.path
        return [path for path in (self.movie, self.ladder, sound) if path is not None]


def streams_movie(scenario: Scenario) -> bool:
    """Whether a flow of a resolved scenario sends the movie."""
    return scenario.parsed.streams_movie


def prepare(scenario: Scenario, progress: Progress | None = None) -> Content:
    """Makes what a resolved scenario sends, or finds it in the cache.

    Raises InputError, which names the key, for what cannot be made or sent.
    """
    report = progress or (lambda _step, _share: None)
    wanted = scenario.movie
    ladder, ladder_s = (None, 0.0) if wanted.ladder is None else _ladder(wanted, report)
    if not streams_movie(scenario):
        return Content(None, ladder, ladder_s or None, {})
    if wanted.source is None:
        assert ladder is not None, "a scenario that sends a movie says which"
        return Content(_movie_of(ladder), ladder, ladder_s, {})
    from framewire import movie  # only runs need it
    from framewire.movie.sound import sound_of

    made = movie.prepare(
        wanted.source,
        wanted.bitrate_bps,
        wanted.duration_s,
        wanted.codec,
        size=wanted.size,
        frame_rate=_frame_rate(wanted),
        progress=report,
    )
    sound = None
    if wanted.sound:
        sound = sound_of(Path(wanted.source), progress=report, track=check_sound(scenario))
    facts = made.metadata if sound is None else made.metadata | {"sound_start_ns": sound.start_ns}
    unsent = others(scenario) if wanted.sound else left_out(wanted.source)
    return Content(made.path, ladder, max(made.duration_s, ladder_s), facts, sound, unsent)


def left_out(source: str) -> str | None:
    """What sound a movie has that is not sent, and how it would be; None of one without."""
    from framewire.movie.sound import refusal, tracks_of

    path = Path(source)
    try:
        tracks = tracks_of(path) if path.is_file() else []
    except (InputError, OSError):  # what cannot be looked at has none that could be sent
        return None
    if not tracks:
        return None
    track = next((track for track in tracks if refusal(track) is None), tracks[0])
    how = refusal(track) or "movie.sound = true (--set movie.sound=true) sends it"
    return f"the movie's sound ({track.codec}) was not sent; {how}"


def others(scenario: Scenario) -> str | None:
    """Which track of sound of a movie is sent and how another would be; None where it has but one."""
    from framewire.movie.sound import tracks_of

    tracks, number = tracks_of(Path(str(scenario.movie.source))), check_sound(scenario)
    if len(tracks) < 2:
        return None
    sent = f"number {number} was sent ({tracks[number - 1]})"
    return f"of the movie's {len(tracks)} tracks of sound {sent}; movie.sound_track chooses another"


def check(scenario: Scenario) -> None:
    """Whether what a resolved scenario sends, and the recording of its link, are there and of use.

    Encodes nothing, and takes no more out of a container than its first frames, which have to be there.

    Raises InputError, which names key and value, for what is not.
    """
    check_network(scenario)
    wanted = scenario.movie
    if wanted.ladder is not None and not is_of_the_lab(wanted.ladder):
        path, _ = _ladder(wanted, lambda _step, _share: None)
        if streams_movie(scenario) and wanted.source is None:
            _movie_of(path)
    source = wanted.source
    if source in (None, "lab") or not streams_movie(scenario):
        check_codec(scenario)
        return
    from framewire import movie

    asked = (wanted.bitrate_bps, wanted.duration_s, wanted.codec)
    try:
        movie.check(source, *asked, size=wanted.size, frame_rate=_frame_rate(wanted))
        if wanted.sound:
            check_sound(scenario)
    except InputError as error:
        raise InputError(f'movie.source = "{source}": {str(error).removeprefix(f"{source}: ")}') from None
    check_codec(scenario)


def check_sound(scenario: Scenario) -> int:
    """Which track of sound, from 1, the flows of a resolved scenario send beside the movie.

    Raises InputError, which names what else would do, where not every flow that sends the movie carries it.
    """
    from framewire.movie.sound import choose

    wanted = scenario.movie
    return choose(Path(str(wanted.source)), wanted.sound_track, scenario.parsed.sound_refusal)


def check_codec(scenario: Scenario) -> None:
    """Whether every flow of a resolved scenario that sends the movie carries its codec; a file is only looked at.

    How packets are cut belongs to it. Of a movie that is encoded the reader of scenarios has said so. Raises
    InputError, which names key, flow and codec, and what else would do.
    """
    wanted = scenario.movie
    source, ladder = wanted.source, wanted.ladder
    if not any(isinstance(flow, DatagramFlow | StreamFlow) for flow in scenario.flows):
        return
    is_made = source == "lab" or wanted.bitrate_bps is not None
    if is_made or (source is None and ladder is not None and is_of_the_lab(ladder)):
        return
    from framewire import movie

    path = Path(source) if source is not None else _movie_of(_ladder(wanted, lambda _step, _share: None)[0])
    reason = scenario.parsed.codec_refusal(movie.codec_of(path))
    if reason is None:
        return
    if source is None:
        raise InputError(f'movie.ladder = "{ladder}": {reason}; or state movie.source for these flows')
    raise InputError(
        f'movie.source = "{source}": {reason}; movie.bitrate = "..." has it encoded anew in MPEG-2, and an application '
        "of your own may send it as it is (docs/applications.md)"
    )


def carriers(scenario: Scenario) -> list[tuple[str, str, str | None]]:
    """What decides which codecs a flow carries: its name, transport, and where it has one the rule of its packets."""
    packets = [flow.packets if isinstance(flow, DatagramFlow) else None for flow in scenario.flows]
    return [(flow.name, flow.transport, rule) for flow, rule in zip(scenario.flows, packets, strict=True)]


def is_of_the_lab(ladder: str) -> bool:
    """Whether a ladder is one of the lab's, which is made, and no file."""
    return ladder.startswith(LADDERS) and "/" not in ladder


def _frame_rate(movie: Movie) -> Fraction | None:
    return None if movie.frame_rate is None else Fraction(*movie.frame_rate)


def _ladder(wanted: Movie, progress: Progress) -> tuple[Path, float]:
    """The streaming file and its length."""
    from framewire.movie import ladder
    from framewire.movie.ladder import build

    named = str(wanted.ladder)
    preset = named.removeprefix(LADDERS)
    if is_of_the_lab(named):
        codec = (wanted.codec if wanted.source is None else None) or "mpeg4"
        made = ladder.make(preset=preset, codec=codec, progress=progress)
        return made.streaming_file, float(made.description["duration_s"])
    path = Path(named)
    try:
        path.stat()
    except FileNotFoundError:
        name = Path(named).name
        meant = f'; the lab\'s own is "{LADDERS}{name}"' if name in {one.name for one in ladder.PRESETS} else ""
        raise InputError(f'movie.ladder = "{named}": there is no such file{meant}') from None
    except OSError as error:
        raise InputError(f'movie.ladder = "{named}": {files.why_absent(error)}') from None
    try:
        return path, float(build.describe(path)["duration_s"])
    except InputError as error:
        raise InputError(f'movie.ladder = "{named}": {error}') from None
    except OSError as error:
        raise InputError(f'movie.ladder = "{named}": {error.strerror or error}') from None


def top_level(ladder: Path) -> Path:
    """The highest level of a streaming file as an elementary stream, kept in the cache.

    Raises InputError for a file that is no streaming file.
    """
    from framewire.movie import cache

    def write(scratch: Path) -> Path:
        try:
            _native.write_top_level(ladder, scratch / "level.bin")
        except _native.MovieError as error:
            raise InputError(f"movie.ladder: {error}") from None
        return scratch / "level.bin"

    return cache.store().keep(f"top-level-{sha256(ladder)[:16]}.bin", existing, write)


def _movie_of(ladder: Path) -> Path:
    """The top level for the flows that send a movie."""
    path = top_level(ladder)
    try:
        _native.load_movie(path)
    except _native.MovieError as error:
        raise InputError(
            f"movie.ladder: its top level cannot be sent by the other transports ({error}); state movie.source for them"
        ) from None
    return path
