"""What is compared: movies, links, the lab's transports, and applications as their users start them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
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


TRANSPORTS = {
    "tcp": "plain TCP",
    "tcp+leaky": "`queue leaky=downstream`",
    "tcp+keyframe": "`recover-policy=keyframe`",
    "tcp+obs": "OBS Studio's rule",
    "tcp+ifd": "ifd",
    "tcp+ifd-optimised": "ifd-optimised",
    "tcp+dependency": "dependency",
}
"""The lab's transports that are compared in virtual time, and what the page calls them. The last three are ours."""
OURS = ("tcp+ifd", "tcp+ifd-optimised", "tcp+dependency")


def scenario(codec: str, link: Link, seed: int) -> dict[str, Any]:
    """All transports, each over its own copy of the link."""
    return {
        "name": f"{codec}-{link.name}-{seed}",
        "seed": seed,
        "movie": {"codec": codec, "bitrate": BITRATE, "duration": f"{SECONDS} s"},
        "network": dict(link.network),
        "flow": [{"transport": transport} for transport in TRANSPORTS],
    }
