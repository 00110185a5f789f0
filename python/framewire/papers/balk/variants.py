"""What the paper does not say, decided differently: which of it would make its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["VARIANTS", "VARIANT_REPEATS", "Variant"]

VARIANT_REPEATS = 5
"""Seeds of each: they show what something does, and judge no claim."""

Values = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """Changes of an experiment as the simulator is asked for it."""

    name: str
    link: Values = ()
    tcp: Values = ()
    stream: Values = ()

    def changed(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The experiment with these changes."""
        more = {"link": self.link, "tcp": self.tcp, "stream": self.stream}
        return {**document} | {key: {**document[key], **dict(values)} for key, values in more.items()}


_OF_2002 = (("no_options", True), ("initial_window", 2), ("min_rto_s", 1.0), ("receive_window", 16_384))


def _step(bytes_: int) -> Values:
    return (("step_bytes", bytes_),)


_UNBIASED: Values = (("unbiased", True),)
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
    Variant("alpha 0.98", stream=(("alpha", 0.98),)),
    Variant("alpha 0.99", stream=(("alpha", 0.99),)),
    Variant("step of 8 packets/s", stream=_step(8_000)),
    Variant("equation 1 unbiased", stream=_UNBIASED),
    Variant("equation 1 unbiased, ticks of 10 ms", stream=_UNBIASED + _TICKS),
    Variant("equation 1 unbiased, step of 8 packets/s", stream=_UNBIASED + _step(8_000)),
    Variant("equation 1 unbiased, step of 16 packets/s", stream=_UNBIASED + _step(16_000)),
    Variant("equation 1 unbiased, step of 24 packets/s", stream=_UNBIASED + _step(24_000)),
    Variant("equation 1 unbiased, step of 64 packets/s", stream=_UNBIASED + _step(64_000)),
    Variant("equation 1 unbiased, step of 64, alpha 0.8", stream=(*_UNBIASED, *_step(64_000), ("alpha", 0.8))),
)
