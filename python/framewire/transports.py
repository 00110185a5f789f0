"""The transports that a scenario may name: the table of the compiled half."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from framewire import _native

__all__ = [
    "ADAPTIVE",
    "BULK",
    "CARRIERS",
    "DATAGRAM",
    "EXTERNAL",
    "TRANSPORTS",
    "Parts",
    "Settings",
    "Transport",
    "begun_by_senders",
    "called",
    "current_name",
    "fetches_file",
    "may_drop",
    "of_family",
    "parts_of",
]


class Parts(NamedTuple):
    """What a transport is made of."""

    queue: str
    """Which frame goes next, and which is given up; the rate control that chooses among the levels of a ladder."""
    format: str
    """How frames become bytes."""
    session: str
    """What stands between the format and the socket."""
    socket: str
    """``datagram`` or ``stream``."""
    overflow: str | None
    """What a datagram meets for which there is no room; ``None`` over a stream, which waits."""
    asks: bool
    """Its receiver asks for what is sent; where false, its sender begins by itself."""

    @property
    def words(self) -> dict[str, str | None]:
        """Those that a scenario names them by, by their keys."""
        return {
            "queue": self.queue,
            "format": self.format,
            "session": self.session,
            "socket": self.socket,
            "overflow": self.overflow,
        }


class Settings(NamedTuple):
    """Default settings of the kernel."""

    send_buffer: int | None
    """SO_SNDBUF in bytes; ``None``: the kernel's own."""
    device_queue: int
    """Packets."""
    unsent_limit: int | None
    """TCP_NOTSENT_LOWAT in bytes; ``None``: not set."""


class Transport(NamedTuple):
    """A transport."""

    name: str
    also_called: str | None
    """Another name of it."""
    family: str
    """``datagram`` and ``stream`` send the movie, ``adaptive`` levels of a ladder, ``bulk`` filler bytes; what
    is ``external`` is sent by the user's own programs."""
    summary: str
    """What it does, in a line."""
    parts: Parts | None
    """``None`` of what is external: what the user's programs do is theirs."""
    settings: Settings
    is_entry: bool
    """Described by itself in the manual; false for other combinations of parts."""

    def as_json(self) -> dict[str, object]:
        """For other programs."""
        parts = None if self.parts is None else self.parts._asdict()
        return {**self._asdict(), "parts": parts, "settings": self.settings._asdict()}


def _transports() -> tuple[Transport, ...]:
    return tuple(
        Transport(*names, None if parts is None else Parts(*parts), Settings(*settings), is_entry)
        for names, parts, settings, is_entry in _native.transports()
    )


TRANSPORTS = _transports()
"""All of them: those of the manual in its order, and then the other combinations of their parts."""


def may_drop(name: str) -> bool:
    """Whether a transport has a queue that gives frames up.

    >>> may_drop("tcp+ifd"), may_drop("tcp"), may_drop("bulk"), may_drop("of another version")
    (True, False, False, False)
    """
    parts = parts_of(name)
    return parts is not None and parts.queue != "direct"


def fetches_file(name: str) -> bool:
    """Its receiver fetches a file that is there from the beginning, ahead of the time at which its frames are due.

    >>> fetches_file("http"), fetches_file("http+fmp4"), fetches_file("bulk")
    (True, False, False)
    """
    parts = parts_of(name)
    return parts is not None and parts.format == "mp4"


def parts_of(name: str) -> Parts | None:
    """What a transport of the movie is made of; None for any other.

    >>> parts_of("rtp+tcp"), parts_of("bulk")
    (Parts(queue='direct', format='rtp', session='rfc4571', socket='stream', overflow=None, asks=False), None)
    """
    known = current_name(name)
    return next((one.parts for one in TRANSPORTS if one.name == known and known in CARRIERS), None)


def of_family(family: str) -> tuple[str, ...]:
    """The names of the transports of a family.

    >>> of_family("adaptive")[:3]
    ('vtp', 'vtp-hybrid', 'tfrc')
    """
    return tuple(one.name for one in TRANSPORTS if one.family == family)


def called(names: Iterable[str]) -> list[str]:
    """By every name that each of these has.

    >>> called(["udp-blocking", "udp"])
    ['udp-blocking', 'rtp', 'udp']
    """
    others = {one.name: one.also_called for one in TRANSPORTS}
    return [word for name in names for word in (name, others.get(name)) if word is not None]


def begun_by_senders() -> list[str]:
    """Those of the manual that carry a movie, and whose senders begin by themselves, by every name that they have."""
    carry = [one for one in TRANSPORTS if one.name in CARRIERS and one.is_entry]
    return called(one.name for one in carry if one.parts is not None and not one.parts.asks)


def current_name(name: str) -> str:
    """What a transport is called in the table that was named otherwise: as a combination, or in an earlier version.

    >>> current_name("rtp"), current_name("better"), current_name("bulk")
    ('udp-blocking', 'vtp-hybrid', 'bulk')
    """
    return _native.canonical_transport(name) or name


DATAGRAM = of_family("datagram")
"""Those that send the movie in datagrams."""
CARRIERS = (*DATAGRAM, *of_family("stream"))
"""Those that carry a movie by themselves, in datagrams or over a byte stream."""
ADAPTIVE = of_family("adaptive")
"""Those that send levels of a ladder."""
(BULK,) = of_family("bulk")
(EXTERNAL,) = of_family("external")
