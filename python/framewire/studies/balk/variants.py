"""What the paper does not say, decided differently: which of it would make its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "KEYS_OF_VTP",
    "K_OVER_K_MINUS_1",
    "LIBRARYS_READING",
    "READINGS",
    "READING_REPEATS",
    "VARIANTS",
    "VARIANT_REPEATS",
    "Variant",
]

VARIANT_REPEATS = 5
"""Seeds of each: they show what something does, and judge no claim."""
READING_REPEATS = 10
"""Seeds of each reading, by which every claim is judged again."""

Values = tuple[tuple[str, Any], ...]


KEYS_OF_VTP = frozenset({"alpha", "step", "estimate", "estimate_header"})
"""Keys of a stream that other ways to stream have not."""


@dataclass(frozen=True)
class Variant:
    """Keys of the scenario that are otherwise: of the wire, of the connections and of the stream."""

    name: str
    link: Values = ()
    tcp: Values = ()
    stream: Values = ()
    repeats: int = VARIANT_REPEATS
    """With how many seeds it is run at most."""


class _Options(dict[str, Any]):
    """A table of keys that can be a part of what names an experiment: never changed once it is made."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def _tcp(**options: Any) -> Values:
    return (("tcp", _Options(options)),)


def _step(bytes_: int) -> Values:
    return (("step", f"{bytes_} B"),)


def _header(bytes_: int) -> Values:
    return (("estimate_header", bytes_),)


_OF_2002 = _tcp(sack=False, timestamps=False, initial_window=2, min_rto="1 s", receive_buffer="32768 B")
_TICKS: Values = (("send_tick", "10 ms"), ("receive_tick", "10 ms"))

VARIANTS = (
    Variant("queue of 10 packets", link=(("queue", "10 packets"),)),
    Variant("queue of 20 packets", link=(("queue", "20 packets"),)),
    Variant("queue of 200 packets", link=(("queue", "200 packets"),)),
    Variant("round trip of 50 ms", link=(("delay", "25 ms"),)),
    Variant("round trip of 100 ms", link=(("delay", "50 ms"),)),
    Variant("TCP: cubic", tcp=(("congestion", "cubic"),)),
    Variant("TCP: bbr", tcp=(("congestion", "bbr"),)),
    Variant("TCP: no SACK, no time stamps", tcp=_tcp(sack=False, timestamps=False)),
    Variant("TCP: first window of 2 packets", tcp=_tcp(initial_window=2)),
    Variant("TCP: every segment acknowledged", tcp=_tcp(delayed_acks=False)),
    Variant("TCP: receive window of 8 kB", tcp=_tcp(receive_buffer="16384 B")),
    Variant("TCP of 2002: these, 16 kB, timeout 1 s or more", tcp=_OF_2002),
    Variant("timers and time stamps in ticks of 10 ms", stream=_TICKS),
    Variant("alpha 0.7", stream=(("alpha", "0.7"),)),
    Variant("alpha 0.95", stream=(("alpha", "0.95"),)),
    Variant("step of 8 packets/s", stream=_step(8_000)),
    Variant("step of 16 packets/s", stream=_step(16_000)),
    Variant("step of 64 packets/s", stream=_step(64_000)),
    Variant("no headers counted, step of 16 packets/s", stream=_header(0) + _step(16_000)),
)


def _reading(name: str, *, link: Values = (), stream: Values = ()) -> Variant:
    return Variant(name, link, (), stream, READING_REPEATS)


_INDICES: Values = (("estimate", "k over k - 1"),)
_CLOCK: Values = (("tick", "10 ms"),)

LIBRARYS_READING = "bytes over gaps"
"""Of the experiments that are no reading's: ``vtp`` as it is, which counts all headers that a packet has."""
K_OVER_K_MINUS_1 = _reading("k over k - 1", stream=_INDICES)
READINGS = (
    K_OVER_K_MINUS_1,
    _reading("bytes over gaps, 28 bytes of header", stream=_header(28)),
    _reading("bytes over gaps, no header", stream=_header(0)),
    _reading("bytes over gaps, link clock of 10 ms", link=_CLOCK),
    _reading("k over k - 1, link clock of 10 ms", link=_CLOCK, stream=_INDICES),
)
"""How equation 1 can be read beside the library's reading, and the clock of the paper's links: HZ of FreeBSD 4 was 100,
so that dummynet let packets go each 10 ms."""
