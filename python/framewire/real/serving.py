"""A server of movies, from Python: ``framewire send --serve``."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from framewire import _native, content, scenario
from framewire.endpoint.address import Address
from framewire.errors import InputError
from framewire.real.ends import PATIENCE_S, PORTS, End, Listener, _as_json, _carried_out
from framewire.run import check_out, partial_directory, seal
from framewire.scenario import Overrides, Scenario, pairs_of

__all__ = ["AHEAD_S", "CLIENTS", "FIRST_REQUEST_S", "IDLE_S", "MOST_CLIENTS", "MOST_FILES", "Place", "serve"]

MOST_CLIENTS = 20_000
"""The most connections that a server can be told to have at a time."""

CLIENTS = 1_000
"""Connections at a time, unless stated."""

FIRST_REQUEST_S = 10.0
"""How long a connection may say nothing before it is closed."""

IDLE_S = 60.0
"""How long it may say nothing between two requests."""

AHEAD_S = 2.0
"""How much of a movie is due when it is asked for by HTTP: what a player has ahead of what it shows."""

MOST_FILES = 1_000
"""Of a folder, the most files that are served."""

FORMS = {"http": ("http", "http+fmp4", "http+ts"), "rtsp": ("rtsp",)}
"""Of each scheme the transports by which a movie is served."""

WITHOUT_LENGTH = {"http": ("http+ts", "http+fmp4"), "rtsp": ("rtsp",)}
"""Those that may have a queue before them, the usual one first."""


@dataclass(frozen=True)
class Place:
    """Where a server is: its scheme and its address."""

    scheme: str
    address: Address

    @classmethod
    def parse(cls, text: str) -> Place:
        """Reads ``SCHEME://ADDRESS:PORT/``; without a port that is 8080, or 8554 of rtsp.

        >>> Place.parse("http://127.0.0.1").address.data_text()
        '127.0.0.1:8080'

        Raises:
            InputError: when it is none, or names a path.
        """
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise InputError(f"--serve {text!r}: {error}") from None
        try:
            port = parts.port
        except ValueError:
            raise InputError(f"--serve {text!r}: its port is no number from 0 to 65535") from None
        if parts.scheme not in FORMS or not parts.hostname or parts.path not in {"", "/"} or parts.username:
            allowed = " or ".join(f"{scheme}://127.0.0.1:{PORTS[scheme]}/" for scheme in FORMS)
            raise InputError(f"--serve {text!r}: where to listen is needed, as {allowed}")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        number = PORTS[parts.scheme] if port is None else port
        return cls(parts.scheme, Address.parse(f"{host}:{number}", control=0))


def serve(
    source: str | os.PathLike[str],
    at: str,
    *,
    transport: str | None = None,
    is_paced: bool = True,
    ahead_s: float | None = None,
    is_endless: bool = False,
    set: Overrides | None = None,
    out: str | os.PathLike[str] | None = None,
    clients: int = CLIENTS,
    first_request_s: float = FIRST_REQUEST_S,
    idle_s: float = IDLE_S,
    patience_s: float = PATIENCE_S,
    user: str | None = None,
    listener: Listener | None = None,
) -> End:
    """Serves a movie, or every movie of a folder, to all clients that ask, until it is interrupted.

    Args:
        source: a file with video in it, or a folder: of that, every such file in it, but none in folders below it.
        at: where to listen: ``http://127.0.0.1:8080/`` or ``rtsp://127.0.0.1:8554/``.
        transport: how streams without a length are sent: ``http+ts``, ``http+fmp4`` or ``rtsp``, or one with a queue
            before it, as ``http+ts+dependency``; other forms are as they are.
        is_paced: movies go by their frame clocks; else as fast as a client takes them.
        ahead_s: how much of a movie is due when it is asked for; unless stated `AHEAD_S` over HTTP, and 0 by RTSP.
        is_endless: streams without a length begin anew where they have ended.
        set: values over the scenario that this makes, as ``--set`` gives them (docs/scenario.md).
        out: the directory to make; ``runs/serve-<scheme>-<date>-<time>`` unless given.
        clients: connections at a time, `MOST_CLIENTS` at most.
        first_request_s: how long a connection may say nothing before it is closed.
        idle_s: how long it may say nothing between two requests.
        patience_s: how long a client may take nothing of what it asked for.
        user: by RTSP, who may play: ``NAME:PASSWORD``.
        listener: called with what happens.

    Raises:
        InputError: when the file or an argument is refused, or there is no movie in the folder.
        RunError: when the port is taken, or a file cannot be written.
    """
    place = Place.parse(at)
    _check_settings(set)
    check_out(out)
    if not 1 <= clients <= MOST_CLIENTS:
        raise InputError(f"clients = {clients}: 1 to {MOST_CLIENTS} are allowed")
    resolved = place.address.resolved()
    account = _account(user, place.scheme)
    if ahead_s is None:
        ahead_s = AHEAD_S if place.scheme == "http" else 0.0
    say = listener or (lambda _event: None)
    forms = _forms(place.scheme, transport)
    silent: dict[str, str] = {}
    movies, settled = _movies(Path(source), f"serve-{place.scheme}", forms, set, say, silent)
    with partial_directory(settled.name, out) as (partial, directory):
        result = _carried_out(
            lambda: _native.serve_movies(
                settled.parsed,
                movies,
                partial,
                _as_json(_noting(silent, say)),
                scheme=place.scheme,
                at=resolved.data_text(),
                is_paced=is_paced,
                ahead_s=ahead_s,
                is_endless=is_endless,
                clients=clients,
                first_request_s=first_request_s,
                idle_s=idle_s,
                patience_s=patience_s,
                account=account,
            )
        )
        for client in sorted(partial.glob("clients/*")):
            seal(client)
        seal(partial, sound_left_out=silent or None)
        partial.rename(directory)
    return End(directory, result)


def _check_settings(overrides: Overrides | None) -> None:
    """Raises InputError for what is set that no stream has that is served: each client has it from its own time on."""
    for key, _ in pairs_of(overrides):
        if key.startswith("flow.") and key.endswith(".ts_rate"):
            raise InputError(
                f"{key}: what is served has no constant rate; leave it out, or send to one receiver, as --to HOST:PORT "
                "--transport ts"
            )


def _noting(silent: dict[str, str], say: Listener) -> Listener:
    """Says what happens, and notes of whose sound one form only is without, and why."""

    def note(event: dict[str, Any]) -> None:
        if event["event"] == "sound left out":
            silent[event["name"]] = f"{event['transport']}: {event['reason']}"
        say(event)

    return note


def _account(user: str | None, scheme: str) -> tuple[str, str] | None:
    """Name and password.

    >>> _account("camera:a:b", "rtsp")
    ('camera', 'a:b')
    """
    if user is None:
        return None
    if scheme != "rtsp":
        raise InputError("--user: passwords are asked for by RTSP alone")
    name, colon, password = user.partition(":")
    if not name or not colon:
        raise InputError("--user: NAME:PASSWORD is needed")
    return name, password


def _forms(scheme: str, transport: str | None) -> list[str]:
    """The transports of all forms, of which one may be with a queue.

    >>> _forms("http", "http+fmp4+dependency")
    ['http', 'http+fmp4+dependency', 'http+ts']
    """
    may_have_one = WITHOUT_LENGTH[scheme]
    of = [form for form in may_have_one if transport is not None and f"{transport}+".startswith(f"{form}+")]
    if transport is not None and not of:
        served = " or ".join(may_have_one)
        raise InputError(f"--transport {transport}: {may_have_one[0]} is served, or {served} with a queue, as +ifd")
    return [transport or form if form in of else form for form in FORMS[scheme]]


Shown = tuple[str, Path, str | None, str, _native.LoadedMovie]


def _movies(
    source: Path,
    name: str,
    forms: Sequence[str],
    overrides: Overrides | None,
    say: Listener,
    silent: dict[str, str],
) -> tuple[list[Shown], Scenario]:
    """The movies, ready to be sent, and the first one's scenario; `silent` gets whose sound is left out, and why."""
    from framewire.movie.elementary_stream import TRANSCODE  # slow to import

    is_folder = source.is_dir()
    shown: list[Shown] = []
    settled = None
    found = _files(source) if is_folder else [source]
    for number, path in enumerate(found, 1):
        of = f" ({number:,} of {len(found):,}; it serves when all are ready)" if len(found) > 1 else ""
        say({"event": "step", "text": f"preparing {path.name}{of}"})
        try:
            loaded, own, about, why = _movie(path, name, forms, overrides)
        except InputError as error:
            if not is_folder:
                raise
            reason = str(error).replace(TRANSCODE, "").removeprefix(f"{path.resolve()}: ").removeprefix(f"{path}: ")
            say({"event": "left out", "name": path.name, "transport": "", "reason": reason})
            continue
        if why is not None:
            silent[path.name] = why
            say({"event": "sound left out", "name": path.name, "reason": why})
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        shown.append((path.name, path.resolve(), media_type, about, loaded))
        settled = settled or own
    if settled is None:
        raise InputError(f"{source}: there is no file in it with video that can be served")
    return shown, settled


