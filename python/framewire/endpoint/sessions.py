"""Serving and receiving, from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from framewire import _native, files
from framewire.endpoint.address import Address
from framewire.endpoint.failures import for_the_user
from framewire.endpoint.undecodable_start import UndecodableStart
from framewire.errors import InputError
from framewire.suggestions import refused

__all__ = ["CONTROLLERS", "ESTIMATES", "MAX_SIZE", "Interrupted", "receive", "send"]

CONTROLLERS: tuple[str, ...] = tuple(_native.CONTROLLERS)
"""What decides how fast to send and from which level: VTP and its rivals."""

ESTIMATES: tuple[str, ...] = tuple(_native.ESTIMATES)
"""How VTP reads equation 1 of its paper (docs/vtp.md), its own mode first."""

MAX_SIZE = "16 GB"
"""What is written of a stream at most, where nothing else is said: more than three hours at 10 Mbit/s."""

_CONTAINERS = (".mp4", ".m4a", ".mkv", ".mov", ".webm", ".avi", ".ts", ".flv")
"""Endings of films, which hold more than an elementary stream."""

Listener = Callable[[str, dict[str, Any]], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a stream; `result` is what came of it until then, as the function would have returned it."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__("interrupted")
        self.result = result


def send(
    path: Path,
    address: Address,
    *,
    title: str | None = None,
    controller: str = "vtp",
    ack_every: int = 5,
    estimate: str = ESTIMATES[0],
    estimate_header: int | None = None,
    key: bytes | None = None,
    clients: int = 1_000,
    sessions: int | None = None,
    listener: Listener | None = None,
) -> dict[str, Any]:
    """Serves a streaming file until interrupted, or until so many sessions have ended.

    Args:
        path: the streaming file.
        address: where to listen.
        title: what clients ask for; the name of the file without its ending unless given.
        controller: one of `CONTROLLERS`.
        ack_every: k, video packets per control packet.
        estimate: how vtp reads equation 1 of its paper, one of `ESTIMATES`; nothing to other controllers.
        estimate_header: bytes of header that "bytes over gaps" counts of each packet, 0 to 1,500; None for all of them.
        key: at least 16 bytes that both sides share; None for no authentication.
        clients: sessions at a time.
        sessions: ends after so many.
        listener: called with a kind ("listening" or "event") and what happened.

    Returns:
        Sessions, datagrams thrown away by reason, those of every session included, and by how much packets left too
        late.

    Raises:
        InputError: when the file or an argument is refused.
        RunError: when the sockets cannot be opened, or break.
        Interrupted: at Ctrl-C, with what would have been returned.
    """
    if controller not in CONTROLLERS:
        raise refused("controller", controller, CONTROLLERS)
    if not 1 <= ack_every <= 65_535:
        raise InputError(f"k = {ack_every}: 1 to 65535 packets are allowed")
    if estimate_header is not None and not 0 <= estimate_header <= 1_500:
        raise InputError(f"estimate header = {estimate_header}: 0 to 1500 bytes are allowed")
    place = address.resolved()
    try:
        files.check_regular(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with for_the_user(lambda reason: _of_control_port(reason, place)):
        return _read(
            _native.serve_stream(
                path,
                _as_json(listener),
                title=path.stem if title is None else title,
                data=place.data_text(),
                control=place.control_text(),
                controller=controller,
                ack_every=ack_every,
                estimate=estimate,
                estimate_header=estimate_header,
                key=key,
                clients=clients,
                sessions=sessions,
            )
        )


def receive(
    address: Address,
    path: Path | None,
    *,
    title: str,
    tfrc: bool = False,
    repeats: bool = True,
    key: bytes | None = None,
    replace: bool = False,
    max_size: str = MAX_SIZE,
    listener: Listener | None = None,
) -> dict[str, Any]:
    """Receives a stream until it ends.

    Args:
        address: where the server is.
        path: where whole frames are written from the first whole key frame on, as one elementary stream, and audio
            beside it, in a file whose name ends as its codec's does; None for nowhere.
        title: what is asked for.
        tfrc: report as RFC 5348 has it instead of with VTP's control packets; for a server with that controller.
        repeats: offer to name missing packets, and report a player that begins after a second and has room for 16 MB;
            a server with the hybrid controller repeats what can still be in time, others do without.
        key: as the server's.
        replace: files of video and of audio that are there already are written anew.
        max_size: what is written of video and audio at most ("16 GB"), where `path` is a file: a server decides how
            much it sends, and a live stream has no end. More ends the stream from this side.
        listener: called with "event" and what happened.

    Returns:
        Why it ended (`size_limit_reached`: by `max_size`), frames by level, packets, audio where there is some, what
        was thrown away, and how many frames stood before the first whole key frame, lost or not.

    Raises:
        InputError: when an argument is refused, or a file is there already.
        RunError: when no socket can be opened, or what came cannot be written.
        Interrupted: at Ctrl-C, with what would have been returned.
    """
    place = address.resolved()
    if path is not None:
        check_out(path, replace=replace)
    start = UndecodableStart()

    def heard(kind: str, event: dict[str, Any]) -> None:
        start(event)
        if listener is not None:
            listener(kind, event)

    with for_the_user():
        text = _native.view_stream(
            path,
            _as_json(heard),
            title=title,
            data=place.data_text(),
            control=place.control_text(),
            tfrc=tfrc,
            repeats=repeats,
            key=key,
            replace=replace,
            most=max_size,
        )
    return _read(text, lambda viewed: start.settle(viewed, path))


def _as_json(listener: Listener | None) -> Callable[[str, str], None]:
    def listen(kind: str, text: str) -> None:
        if listener is not None:
            listener(kind, json.loads(text))

    return listen


def _read(text: str, settle: Callable[[dict[str, Any]], None] = lambda _: None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    settle(document)
    if document.pop("interrupted"):
        raise Interrupted(document)
    return document


def check_out(path: Path, *, replace: bool) -> None:
    """Whether video may be written there, and audio beside it.

    Raises:
        InputError: when one of the files is there already and is not to be replaced, or the name is that of audio or of
            a container.
    """
    from framewire.movie.ladder.sound import CODECS  # not needed elsewhere

    if path.is_dir():
        raise InputError(f"{path}: is a directory; the name of a file is needed")
    if path.suffix.lower() in _CONTAINERS:
        raise InputError(
            f"{path}: what is written is no {path.suffix} but an elementary stream; name it so, as "
            f"{path.with_suffix('.m4v').name}, .h264 or .h265: the command that is printed then makes a film of it"
        )
    endings = [f".{codec}" for codec in CODECS]
    if path.suffix in endings:
        raise InputError(f"{path}: {path.suffix} is for the audio beside it; name the video otherwise, as received.m4v")
    for one in () if replace else (path, *map(path.with_suffix, endings)):
        if one.is_file():
            what = "" if one == path else f" (audio would be written there, beside {path.name})"
            raise InputError(f"{one}: exists already{what}; name another file, or say --replace")


def _of_control_port(reason: str, address: Address) -> str:
    taken = address.control not in (0, address.data) and f"port {address.control} at" in reason
    return f"{reason} (control packets: --control-port names another port)" if taken else reason
