"""What each receiver showed at the same moments, as small pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl
from PIL import Image, WebPImagePlugin

from framewire.as_decoded.concealed import Concealed
from framewire.as_decoded.received_parts import hands_on
from framewire.playout import Display, as_sent
from framewire.report.cut_stream import CutStream, StreamError
from framewire.report.data import Flow, ReportRun
from framewire.report.decoded_display import Screen
from framewire.report.palette import Look
from framewire.report.psnr import DECODERS, PsnrResult
from framewire.report.reference_pictures import Original, Pictures
from framewire.report.single_pictures import closure, picked, portable_pixmaps

MOMENTS = 9
PICTURE_WIDTH = 200
QUALITY = 68
"""Of the WebP pictures: about 5 kB each. Their plugin is imported by name: Pillow would load all that it has."""


@dataclass(frozen=True)
class Moment:
    """A slot of the movie at which all screens are looked at."""

    slot: int
    at_s: float
    disturbed: bool


@dataclass(frozen=True)
class Cell:
    """What one screen showed at one moment."""

    picture: str | None
    """A data URI; None when nothing had been shown yet."""
    frozen_s: float
    """For how long the picture had stood longer than its own time."""
    behind_s: float
    """How far a player that waits is behind the moment."""


@dataclass(frozen=True)
class Row:
    """One screen at all moments, or why it cannot be shown."""

    label: str
    look: Look | None
    """Of the flow; None for what was sent."""
    cells: list[Cell]
    problem: str | None = None


@dataclass(frozen=True)
class Filmstrip:
    """All screens at all moments; `failure` says why there is none."""

    moments: list[Moment]
    rows: list[Row]
    failure: str | None = None


def moments(run: ReportRun) -> list[Moment]:
    """Moments before, during and after the (first) interference, or evenly spread."""
    length = run.offered_seconds
    spans = [(max(0.0, a), min(length, b)) for a, b in run.interference if a < length and b > 0]
    if spans:
        start, end = spans[0]
        during = max(2, MOMENTS // 2)
        before = (MOMENTS - during) // 2 if start > 0 else 0
        after = MOMENTS - during - before if end < length else 0
        points = spread(0, start, before) + spread(start, end, during) + spread(end, length, after)
    else:
        points = spread(0, length, MOMENTS)
    slots = sorted({min(run.frame_count - 1, int(point * run.frame_rate)) for point in points})
    times = [(slot, slot / run.frame_rate) for slot in slots]
    return [Moment(slot, at, any(a <= at < b for a, b in spans)) for slot, at in times]


def spread(start: float, end: float, count: int) -> list[float]:
    """Middles of `count` equal parts."""
    return [start + (end - start) * (index + 0.5) / count for index in range(count)] if end > start else []


@dataclass(frozen=True)
class View:
    """One screen over the movie: what was sent, or what a receiver showed."""

    label: str
    look: Look | None
    stream: CutStream
    size: tuple[int, int]
    """Width and height of the frames."""
    frames: pl.DataFrame
    """Those that came whole."""
    played: Display
    as_sent: set[int]
    """Display numbers of pictures that are known to be what was sent."""
    frame_rate: float
    concealed: Concealed | None = None
    """Of a receiver that hands on damaged frames: its decoder."""


@dataclass(frozen=True)
class Sent:
    """Pictures of an original that stood on some screen, as data URIs by display number."""

    pictures: dict[int, str]
    problem: str | None = None
    """Why there are none."""


def of_sent(run: ReportRun, pictures: Pictures) -> dict[str, Sent]:
    """By the name of the original; needs no scores, so that it can be made while these are."""
    chosen = moments(run)
    pictures.check()
    return {original.name: cut_out(run, pictures, original, chosen) for original in pictures.originals[0]}


def cut_out(run: ReportRun, found: Pictures, original: Original, chosen: list[Moment]) -> Sent:
    """The pictures that should have stood on a screen at the moments, and those that did in their place."""
    views = (viewed(run, found, original, flow, set()) for flow in original.flows)
    shown = [view for view in (whole(original), *views) if isinstance(view, View)]
    slots = {slot for view in shown for slot in wanted(view, chosen)}
    display = dict(original.ledger.select("display", "frame").iter_rows())
    needed = original.context.closure(display[slot] for slot in slots)
    try:
        return Sent(
            thumbnails(original.stream, original.size, original.ledger.filter(pl.col("frame").is_in(needed)), slots)
        )
    except StreamError as error:
        return Sent({}, str(error))


def make(
    run: ReportRun,
    scores: PsnrResult,
    progress: Callable[[str, float], None] | None = None,
    pictures: Pictures | None = None,
    sent: dict[str, Sent] | None = None,
) -> Filmstrip:
    """Decodes only the groups of pictures that the moments need, and of a receiver only what `scores` does not know."""
    chosen = moments(run)
    pictures = pictures or Pictures(run)
    found, problems = pictures.originals
    if not found:
        return Filmstrip(chosen, [], "; ".join(dict.fromkeys(problems.values())) or "no flow has pictures")
    sent = of_sent(run, pictures) if sent is None else sent
    rows: list[Row] = []
    for number, original in enumerate(found, start=1):
        rows += of_original(run, pictures, original, chosen, scores, sent[original.name])
        if progress is not None:
            progress("filmstrip", number / len(found))
    without = [Row(flow.name, flow.look, [], problems[flow.name]) for flow in run.streams if flow.name in problems]
    return Filmstrip(chosen, rows + without)


def of_original(
    run: ReportRun, found: Pictures, original: Original, chosen: list[Moment], scores: PsnrResult, sent: Sent
) -> list[Row]:
    """What was sent, and below it every screen that should have shown it."""
    first = whole(original) if sent.problem is None else Row(original.name, None, [], sent.problem)
    views = [first, *(viewed(run, found, original, flow, scores.undamaged(flow)) for flow in original.flows)]

    def drawn(view: View | Row) -> Row:
        if isinstance(view, Row):
            return view
        shown = wanted(view, chosen)
        if view.concealed is not None:
            return row(view, concealed_thumbnails(view.concealed, shown), chosen)
        known = {slot: sent.pictures[slot] for slot in shown & view.as_sent if slot in sent.pictures}
        own = shown - known.keys()
        try:
            needed = closure(view.frames, view.stream.coding, own)
            return row(view, known | thumbnails(view.stream, view.size, needed, own), chosen)
        except StreamError as error:
            return Row(view.label, view.look, [], str(error))

    with ThreadPoolExecutor(DECODERS) as pool:
        return [*pool.map(drawn, views)]


def whole(original: Original) -> View:
    """A screen that shows what was sent."""
    frames = original.ledger
    return View(original.name, None, original.stream, original.size, frames, as_sent(frames), {*range(frames.height)},
                original.frame_rate)  # fmt: skip


def viewed(run: ReportRun, found: Pictures, original: Original, flow: Flow, undamaged: set[int]) -> View | Row:
    """The screen of one receiver, or why it cannot be shown."""
    try:
        one = found.received(flow, original)
    except StreamError as error:
        return Row(flow.name, flow.look, [], str(error))
    frames = run.ledger(flow).filter(pl.col("complete"))
    try:
        concealed = Concealed.of(run, flow, original, one) if hands_on(flow) else None
    except StreamError as error:
        return Row(flow.name, flow.look, [], str(error))
    played, known = (one.display, undamaged) if concealed is None else (concealed.played, set[int]())
    return View(flow.name, flow.look, one.stream, original.size, frames, played, known, original.frame_rate, concealed)


def wanted(view: View, chosen: list[Moment]) -> set[int]:
    """Display numbers of the pictures that stood on a screen at the moments."""
    return {slot for moment in chosen if (slot := standing(view.played, moment)) is not None}


def row(view: View, pictures: dict[int, str], chosen: list[Moment]) -> Row:
    """One screen at all moments."""
    cells: list[Cell] = []
    for moment in chosen:
        slot = standing(view.played, moment)
        shown_at = None if slot is None else view.played.shown_at_s[slot]
        delayed = 0.0 if slot is None or shown_at is None else shown_at - slot / view.frame_rate
        own_end = slot / view.frame_rate + delayed if slot is not None else -1 / view.frame_rate
        frozen = max(0.0, moment.at_s - own_end)
        cells.append(
            Cell(
                picture=None if slot is None else pictures.get(slot),
                frozen_s=0.0 if frozen < 0.9 / view.frame_rate else frozen,
                behind_s=delayed,
            )
        )
    return Row(view.label, view.look, cells)


def standing(played: Display, moment: Moment) -> int | None:
    """The display number of the picture on the screen at a moment."""
    found: int | None = None
    for slot, at in enumerate(played.shown_at_s):
        if at is not None and at <= moment.at_s + 1e-6:
            found = slot
    return found


def thumbnails(stream: CutStream, size: tuple[int, int], needed: pl.DataFrame, wanted: set[int]) -> dict[int, str]:
    """Data URIs of the wanted display numbers, of the frames that are needed for them."""
    if not wanted:
        return {}
    pictures = picked(stream, size, needed, wanted, portable_pixmaps(PICTURE_WIDTH))
    return {slot: data_uri(Image.open(io.BytesIO(picture))) for slot, picture in pictures}


def concealed_thumbnails(concealed: Concealed, shown: set[int]) -> dict[int, str]:
    """The same of a decoder that conceals: where it leaves one out, the one before stands."""
    asked = sorted(shown)
    every = range(asked[-1] + 1 if asked else 0)
    screen = Screen(every, concealed.wanted(every, portable_pixmaps(PICTURE_WIDTH)))
    found: dict[int, str] = {}
    for slot in every:
        picture = screen.at(slot)
        if slot in shown and picture is not None:
            found[slot] = data_uri(Image.open(io.BytesIO(picture)))
    return found


def data_uri(picture: Image.Image) -> str:
    """A picture that needs no file."""
    target = io.BytesIO()
    picture.save(target, WebPImagePlugin.WebPImageFile.format, quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(target.getvalue()).decode("ascii")
