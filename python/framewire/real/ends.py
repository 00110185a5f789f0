"""The sender's and the receiver's end, from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from framewire import _native, content, files, scenario
from framewire.endpoint.address import Address
from framewire.endpoint.failures import for_the_user
from framewire.endpoint.sessions import MAX_SIZE
from framewire.errors import InputError
from framewire.real.source import check_source, source_of
from framewire.run import check_out, partial_directory, seal
from framewire.scenario import Overrides, Scenario, pairs_of
from framewire.suggestions import refused
from framewire.transports import CARRIERS, TRANSPORTS, called, parts_of

__all__ = ["PATIENCE_S", "SILENCE_S", "WAIT_S", "End", "ask", "receive", "send"]

PATIENCE_S = 10.0
"""How long a sender waits for a receiver that does not take a connection, or nothing of it any more."""

WAIT_S = 60.0
"""How long a receiver waits for the first bytes."""

PORTS = {"http": 8080, "rtsp": 8554}
"""Where a server listens that is told no port: those below 1024 take rights that few have (RFC 6335, section 6)."""

SILENCE_S = 5.0
"""A stream that is silent for so long has ended."""

DAMAGED = ("discard", "pass")

RTCP = ("full", "none")
"""What a receiver can do with a frame of which a packet is missing."""

OF_RTSP = ("rtsp", "rtsp+udp")
"""How a client can ask a server of RTSP for a movie: in its connection, or in datagrams."""

Listener = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class End:
    """What became of one end of a stream: its directory, and what it came to."""

    directory: Path
    result: dict[str, Any]

    @property
    def status(self) -> str:
        """``complete`` or ``partial``."""
        return str(self.result["status"])

    @property
    def interrupted(self) -> bool:
        """Whether a signal ended it."""
        return str(self.result["ended_by"]) == "interrupted"

    @property
    def sound(self) -> tuple[int, Path] | None:
        """How many packets of sound a receiver has got, and the file of them; None where none came."""
        if self.result.get("movie") is None:
            return None
        (flow,) = files.read_json(self.directory / "run.json")["flows"]
        movie = self.directory / "received" / str(self.result["movie"])
        beside = [file for file in sorted(movie.parent.iterdir()) if file != movie]
        return (flow["received_sound"], beside[0]) if flow["received_sound"] and beside else None

    @property
    def failure(self) -> str | None:
        """Why the stream broke, if it did."""
        return None if self.result["failure"] is None else str(self.result["failure"])


def send(
    source: str | os.PathLike[str],
    to: Address,
    *,
    transport: str = "udp",
    start_s: float = 0.0,
    duration: str | None = None,
    times: int = 1,
    set: Overrides | None = None,
    out: str | os.PathLike[str] | None = None,
    sdp: str | os.PathLike[str] | None = None,
    patience_s: float = PATIENCE_S,
    delay_s: float = 0.0,
    listener: Listener | None = None,
) -> End:
    """Sends a movie to an address, paced by its frame clock, and records what was offered, given up and sent.

    Args:
        source: a file with video in it, ``lab`` for the lab's own movie, or ``-`` for standard input, which is read to
            its end first.
        to: where the receiver is: any program, or `receive`, which also answers at the next port up.
        transport: one of `CARRIERS`.
        start_s: begin at the last key frame before this time of the file.
        duration: cut the movie to this, as ``"10 s"``, all times together.
        times: send it so often, one behind the other.
        set: values over the scenario that this makes, as ``--set`` gives them (docs/scenario.md): those of ``movie``
            and of the flow, which is called as the transport; what a network has does nothing here.
        out: the directory to make; ``runs/send-<transport>-<date>-<time>`` unless given.
        sdp: write a session description there, for other programs; of RTP over UDP.
        patience_s: how long a receiver is waited for that does not take a connection, or nothing of it any more.
        delay_s: how long the first frame waits when all else stands, for a receiver that is started by hand.
        listener: called with what happens.

    Raises:
        InputError: when the file or an argument is refused.
        RunError: when nobody takes the connection, or a file cannot be written.
        KeyboardInterrupt: at Ctrl-C before anything was sent; later its result is returned.
    """
    _check_transport(transport, lambda scheme: f"--serve {scheme}://127.0.0.1:{PORTS[scheme]}/ serves it, without --to")
    check_out(out)
    place = to.resolved()
    say = listener or (lambda _event: None)
    # What can be refused is, before a film is read, cut or encoded, or standard input is read to its end.
    _check_description(transport, with_description=sdp is not None)
    known = check_source(source, start_s, times)
    asked = _scenario(known or "standard input", transport, duration, set)
    if len(asked.flows) > 1:
        raise InputError(f"flow.0.count: {len(asked.flows)} is not allowed; allowed is one flow between two machines")
    if known is not None:
        content.check_codec(asked)
    resolved = _scenario(source_of(source, start_s, times), transport, duration, set)
    content.check_codec(resolved)
    say({"event": "step", "text": "preparing the movie"})
    sent = content.prepare(resolved, lambda text, share: say({"event": "step", "text": text, "share": share}))
    settled = resolved.lasting(sent.duration_s)
    sound = None if sent.sound is None else (sent.sound.path.resolve(), sent.sound.start_ns)
    if sent.movie is None:
        raise InputError(f"{transport}: sends no movie")
    try:
        movie = _native.load_movie(sent.movie.resolve(), None, sound)
    except _native.MovieError as error:
        raise InputError(str(error)) from None
    with partial_directory(settled.name, out) as (partial, directory):
        result = _carried_out(
            lambda: _native.send_movie(
                settled.parsed,
                movie,
                partial,
                _as_json(say),
                peer=place.data_text(),
                patience_s=patience_s,
                delay_s=delay_s,
                sdp=None if sdp is None else Path(sdp),
            )
        )
        seal(
            partial,
            sent_with=_options(source, start_s, duration, times, set),
            sound_left_out=sent.sound_left_out,
        )
        partial.rename(directory)
    return End(directory, result)


def _options(
    source: str | os.PathLike[str], start_s: float, duration: str | None, times: int, overrides: Overrides | None
) -> list[str]:
    """What ``framewire send`` was told of the movie, but for where it lay.

    >>> _options("/home/me/film.mp4", 30.0, "10 s", 1, ["flow.0.mtu=1400"])
    ['film.mp4', '--start', '30', '--duration', '10 s', '--set', 'flow.0.mtu=1400']
    """
    options = [PurePath(source).name or str(source)]
    options += ["--start", f"{start_s:g}"] if start_s else []
    options += [] if duration is None else ["--duration", duration]
    options += ["--loop", str(times)] if times > 1 else []
    return options + [word for key, value in pairs_of(overrides) for word in ("--set", f"{key}={value}")]


def receive(
    at: Address,
    *,
    transport: str = "udp",
    codec: str | None = None,
    out: str | os.PathLike[str] | None = None,
    wait_s: float = WAIT_S,
    silence_s: float = SILENCE_S,
    max_size: str = MAX_SIZE,
    sdp: str | os.PathLike[str] | None = None,
    damaged: str = "discard",
    rtcp: str = "full",
    listener: Listener | None = None,
) -> End:
    """Receives one stream, and records what comes.

    Args:
        at: where to listen: nothing is open beyond it and the next port up, where `send` says what it sends.
        transport: as the sender's; its queue does not matter.
        codec: that of a stream of another program, which says nothing: ``m2v``, ``m4v``, ``h264``, ``h265``, ``obu``,
            ``mjpeg``, or FFmpeg's name of it, as ``av1``.
        out: the directory to make; ``runs/receive-<transport>-<date>-<time>`` unless given.
        wait_s: how long the first bytes are waited for.
        silence_s: a stream that is silent for so long has ended.
        max_size: what is taken at most: who sends decides how much comes.
        sdp: a session description of another program's stream in RTP, instead of `codec`.
        damaged: what is done with a frame of which a packet is missing: ``discard``, or ``pass``: what came up to the
            first gap is in the movie as received; only of transports in datagrams.
        rtcp: whether it reports of RTP in datagrams: ``full``, as far as the sender or the description lets it, or
            ``none``.
        listener: called with what happens.

    Raises:
        InputError: when an argument is refused, or it is not known what comes.
        RunError: when a port is taken, nothing comes, or a file cannot be written.
        KeyboardInterrupt: at Ctrl-C before anything came; later its result is returned.
    """
    _check_transport(
        transport, lambda scheme: f"{scheme}://HOST:PORT/PATH, in the place of ADDRESS:PORT, asks a server for one"
    )
    _check_damaged(damaged, transport)
    if rtcp not in RTCP:
        raise refused("rtcp", rtcp, RTCP)
    check_out(out)
    place = at.resolved()
    with partial_directory(f"receive-{transport}", out) as (partial, directory):
        result = _carried_out(
            lambda: _native.receive_movie(
                partial,
                _as_json(listener or (lambda _event: None)),
                at=place.data_text(),
                transport=transport,
                codec=codec,
                patience_s=wait_s,
                silence_s=silence_s,
                most=max_size,
                sdp=None if sdp is None else _description(Path(sdp)),
                passes_damaged=damaged == "pass",
                reports=rtcp == "full",
            )
        )
        seal(partial)
        partial.rename(directory)
    return End(directory, result)


def ask(
    url: str,
    *,
    transport: str | None = None,
    user: str | None = None,
    out: str | os.PathLike[str] | None = None,
    wait_s: float = PATIENCE_S,
    silence_s: float = SILENCE_S,
    max_size: str = MAX_SIZE,
    listener: Listener | None = None,
) -> End:
    """Asks a server for a movie, and records what comes: the first track of video.

    Args:
        url: ``http://HOST:PORT/PATH`` of an MP4 file whose index stands in front, or of a transport stream;
            ``rtsp://HOST:PORT/PATH``.
        transport: by RTSP, ``rtsp``, in its connection, or ``rtsp+udp``, in datagrams; ``rtsp`` unless given.
        user: by RTSP, ``NAME:PASSWORD``.
        out: the directory to make; ``runs/receive-<scheme>-<date>-<time>`` unless given.
        wait_s: how long an answer is waited for.
        silence_s: a stream that is silent for so long has ended.
        max_size: what is taken at most.
        listener: called with what happens.

    Raises:
        InputError: when an argument is refused, or what is there is not received.
        RunError: when the server does not answer, or a file cannot be written.
        KeyboardInterrupt: at Ctrl-C before anything came; later its result is returned.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "rtsp": 554}[parts.scheme]
    except (ValueError, KeyError):
        raise InputError(f"{url!r}: a URL is needed, as http://127.0.0.1:8080/mp4/film.mp4 or rtsp://...") from None
    if not parts.hostname or parts.username or not parts.path:
        raise InputError(f"{url!r}: a host and a path are needed; --user has the name and password")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    if not f"{parts.netloc}{path}".isascii() or any(letter <= " " for letter in path):
        raise InputError(f"{url!r}: other letters than those of URLs have to be escaped, as %20")
    name, colon, password = (user or "").partition(":")
    if user is not None and (parts.scheme != "rtsp" or not name or not colon):
        raise InputError("--user: NAME:PASSWORD is needed, for rtsp://")
    if transport is not None and parts.scheme != "rtsp":
        raise InputError("--transport: of rtsp:// URLs and of a receiver that listens; by http:// what is there comes")
    if transport is not None and transport not in OF_RTSP:
        raise refused("transport", transport, OF_RTSP)
    check_out(out)
    place = Address.parse(f"{host}:{port}", control=0).resolved()
    with partial_directory(f"receive-{parts.scheme}", out) as (partial, directory):
        result = _carried_out(
            lambda: _native.ask_movie(
                partial,
                _as_json(listener or (lambda _event: None)),
                is_rtsp=parts.scheme == "rtsp",
                over_udp=transport == "rtsp+udp",
                at=place.data_text(),
                host=parts.netloc,
                path=path,
                account=None if user is None else (name, password),
                patience_s=wait_s,
                silence_s=silence_s,
                most=max_size,
            )
        )
        seal(partial)
        partial.rename(directory)
    return End(directory, result)


