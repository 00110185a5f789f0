"""Applications as their users start them, in real time over the emulated network, beside the lab's own transports.

Three flows at a time: with nine on two cores the machine was the bottleneck. A flow that the emulator marks as
disturbed is run again; the page marks what stayed so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cases
import kept
import measure

import framewire

SECONDS = 30
AT_ONCE = 3
TRIES = 3
FRAME_RATE = 25
PLUGIN = Path(framewire.__file__).parent / "_gst"
"""Where `make plugin` puts the elements."""

PLAYER_MS = 100
"""What the player still waits behind a receiver that has already waited."""
SRT_LATENCY_MS = cases.MAIN_STARTUP_MS - PLAYER_MS


@dataclass(frozen=True)
class Application:
    """A pair of GStreamer pipelines; the sender's has the parser before it. `{limit}` is the best limit of `limit_of`
    with its own socket in nanoseconds, `{frames}` in frames, for an element that counts time by presentation times,
    which MPEG-2 does not have behind its parser."""

    name: str
    label: str
    sender: str
    receiver: str = "tcpserversrc host={address} port={port} ! fdsink"
    listens: bool = False
    limit_of: cases.Method | None = None
    startup_ms: int = cases.MAIN_STARTUP_MS
    ours: bool = False

    def flow(self, limit_ms: int | None) -> dict[str, Any]:
        """The flow of a scenario."""
        chain = self.sender
        if limit_ms is not None:
            limit = limit_ms * 1_000_000
            chain = chain.replace("{limit}", str(limit)).replace("{frames}", str(limit_ms * FRAME_RATE // 1_000))
        sender: dict[str, Any] = {"pipeline": f"fdsrc ! {{parser}} ! {{caps}} ! {chain}"}
        if self.listens:
            sender["listens"] = True
        return {"name": self.name, "sender": sender, "receiver": {"pipeline": self.receiver}}


@dataclass(frozen=True)
class Lab:
    """A transport of the lab, in the same world as the applications."""

    name: str
    label: str
    twin: str
    """The application that it is to agree with."""
    limit_of: cases.Method | None = None
    startup_ms: int = cases.MAIN_STARTUP_MS
    ours: bool = False

    def flow(self, limit_ms: int | None) -> dict[str, Any]:
        """The flow of a scenario."""
        del limit_ms
        return {"name": self.name, "transport": self.name}


BY_NAME = {method.name: method for method in cases.METHODS}
SINK = "tcpclientsink host={receiver} port={port} sync=false"
IFDSINK = "host={receiver} port={port} sync=false"
FLOWS: tuple[Application | Lab, ...] = (
    Application("tcpclientsink", "`tcpclientsink`", SINK),
    Application(
        "recover-policy",
        "`tcpserversink recover-policy=keyframe`",
        "tcpserversink host={address} port={port} sync=false recover-policy=keyframe unit-format=buffers "
        "units-soft-max={frames} sync-method=latest-keyframe",
        "tcpclientsrc host={sender} port={port} ! fdsink",
        listens=True,
        limit_of=BY_NAME["tcp+keyframe"],
    ),
    Application(
        "srt",
        "SRT, too-late packets dropped",
        f"mpegtsmux alignment=7 ! srtsink uri=srt://{{receiver}}:{{port}} latency={SRT_LATENCY_MS} sync=false",
        f"srtsrc uri=srt://:{{port}}?mode=listener latency={SRT_LATENCY_MS} ! tsdemux ! {{parser}} ! {{caps}} "
        "! fdsink sync=false",
        startup_ms=PLAYER_MS,
    ),
    Application(
        "leaky",
        "`queue leaky=downstream ! tcpclientsink`",
        f"queue leaky=downstream max-size-time={{limit}} max-size-bytes=0 max-size-buffers=0 ! {SINK}",
        limit_of=BY_NAME["tcp+leaky"],
    ),
    Lab("tcp", "the lab's `tcp`", twin="tcpclientsink"),
    Lab("tcp+dependency", "the lab's `tcp+dependency`", twin="ifdsink", ours=True),
    Application(
        "ifdqueue",
        "`ifdqueue ! tcpclientsink`",
        f"ifdqueue max-size-time={{limit}} ! {SINK}",
        limit_of=cases.DEFAULT,
        ours=True,
    ),
    Application("ifdsink", "`ifdsink`", f"ifdsink {IFDSINK}", ours=True),
    Application(
        "ifdsink-optimised", "`ifdsink mode=ifd-optimised`", f"ifdsink mode=ifd-optimised {IFDSINK}", ours=True
    ),
)
"""In the order of the runs, three after three."""

Limit = Callable[[str, str, cases.Method], int | None]
"""The best limit for a movie and a link by name."""


def run(
    names: Sequence[str],
    codecs: Sequence[str],
    links: Sequence[cases.Link],
    limit: Limit,
    directory: Path,
    progress: Callable[[str], None],
) -> list[measure.Row]:
    """Runs what is named and not yet in the directory, and measures it."""
    rows = []
    flows = [one for one in FLOWS if one.name in names]
    for link in links:
        for codec in codecs:
            for start in range(0, len(flows), AT_ONCE):
                batch = flows[start : start + AT_ONCE]
                progress(f"applications: {codec} over {link.name}: {', '.join(one.name for one in batch)}")
                rows.extend(_batch(codec, link, batch, limit, directory))
    return rows


def _batch(
    codec: str, link: cases.Link, batch: Sequence[Application | Lab], limit: Limit, directory: Path
) -> list[measure.Row]:
    """The flows of the try in which the fewest were disturbed."""
    flows = [one.flow(limit(codec, link.name, one.limit_of) if one.limit_of else None) for one in batch]
    scenario = cases.scenario(codec, link, 1, flows, SECONDS)
    stamp = kept.stamp(scenario, *sorted(PLUGIN.glob("*.so")))
    best: list[measure.Row] = []
    for number in range(TRIES):
        out = directory / f"{codec}-{link.name}-{batch[0].name}-{stamp}-{number}"
        if not out.exists():
            framewire.run(scenario, out=out)
            shutil.rmtree(out / "captures", ignore_errors=True)
        _require_cubic(out)
        rows = measure.rows(out, codec, link.name, 1, {one.name: one.startup_ms for one in batch})
        if not best or _disturbed(rows) < _disturbed(best):
            best = rows
        if _disturbed(best) == 0:
            break
    return best


def _require_cubic(out: Path) -> None:
    """Like is to be compared with like: the lab's sockets have CUBIC, those of applications what their hosts have."""
    had = json.loads((out / "run.json").read_text())["kernel"]["settings"]["net.ipv4.tcp_congestion_control"]
    if had != "cubic":
        raise SystemExit(
            f"{out}: the hosts of applications had {had} and not cubic, because this kernel allows them no other: "
            "add cubic to net.ipv4.tcp_allowed_congestion_control (as root), or leave the applications out"
        )


def _disturbed(rows: Sequence[measure.Row]) -> int:
    return sum(row.disturbed for row in rows)
