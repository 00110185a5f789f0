"""What each receiver showed at the same moments, as small pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import polars as pl
from PIL import Image

from framewire.report.data import Flow, ReportRun
from framewire.report.originals import Original, originals, received
from framewire.report.palette import Look
from framewire.report.psnr import DECODERS
from framewire.report.screen import Screen
from framewire.report.stream import CutStream, StreamError, small_pictures

MOMENTS = 9
PICTURE_WIDTH = 200
QUALITY = 68
"""Of the WebP pictures: about 5 kB each."""


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


def make(run: ReportRun, progress: Callable[[str, float], None] | None = None) -> Filmstrip:
    """Decodes only the groups of pictures that the moments need."""
    chosen = moments(run)
    sent, problems = originals(run)
    if not sent:
        return Filmstrip(chosen, [], "; ".join(dict.fromkeys(problems.values())) or "no flow has pictures")
    shown = [(original, flow) for original in sent for flow in (None, *original.flows)]

    def of_flow(index: int) -> Row:
        original, flow = shown[index]
        made = _sent(original, chosen) if flow is None else _viewed(run, original, flow, chosen)
        if progress is not None:
            progress("filmstrip", (index + 1) / len(shown))
        return made

    with ThreadPoolExecutor(DECODERS) as pool:
        rows = [*pool.map(of_flow, range(len(shown)))]
    without = [Row(flow.name, flow.look, [], problems[flow.name]) for flow in run.streams if flow.name in problems]
    return Filmstrip(chosen, rows + without)


def _sent(original: Original, chosen: list[Moment]) -> Row:
    slots = range(original.ledger.height)
    whole = Screen([*slots], [slot / original.frame_rate for slot in slots])
    try:
        return row(original.name, None, original.stream, original.ledger, whole, chosen, original.frame_rate)
    except StreamError as error:
        return Row(original.name, None, [], str(error))


def _viewed(run: ReportRun, original: Original, flow: Flow, chosen: list[Moment]) -> Row:
    try:
        one = received(run, flow, original)
        frames = run.ledger(flow).filter(pl.col("complete") & pl.col("decodable"))
        return row(flow.name, flow.look, one.stream, frames, one.screen, chosen, original.frame_rate)
    except StreamError as error:
        return Row(flow.name, flow.look, [], str(error))


def row(
    label: str,
    look: Look | None,
    stream: CutStream,
    frames: pl.DataFrame,
    played: Screen,
    chosen: list[Moment],
    frame_rate: float,
) -> Row:
    """One screen; `frames` are those that can be decoded."""
    on_screen = [standing(played, moment) for moment in chosen]
    pictures = thumbnails(stream, frames, {slot for slot in on_screen if slot is not None})
    cells: list[Cell] = []
    for moment, slot in zip(chosen, on_screen, strict=True):
        shown_at = None if slot is None else played.shown_at_s[slot]
        delayed = 0.0 if slot is None or shown_at is None else shown_at - slot / frame_rate
        own_end = slot / frame_rate + delayed if slot is not None else -1 / frame_rate
        frozen = max(0.0, moment.at_s - own_end)
        cells.append(
            Cell(
                picture=None if slot is None else pictures[slot],
                frozen_s=0.0 if frozen < 0.9 / frame_rate else frozen,
                behind_s=delayed,
            )
        )
    return Row(label, look, cells)


def standing(played: Screen, moment: Moment) -> int | None:
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
    picture.save(target, "WEBP", quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(target.getvalue()).decode("ascii")
