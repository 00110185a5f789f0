"""The transports that a scenario may name: the table of the compiled half."""

from __future__ import annotations

from typing import NamedTuple

from framewire import _native

__all__ = ["ADAPTIVE", "BULK", "DATAGRAM", "EXTERNAL", "TRANSPORTS", "Transport", "of_family"]


class Transport(NamedTuple):
    """A transport."""

    name: str
    family: str
    """``datagram`` and ``stream`` send the movie, ``adaptive`` levels of a ladder, ``bulk`` bytes of no meaning; what
    is ``external`` is sent by the user's own programs."""
    summary: str
    """What it does, in a line."""


TRANSPORTS = tuple(Transport(*row) for row in _native.transports())
"""All of them, in the order of the manual."""


def of_family(family: str) -> tuple[str, ...]:
    """The names of the transports of a family.

    >>> of_family("adaptive")[:3]
    ('vtp', 'better', 'tfrc')
    """
    return tuple(one.name for one in TRANSPORTS if one.family == family)


DATAGRAM = of_family("datagram")
"""Those that send the movie in datagrams."""
ADAPTIVE = of_family("adaptive")
"""Those that send levels of a ladder."""
(BULK,) = of_family("bulk")
(EXTERNAL,) = of_family("external")
