"""What is run: every experiment of the paper's section 6, then what it leaves open.

What the paper does not give is decided once, here, for all of them; :data:`DECISIONS` lists it. Nothing is set per
figure beyond what the paper sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from framewire.studies.balk.variants import KEYS_OF_VTP, READINGS, VARIANTS, Variant
from framewire.studies.traces import QUEUE_PACKETS as TRACE_QUEUE_PACKETS
from framewire.studies.traces import REPEATS as TRACE_REPEATS
from framewire.studies.traces import ROUND_TRIP_MS as TRACE_ROUND_TRIP_MS

__all__ = [
    "ALPHAS",
    "DECISIONS",
    "FLOWS",
    "FRAMES_AMONG",
    "LOSSES",
    "PACKETS_PER_REQUEST",
    "QUICK_SEEDS",
    "RIVALS",
    "SEEDS",
    "STREAM",
    "STRONG_FLOWS",
    "TFRC_ROUND_TRIPS_MS",
    "Setting",
    "Transport",
    "alone",
    "changes",
    "hybrid",
    "isolated",
    "mild",
    "of_paper",
    "of_reading",
    "of_variant",
    "over_trace",
    "settings",
    "strong",
]

Transport = Literal["vtp", "vtp-hybrid", "fixed", "tfrc", "rap", "sqrt"]
"""By the names that scenarios have for them."""

ALPHAS = (0.7, 0.9, 0.95, 0.99)
"""Weights of the estimate's past in equation 2, "a constant close to 1" (section 4.2), to see how much hangs on it."""
FLOWS = (2, 4, 8, 16, 32)
"""Connections in all of figures 16 and 24."""
STRONG_FLOWS = (2, 4, 8, 12, 16)
LOSSES = (0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
PACKETS_PER_REQUEST = (1, 2, 5, 10, 20)
"""k; the paper names 1, 2, 5 and 20, and plots five."""
TFRC_ROUND_TRIPS_MS = (10, 50, 100, 200, 300, 400, 500, 700)

FRAMES_AMONG = (16, 24, 32)
"""Flows among which the frames of all three ways to stream are compared, beside figures 22 and 23."""

ROUND_TRIP_MS = 10.0
"""Of every experiment of the paper."""

LEAD_S = 5.0
"""TCP connections begin at random in this time, the stream in the second after it."""
TAIL_S = 5.0
"""Experiments go on for this long after the clip could be over."""

PLAYOUT_DELAY_S = 2.0
"""From the first packet until the first frame is shown: the second that the plans have, and one for what the network
delays."""

STREAM = "stream"
"""Name of the flow that is looked at."""

SEEDS = 20
QUICK_SEEDS = 3
FRAMES_TIMES, DIPS_TIMES = 20, 10
"""As many times the seeds where something seldom is judged: among 16 flows fixed-rate streaming has a second below 15
frames in three of ten runs (20 times make about 130 such seconds, an interval of 5 points at most), and the deepest
dip of a run at random loss is a matter of one second."""


@dataclass(frozen=True)
class Setting:
    """An experiment but for its seed."""

    clip: Literal["mild", "strong"]
    link_mbps: float
    tcp: int
    """TCP connections beside the stream."""
    transport: Transport = "vtp"
    k: int = 5
    alpha: float | None = None
    """None is the library's."""
    loss_percent: float = 0.0
    rtt_ms: float = ROUND_TRIP_MS
    congestion: str = "reno"
    variant: Variant | None = None
    """What is decided differently than in the other experiments."""
    trace: str | None = None
    """The recorded link in the place of one at a rate."""

    def repeats(self, asked: int) -> int:
        """With how many seeds it is run when so many are asked for."""
        if self.trace is not None:
            return min(asked, TRACE_REPEATS)
        if self.variant is not None:
            return min(asked, self.variant.repeats)
        return asked * _times().get(self, 1)

    @property
    def flows(self) -> int:
        """The stream and the connections."""
        return self.tcp + 1

    @property
    def is_isolated(self) -> bool:
        """Whether it is an experiment of figure 15, of which every run is looked at over time."""
        return self.tcp == 0 and self.loss_percent == 0

    @property
    def fair_share_kbps(self) -> float:
        """The link's rate over the number of flows, headers counted."""
        return self.link_mbps * 1e3 / self.flows

    @property
    def label(self) -> str:
        """What it is called among the cells of a campaign."""
        parts = [self.clip, f"{self.link_mbps:g} Mbit/s", f"{self.tcp} TCP", self.transport, f"k {self.k}"]
        parts += [f"{self.loss_percent:g} % lost", f"{self.rtt_ms:g} ms", self.congestion]
        parts += [] if self.alpha is None else [f"alpha {self.alpha:g}"]
        parts += [] if self.trace is None else [f"over {self.trace}"]
        return ", ".join([*parts, *([] if self.variant is None else [f"variant {self.variant.name}"])])

    def scenario(self, ladder: str, duration_s: float, traces: Mapping[str, str]) -> dict[str, Any]:
        """The experiment but for its seed. ``ladder`` is a streaming file of so many seconds, ``traces`` are the files
        of recorded links by name."""
        link = {"rate": f"{round(self.link_mbps * 1e6)} bit/s"} if self.trace is None else {"trace": traces[self.trace]}
        queue = 50 if self.trace is None else TRACE_QUEUE_PACKETS
        wire = link | {
            "delay": f"{self.rtt_ms / 2:g} ms",
            "queue": f"{queue} packets",
            "loss": f"{self.loss_percent:g} %",
        }
        stream = {
            "name": STREAM,
            "transport": self.transport,
            "start": f"{LEAD_S:g} s",
            "start_within": "1 s",
            "ack_every": self.k,
        } | ({} if self.alpha is None else {"alpha": f"{self.alpha:g}"})
        tcp = {
            "name": "tcp",
            "transport": "bulk",
            "connections": self.tcp,
            "congestion": self.congestion,
            "start_within": f"{LEAD_S:g} s",
        }
        if self.variant is not None:
            of_vtp = self.transport == "vtp"
            wire |= dict(self.variant.link)
            tcp |= dict(self.variant.tcp)
            stream |= {key: value for key, value in self.variant.stream if of_vtp or key not in KEYS_OF_VTP}
        return {
            "layout": "together",
            "limit": f"{LEAD_S + 1 + duration_s + TAIL_S:.6f} s",
            "movie": {"ladder": ladder},
            "network": {"kind": "wired", "wire": wire},
            "playout": {"startup": f"{PLAYOUT_DELAY_S:g} s"},
            "flow": [stream, *([tcp] if self.tcp else [])],
        }


DECISIONS: Sequence[tuple[str, str, str]] = (
    (
        "alpha, equation 2",
        "a constant close to 1",
        f"the library's, docs/vtp.md; {ALPHAS[0]:g} to {ALPHAS[-1]:g} in a table",
    ),
    (
        "equation 1",
        "the bytes received since the last control packet over the time since then (4.1); by its indices k packets "
        "over k - 1 gaps (4.2)",
        "the first, by all bytes of a packet but those of UDP and IPv4; every claim by each reading in a table",
    ),
    ("clock of the links", "dummynet; not given", "exact; every claim with one of 10 ms in a table"),
    ("timers of the sender", "not given", "exact: a packet leaves when it is due"),
    ("queue of the router", "not given", "50 packets, drop-tail (dummynet's default)"),
    (
        "random loss",
        "by dummynet",
        "of packets towards the receiver, behind the queue; nothing is lost on the way back",
    ),
    ("round trip", "10 ms", "5 ms each way; the queue adds up to 200 ms at 3 Mbit/s"),
    ("TCP", "iperf, not named", "reno with SACK as Linux has it, bulk, 1,500 bytes a packet"),
    ("starts", "not given", f"TCP at random in the first {LEAD_S:g} s, the stream at random in the second after"),
    (
        "throughput",
        "average bandwidth received, over link / flows (6.2)",
        "what the applications got: iperf counts so, and the plans' 450 and 125 kbit/s, which 6.2 holds against the "
        "fair share, are of video; with headers beside it",
    ),
    (
        "throughput of figure 20",
        "of TFRC by tcpdump, of VTP not said",
        "video received, of both; with headers beside it; dips against the same stream's same second without loss",
    ),
    ("when it counts", "not given", "from the stream's first packet to its last"),
    (
        "the player",
        "shows frames that came intact",
        "begins 2 s after the first packet and does not wait: frames that came later are late, and nothing stalls",
    ),
    (
        "repeats",
        "not given",
        f"{SEEDS} seeds, {SEEDS * DIPS_TIMES} for figure 20 and {SEEDS * FRAMES_TIMES} for figure 22; the interval "
        "holds the true mean 19 times in 20",
    ),
)
"""What, what the paper says, what is used here."""


def isolated(alpha: float | None = None) -> Setting:
    """Figure 15."""
    return Setting("mild", 10, 0, alpha=alpha)


def mild(flows: int, *, link_mbps: float = 3, **more: Any) -> Setting:
    """Figures 16, 17, 22 and 24: the mild clip among so many flows in all."""
    return Setting("mild", link_mbps, flows - 1, **more)


def strong(flows: int, **more: Any) -> Setting:
    """Figures 18, 19 and 23: the strong clip among so many flows in all."""
    return Setting("strong", 5, flows - 1, **more)


def alone(loss_percent: float, transport: Transport, rtt_ms: float = ROUND_TRIP_MS) -> Setting:
    """Figure 20, whose link the paper does not name: that of figure 15."""
    return Setting("mild", 10, 0, transport, loss_percent=loss_percent, rtt_ms=rtt_ms)


@cache
def _times() -> Mapping[Setting, int]:
    """How many times the seeds the frames of figure 22 have, and figure 20 at the paper's round trip."""
    ways: Sequence[Transport] = ("vtp", "vtp-hybrid", "fixed")
    rivals: Sequence[Transport] = ("vtp", "tfrc")
    frames = {mild(16, transport=transport): FRAMES_TIMES for transport in ways}
    return frames | {alone(loss, transport): DIPS_TIMES for loss in (0.0, 1.0, 5.0) for transport in rivals}


RIVALS: tuple[Transport, ...] = ("vtp", "vtp-hybrid", "tfrc", "rap", "sqrt", "fixed")


def hybrid(setting: Setting) -> Setting:
    """The same with the hybrid rate control."""
    return replace(setting, transport="vtp-hybrid")


def over_trace(name: str, mean_mbps: float, tcp: int, transport: Transport) -> Setting:
    """The mild clip over a recorded link, alone or beside connections of cubic."""
    return Setting("mild", mean_mbps, tcp, transport, rtt_ms=TRACE_ROUND_TRIP_MS, congestion="cubic", trace=name)


def of_variant(variant: Variant) -> dict[str, Setting]:
    """The experiments that show what a variant does, by name."""
    every = {
        "climb": isolated(),
        "8": mild(8),
        "16": mild(16),
        "32": mild(32),
        "k-1": mild(8, k=1),
        "k-20": mild(8, k=20),
        "strong": strong(12),
        "fixed": mild(16, transport="fixed"),
    }
    return {name: replace(setting, variant=variant) for name, setting in every.items()}


def settings(*, quick: bool = False, traces: Mapping[str, float] | None = None) -> list[Setting]:
    """All of them, each once: figures share some. ``traces`` are recorded links by name, with their mean rates in
    Mbit/s."""
    recorded = [
        over_trace(name, mean, tcp, transport)
        for name, mean in (traces or {}).items()
        for tcp in (0, 1)
        for transport in ("vtp", "vtp-hybrid", "fixed")
    ]
    every = _quick() if quick else _every()
    return list(dict.fromkeys([*every, *recorded]))


def _every() -> Iterator[Setting]:
    yield from of_paper()
    yield from _beside()
    for variant in VARIANTS:
        yield from of_variant(variant).values()
    for reading in READINGS:
        yield from of_reading(reading)


def of_paper() -> Iterator[Setting]:
    """The experiments of the paper, and each of them with the hybrid rate control."""
    for setting in dict.fromkeys(_of_paper()):
        yield setting
        if setting.transport == "vtp":
            yield hybrid(setting)


def _of_paper() -> Iterator[Setting]:
    yield isolated()
    yield from (mild(flows) for flows in FLOWS)
    yield from (mild(8, k=k) for k in PACKETS_PER_REQUEST)
    yield from (strong(flows) for flows in STRONG_FLOWS)
    yield from (strong(12, loss_percent=loss) for loss in LOSSES)
    yield from (alone(loss, transport) for loss in (0.0, 1.0, 5.0) for transport in ("vtp", "tfrc"))
    yield from (mild(16, transport=transport) for transport in ("vtp", "fixed"))
    yield from (strong(12, transport=transport) for transport in ("vtp", "fixed"))
    yield from (mild(flows, link_mbps=2) for flows in FLOWS)


def of_reading(reading: Variant) -> Iterator[Setting]:
    """Those of the paper's experiments that a reading makes others."""
    return (replace(setting, variant=reading) for setting in dict.fromkeys(_of_paper()) if changes(reading, setting))


def changes(reading: Variant, setting: Setting) -> bool:
    """Whether an experiment is another one by a reading: of its stream, only VTP is read; the link carries them all."""
    return setting.transport == "vtp" or bool(reading.link)


def _beside() -> Iterator[Setting]:
    yield from (alone(loss, "tfrc", rtt_ms) for loss in (1.0, 5.0) for rtt_ms in TFRC_ROUND_TRIPS_MS)
    for alpha in ALPHAS:
        yield isolated(alpha)
        yield from (mild(flows, alpha=alpha) for flows in FLOWS[2:])
        yield from (mild(8, alpha=alpha, k=k) for k in (1, 20))
        yield from (strong(12, alpha=alpha, loss_percent=loss) for loss in (0.0, 1.0))
    for transport in RIVALS:
        yield from (mild(8, transport=transport), strong(12, transport=transport, loss_percent=1.0))
    ways: Sequence[Transport] = ("vtp", "vtp-hybrid", "fixed")
    for transport in ways:
        yield from (mild(flows, transport=transport) for flows in FRAMES_AMONG)
        yield from (mild(16, transport=transport, loss_percent=loss) for loss in (1.0, 5.0))
        yield strong(16, transport=transport)
    yield mild(8, congestion="cubic")


def _quick() -> Iterator[Setting]:
    """A part that shows every kind of figure."""
    shown = [isolated(), *(mild(flows) for flows in (2, 8, 16, 32)), *(strong(flows) for flows in (12, 16))]
    shown += [mild(8, k=k) for k in (1, 20)] + [strong(12, loss_percent=loss) for loss in (1.0, 5.0)]
    for setting in (*shown, alone(1.0, "vtp")):
        yield from (setting, hybrid(setting))
    yield from (alone(loss, "tfrc") for loss in (0.0, 1.0))
    yield mild(16, transport="fixed")
