"""What is compared: movies, links, and transports of the lab with their limits and sockets."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

BITRATE = "5 Mbit/s"
SECONDS = 60

MOVIES = {
    "mpeg2": "MPEG-2, IBBP",
    "h264": "H.264, B frames without a pyramid",
    "h264-pyramid": "H.264, a pyramid of B frames",
    "h265": "H.265, a pyramid of B frames",
}
"""Names of codecs, and what the page calls them."""


@dataclass(frozen=True)
class Link:
    """A network, and how often it is drawn anew."""

    name: str
    text: str
    network: Mapping[str, Any]
    seeds: tuple[int, ...] = (1,)


OVEN = {"on": [["20 s", "40 s"]]}
WIFI = Link(
    "wifi",
    "the thesis' Wi-Fi: 802.11b, four transmissions, a microwave oven from 20 to 40 s",
    {"kind": "wifi", "wifi": {"retry": 4, "oven": OVEN}},
    seeds=(1, 2, 3),
)
NARROW = Link(
    "narrow",
    "a wire of 4 Mbit/s, 20 % below the bitrate, 20 ms each way, a queue of 100 ms",
    {"kind": "wired", "wire": {"rate": "4 Mbit/s", "delay": "20 ms", "queue": "100 ms"}},
)
UNSEEN = (
    replace(WIFI, name="wifi-redrawn", text=f"{WIFI.text}, with other draws of chance", seeds=(11, 12)),
    Link(
        "slow",
        "a wire of 3 Mbit/s, 40 ms each way, a queue of 100 ms",
        {"kind": "wired", "wire": {"rate": "3 Mbit/s", "delay": "40 ms", "queue": "100 ms"}},
    ),
    Link(
        "lossy",
        "a wire of 4.6 Mbit/s that loses 0.5 % of the packets, 20 ms each way, a queue of 100 ms",
        {"kind": "wired", "wire": {"rate": "4.6 Mbit/s", "delay": "20 ms", "queue": "100 ms", "loss": "0.5 %"}},
        seeds=(5,),
    ),
)
"""Links on which nothing was tuned."""

UNSEEN_MOVIES = ("mpeg2", "h264-pyramid")
"""The movies that are sent over them."""

TRACES = {
    "verizon": ("Verizon-LTE-short.down", "an LTE link, recorded (Verizon, downlink; mean 5.0 Mbit/s)"),
    "t-mobile": ("TMobile-LTE-short.up", "an LTE link, recorded (T-Mobile, uplink; mean 13.3 Mbit/s)"),
}
"""Recordings of Mahimahi's that a directory of traces may hold, plain or compressed by gzip."""


def links(traces: Path | None, scratch: Path) -> list[Link]:
    """All links; the recorded ones where there are recordings."""
    found = [WIFI, NARROW]
    for name, (file, text) in TRACES.items():
        trace = None if traces is None else _plain(traces, file, scratch)
        if trace is not None:
            wire = {"trace": str(trace), "delay": "20 ms", "queue": "64 KiB"}
            found.append(Link(name, f"{text}, 20 ms each way, a queue of 64 KiB", {"kind": "wired", "wire": wire}))
    return found


def _plain(directory: Path, name: str, scratch: Path) -> Path | None:
    for path in sorted(directory.rglob(f"{name}*")):
        if path.name == name:
            return path.resolve()
        if path.name == f"{name}.gz":
            plain = scratch / name
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            return plain.resolve()
    return None


STARTUPS_MS = (300, 1000, 3000)
"""How long players wait before they show the first frame."""

MAIN_STARTUP_MS = 1000
"""The one of the full tables."""

LIMITS_MS = (150, 250, 300, 500, 700, 900, 1000, 1150, 2000, 3000, 3150)
"""How much may wait, for every method that has a limit in time."""

SOCKETS = {"equal": "32 KiB", "own": None}
"""Most that may be unsent in the kernel: the same for all, or as the program has it."""


@dataclass(frozen=True)
class Method:
    """A transport of the lab, and what the page calls it."""

    name: str
    label: str
    limited: bool = True
    ours: bool = False


METHODS = (
    Method("tcp", "plain TCP", limited=False),
    Method("tcp+leaky", "`queue leaky=downstream`"),
    Method("tcp+keyframe", "`recover-policy=keyframe`"),
    Method("tcp+obs", "OBS Studio's rule"),
    Method("tcp+ifd", "ifd", limited=False, ours=True),
    Method("tcp+ifd-optimised", "ifd-optimised", limited=False, ours=True),
    Method("tcp+dependency", "dependency", ours=True),
)
DEFAULT = METHODS[-1]
RIVALS = tuple(method for method in METHODS if not method.ours)


@dataclass(frozen=True)
class Setting:
    """A method with a limit, if it has any, and a socket."""

    method: Method
    limit_ms: int | None
    socket: str

    @property
    def flow_name(self) -> str:
        """Of the flow in a scenario."""
        return f"{self.method.name}-{self.socket}-{self.limit_ms or 0}"

    def flow(self) -> dict[str, Any]:
        """The flow of a scenario."""
        flow: dict[str, Any] = {"name": self.flow_name, "transport": self.method.name}
        if self.limit_ms is not None:
            flow["queue_time"] = f"{self.limit_ms} ms"
        unsent = SOCKETS[self.socket]
        if unsent is not None:
            flow["unsent_limit"] = unsent
        elif self.method.ours:
            flow["unsent_limit"] = "1024 MiB"  # more than any send buffer: no limit
        return flow


def settings() -> list[Setting]:
    """Everything that is tried."""
    limits = {True: LIMITS_MS, False: (None,)}
    return [
        Setting(method, limit, socket) for method in METHODS for limit in limits[method.limited] for socket in SOCKETS
    ]


def scenario(codec: str, link: Link, seed: int, flows: Sequence[Mapping[str, Any]], length_s: int) -> dict[str, Any]:
    """All flows, each over its own copy of the link."""
    return {
        "name": f"{codec}-{link.name}-{seed}",
        "seed": seed,
        "movie": {"codec": codec, "bitrate": BITRATE, "duration": f"{length_s} s"},
        "network": dict(link.network),
        "flow": [dict(flow) for flow in flows],
    }
