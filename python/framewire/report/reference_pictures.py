"""What the flows of a run sent, as decoded pictures that the received ones are held against.

Flows that send the movie have the movie. Flows that choose among the levels of a ladder have its highest level: what
a viewer would have had over a network without limits.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

import polars as pl

from framewire import _native, content
from framewire.errors import InputError
from framewire.playout import Display, play
from framewire.report.context import Context, context_of
from framewire.report.cut_stream import CODINGS, H264, H265, CutStream, StreamError, coding_of, cut
from framewire.report.data import Flow, ReportRun
from framewire.report.nal_units import unpacked_size

ELEMENTARY_STREAMS = ("m2v", "m4v", "h264", "h265", "obu")
"""Endings of received movies (docs/results.md)."""

CHECKS = 2
"""Received movies that are looked at at a time."""


@dataclass(frozen=True)
class Original:
    """One movie as it was sent, cut into the frames of the ledger, and the flows that sent it."""

    name: str
    source: Path
    """The file that it is from."""
    stream: CutStream
    ledger: pl.DataFrame
    """Its frames in decode order; columns `frame`, `display`, `type`, `gop`, `size`."""
    width: int
    height: int
    frame_rate: float
    flows: list[Flow]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    @cached_property
    def context(self) -> Context:
        """What its pictures depend on."""
        return context_of(self.stream, self.ledger)


@dataclass(frozen=True)
class Received:
    """One flow's side of the comparison."""

    flow: Flow
    stream: CutStream
    display: Display
    decodable: list[int]
    """Frames to decode, in decode order."""
    slots: list[int]
    """Their display numbers, in the order in which the decoder puts them out."""
    checksum: str | None = None
    """Of the file, which it was compared with; None where the run has none."""


class Pictures:
    """What was sent and received in a run: found, checked and cut once for all that looks at it."""

    def __init__(self, run: ReportRun) -> None:
        self._run = run
        self._received: dict[str, Received | StreamError] = {}
        self._checking = Lock()

    @cached_property
    def originals(self) -> tuple[list[Original], dict[str, str]]:
        """As :func:`originals`."""
        return originals(self._run)

    def check(self) -> None:
        """Looks at all received movies, several at a time: most of the time goes into checksums. A second call
        waits for the first."""
        sent, _ = self.originals
        with self._checking, ThreadPoolExecutor(CHECKS) as pool:
            pool.map(lambda pair: self._find(*pair), [(flow, one) for one in sent for flow in one.flows])

    def received(self, flow: Flow, original: Original) -> Received:
        """As :func:`received`; raises StreamError each time where it did."""
        self._find(flow, original)
        found = self._received[flow.name]
        if isinstance(found, StreamError):
            raise found
        return found

    def _find(self, flow: Flow, original: Original) -> None:
        if flow.name not in self._received:
            try:
                self._received[flow.name] = received(self._run, flow, original)
            except StreamError as error:
                self._received[flow.name] = error


def originals(run: ReportRun) -> tuple[list[Original], dict[str, str]]:
    """What was sent, and by name of a flow why there is nothing to hold it against."""
    found: list[Original] = []
    problems: dict[str, str] = {}
    adaptive = [flow for flow in run.streams if flow.is_adaptive]
    for flows, find in ((run.of_movie, _movie), (adaptive, _top_level)):
        try:
            found += [find(run, flows)] if flows else []
        except StreamError as error:
            problems |= {flow.name: str(error) for flow in flows}
    return found, problems


def received(run: ReportRun, flow: Flow, original: Original) -> Received:
    """The received movie of one flow, cut by its ledger.

    The file holds the complete frames in decode order, and what its receiver handed on of others.
    """
    ledger = run.ledger(flow)
    if ledger.is_empty():
        raise StreamError("the ledger has no frames of this flow")
    complete = ledger.filter(pl.col("complete"))
    if Path(flow.name).name != flow.name:
        raise StreamError("its name cannot be that of a file")
    candidates = [run.directory / "received" / f"{flow.name}.{ending}" for ending in ELEMENTARY_STREAMS]
    path = next((path for path in candidates if path.is_file()), candidates[0])
    checksum = None
    if path.is_file():
        try:
            checksum = run.check(path)
        except InputError as error:
            raise StreamError(str(error)) from None
    coding = original.stream.coding
    kept = _kept(ledger)
    stream = CutStream(path, {}, coding) if kept.is_empty() else _cut_received(path, kept, original.stream)
    decodable = complete.filter(pl.col("decodable"))
    played = play(ledger, run.player(flow))
    slots = decodable["display"].sort().to_list()
    return Received(flow, stream, played, decodable["frame"].to_list(), slots, checksum)