def _scenario(source: str, transport: str, duration: str | None, overrides: Overrides | None) -> Scenario:
    movie: dict[str, Any] = {"source": source}
    if duration is not None:
        movie["duration"] = duration
    document = {"name": f"send-{transport}", "movie": movie, "flow": [{"transport": transport}]}
    try:
        return scenario.load(document, set=overrides)
    except InputError as error:
        of_duration = f'movie.duration: "{duration}"'
        if not str(error).startswith(of_duration):
            raise
        allowed = str(error).removeprefix(of_duration)
        example = ', as "5 s"' if " one of " in allowed else ""
        raise InputError(f'--duration "{duration}"{allowed}{example}') from None


def _description(path: Path) -> str:
    longest = 1 << 16
    try:
        return files.read_bytes(path, longest).decode(errors="replace")
    except OSError as error:
        raise InputError(f"{path}: the session description cannot be read: {error.strerror or error}") from None


def _check_transport(name: str, instead: Callable[[str], str]) -> None:
    """Whether a transport carries a movie whose sender opens the connection; `instead` says what else would do,
    by the scheme that its session has in a URL."""
    parts = parts_of(name)
    if parts is not None and parts.asks:
        raise InputError(f"--transport {name}: its receiver asks for the movie; {instead(parts.session)}")
    if parts is not None:
        return
    if name in {one.name for one in TRANSPORTS}:
        raise InputError(f'transport = "{name}": does not carry a movie by itself; {", ".join(_entries())} do')
    raise refused("transport", name, called(CARRIERS))


