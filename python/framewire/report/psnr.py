"""PSNR over time, with a missing frame scored as the picture that stands in its place ("psnr with freeze").

The reference is the movie as it was sent, decoded, or the top level of a ladder: a picture that came through undamaged
is identical to it, and its PSNR is infinite. Where a mean is taken or a curve drawn it counts as `CAP_DB`
(:mod:`framewire.psnr`, which says what a freeze costs).

What was received is decoded only where it is not known without to be the movie's own pictures: their bytes are, and so
is all that a decoder's state depends on (`context`, `decoding`). A frozen picture is compared with what should stand
there, point by point, and only those pictures of the movie are decoded that this asks for. A stream with other bytes
(of lower levels) is decoded beside the movie and compared slot by slot. One picture per flow is held, never a movie.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from zlib import adler32, crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire import files
from framewire.checksums import unsealed, with_file
from framewire.content_store import replacing
from framewire.psnr import CAP_DB, FreezeErrors, Sources, black, decibel, squared_error
from framewire.report import decoder
from framewire.report.by_flow import cut
from framewire.report.cut_stream import StreamError, luma_batches, luma_checksums, luma_pictures
from framewire.report.data import Flow, ReportRun
from framewire.report.decoded_display import Screen
from framewire.report.decoding import Plan, identical
from framewire.report.reference_pictures import Original, Pictures, Received

CACHE = "psnr.parquet"
DESCRIPTION = "run.json"
CACHE_FORMAT = 1
DECODERS = 2
"""Decoders at a time."""

WORTH_A_DECODER = 100
"""Frames for which it is worth while to start another one."""

MOST_DECODED_TWICE = 1.25
"""Frames that two decoders may be given together, of those that one would be given."""

BATCH_BYTES = 1 << 20
"""Luma that is taken from a decoder at a time: some pictures, so that Python seldom has to be asked, and what caches
hold."""

MOST_SIDE_BY_SIDE = 4
"""Received movies that are decoded beside the original at a time: each costs a process and a picture."""

MOST_NOTES = 20
"""Times that a checksum is noted again because another report was written meanwhile."""

Progress = Callable[[str, float], None]

Errors = dict[str, NDArray[np.float64]]
"""By the name of a flow, the mean squared error of what stands in each slot."""

SCHEMA = {"flow": pl.String, "display": pl.Int32, "on_screen": pl.Int32, "mse": pl.Float64, "psnr_db": pl.Float64}


@dataclass
class PsnrResult:
    """Scores and, by flow name, why there are none. `failure` says why there are none at all."""

    table: pl.DataFrame
    problems: dict[str, str]
    failure: str | None = None

    def of(self, flow: Flow) -> pl.DataFrame:
        """Rows of one flow in display order."""
        return self._by_flow.get(flow.name, self.table[:0])

    @cached_property
    def _by_flow(self) -> dict[str, pl.DataFrame]:
        return cut(self.table.sort("flow", "display", maintain_order=True))

    def of_offered(self, run: ReportRun) -> PsnrResult:
        """Without the frames that a partial run ended before."""
        asked = run.offered.select("flow", "display")
        table = self.table.join(asked, on=["flow", "display"], how="semi", maintain_order="left")
        return PsnrResult(table, self.problems, self.failure)

    def undamaged(self, flow: Flow) -> set[int]:
        """Display numbers of the frames that were shown in their turn, and are to the bit what was sent."""
        rows = self.of(flow).filter((pl.col("on_screen") == pl.col("display")) & (pl.col("mse") == 0))
        return set(rows["display"].to_list())

    def mean_db(self, flow: Flow) -> float | None:
        """Mean over all frames of the movie, an undamaged one counted as CAP_DB."""
        rows = self.of(flow)
        return None if rows.is_empty() else float(rows["psnr_db"].clip(upper_bound=CAP_DB).mean())  # type: ignore[arg-type]

    def pooled_db(self, flow: Flow) -> float | None:
        """PSNR of the mean squared error over the movie: no cap is involved; infinite when nothing was missing."""
        rows = self.of(flow)
        return None if rows.is_empty() else decibel(float(rows["mse"].mean()))  # type: ignore[arg-type]


def unmeasured(why: str = "pictures are compared where a report is made") -> PsnrResult:
    """Where no picture is decoded."""
    return PsnrResult(pl.DataFrame(schema=SCHEMA), {}, why)


def measure(run: ReportRun, progress: Progress | None = None, pictures: Pictures | None = None) -> PsnrResult:
    """Scores of all flows, from the run's cache when nothing has changed since."""
    pictures = pictures or Pictures(run)
    sent, problems = pictures.originals
    problems = {**problems}
    pictures.check()
    jobs = [Job.prepare(pictures, original) for original in sent]
    fingerprint = json.dumps([CACHE_FORMAT, sorted(problems.items()), *(job.inputs() for job in jobs)])
    cached = read_cache(run.directory / CACHE, fingerprint)
    if cached is not None:
        return cached
    tables = [pl.DataFrame(schema=SCHEMA)]
    for job in jobs:
        try:
            tables.append(job.run(progress or (lambda _text, _share: None)))
            problems |= job.problems
        except StreamError as error:
            problems |= {flow.name: str(error) for flow in job.original.flows}
    table = pl.concat(tables)
    if table.is_empty() and len(set(problems.values())) == 1:
        return PsnrResult(table, {}, next(iter(problems.values())))
    result = PsnrResult(table, problems)
    write_cache(run.directory / CACHE, fingerprint, result)
    return result