def _kept(ledger: pl.DataFrame) -> pl.DataFrame:
    """The frames of which something was handed on, with its size."""
    if "handed_on" not in ledger.columns:  # of a run before there was that
        return ledger.filter(pl.col("complete"))
    sizes = pl.when(pl.col("complete")).then(pl.col("size")).otherwise(pl.col("handed_on"))
    return ledger.filter(pl.col("complete") | (pl.col("handed_on") > 0)).with_columns(size=sizes)


def _cut_received(path: Path, kept: pl.DataFrame, sent: CutStream) -> CutStream:
    """The frames of a received movie, also where they came with other start codes than they have in the movie."""
    try:
        return cut(path, kept, sent.coding, whole_file=True)
    except StreamError as error:
        if sent.coding not in (H264, H265):
            raise
        # What was handed on of a frame was counted as it came.
        rows = kept.select("frame", "size", "complete").iter_rows()
        sizes = [unpacked_size(sent, frame) if is_whole else size for frame, size, is_whole in rows]
        if not path.is_file() or sum(sizes) != path.stat().st_size or sizes == kept["size"].to_list():
            raise error from None
        return cut(path, kept.with_columns(size=pl.Series(sizes)), sent.coding, whole_file=True)


def _movie(run: ReportRun, flows: list[Flow]) -> Original:
    """The movie as sent, cut by the ledger of the first flow that has one."""
    given = run.movie.get("path")
    if not given:
        raise StreamError("run.json names no movie")
    path = _still_there(run, Path(str(given)), "movie")
    size = run.movie.get("width"), run.movie.get("height")
    if not size[0] or not size[1]:
        raise StreamError("run.json does not say how large the movie's pictures are")
    ledger = _ledger(run, flows)
    stream = cut(path, ledger, coding_of(path), whole_file=False)
    return Original("sent", path, stream, ledger, int(size[0]), int(size[1]), run.frame_rate, flows)


def _top_level(run: ReportRun, flows: list[Flow]) -> Original:
    """The highest level of the ladder, whose frames stand where those of every level do."""
    given = run.ladder.get("path")
    if not given:
        raise StreamError("run.json names no ladder")
    path = _still_there(run, Path(str(given)), "ladder")
    try:
        described = json.loads(_native.read_streaming_file(path))
        stream = content.top_level(path)
    except (InputError, OSError, _native.LadderError) as error:
        raise StreamError(f"the ladder that was sent cannot be read: {error}") from None
    coding = CODINGS.get(described["codec"])
    if coding is None:
        raise StreamError(
            f"pictures of the ladder cannot be had: its codec is {described['codec'] or 'none, only sizes'}"
        )
    ledger = _ledger(run, flows)
    sizes = described["levels"][-1]["sizes"]
    if ledger.height != len(sizes):
        raise StreamError(f"{path.name} has {len(sizes):,} frames, the ledger {ledger.height:,}")
    ledger = ledger.with_columns(pl.Series("size", sizes))
    width, height = described["size"]
    rate = run.rate_of(flows[0])
    return Original(
        "top level", path, cut(stream, ledger, coding, whole_file=False), ledger, width, height, rate, flows
    )


def _still_there(run: ReportRun, path: Path, what: str) -> Path:
    candidates = [path, run.directory / path, run.directory / path.name]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        raise StreamError(f"the {what} that was sent is no longer at {path}")
    return found


def _ledger(run: ReportRun, flows: list[Flow]) -> pl.DataFrame:
    ledger = next((rows for flow in flows if not (rows := run.ledger(flow)).is_empty()), None)
    if ledger is None:
        raise StreamError("the ledger is empty")
    return ledger
