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
from markupsafe import Markup

from framewire.campaign import origin
from framewire.errors import InputError
from framewire.psnr import CAP_DB
from framewire.report import comparison, figures, filmstrip, portable_scenario, psnr
from framewire.report.caveats import drawn_by_chance
from framewire.report.data import ReportRun
from framewire.report.facts import facts
from framewire.report.originals import Pictures
from framewire.report.outcome import outcome
from framewire.report.palette import FATE_COLOURS, OF_OFFERED
from framewire.report.proof import proof
from framewire.report.timeline import fate_strip
from framewire.report.verdict import Verdict
from framewire.scenario import load

HERE = files("framewire.report")


LATER = "the run was interrupted and had to end at once; framewire report compares the pictures"
"""Why a report that is to be there soon shows no picture."""


def render(run: ReportRun, step: Callable[[str], None], *, pictures: bool = True) -> tuple[str, Verdict]:
    """The whole report as HTML, and the verdict that stands in it; without ``pictures`` none is decoded."""
    measured, strip = seen(run, step) if pictures else (psnr.unmeasured(LATER), filmstrip.Filmstrip([], [], LATER))
    scores = measured.of_offered(run)
    step("drawing")
    found = outcome(run, scores)
    flows = found.flows
    sections = figures.sections(run, scores)
    accuracy = None if run.simulated else figures.accuracy(run)
    drawn = [figure for section in sections for figure in section.figures] + ([accuracy] if accuracy else [])
    html = template().render(
        run=run,
        name=origin.read(run.directory) or str(run.scenario.get("name") or run.directory.name),
        facts=facts(run),
        verdict=found.verdict,
        columns=comparison.columns(flows),
        rows=comparison.rows(flows),
        strip=strip,
        timelines=[(flow, fate_strip(run, flow)) for flow in run.streams],
        fate_colours={
            fate: FATE_COLOURS[fate] for fate in FATE_COLOURS if fate in OF_OFFERED or run.counted == "offered"
        },
        psnr_failure=scores.failure,
        cap_db=CAP_DB,
        sections=sections,
        accuracy=accuracy,
        proof=proof(run),
        scenario=portable_scenario.portable(run),
        simulation_only=needs_simulation(run),
        seeded=drawn_by_chance(run),
        versions=versions(run),
        style=Markup(HERE.joinpath("style.css").read_text(encoding="utf-8")),
        script=Markup(HERE.joinpath("report.js").read_text(encoding="utf-8")),
        figures_json=in_script({figure.name: [figure.data, figure.layout] for figure in drawn if not figure.absent}),
        plotly=plotly_packed(),
        sort_value=sort_value,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return html, found.verdict


def seen(run: ReportRun, step: Callable[[str], None]) -> tuple[psnr.PsnrResult, filmstrip.Filmstrip]:
    """What pictures show: how far they are from those that were sent, and some of them."""
    step("comparing what was shown with what was sent")
    pictures = Pictures(run)
    measured = psnr.measure(run, pictures=pictures)
    step("cutting the filmstrip")
    return measured, filmstrip.make(run, measured, pictures=pictures)


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
    script = files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    packed = gzip.compress(script, compresslevel=6, mtime=0)
    return Markup(base64.b64encode(packed).decode("ascii"))


def needs_simulation(run: ReportRun) -> bool:
    """Whether only the simulated world can run the scenario."""
    try:
        return load(run.scenario).parsed.needs_simulation is not None
    except InputError:  # of an earlier version, or lost
        return False


def versions(run: ReportRun) -> list[tuple[str, str]]:
    """Everything that run.json says, beside what has its own place in the report."""
    elsewhere = {"accuracy", "interference"}
    return flattened({key: value for key, value in run.info.items() if key not in elsewhere})


def flattened(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as dotted names, without the directories of the machine that it ran on."""
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        value = {part.get("name", i) if isinstance(part, dict) else i: part for i, part in enumerate(value)}
    if isinstance(value, dict):
        dotted = f"{prefix}." if prefix else ""
        return [pair for key, part in value.items() for pair in flattened(part, f"{dotted}{key}")]
    return [
        (
            prefix,
            json.dumps(value)
            if isinstance(value, (list, bool)) or value is None
            else portable_scenario.shortened(value),
        )
    ]
