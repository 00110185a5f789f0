"""Serving and receiving, from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire import _native
from framewire.errors import InputError, RunError

__all__ = ["CONTROLLERS", "Address", "receive", "send"]

CONTROLLERS: tuple[str, ...] = tuple(_native.CONTROLLERS)
"""What decides how fast to send and from which level: VTP and its rivals."""

Listener = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True)
class Address:
    """Where a server is reached: video at one port, control packets at another, the next one unless it is named."""

    host: str
    data: int
    control: int

    @classmethod
    def parse(cls, text: str, *, control: int | None = None) -> Address:
        """Reads ``ADDRESS:PORT``.

        Raises:
            InputError: when it is none.
        """
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or not 0 <= int(port) <= 65_535 or not host:
            raise InputError(f"address {text!r}: ADDRESS:PORT is needed, as 127.0.0.1:5004 or [::1]:5004")
        number = int(port)
        following = 0 if number == 0 else number + 1
        return cls(host, number, following if control is None else control)

    def data_text(self) -> str:
        """Of video."""
        return f"{self.host}:{self.data}"

    def control_text(self) -> str:
        """Of control packets."""
        return f"{self.host}:{self.control}"


def send(
    path: Path,
    address: Address,
    *,
    title: str | None = None,
    controller: str = "vtp",
    ack_every: int = 5,
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
        key: at least 16 bytes that both sides share; None for no authentication.
        clients: sessions at a time.
        sessions: ends after so many.
        listener: called with a kind ("listening" or "event") and what happened.

    Returns:
        Sessions, datagrams thrown away by reason, and by how much packets left too late.

    Raises:
        InputError: when the file or an argument is refused.
    """
    if controller not in CONTROLLERS:
        raise InputError(f"controller {controller!r} does not exist; {', '.join(CONTROLLERS)} do")
    if not 1 <= ack_every <= 65_535:
        raise InputError(f"k = {ack_every}: 1 to 65535 packets are allowed")
    try:
        return _read(
            _native.serve_stream(
                path,
                _told(listener),
                title=path.stem if title is None else title,
                data=address.data_text(),
                control=address.control_text(),
                controller=controller,
                ack_every=ack_every,
                key=key,
                clients=clients,
                sessions=sessions,
            )
        )
    except _native.EndpointFailure as error:
        raise RunError(str(error)) from None


def receive(
    address: Address,
    path: Path | None,
    *,
    title: str,
    tfrc: bool = False,
    repeats: bool = False,
    key: bytes | None = None,
    listener: Listener | None = None,
) -> dict[str, Any]:
    """Receives a stream until it ends.

    Args:
        address: where the server is.
        path: where whole frames are written, as one elementary stream; None for nowhere.
        title: what is asked for.
        tfrc: report as RFC 5348 has it instead of with VTP's control packets; for a server with that controller.
        repeats: tell of a player that begins after a second and has room for 16 MB, and name missing packets; for a
            server with the better controller, which repeats what can still be in time.
        key: as the server's.
        listener: called with "event" and what happened.

    Returns:
        Why it ended, frames by level, packets, and what was thrown away.

    Raises:
        RunError: when the server is not there, or what came cannot be written.
    """
    try:
        return _read(
            _native.view_stream(
                path,
                _told(listener),
                title=title,
                data=address.data_text(),
                control=address.control_text(),
                tfrc=tfrc,
                repeats=repeats,
                key=key,
            )
        )
    except _native.EndpointFailure as error:
        raise RunError(str(error)) from None


def _told(listener: Listener | None) -> Callable[[str, str], None]:
    def told(kind: str, text: str) -> None:
        if listener is not None:
            listener(kind, json.loads(text))

    return told


def _read(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document
