"""Applications as their users start them, in real time over the emulated network, beside the lab's own transports.

Three flows at a time: with nine on two cores the machine was the bottleneck. A flow that the emulator marks as
disturbed is run again; the page marks what stayed so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import framewire
from framewire import content_store
from framewire.campaign.plan import program_fingerprint
from framewire.errors import RunError
from framewire.files import sha256
from framewire.playout import replayed
from framewire.studies.dropping.measure import Row, keys_lost, player
from framewire.studies.dropping.plan import DEFAULT, MAIN_STARTUP_MS, METHODS, Link, Method, Plan
from framewire.studies.study import Progress

__all__ = ["AT_ONCE", "ELEMENT", "FLOWS", "PLAYER_MS", "SECONDS", "SRT_LATENCY_MS", "TWIN", "Application", "Lab",
           "carry_out", "mean_shown", "rivals_shown"]  # fmt: skip

SECONDS = 30
AT_ONCE = 3
TRIES = 3
FRAME_RATE = 25
PLUGIN = Path(framewire.__file__).parent / "_gst"
"""Where `make plugin` puts the elements."""

PLAYER_MS = 100
"""What the player still waits behind a receiver that has already waited."""
SRT_LATENCY_MS = MAIN_STARTUP_MS - PLAYER_MS


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
    limit_of: Method | None = None
    startup_ms: int = MAIN_STARTUP_MS
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
    limit_of: Method | None = None
    startup_ms: int = MAIN_STARTUP_MS
    ours: bool = False

    def flow(self, limit_ms: int | None) -> dict[str, Any]:
        """The flow of a scenario."""
        del limit_ms
        return {"name": self.name, "transport": self.name}


BY_NAME = {method.name: method for method in METHODS}
SINK = "tcpclientsink host={receiver} port={port} sync=false"
IFDSINK = "host={receiver} port={port} sync=false"
ELEMENT, TWIN = "ifdsink", "tcp+dependency"
FLOWS: tuple[Application | Lab, ...] = (
    Application("tcpclientsink", "tcpclientsink", SINK),
    Application(
        "recover-policy",
        "tcpserversink recover-policy=keyframe",
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
        "queue leaky=downstream ! tcpclientsink",
        f"queue leaky=downstream max-size-time={{limit}} max-size-bytes=0 max-size-buffers=0 ! {SINK}",
        limit_of=BY_NAME["tcp+leaky"],
    ),
    Lab("tcp", "the lab's tcp", twin="tcpclientsink"),
    Lab(TWIN, "the lab's tcp+dependency", twin=ELEMENT, ours=True),
    Application(
        "ifdqueue",
        "ifdqueue ! tcpclientsink",
        f"ifdqueue max-size-time={{limit}} ! {SINK}",
        limit_of=DEFAULT,
        ours=True,
    ),
    Application(ELEMENT, "ifdsink", f"ifdsink {IFDSINK}", ours=True),
    Application("ifdsink-optimised", "ifdsink mode=ifd-optimised", f"ifdsink mode=ifd-optimised {IFDSINK}", ours=True),
)
"""In the order of the runs, three after three."""

Limit = Callable[[str, str, Method], int | None]
"""The best limit for a movie and a link by name."""


def carry_out(plan: Plan, limit: Limit, directory: Path, progress: Progress) -> list[Row]:
    """Runs what is not yet in the directory, and measures it.

    Raises what :func:`framewire.run` raises; RunError where the hosts of applications have another congestion control
    than the lab's sockets.
    """
    store = content_store.ContentStore(directory)
    shorter = replace(plan, seconds=SECONDS)
    rows = []
    for link in plan.links:
        for codec in plan.movies:
            for start in range(0, len(FLOWS), AT_ONCE):
                batch = FLOWS[start : start + AT_ONCE]
                names = ", ".join(one.name for one in batch)
                progress({"event": "step", "text": f"applications: {codec} over {link.name}: {names}"})
                flows = [one.flow(limit(codec, link.name, one.limit_of) if one.limit_of else None) for one in batch]
                scenario = shorter.scenario(codec, link, flows) | {"name": f"{codec}-{link.name}-{batch[0].name}"}
                rows.extend(_best_try(store, scenario, (codec, link), batch))
    return rows


def _best_try(
    store: content_store.ContentStore,
    scenario: Mapping[str, Any],
    case: tuple[str, Link],
    batch: Sequence[Application | Lab],
) -> list[Row]:
    """The flows of the try in which the fewest were disturbed."""
    recipe = [program_fingerprint(), [sha256(one) for one in sorted(PLUGIN.glob("*.so"))], scenario]
    best: list[Row] = []
    for number in range(TRIES):
        name = f"{scenario['name']}-{content_store.key([*recipe, number])}"
        out = store.keep(name, content_store.existing, lambda scratch: _run(scenario, scratch / "run"))
        rows = _rows(out, case, {one.name: one.startup_ms for one in batch})
        if not best or _disturbed(rows) < _disturbed(best):
            best = rows
        if _disturbed(best) == 0:
            break
    return best


def _run(scenario: Mapping[str, Any], out: Path) -> Path:
    framewire.run(dict(scenario), out=out)
    shutil.rmtree(out / "captures", ignore_errors=True)
    # Like is to be compared with like: the lab's sockets have CUBIC, those of applications what their hosts have.
    had = json.loads((out / "run.json").read_text())["kernel"]["settings"]["net.ipv4.tcp_congestion_control"]
    if had != "cubic":
        raise RunError(
            f"the hosts of applications had {had} and not cubic, because this kernel allows them no other: add cubic "
            "to net.ipv4.tcp_allowed_congestion_control (as root), or leave --applications out"
        )
    return out


def _disturbed(rows: Sequence[Row]) -> int:
    return sum(row.disturbed for row in rows)


def _rows(directory: Path, case: tuple[str, Link], startups_ms: Mapping[str, int]) -> list[Row]:
    """The flows of a run, each for a player of its own."""
    from framewire.report import plot_data, psnr
    from framewire.report.data import load
    from framewire.report.metrics import metrics

    run = load(directory)
    players = {name: player(startup_ms) for name, startup_ms in startups_ms.items()}
    frames = pl.concat(replayed(run.ledger(flow), players[flow.name]) for flow in run.flows)
    run = replace(run, frames=frames, players=players)
    scores = psnr.measure(run)
    rows = []
    for flow in run.flows:
        one = metrics(run, flow, scores)
        summary = plot_data.summary_row(run, flow)
        rows.append(
            Row(
                case[0],
                case[1].name,
                1,
                flow.name,
                shown_percent=one.shown_share,
                longest_freeze_s=one.longest_freeze_s,
                latency_p95_ms=one.latency_p95_ms,
                latency_max_ms=summary.get("latency_max_ms"),
                keys_lost=keys_lost(run.offered_ledger(flow)),
                wasted_kb=(one.wasted_bytes or 0) / 1e3,
                psnr_db=one.psnr_mean_db,
                disturbed=run.disturbed(flow) is not None,
            )
        )
    return rows


def mean_shown(rows: Sequence[Row], name: str) -> float | None:
    """Percent of frames shown by a flow in the mean over all cases; None where it was not run."""
    values = [row.shown_percent for row in rows if row.flow == name]
    return fmean(values) if values else None


def rivals_shown(rows: Sequence[Row]) -> dict[str, float]:
    """The same of every program of others, by what the page calls it."""
    of_others = (one for one in FLOWS if isinstance(one, Application) and not one.ours)
    means = {one.label: mean_shown(rows, one.name) for one in of_others}
    return {label: mean for label, mean in means.items() if mean is not None}
