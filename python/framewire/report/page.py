"""The page: everything that was computed, put into the template."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from threading import Event
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from framewire import network_picture, stats
from framewire.campaign import provenance
from framewire.psnr import CAP_DB
from framewire.report import comparison, figures, filmstrip, plotly, portable_scenario, psnr
from framewire.report.caveats import drawn_by_chance
from framewire.report.data import ReportRun
from framewire.report.facts import facts
from framewire.report.outcome import outcome
from framewire.report.palette import FATE_COLOURS, Look
from framewire.report.proof import proof
from framewire.report.reference_pictures import Pictures
from framewire.report.timeline import fate_strip
from framewire.report.verdict import Verdict

if TYPE_CHECKING:
    from framewire.render.excerpts import Excerpt

HERE = files("framewire.report")


LATER = "the run was interrupted and had to end at once; framewire report compares the pictures"
"""Why a report that is to be there soon shows no picture."""


def render(
    run: ReportRun, step: Callable[[str], None], *, pictures: bool = True, film: Sequence[Excerpt] = ()
) -> tuple[str, Verdict, list[str]]:
    """The whole report as HTML, the verdict that stands in it, and what could not be read and is not in it, a sentence
    each; without ``pictures`` none is decoded.

    Pictures are compared beside everything that can be drawn without them.
    """
    if pictures:
        step("comparing what was shown with what was sent")
    with beside(lambda progress: seen(run, progress) if pictures else unseen()) as compared:
        sections = figures.of_tables(run)
        accuracy = None if run.simulated or run.real else figures.accuracy(run)
        page, script = template(), plotly.packed()
        measured, strip = compared()
    step("drawing")
    scores = measured.of_offered(run)
    found = outcome(run, scores)
    flows = found.flows
    sections = [figures.of_pictures(run, scores), *sections]
    drawn = [figure for section in sections for figure in section.figures] + ([accuracy] if accuracy else [])
    html = page.render(
        run=run,
        name=provenance.read(run.directory) or (run.directory.name if run.scenario is None else run.scenario.name),
        facts=facts(run),
        verdict=found.verdict,
        columns=comparison.columns(flows),
        tables=comparison.tables(flows),
        without_marks=comparison.without_marks(flows),
        strip=strip,
        excerpts=film,
        films=film_commands(run, strip),
        timelines=[(flow, fate_strip(run, flow)) for flow in run.streams],
        fate_colours={
            fate: FATE_COLOURS[fate] for fate in FATE_COLOURS if fate in stats.OF_OFFERED or run.counted == "offered"
        },
        psnr_failure=scores.failure,
        cap_db=CAP_DB,
        sections=sections,
        accuracy=accuracy,
        proof=proof(run),
        scenario=portable_scenario.portable(run),
        network_picture=None if run.real or run.scenario is None else Markup(network_picture.svg(run.scenario)),
        send_command=portable_scenario.send_command(run) if run.real else "",
        simulation_only=run.scenario is not None and run.scenario.parsed.needs_simulation is not None,
        seeded=drawn_by_chance(run),
        versions=versions(run),
        style=Markup(HERE.joinpath("style.css").read_text(encoding="utf-8")),
        script=Markup(HERE.joinpath("report.js").read_text(encoding="utf-8")),
        figures_json=in_script({figure.name: [figure.data, figure.layout] for figure in drawn if not figure.absent}),
        plotly=script,
        sort_value=sort_value,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return html, found.verdict, left_out(run, scores)


def film_commands(run: ReportRun, strip: filmstrip.Filmstrip) -> list[tuple[Look | None, str, str]]:
    """What writes the film of each flow that has pictures, and of all together: how it is drawn, its name, the command.

    The directory is named without those above it: the report may be read elsewhere.
    """
    flows = [row.label for row in strip.rows if row.look is not None and row.problem is None]
    looks = {flow.name: flow.look for flow in run.flows}
    one_each: list[tuple[Look | None, str, str]] = [
        (looks[flow], flow, shlex.join(["framewire", "render", run.directory.resolve().name, flow])) for flow in flows
    ]
    together = (None, "all", shlex.join(["framewire", "render", run.directory.resolve().name]))
    return [*one_each, together] if len(flows) > 1 else one_each


def left_out(run: ReportRun, scores: psnr.PsnrResult) -> list[str]:
    """What could not be read of a run."""
    said = [f"{why}: no pictures are compared" for why in (scores.failure,) if why]
    said += [f"{flow}: its pictures are not compared: {why}" for flow, why in scores.problems.items()]
    return [*run.notes, *said]


Seen = tuple[psnr.PsnrResult, filmstrip.Filmstrip]
"""What pictures show: how far they are from those that were sent, and some of them."""


def seen(run: ReportRun, progress: Callable[[str, float], None]) -> Seen:
    """Looks at the pictures."""
    pictures = Pictures(run)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(filmstrip.of_sent, run, pictures)
        measured = psnr.measure(run, progress, pictures=pictures)
        return measured, filmstrip.make(run, measured, progress, pictures=pictures, sent=sent.result())


def unseen() -> Seen:
    """No picture was looked at."""
    return psnr.unmeasured(LATER), filmstrip.Filmstrip([], [], LATER)


class Abandoned(Exception):
    """What waits for it was interrupted."""


@contextmanager
def beside(work: Callable[[Callable[[str, float], None]], Seen]) -> Iterator[Callable[[], Seen]]:
    """Does something in a thread of its own; an error within the context, Ctrl-C too, ends it where it next says how
    far it is."""
    over = Event()

    def progress(_text: str, _share: float) -> None:
        if over.is_set():
            raise Abandoned

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(work, progress).result
        finally:
            over.set()


@cache
def template() -> jinja2.Template:
    """The template; everything that is put in is escaped unless it is marked safe."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["breakable"] = breakable
    return environment.from_string(HERE.joinpath("template.html.jinja").read_text(encoding="utf-8"))


LONGEST_PART = 18
"""Characters of a part of a name that stays on one line: somewhat more than any of a transport's."""


def breakable(name: str) -> Markup:
    """A name that a narrow column breaks before its parts, and never within one that is no longer than a transport has.

    >>> breakable("tcp+ifd-optimised")
    Markup('<span class="part">tcp</span><wbr><span class="part">+ifd-optimised</span>')
    >>> breakable("a-name-without-a-place-to-break-it")
    Markup('a-name-without-a-place-to-break-it')
    """
    parts = [part for part in re.split(r"(?=\+)", name) if part]
    kept = Markup('<span class="part">{}</span>')
    return Markup("<wbr>").join(kept.format(part) if len(part) <= LONGEST_PART else escape(part) for part in parts)


def sort_value(value: float | None) -> str:
    """A number as the table's script reads it."""
    return "" if value is None else "1e308" if value == float("inf") else repr(float(value))


def in_script(value: Any) -> Markup:
    """JSON that can stand in a script element: no text in it can end the element or open a comment."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


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
