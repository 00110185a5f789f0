"""The screens of a film: what was sent and what each receiver showed, picture by picture over the film."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire.as_decoded.concealed import Concealed
from framewire.as_decoded.received_parts import hands_on
from framewire.errors import InputError
from framewire.report.cut_stream import CutStream, StreamError
from framewire.report.data import Flow, ReportRun
from framewire.report.decoder import Output
from framewire.report.palette import PLACE_NAMES
from framewire.report.reference_pictures import Original, Pictures
from framewire.report.single_pictures import closure, picked

__all__ = ["Screen", "of_run", "seconds_of", "standing"]

UNSEEN_S = 0.05
"""So far behind nobody sees a player: about one frame."""


@dataclass(frozen=True)
class Screen:
    """One screen: the pictures that its decoder puts out, and when each stands there."""

    label: str
    colour: str
    stream: CutStream
    size: tuple[int, int]
    """Width and height of the frames."""
    frames: pl.DataFrame
    """Those that came whole, in decode order."""
    shown_at_s: Sequence[float | None]
    """By display number, in seconds of the film."""
    frame_rate: float
    movie_s: float
    """Length of what was offered to the transports."""
    waits: bool
    """The player waits for what is late."""
    missing: Sequence[str]
    """By display number, why a frame is not shown; empty for one that is. Up to the last that any flow was offered."""
    concealed: Concealed | None = None
    """Of a receiver that hands on damaged frames: its decoder, which conceals what is missing."""

    @property
    def end_s(self) -> float:
        """When its last picture has stood for its own time, and at the earliest with the movie."""
        last = max((at for at in self.shown_at_s if at is not None), default=0.0)
        return max(self.movie_s, last + 1 / self.frame_rate)

    def with_sound(self) -> Screen:
        """The same that says that its sound is heard."""
        return replace(self, label=f"{self.label}, heard")

    def pictures(self, output: Output, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
        """Display number and picture of the wanted frames, as a decoder puts them out.

        Raises StreamError where one does not come that the decoder can tell; one that conceals may leave pictures out.
        """
        if self.concealed is not None:
            yield from self.concealed.wanted(wanted, output)
            return
        needed = closure(self.frames, self.stream.coding, wanted)
        try:
            yield from picked(self.stream, self.size, needed, wanted, output)
        except StreamError as error:
            raise StreamError(f"{self.label}: {error}") from None

    def caption(self, at_s: float, slot: int | None) -> tuple[str, bool]:
        """What is to be said of the screen at a moment, and whether it stands still for want of a picture.

        ``slot`` is the display number of the picture that stands there.
        """
        due = min(int(at_s * self.frame_rate + 1e-6), len(self.missing) - 1)
        if slot is None:
            return ("waiting for the first picture", True) if self.waits else (self._why(due), True)
        # Beyond its own time, at the end of the frame of the film.
        still_s = at_s + 1e-6 - (self.shown_at_s[slot] or 0.0)
        if not self.waits:
            return (
                (f"frame {slot}{self._how(slot)}", False)
                if slot == due
                else (f"frozen {still_s:.2f} s, {self._why(due)}", True)
            )
        behind_s = (self.shown_at_s[slot] or 0.0) - slot / self.frame_rate
        behind = f", {behind_s:.1f} s behind" if behind_s > UNSEEN_S else ""
        if still_s - 1 / self.frame_rate > UNSEEN_S and slot < len(self.missing) - 1:
            return f"frame {slot}, waiting {still_s - 1 / self.frame_rate:.1f} s{behind}", True
        return f"frame {slot}{self._how(slot)}{behind}", False

    def _how(self, slot: int) -> str:
        """Of a picture that a decoder made of less than it is: so it is not what was sent."""
        return ", concealed" if self.concealed is not None and self.missing[slot] else ""

    def _why(self, due: int) -> str:
        return f"frame {due} {self.missing[due] or 'not shown'}"


def standing(shown_at_s: Sequence[float | None], frames: int, rate: float, begin_s: float = 0.0) -> NDArray[np.int64]:
    """By frame of a film, the display number of the picture on the screen; -1 before the first.

    >>> standing([0.0, None, 0.08, 0.20], frames=6, rate=25.0).tolist()
    [0, 0, 2, 2, 2, 3]
    """
    known = sorted((at, slot) for slot, at in enumerate(shown_at_s) if at is not None)
    times, slots = np.array([at for at, _ in known]), np.array([-1, *(slot for _, slot in known)])
    moments = begin_s + np.arange(frames) / rate
    return np.asarray(slots[np.searchsorted(times, moments + 1e-6, side="right")], dtype=np.int64)


def of_run(run: ReportRun, chosen: Sequence[str] = ()) -> tuple[list[Screen], list[str]]:
    """What was sent, and behind it the screens of its flows, of all or of those chosen; and why others are not there.

    Raises InputError for a flow that the run does not have, and where no picture can be had at all.
    """
    wanted = run.named(chosen)
    pictures = Pictures(run)
    originals, problems = pictures.originals
    screens: list[Screen] = []
    without = {name: problems[name] for name in wanted if name in problems}
    for original in originals:
        of_flows: list[Screen] = []
        for flow in (flow for flow in original.flows if flow.name in wanted):
            try:
                of_flows.append(_of_flow(run, flow, original, pictures))
            except StreamError as error:
                without[flow.name] = str(error)
        screens += [_sent(run, original), *of_flows] if of_flows else []
    told = [f"{name}: {why}" for name, why in without.items()]
    if not screens:
        raise InputError(f"{run.directory}: there is no picture to show: {'; '.join(told) or 'nothing was sent'}")
    return screens, told


def _sent(run: ReportRun, original: Original) -> Screen:
    frames, offered = original.ledger, _offered(run, original)
    return Screen(
        label=original.name,
        colour="#22272b",
        stream=original.stream,
        size=original.size,
        frames=frames,
        shown_at_s=[slot / original.frame_rate if slot < offered else None for slot in range(frames.height)],
        frame_rate=original.frame_rate,
        movie_s=run.offered_seconds,
        waits=False,
        missing=[""] * offered,
    )


def _of_flow(run: ReportRun, flow: Flow, original: Original, pictures: Pictures) -> Screen:
    one = pictures.received(flow, original)
    concealed = Concealed.of(run, flow, original, one) if hands_on(flow) else None
    return Screen(
        label=flow.name,
        colour=flow.look.colour,
        stream=one.stream,
        size=original.size,
        frames=run.ledger(flow).filter(pl.col("complete")),
        shown_at_s=(one.display if concealed is None else concealed.played).shown_at_s,
        frame_rate=original.frame_rate,
        movie_s=run.offered_seconds,
        waits=run.player(flow).policy == "stall",
        missing=_missing(run.ledger(flow))[: _offered(run, original)],
        concealed=concealed,
    )


def _offered(run: ReportRun, original: Original) -> int:
    """Frames in display order up to the last that any of its flows was offered: where a run that was ended stops."""
    flows = [flow.name for flow in original.flows]
    last = run.offered.filter(pl.col("flow").is_in(flows))["display"].max()
    return max(1, int(last) + 1) if isinstance(last, int) else 1


def _missing(ledger: pl.DataFrame) -> list[str]:
    """Why each frame is not shown, in display order."""
    columns = [name for name in ("fate", "root_cause_place") if name in ledger.columns]
    said = []
    for row in ledger.sort("display").select(columns).iter_rows(named=True):
        place = row.get("root_cause_place")
        where = f" ({PLACE_NAMES.get(place, place)})" if place and row["fate"] in ("lost", "undecodable") else ""
        said.append("" if row["fate"] == "shown" else f"{row['fate']}{where}")
    return said


def seconds_of(screens: Sequence[Screen]) -> float:
    """How long a film of these screens is."""
    return math.ceil(max(screen.end_s for screen in screens) * 1000) / 1000
