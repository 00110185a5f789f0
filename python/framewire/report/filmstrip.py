"""What each receiver showed at the same moments, as small pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl
from PIL import Image, WebPImagePlugin

from framewire.playout import Display, as_sent
from framewire.report.cut_stream import CutStream, StreamError, small_pictures
from framewire.report.data import Flow, ReportRun
from framewire.report.originals import Original, Pictures
from framewire.report.palette import Look
from framewire.report.psnr import DECODERS, PsnrResult

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
    frames: pl.DataFrame
    """Those that can be decoded."""
    played: Display
    as_sent: set[int]
    """Display numbers of pictures that are known to be what was sent."""
    frame_rate: float


def make(
    run: ReportRun,
    scores: PsnrResult,
    progress: Callable[[str, float], None] | None = None,
    pictures: Pictures | None = None,
) -> Filmstrip:
    """Decodes only the groups of pictures that the moments need, and of a receiver only what `scores` does not know."""
    chosen = moments(run)
    pictures = pictures or Pictures(run)
    sent, problems = pictures.originals
    if not sent:
        return Filmstrip(chosen, [], "; ".join(dict.fromkeys(problems.values())) or "no flow has pictures")
    rows: list[Row] = []
    for number, original in enumerate(sent, start=1):
        rows += of_original(run, pictures, original, chosen, scores)
        if progress is not None:
            progress("filmstrip", number / len(sent))
    without = [Row(flow.name, flow.look, [], problems[flow.name]) for flow in run.streams if flow.name in problems]
    return Filmstrip(chosen, rows + without)


def of_original(
    run: ReportRun, found: Pictures, original: Original, chosen: list[Moment], scores: PsnrResult
) -> list[Row]:
    """What was sent, and below it every screen that should have shown it."""
    slots = range(original.ledger.height)
    views: list[View | Row] = [
        View(
            original.name,
            None,
            original.stream,
            original.ledger,
            as_sent(original.ledger),
            {*slots},
            original.frame_rate,
        ),
        *(viewed(run, found, original, flow, scores) for flow in original.flows),
    ]
    shared = {slot for view in views if isinstance(view, View) for slot in wanted(view, chosen) & view.as_sent}
    try:
        pictures = thumbnails(original.stream, original.ledger, shared)
    except StreamError as error:
        pictures = {}
        views[0] = Row(original.name, None, [], str(error))

    def drawn(view: View | Row) -> Row:
        if isinstance(view, Row):
            return view
        own = wanted(view, chosen) - pictures.keys()
        try:
            return row(view, pictures | thumbnails(view.stream, view.frames, own), chosen)
        except StreamError as error:
            return Row(view.label, view.look, [], str(error))

    with ThreadPoolExecutor(DECODERS) as pool:
        return [*pool.map(drawn, views)]


def viewed(run: ReportRun, found: Pictures, original: Original, flow: Flow, scores: PsnrResult) -> View | Row:
    """The screen of one receiver, or why it cannot be shown."""
    try:
        one = found.received(flow, original)
    except StreamError as error:
        return Row(flow.name, flow.look, [], str(error))
    frames = run.ledger(flow).filter(pl.col("complete") & pl.col("decodable"))
    return View(flow.name, flow.look, one.stream, frames, one.display, scores.undamaged(flow), original.frame_rate)


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
                picture=None if slot is None else pictures[slot],
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


def thumbnails(stream: CutStream, frames: pl.DataFrame, wanted: set[int]) -> dict[int, str]:
    """Data URIs of the wanted display numbers."""
    if not wanted:
        return {}
    needed = closure(frames, wanted)
    if stream.coding.keeps_two_references:
        needed = needed.filter((pl.col("type") != "B") | pl.col("display").is_in(list(wanted)))
    slots = needed["display"].sort().to_list()
    pictures = small_pictures(stream, needed["frame"].to_list(), PICTURE_WIDTH)
    found: dict[int, str] = {}
    count = 0
    for count, (width, height, pixels) in enumerate(pictures, start=1):
        if count <= len(slots) and slots[count - 1] in wanted:
            found[slots[count - 1]] = data_uri(Image.frombytes("RGB", (width, height), pixels))
    if count != len(slots):
        raise StreamError(
            f"{count:,} pictures came out of the decoder where {len(slots):,} frames went in: "
            "which picture is which cannot be told"
        )
    return found


def closure(frames: pl.DataFrame, wanted: set[int]) -> pl.DataFrame:
    """The groups of the wanted frames and, because of open groups, those before; in decode order.

    Leading B pictures of a group whose predecessor is not there are left out: they refer to it.
    """
    groups = set(frames.filter(pl.col("display").is_in(list(wanted)))["gop"].to_list())
    groups |= {group - 1 for group in groups}
    cut = frames.filter(pl.col("gop").is_in(list(groups))).sort("frame")
    first_shown = cut.filter(pl.col("type") == "I").group_by("gop").agg(pl.col("display").min().alias("intra"))
    cut = cut.join(first_shown, on="gop", how="left", maintain_order="left")
    follows = pl.col("gop").is_in([group + 1 for group in groups & set(cut["gop"].to_list())])
    return cut.filter(follows | (pl.col("type") != "B") | (pl.col("display") > pl.col("intra")))


def data_uri(picture: Image.Image) -> str:
    """A picture that needs no file."""
    target = io.BytesIO()
    picture.save(target, WebPImagePlugin.WebPImageFile.format, quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(target.getvalue()).decode("ascii")