@dataclass
class Job:
    """Everything that is to be compared with one original."""

    original: Original
    received: list[Received]
    problems: dict[str, str]

    @staticmethod
    def prepare(pictures: Pictures, original: Original) -> Job:
        """Cuts all streams; a flow whose stream does not fit its ledger becomes a problem."""
        job = Job(original, [], {})
        for flow in original.flows:
            try:
                job.received.append(pictures.received(flow, original))
            except StreamError as error:
                job.problems[flow.name] = str(error)
        return job

    def inputs(self) -> list[object]:
        """Changes when anything that the scores depend on does.

        The time of a file counts only where it has no checksum, so that equal runs leave equal files.
        """
        paths = [(self.original.source, None), *((one.stream.path, one.checksum) for one in self.received)]
        state = [
            (path.name, path.stat().st_size, checksum or path.stat().st_mtime_ns)
            for path, checksum in paths
            if path.is_file()
        ]
        screens = crc32(repr([(one.flow.name, one.decodable, one.display.source) for one in self.received]).encode())
        return [state, screens, self.original.width, self.original.height, sorted(self.problems.items())]

    def run(self, progress: Progress) -> pl.DataFrame:
        """Two passes: freezes against the reference beside checksums of what was received; then what differed.

        Of what was received only that is decoded which is not known to be the movie's pictures, and which no flow
        before had in the same context. Where that turns out to differ, this flow and all that take over from it are
        decoded by themselves.
        """
        sent = self.original.stream
        alike = [one for one in self.received if identical(one.stream, sent, one.decodable)]
        errors = self.compare_freezes(alike, progress)
        differing = [one for one in self.received if one.flow.name not in errors]
        for start in range(0, len(differing), MOST_SIDE_BY_SIDE):
            errors |= self.compare_all(differing[start : start + MOST_SIDE_BY_SIDE], progress)
        tables = [scores(one, errors[one.flow.name]) for one in self.received if one.flow.name in errors]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *tables])

    def compare_freezes(self, received: list[Received], progress: Progress) -> Errors:
        """Errors of flows that received the movie's own bytes, but of those that decode to something else."""
        plan = Plan(self.original)
        parts = [plan.part(one) for one in received]
        checked = {slot for part in parts for slot in part.slots}
        sources = {one.flow.name: one.display.source for one in received}
        walks = [Walk(self.original, FreezeErrors(sources, self.pixels, slots), checked & {*slots})
                 for slots in self.shares(sources, checked)]  # fmt: skip
        with ThreadPoolExecutor(DECODERS) as pool:
            threads = 1 if checked else DECODERS // len(walks)
            walked = [pool.submit(walk.run, threads, progress) for walk in walks]
            checks = [pool.submit(checksums, one, part.frames) for one, part in zip(received, parts, strict=True)]
            sums = {slot: one for walk in walked for slot, one in walk.result().items()}
            got = [check.result() for check in checks]
        found = [walk.freezes.errors() for walk in walks]
        errors = {name: np.fmax.reduce([one[name] for one in found]) for name in sources}
        for one, part, own in zip(received, parts, got, strict=True):
            # What is taken over from flows before are the movie's own pictures, or nothing.
            if own != [sums[slot] for slot in part.slots] or (part.takes_over and len(errors) < len(received)):
                del errors[one.flow.name]
                continue
            for slot, source in enumerate(one.display.source):
                if source == slot:
                    errors[one.flow.name][slot] = 0.0
        return errors

    def shares(self, sources: Mapping[str, Sources], checked: set[int]) -> list[range]:
        """The slots of the movie in one part, or in as many as there are decoders where that saves time."""
        height = self.original.ledger.height
        asked = FreezeErrors(sources, self.pixels).slots | checked
        whole = needed(self.original, asked)
        if len(whole) < DECODERS * WORTH_A_DECODER:
            return [range(height)]
        bounds = [0, *(whole[len(whole) * part // DECODERS] for part in range(1, DECODERS)), height]
        parts = [range(begin, end) for begin, end in pairwise(bounds)]
        apart = sum(len(needed(self.original, asked & {*part})) for part in parts)
        return parts if apart <= MOST_DECODED_TWICE * len(whole) else [range(height)]

    @property
    def pixels(self) -> int:
        """Of a picture."""
        return self.original.width * self.original.height

    def compare_all(self, received: list[Received], progress: Progress) -> Errors:
        """Walks through the decodes side by side: for received movies whose pictures differ from those sent."""
        original = self.original
        screens = [Compared(one, self.original) for one in received]
        frames = original.ledger["frame"].to_list()
        slot = -1
        for slot, picture in enumerate(luma_pictures(original.stream, frames, original.width, original.height)):
            if slot < len(frames):
                for screen in screens:
                    screen.compare(slot, picture)
            progress("comparing pictures", slot / len(frames))
        if slot + 1 != len(frames):
            raise StreamError(
                f"{original.source.name} decodes to {slot + 1:,} pictures, the ledger names {len(frames):,}"
            )
        for screen in screens:
            if (problem := screen.problem()) is not None:
                self.problems[screen.name] = problem
        return {screen.name: screen.errors for screen in screens if screen.name not in self.problems}


@dataclass(frozen=True)
class Walk:
    """Through the pictures of an original that are asked for."""

    original: Original
    freezes: FreezeErrors
    checked: set[int]
    """Display numbers of pictures that others are to be compared with by checksum."""

    def run(self, threads: int, progress: Progress) -> dict[int, int]:
        """Returns the checksums."""
        original = self.original
        shown = needed(original, self.freezes.slots | self.checked)
        if not shown:
            return {}
        frames = original.ledger.filter(pl.col("display").is_in(shown))["frame"].sort().to_list()
        pixels = original.width * original.height
        batch = max(1, BATCH_BYTES // pixels)
        sums: dict[int, int] = {}
        done = 0
        for pictures in luma_batches(original.stream, frames, original.width, original.height, threads, batch=batch):
            slots = shown[done : done + len(pictures) // pixels]
            done += len(pictures) // pixels
            if done > len(shown):
                break
            self.freezes.take(slots, pictures)
            for place, slot in enumerate(slots):
                if slot in self.checked:
                    sums[slot] = adler32(memoryview(pictures)[place * pixels : (place + 1) * pixels])
            progress("comparing pictures", done / len(shown))
        if done != len(shown):
            name = original.source.name
            raise StreamError(f"{name} decodes to {done:,} pictures, the ledger names {len(shown):,} frames of them")
        return sums


def needed(original: Original, slots: set[int]) -> list[int]:
    """Display numbers of the frames that have to be decoded for these pictures."""
    display = dict(original.ledger.select("frame", "display").iter_rows())
    frame = {slot: frame for frame, slot in display.items()}
    return sorted(display[one] for one in original.context.closure(frame[slot] for slot in slots))


class Compared:
    """What one flow received, decoded beside the original."""

    def __init__(self, one: Received, original: Original) -> None:
        self.name = one.flow.name
        self.errors = np.full(original.ledger.height, np.nan)
        self._decodable = {*one.slots}
        self._came: set[int] = set()
        self._pictures = self._decoded(one, original)
        self._screen = Screen(one.display.source, self._pictures)
        self._black = black(original.width * original.height)

    def _decoded(self, one: Received, original: Original) -> Iterator[tuple[int, bytes]]:
        """Number and picture of the frames that can be decoded. The decoder is given all that came whole: without the
        others what came would have other gaps, and a decoder may lose its order at those."""
        display = dict(original.ledger.select("frame", "display").iter_rows())
        given = ((display[frame], one.stream.read(frame)) for frame in one.stream.places)
        for number, picture in decoder.pictures(original.stream.coding, original.width, original.height, given):
            if number in self._decodable:
                self._came.add(number)
                yield number, picture

    def compare(self, slot: int, sent: bytes) -> None:
        """Takes the next picture of the original."""
        self.errors[slot] = squared_error(sent, self._screen.at(slot) or self._black)

    def problem(self) -> str | None:
        """Why it cannot be told which picture is which, or None."""
        for _ in self._pictures:  # to the end
            pass
        if len(self._came) == len(self._decodable):
            return None
        return (
            f"the received movie decodes to {len(self._came):,} pictures where the ledger has "
            f"{len(self._decodable):,} decodable frames: which picture is which cannot be told"
        )


def checksums(one: Received, frames: list[int]) -> list[int]:
    """Checksums of frames that were received and can be decoded."""
    return luma_checksums(one.stream, frames) if frames else []


def scores(one: Received, errors: NDArray[np.float64]) -> pl.DataFrame:
    """Rows of psnr.parquet."""
    return pl.DataFrame(
        {
            "flow": [one.flow.name] * len(errors),
            "display": range(len(errors)),
            "on_screen": one.display.source,
            "mse": errors,
            "psnr_db": [decibel(float(error)) for error in errors],
        },
        schema=SCHEMA,
    )


def read_cache(path: Path, fingerprint: str) -> PsnrResult | None:
    """Earlier scores, when they were made from the same inputs and are what was written.

    Where a run has checksums, scores without one are of an earlier version, and measured again.
    """
    try:
        _, written = unsealed(files.read_json(path.with_name(DESCRIPTION)))
        if not written.vouches_for(path.name):
            return None
        written.check(path.parent, path.name)
        noted = pl.read_parquet_metadata(path)
        if noted.get("framewire_inputs") != fingerprint:
            return None
        return PsnrResult(pl.read_parquet(path), json.loads(noted["framewire_problems"]))
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def write_cache(path: Path, fingerprint: str, result: PsnrResult) -> None:
    """Keeps the scores in the run directory; a directory that cannot be written only costs the time next time."""
    notes = {"framewire_inputs": fingerprint, "framewire_problems": json.dumps(result.problems)}
    try:
        with replacing(path) as part:
            result.table.write_parquet(part, metadata=notes)
        add_checksum(path)
    except (OSError, ValueError):
        path.unlink(missing_ok=True)


def add_checksum(path: Path) -> None:
    """Writes the checksum of the scores into run.json; a run of an earlier version, without checksums, stays as it is.

    Of two reports that are made at once, either's scores may stay, and so does their checksum: each compares the file
    with the checksum again after it has written that, and writes it anew until they agree. A reader finds meanwhile
    whole files.

    Raises OSError or ValueError where it cannot be written, or others write again and again.
    """
    description = path.with_name(DESCRIPTION)
    for _ in range(MOST_NOTES):
        document = files.read_json(description)
        sealed = with_file(document, path.parent, path.name)
        if sealed is None or sealed == document:
            return
        with replacing(description) as part:
            part.write_text(json.dumps(sealed, indent=2), encoding="utf-8")
    raise ValueError(f"{description}: others write to it all the time")
