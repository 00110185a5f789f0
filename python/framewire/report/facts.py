"""The run in a few lines, for the head of the report: movie, network, flows, player."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from framewire.report import plot_data
from framewire.report.capacity import of_link
from framewire.report.cut_stream import codec_name
from framewire.report.data import Flow, ReportRun
from framewire.report.originals import ELEMENTARY_STREAMS
from framewire.transports import EXTERNAL

__all__ = ["facts"]


def facts(run: ReportRun) -> list[tuple[str, str]]:
    """What was run, as names and texts."""
    facts_found = [*movie(run), *(between_machines(run) if run.real else [("network", network(run))])]
    if run.interference:
        facts_found.append(("interference", ", ".join(f"{a:g} to {b:g} s" for a, b in run.interference)))
    again = f", fills {run.high_mark_s:g} s again in a pause" if run.policy == "stall" and run.high_mark_s else ""
    facts_found.append(("player", f"{run.policy}, starts {run.startup_s:g} s after the first arrival{again}"))
    layout = f", {run.scenario.get('layout', 'side-by-side')}" if len(run.flows) > 1 else ""
    facts_found.append(("flows", f"{len(run.flows)}{layout}"))
    facts_found += [("cross traffic", cross_traffic(run, flow)) for flow in run.flows if flow.is_bulk]
    if run.info.get("world"):
        facts_found.append(("world", WORLDS.get(str(run.info["world"]), str(run.info["world"]))))
    if run.info.get("origin_utc"):
        facts_found.append(("run", str(run.info["origin_utc"])))
    facts_found.append(("status", f"{run.status} ({run.ended_by})" if run.ended_by else run.status))
    return [(name, text) for name, text in facts_found if text]


WORLDS = {"simulated": "simulated, in virtual time", "real": "real: two ends, joined"}
"""What is said of some worlds beside their names."""


def between_machines(run: ReportRun) -> list[tuple[str, str]]:
    """Where a stream of the real world went, and how its two clocks were brought together."""
    return [
        ("network", f"what lies between, to {run.info['peer']}" if run.info.get("peer") else ""),
        ("clocks", clocks(run.info)),
    ]


def clocks(info: Mapping[str, Any]) -> str:
    """How the two clocks were brought together, in a line, with the error of that.

    >>> clocks({"clocks": {"aligned_by": "exchange", "questions": 16, "error_s": 25e-6, "drift_s": -2e-4}})
    'aligned by 16 exchanges to within 0.025 ms; they moved apart by 0.200 ms meanwhile, which is taken out'
    >>> clocks({"clocks": {"aligned_by": "fastest packet", "questions": 0, "error_s": None, "drift_s": None}})
    'not aligned: delays count from that of the fastest packet'
    """
    of = info.get("clocks")
    of = of if isinstance(of, dict) else {}
    error_s, drift_s = of.get("error_s"), of.get("drift_s")
    if of.get("aligned_by") == "exchange" and isinstance(error_s, float):
        moved = ""
        if isinstance(drift_s, float) and abs(drift_s) > 2 * error_s:  # less is not known to be so
            moved = f"; they moved apart by {abs(drift_s) * 1e3:.3f} ms meanwhile, which is taken out"
        return f"aligned by {of.get('questions')} exchanges to within {error_s * 1e3:.3f} ms{moved}"
    return NOT_ALIGNED


NOT_ALIGNED = "not aligned: delays count from that of the fastest packet"


def movie(run: ReportRun) -> list[tuple[str, str]]:
    """What was sent: its name, and what it is."""
    facts_found: list[tuple[str, str]] = []
    of, given = run.scenario.get("movie", {}), run.movie
    if given or run.of_movie:
        parts = [source(of.get("source"), "the lab's test movie"), codec(run)]
        if given.get("width"):
            parts.append(f"{given['width']}x{given.get('height', '?')}")
        parts.append(f"{run.frame_rate:.5g} frames/s, {run.movie_seconds:.1f} s")
        facts_found.append(("movie", ", ".join(str(part) for part in parts if part)))
    if isinstance(given.get("bitrate"), (int, float)):
        facts_found.append(("bitrate", f"{given['bitrate'] / 1e6:.2f} Mbit/s"))
    if run.ladder:
        facts_found.append(("ladder", f"{source(of.get('ladder'), 'ladder')}: {ladder_in_a_line(run.ladder)}"))
    return facts_found


def codec(run: ReportRun) -> str | None:
    """What the movie was coded in: by the movie or, where that is gone, by what a flow received of it; by the scenario
    where there is neither."""
    candidates = [Path(str(run.movie["path"]))] if run.movie.get("path") else []
    for flow in run.of_movie:
        if flow.transport != EXTERNAL and Path(flow.name).name == flow.name:
            candidates += [run.directory / "received" / f"{flow.name}.{ending}" for ending in ELEMENTARY_STREAMS]
    for path in candidates:
        try:
            if path.is_file() and (found := codec_name(path)) is not None:
                return found
        except OSError:
            continue
    stated = run.scenario.get("movie", {}).get("codec")
    return None if stated is None else str(stated)


def source(given: Any, of_the_lab: str) -> str:
    """The name of a file, without where it lay; of what the lab made, what that is.

    >>> source("/home/me/film.mp4", "the lab's test movie"), source("lab", "the lab's test movie")
    ('film.mp4', "the lab's test movie")
    """
    return of_the_lab if given in (None, "lab") else PurePath(str(given)).name


def network(run: ReportRun) -> str:
    """The network in a line: what carries, with which rate, delay, queue, loss."""
    of = run.scenario.get("network", {})
    wired = of.get("kind") == "wired"
    parts = [
        *([] if wired else air(of.get("wifi", {}))),
        f"bottleneck {of['bottleneck']}" if "bottleneck" in of else "",
    ]
    wire = wire_in_words(run)
    if wired:
        return ", ".join(part for part in ("wired", *wire, *parts) if part)
    first = ", ".join(part for part in (str(of.get("kind", "")), *parts) if part)
    return f"{first}; behind it a wire: {', '.join(wire)}" if wire else first


def air(wifi: dict[str, Any]) -> list[str]:
    """The 802.11 link."""
    rate = {"auto": "automatic rate"}.get(str(wifi.get("rate")), str(wifi.get("rate", "")))
    return [
        str(wifi.get("standard", "")),
        rate,
        f"{wifi['retry']} transmissions at most" if "retry" in wifi else "",
        f"queue of the access point {wifi['queue']}{managed(wifi)}" if "queue" in wifi else "",
        f"{wifi['contenders']} contending stations" if wifi.get("contenders") else "",
    ]


def wire_in_words(run: ReportRun) -> list[str]:
    """The wire: its rate or trace, delay, jitter, queue, loss, outages."""
    wire = run.scenario.get("network", {}).get("wire", {})
    if not wire:
        return []
    link = of_link(run)
    rate = link.in_words if link is not None else str(wire.get("rate", ""))
    if link is None and "trace" in wire:
        rate = f"trace {PurePath(str(wire['trace'])).name}"
    jitter, outages = str(wire.get("jitter", "")), wire.get("outages", [])
    return [
        part
        for part in (
            rate,
            f"{wire['delay']} each way" if "delay" in wire else "",
            f"jitter up to {jitter}" if jitter.partition(" ")[0] not in ("", "0") else "",
            f"queue {wire['queue']}{managed(wire)}" if "queue" in wire else "",
            loss_in_words(wire["loss"]) if "loss" in wire else "",
            f"outages {', '.join(f'{start} to {end}' for start, end in outages)}" if outages else "",
        )
        if part
    ]


def managed(section: Mapping[str, Any]) -> str:
    """What manages a queue, where that is not its length alone.

    >>> managed({"queue": "100 packets", "queue_discipline": "codel"})
    ', codel'
    """
    discipline = str(section.get("queue_discipline", "drop-tail"))
    return "" if discipline == "drop-tail" else f", {discipline}"


def loss_in_words(loss: Any) -> str:
    """Random loss, or loss in bursts.

    >>> loss_in_words("1 %")
    'loss 1 %'
    >>> loss_in_words({"good_to_bad": "1 %", "bad_to_good": "30 %", "loss_good": "0 %", "loss_bad": "100 %"})
    'loss in bursts: 1 % into one, 30 % out of it, 0 % lost outside, 100 % inside'
    """
    if not isinstance(loss, dict):
        return f"loss {loss}"
    into, out, good, bad = (loss.get(key, "?") for key in ("good_to_bad", "bad_to_good", "loss_good", "loss_bad"))
    return f"loss in bursts: {into} into one, {out} out of it, {good} lost outside, {bad} inside"


def ladder_in_a_line(ladder: dict[str, Any]) -> str:
    """Levels and their rates.

    >>> ladder_in_a_line({"codec": "H.264", "levels_bps": [125e3, 1e6], "duration_s": 70.0, "frame_rate": 23.976})
    'H.264, levels of 125, 1000 kbit/s, 23.976 frames/s, 70.0 s'
    """
    rates = ", ".join(f"{rate / 1e3:.0f}" for rate in ladder.get("levels_bps", []))
    codec = f"{ladder['codec']}, " if ladder.get("codec") else ""
    return f"{codec}levels of {rates} kbit/s, {ladder['frame_rate']:.5g} frames/s, {ladder['duration_s']:.1f} s"


def cross_traffic(run: ReportRun, flow: Flow) -> str:
    """What a bulk flow was, and what it brought."""
    of, row = flow.settings, plot_data.summary_row(run, flow)
    count = int(of.get("connections", 1))
    rate, lasted = row.get("packet_throughput_bps"), row.get("duration_s")
    brought = "nothing" if not rate else f"{rate / 1e6:.2f} Mbit/s"
    connections = "1 TCP connection" if count == 1 else f"{count} TCP connections"
    when = f"from {of.get('start', '0 s')}" + (f" for {lasted:.1f} s" if lasted else "")
    return f"{flow.name}: {connections} ({of.get('congestion', '?')}) {when}, {brought}"