def _files(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names; neither hidden ones, nor links to somewhere else."""
    try:
        inside = folder.resolve(strict=True)
        found = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file())
        found = [path for path in found if path.resolve().parent == inside]
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from None
    if len(found) > MOST_FILES:
        raise InputError(f"{folder}: {len(found)} files; {MOST_FILES} are served at most")
    return found


def _movie(
    path: Path, name: str, forms: Sequence[str], overrides: Overrides | None
) -> tuple[_native.LoadedMovie, Scenario, str, str | None]:
    """A movie, its scenario, what a person wants to know of it, and why its sound is left out."""
    from framewire import files
    from framewire.movie import codec_of, sound

    try:
        files.check_regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    tracks = _tracks(path)
    wanted = pairs_of(overrides)
    movie = {"source": str(path.resolve())}
    flows = [{"name": form, "transport": form} for form in forms]
    # Where one form carries the sound and another does not, the scenario has none: each is made by itself.
    of_movie = [f"{key}={value}" for key, value in wanted if key not in ("movie.sound", "movie.sound_track")]
    resolved = scenario.load({"name": name, "movie": movie, "flow": flows}, set=of_movie)
    sent = content.prepare(resolved)
    if sent.movie is None:
        raise InputError(f"{path}: there is no movie in it")
    own, loaded, why, number = None, None, None, 1
    if tracks and dict(wanted).get("movie.sound", "true") != "false":
        try:
            number = sound.choose(path, _track_of(dict(wanted).get("movie.sound_track")))
            own = sound.sound_of(path, track=number)
            loaded = _native.load_movie(sent.movie.resolve(), None, (own.path.resolve(), own.start_ns))
        except (InputError, _native.MovieError) as error:
            own, why = None, str(error)
    try:
        loaded = loaded or _native.load_movie(sent.movie.resolve(), None, None)
    except _native.MovieError as error:
        raise InputError(str(error)) from None
    if why is not None:
        why = why.removeprefix(f"{path.resolve()}: ").removeprefix(f"{path}: ").removesuffix(WITHOUT)
    among = f" ({number} of {len(tracks)} tracks)" if len(tracks) > 1 else ""
    heard = f"with sound{among}" if own is not None else f"without its sound ({tracks[0]})" if tracks else ""
    return loaded, resolved.lasting(sent.duration_s), _about(sent.duration_s, codec_of(path), heard), why


def _track_of(written: str | None) -> int | None:
    """The number of a track of sound."""
    if written is not None and not (written.isdecimal() and 1 <= int(written) <= 99):
        raise InputError(f"movie.sound_track: {written} is not allowed; allowed is a whole number from 1 to 99")
    return None if written is None else int(written)


WITHOUT = "; without movie.sound its video is sent alone"
"""What those are told who asked for sound; a server leaves it out by itself."""


def _tracks(path: Path) -> list[str]:
    """The codecs of the sound of a file; none of one that has none, or is none."""
    from framewire.movie import sound

    try:
        return [track.codec for track in sound.tracks_of(path)]
    except InputError:
        return []


def _about(duration_s: float | None, codec: str, heard: str) -> str:
    """What a person wants to know of a movie.

    >>> _about(75.04, "h264", "with sound"), _about(4.0, "h264", "")
    ('1 min 15 s, h264, with sound', '4 s, h264')
    """
    seconds = round(duration_s or 0.0)
    time = f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
    return ", ".join(filter(None, (time, codec, heard)))
