"""The run in a few lines, for the head of the report: movie, network, flows, player."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from framewire.report import plot_data
from framewire.report.capacity import of_link
from framewire.report.cut_stream import codec_name
from framewire.report.data import Flow, ReportRun
from framewire.report.reference_pictures import ELEMENTARY_STREAMS
from framewire.scenario import BulkFlow, BurstLoss, Network, Wifi, Wire
from framewire.transports import EXTERNAL

__all__ = ["facts"]


def facts(run: ReportRun) -> list[tuple[str, str]]:
    """What was run, as names and texts."""
    facts_found = [*movie(run), *(between_machines(run) if run.real else [("network", network(run))])]
    if run.interference:
        facts_found.append(("interference", ", ".join(f"{a:g} to {b:g} s" for a, b in run.interference)))
    again = f", fills {run.high_mark_s:g} s again in a pause" if run.policy == "stall" and run.high_mark_s else ""
    facts_found.append(("player", f"{run.policy}, starts {run.startup_s:g} s after the first arrival{again}"))
    layout = f", {'together' if run.together else 'side-by-side'}" if len(run.flows) > 1 else ""
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
        ("ends", "" if run.info.get("session_checked") else NOT_CHECKED),
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


NOT_CHECKED = "not checked: nothing that both ends recorded says that they are of one stream"
"""Of runs in which one end said no number of the stream, and of those that were joined before it was compared."""

NOT_ALIGNED = "not aligned: delays count from that of the fastest packet"


def movie(run: ReportRun) -> list[tuple[str, str]]:
    """What was sent: its name, and what it is."""
    facts_found: list[tuple[str, str]] = []
    of, given = None if run.scenario is None else run.scenario.movie, run.movie
    if given or run.of_movie:
        parts = [source(of and of.source, "the lab's test movie"), codec(run)]
        if given.get("width"):
            parts.append(f"{given['width']}x{given.get('height', '?')}")
        parts.append(f"{run.frame_rate:.5g} frames/s, {run.movie_seconds:.1f} s")
        facts_found.append(("movie", ", ".join(str(part) for part in parts if part)))
    if isinstance(given.get("bitrate"), (int, float)):
        facts_found.append(("bitrate", f"{given['bitrate'] / 1e6:.2f} Mbit/s"))
    if isinstance(unsent := run.info.get("sound_left_out"), str):
        facts_found.append(("sound", unsent))
    if run.ladder:
        facts_found.append(("ladder", f"{source(of and of.ladder, 'ladder')}: {ladder_in_a_line(run.ladder)}"))
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
    return None if run.scenario is None else run.scenario.movie.codec


def source(given: str | None, of_the_lab: str) -> str:
    """The name of a file, without where it lay; of what the lab made, what that is.

    >>> source("/home/me/film.mp4", "the lab's test movie"), source("lab", "the lab's test movie")
    ('film.mp4', "the lab's test movie")
    """
    return of_the_lab if given in (None, "lab") else PurePath(given).name


def network(run: ReportRun) -> str:
    """The network in a line: what carries, with which rate, delay, queue, loss."""
    of = run.network
    if of is None:
        return ""
    if of.path is None:
        return graph(run, of)
    bottleneck, wire = f"bottleneck {of.path.bottleneck}", ", ".join(wire_in_words(run, of.path.wire))
    if of.path.wifi is None:
        return f"wired, {wire}, {bottleneck}"
    return f"{', '.join((of.kind, *air(of.path.wifi), bottleneck))}; behind it a wire: {wire}"


def graph(run: ReportRun, of: Network) -> str:
    """The links of a network of several, each with its nodes and what it does in either direction."""
    links = []
    for link in of.wired:
        ways = [", ".join(wire_in_words(run, wire)) for wire in (link.forward, link.backward)]
        first, second = link.between
        told = f"{first} to {second} {ways[0]}" + (", back the same" if ways[0] == ways[1] else f"; back {ways[1]}")
        links.append(f"{link.name}: {told}")
    for cell in of.cells:
        stations = ", ".join(cell.stations)
        links.append(f"{cell.name}: {', '.join(air(cell.wifi))}, between {cell.access_point} and {stations}")
    return f"{len(of.nodes)} nodes; " + ". ".join(links)


def air(wifi: Wifi) -> list[str]:
    """The 802.11 link."""
    return [
        wifi.standard,
        {"auto": "automatic rate"}.get(wifi.rate, wifi.rate),
        f"{wifi.retry} transmissions at most",
        f"queue of the access point {wifi.queue}{managed(wifi)}",
        *([f"{wifi.contenders} contending stations"] if wifi.contenders else []),
    ]


def wire_in_words(run: ReportRun, wire: Wire) -> list[str]:
    """The wire: its rate or trace, delay, jitter, queue, loss, outages."""
    link = of_link(run)
    rate = str(wire.rate) if wire.trace is None else f"trace {PurePath(wire.trace).name}"
    return [
        rate if link is None else link.in_words,
        f"{wire.delay} each way",
        *([f"jitter up to {wire.jitter}"] if wire.jitter_s else []),
        f"queue {wire.queue}{managed(wire)}",
        loss_in_words(wire.loss),
        *([f"outages {', '.join(f'{start:g} s to {end:g} s' for start, end in wire.outages)}"] if wire.outages else []),
    ]


def managed(of: Wire | Wifi) -> str:
    """What manages a queue, where that is not its length alone.

    >>> from framewire.scenario import load
    >>> codel = load({"network": {"wire": {"queue_discipline": "codel"}}, "flow": [{"transport": "udp"}]})
    >>> managed(codel.network.path.wire)
    ', codel'
    """
    return "" if of.queue_discipline == "drop-tail" else f", {of.queue_discipline}"


def loss_in_words(loss: float | BurstLoss) -> str:
    """Random loss, or loss in bursts.

    >>> loss_in_words(0.01)
    'loss 1 %'
    """
    if not isinstance(loss, BurstLoss):
        return f"loss {percent(loss)}"
    into, out, good, bad = map(percent, (loss.good_to_bad, loss.bad_to_good, loss.loss_good, loss.loss_bad))
    return f"loss in bursts: {into} into one, {out} out of it, {good} lost outside, {bad} inside"


def percent(probability: float) -> str:
    """As a scenario writes it."""
    return f"{100 * probability:g} %"


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
    of = flow.described if isinstance(flow.described, BulkFlow) else None
    row, count = plot_data.summary_row(run, flow), 1 if of is None else of.connections
    rate, lasted = row.get("packet_throughput_bps"), row.get("duration_s")
    brought = "nothing" if not rate else f"{rate / 1e6:.2f} Mbit/s"
    connections = "1 TCP connection" if count == 1 else f"{count} TCP connections"
    when = f"from {0.0 if of is None else of.start_s:g} s" + (f" for {lasted:.1f} s" if lasted else "")
    return f"{flow.name}: {connections} ({'?' if of is None else of.congestion}) {when}, {brought}"
