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


@dataclass(frozen=True)
class Application:
    """A pair of GStreamer pipelines; the sender's has the parser before it."""

    label: str
    sender: str
    receiver: str = "tcpserversrc host={address} port={port} ! fdsink"
    listens: bool = False


TO_RECEIVER = "tcpclientsink host={receiver} port={port} sync=false"
SECOND = 1_000_000_000  # ns
APPLICATIONS = {
    "tcpclientsink": Application("`tcpclientsink`", TO_RECEIVER),
    "leaky": Application("`queue leaky=downstream`", f"queue leaky=downstream ! {TO_RECEIVER}"),
    "recover-policy": Application(
        "`tcpserversink`, `recover-policy=keyframe`",
        "tcpserversink host={address} port={port} sync=false recover-policy=keyframe unit-format=time "
        f"units-soft-max={SECOND} units-max={2 * SECOND} sync-method=latest-keyframe",
        "tcpclientsrc host={sender} port={port} ! fdsink",
        listens=True,
    ),
    "srt": Application(
        "SRT, a second of latency",
        "mpegtsmux alignment=7 ! srtsink uri=srt://{receiver}:{port} latency=1000 sync=false",
        "srtsrc uri=srt://:{port}?mode=listener latency=1000 ! tsdemux ! {parser} ! {caps} ! fdsink sync=false",
    ),
    **{
        f"ifdqueue-{mode}": Application(
            f"`ifdqueue mode={mode} ! tcpclientsink`", f"ifdqueue mode={mode} ! {TO_RECEIVER}"
        )
        for mode in ("ifd", "dependency")
    },
    **{
        f"ifdsink-{mode}": Application(
            f"`ifdsink mode={mode}`",
            f"ifdsink mode={mode} host={{receiver}} port={{port}} sync=false",
        )
        for mode in ("ifd", "ifd-optimised", "dependency")
    },
}
"""What runs in real time, and what the page calls it."""


def application_scenario(codec: str, link: Link) -> dict[str, Any]:
    """All applications, each over its own copy of the link."""

    def flow(name: str, application: Application) -> dict[str, Any]:
        sender: dict[str, Any] = {"pipeline": f"fdsrc ! {{parser}} ! {{caps}} ! {application.sender}"}
        if application.listens:
            sender["listens"] = True
        return {"name": name, "sender": sender, "receiver": {"pipeline": application.receiver}}

    flows = [flow(name, application) for name, application in APPLICATIONS.items()]
    return scenario(codec, link, 1) | {"name": f"{codec}-{link.name}-applications", "flow": flows}


def scenario(codec: str, link: Link, seed: int) -> dict[str, Any]:
    """All transports, each over its own copy of the link."""
    return {
        "name": f"{codec}-{link.name}-{seed}",
        "seed": seed,
        "movie": {"codec": codec, "bitrate": BITRATE, "duration": f"{SECONDS} s"},
        "network": dict(link.network),
        "flow": [{"transport": transport} for transport in TRANSPORTS],
    }