def _check_damaged(damaged: str, transport: str) -> None:
    """Raises InputError where damaged frames are to be passed on, and there are none."""
    if damaged not in DAMAGED:
        raise refused("damaged", damaged, DAMAGED)
    parts = parts_of(transport)
    if damaged == "pass" and parts is not None and parts.socket == "stream":
        raise InputError(
            f"--damaged pass: by {transport} no frame is damaged, as a reliable stream brings all of it or ends; "
            "it is of udp, ts and other transports in datagrams"
        )


def _check_description(transport: str, *, with_description: bool) -> None:
    """Raises InputError where a session description is wanted of a transport that has none."""
    parts = parts_of(transport)
    assert parts is not None, "what carries a movie has parts"
    if with_description and (parts.socket == "stream" or "rtp" not in parts.format.split("+")):
        raise InputError(f"--sdp: session descriptions are of RTP over UDP; {transport} needs none")


def _entries() -> list[str]:
    return called(one.name for one in TRANSPORTS if one.name in CARRIERS and one.is_entry)


def _carried_out(work: Callable[[], str]) -> dict[str, Any]:
    with for_the_user():
        result: dict[str, Any] = json.loads(work())
    return result


def _as_json(listener: Listener) -> Callable[[str, str], None]:
    return lambda _kind, text: listener(json.loads(text))
