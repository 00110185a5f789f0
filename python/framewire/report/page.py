"""The page: everything that was computed, put into the template."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
import plotly.offline
from markupsafe import Markup

from framewire.campaign import origin
from framewire.report import comparison, figures, filmstrip, psnr, quantities
from framewire.report.caveats import caveats, provisional
from framewire.report.data import Flow, ReportRun
from framewire.report.metrics import metrics
from framewire.report.palette import FATE_COLOURS, NEVER_OFFERED, NEVER_OFFERED_COLOUR
from framewire.report.proof import proof
from framewire.report.timeline import fate_strip
from framewire.report.verdict import judge

HERE = files("framewire.report")


def render(run: ReportRun, step: Callable[[str], None]) -> str:
    """The whole report as HTML."""
    step("comparing what was shown with what was sent")
    scores = psnr.measure(run).of_offered(run)
    step("cutting the filmstrip")
    strip = filmstrip.make(run)
    step("drawing")
    flows = [metrics(run, flow, scores) for flow in run.streams]
    sections = figures.sections(run, scores)
    accuracy = None if run.simulated else figures.accuracy(run)
    drawn = [figure for section in sections for figure in section.figures] + ([accuracy] if accuracy else [])
    return template().render(
        run=run,
        name=origin.read(run.directory) or str(run.scenario.get("name") or run.directory.name),
        facts=facts(run),
        provisional=provisional(run),
        verdict=judge(
            flows, caveats(run, scores.problems), run.policy, quantities.movie_bitrate(run), competition(run)
        ),
        columns=comparison.columns(flows),
        rows=comparison.rows(flows),
        strip=strip,
        timelines=[(flow, fate_strip(run, flow)) for flow in run.streams],
        fate_colours=FATE_COLOURS | ({NEVER_OFFERED: NEVER_OFFERED_COLOUR} if run.counted == "offered" else {}),
        psnr_failure=scores.failure,
        cap_db=psnr.CAP_DB,
        sections=sections,
        accuracy=accuracy,
        proof=proof(run),
        versions=versions(run),
        style=Markup(HERE.joinpath("style.css").read_text(encoding="utf-8")),
        script=Markup(HERE.joinpath("report.js").read_text(encoding="utf-8")),
        figures_json=in_script({figure.name: [figure.data, figure.layout] for figure in drawn if not figure.absent}),
        plotly=plotly_packed(),
        sort_value=sort_value,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def template() -> jinja2.Template:
    """The template; everything that is put in is escaped unless it is marked safe."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(HERE.joinpath("template.html.jinja").read_text(encoding="utf-8"))


def sort_value(value: float | None) -> str:
    """A number as the table's script reads it."""
    return "" if value is None else "1e308" if value == float("inf") else repr(float(value))


def in_script(value: Any) -> Markup:
    """JSON that can stand in a script element: no text in it can end the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def plotly_packed() -> Markup:
    """plotly.js, compressed: a third of its size, and every browser since 2023 unpacks it by itself."""
    packed = gzip.compress(plotly.offline.get_plotlyjs().encode("utf-8"), compresslevel=9, mtime=0)
    return Markup(base64.b64encode(packed).decode("ascii"))


def facts(run: ReportRun) -> list[tuple[str, str]]:
    """The run in a line."""
    movie = run.movie
    told: list[tuple[str, str]] = []
    if movie.get("width"):
        told.append(("movie", f"{movie['width']}x{movie.get('height', '?')}, {run.frame_rate:g} frames/s, "
                              f"{run.movie_seconds:.1f} s"))  # fmt: skip
    if isinstance(movie.get("bitrate"), (int, float)):
        told.append(("bitrate", f"{movie['bitrate'] / 1e6:.2f} Mbit/s"))
    if run.ladder:
        told.append(("ladder", ladder_in_a_line(run.ladder)))
    network = run.scenario.get("network", {})
    if network:
        wifi = network.get("wifi", {})
        told.append(("network", ", ".join(str(part) for part in (
            network.get("kind"), wifi.get("standard"), f"rate {wifi['rate']}" if "rate" in wifi else None,
            f"{wifi['retry']} transmissions at most" if "retry" in wifi else None,
            f"bottleneck: {network['bottleneck']}" if "bottleneck" in network else None) if part)))  # fmt: skip
    if run.interference:
        told.append(("interference", ", ".join(f"{a:g} to {b:g} s" for a, b in run.interference)))
    told.append(("player", f"{run.policy}, starts {run.startup_s:g} s after the first arrival"))
    told.append(("flows", f"{len(run.flows)}, {run.scenario.get('layout', 'side-by-side')}"))
    told += [("cross traffic", cross_traffic(run, flow)) for flow in run.flows if flow.is_bulk]
    if run.info.get("world"):
        told.append(("world", "simulated, in virtual time" if run.simulated else str(run.info["world"])))
    if run.info.get("origin_utc"):
        told.append(("run", str(run.info["origin_utc"])))
    told.append(("status", str(run.info.get("status", "complete"))))
    return told


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
    of, row = flow.settings, quantities.summary_row(run, flow)
    count = int(of.get("connections", 1))
    rate, lasted = row.get("packet_throughput_bps"), row.get("duration_s")
    brought = "nothing" if not rate else f"{rate / 1e6:.2f} Mbit/s"
    connections = "1 TCP connection" if count == 1 else f"{count} TCP connections"
    when = f"from {of.get('start', '0 s')}" + (f" for {lasted:.1f} s" if lasted else "")
    return f"{flow.name}: {connections} ({of.get('congestion', '?')}) {when}, {brought}"


def competition(run: ReportRun) -> list[Markup]:
    """What cross traffic and the streams beside it got of the network that they shared."""
    bulk = [flow for flow in run.flows if flow.is_bulk]
    if not run.together or not bulk:
        return []
    got = []
    for flow in [*run.streams, *bulk]:
        rate = quantities.summary_row(run, flow).get("packet_throughput_bps")
        brought = "nothing" if not rate else f"{rate / 1e6:.2f} Mbit/s"
        got.append(Markup("<b>{}</b> {}").format(flow.name, brought))
    link = run.scenario.get("network", {}).get("wire", {}).get("rate")
    of = Markup(" of a link of {}").format(link) if isinstance(link, str) else Markup("")
    return [Markup("What each got, while it was there,{}: {}.").format(of, Markup(", ").join(got))]


def versions(run: ReportRun) -> list[tuple[str, str]]:
    """Everything that run.json says, beside what has its own place in the report."""
    elsewhere = {"accuracy", "interference"}
    return flattened({key: value for key, value in run.info.items() if key not in elsewhere})


def flattened(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as dotted names."""
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        value = {part.get("name", i) if isinstance(part, dict) else i: part for i, part in enumerate(value)}
    if isinstance(value, dict):
        dotted = f"{prefix}." if prefix else ""
        return [pair for key, part in value.items() for pair in flattened(part, f"{dotted}{key}")]
    return [(prefix, json.dumps(value) if isinstance(value, (list, bool)) or value is None else str(value))]
