"""What the paper does not say, decided differently: which of it would make its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
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


@dataclass(frozen=True)
class Variant:
    """Changes of an experiment as the simulator is asked for it."""

    name: str
    link: Values = ()
    tcp: Values = ()
    stream: Values = ()
    repeats: int = VARIANT_REPEATS
    """With how many seeds it is run at most."""

    def changed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The experiment with these changes."""
        more = {"link": self.link, "tcp": self.tcp, "stream": self.stream}
        return {**document} | {key: {**document[key], **dict(values)} for key, values in more.items()}


_OF_2002 = (("no_options", True), ("initial_window", 2), ("min_rto_s", 1.0), ("receive_window", 16_384))


def _step(bytes_: int) -> Values:
    return (("step_bytes", bytes_),)


def _header(bytes_: int) -> Values:
    return (("estimate_header_bytes", bytes_),)


_TICKS: Values = (("sender_tick_ms", 10.0), ("receiver_tick_ms", 10.0))

VARIANTS = (
    Variant("queue of 10 packets", link=(("queue_packets", 10),)),
    Variant("queue of 20 packets", link=(("queue_packets", 20),)),
    Variant("queue of 200 packets", link=(("queue_packets", 200),)),
    Variant("round trip of 50 ms", link=(("rtt_ms", 50.0),)),
    Variant("round trip of 100 ms", link=(("rtt_ms", 100.0),)),
    Variant("TCP: cubic", tcp=(("congestion", "cubic"),)),
    Variant("TCP: bbr", tcp=(("congestion", "bbr"),)),
    Variant("TCP: no SACK, no time stamps", tcp=(("no_options", True),)),
    Variant("TCP: first window of 2 packets", tcp=(("initial_window", 2),)),
    Variant("TCP: every segment acknowledged", tcp=(("every_segment", True),)),
    Variant("TCP: receive window of 8 kB", tcp=(("receive_window", 8_192),)),
    Variant("TCP of 2002: these, 16 kB, timeout 1 s or more", tcp=_OF_2002),
    Variant("timers and time stamps in ticks of 10 ms", stream=_TICKS),
    Variant("alpha 0.7", stream=(("alpha", 0.7),)),
    Variant("alpha 0.95", stream=(("alpha", 0.95),)),
    Variant("step of 8 packets/s", stream=_step(8_000)),
    Variant("step of 16 packets/s", stream=_step(16_000)),
    Variant("step of 64 packets/s", stream=_step(64_000)),
    Variant("no headers counted, step of 16 packets/s", stream=_header(0) + _step(16_000)),
)


def _reading(name: str, *, link: Values = (), stream: Values = ()) -> Variant:
    return Variant(name, link, (), stream, READING_REPEATS)


_INDICES: Values = (("estimate", "k over k - 1"),)
_CLOCK: Values = (("tick_ms", 10.0),)

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
