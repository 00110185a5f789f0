"""PSNR over time, with a missing frame scored as the picture that stands in its place ("psnr with freeze").

The reference is the movie as it was sent, decoded, or the top level of a ladder: a picture that came through undamaged
is identical to it, and its PSNR is infinite. Where a mean is taken or a curve drawn it counts as `CAP_DB`
(:mod:`framewire.psnr`, which says what a freeze costs).

The received movie is decoded for itself, except for groups of pictures that a flow before had in the same context
(`decoding`). Its pictures are compared with the reference by checksum of their luma; only one that differs is compared
point by point. A frozen picture is compared with what should stand there, point by
point. One picture per flow is held, never a movie.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from zlib import adler32, crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire import files
from framewire.checksums import unsealed, with_file
from framewire.content_store import replacing
from framewire.psnr import CAP_DB, black, decibel, freeze_errors, squared_error
from framewire.report.by_flow import cut
from framewire.report.cut_stream import StreamError, luma_checksums, luma_pictures
from framewire.report.data import Flow, ReportRun
from framewire.report.decoding import Part, Plan
from framewire.report.known_errors import MOST, KnownErrors
from framewire.report.originals import Original, Pictures, Received

CACHE = "psnr.parquet"
DESCRIPTION = "run.json"
CACHE_FORMAT = 1
DECODERS = 2
"""Decoders at a time."""

MOST_NOTES = 20
"""Times that a checksum is noted again because another report was written meanwhile."""

Progress = Callable[[str, float], None]
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
        """Changes when anything that the scores depend on does."""
        paths = [self.original.source, *(one.stream.path for one in self.received)]
        state = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.is_file()]
        screens = crc32(repr([(one.flow.name, one.decodable, one.display.source) for one in self.received]).encode())
        return [state, screens, self.original.width, self.original.height, sorted(self.problems.items())]

    def run(self, progress: Progress) -> pl.DataFrame:
        """Two passes: freezes against the reference beside checksums of what was received; then what differed.

        Of what was received only that is decoded which no flow before had in the same context. Where that turns out to
        differ, this flow and all after it are decoded by themselves.
        """
        errors = {one.flow.name: np.full(self.original.ledger.height, np.nan) for one in self.received}
        plan = Plan(self.original)
        parts = [plan.part(one) for one in self.received]
        with ThreadPoolExecutor(DECODERS) as pool:
            alone = not any(part.frames for part in parts)
            reference = pool.submit(self.score_freezes, errors, progress, alone=alone)
            checks = [pool.submit(checksums, one, part.frames) for one, part in zip(self.received, parts, strict=True)]
            sums = reference.result()
            as_planned = True
            for one, part, check in zip(self.received, parts, checks, strict=True):
                got = check.result()
                # A flow that had nothing new takes over what this one showed: the movie's own pictures, or nothing.
                as_planned = as_planned and got == [sums[slot] for slot in part.slots]
                try:
                    self.check(one, got, part, sums, errors[one.flow.name], as_planned=as_planned)
                except StreamError as error:
                    self.problems[one.flow.name] = str(error)
        tables = [scores(one, errors[one.flow.name]) for one in self.received if one.flow.name not in self.problems]
        return pl.concat([pl.DataFrame(schema=SCHEMA), *tables])

    def pictures(self, threads: int = 1) -> Iterator[bytes]:
        """The luma of the original."""
        original = self.original
        frames = original.ledger["frame"].to_list()
        return luma_pictures(original.stream, frames, original.width, original.height, threads)

    def score_freezes(self, errors: dict[str, NDArray[np.float64]], progress: Progress, *, alone: bool) -> list[int]:
        """Error of every slot that shows another picture than its own, from reports before or from the reference.

        Returns the checksums of the reference's pictures; where it alone is decoded they are not asked for, and zeros.
        """
        if sum(int(np.count_nonzero(one.display.frozen)) for one in self.received) > MOST:
            return self.compare_freezes(errors, progress, alone=alone)
        frozen = [(one, slot, source) for one in self.received for slot, source in enumerate(one.display.source)
                  if source != slot]  # fmt: skip
        kept = KnownErrors(self.original)
        known = kept.of({(slot, source) for _, slot, source in frozen}) if alone else None
        if known is None:
            sums = self.compare_freezes(errors, progress, alone=alone)
            kept.add({(slot, source): float(errors[one.flow.name][slot]) for one, slot, source in frozen})
            return sums
        for one, slot, source in frozen:
            errors[one.flow.name][slot] = known[slot, source]
        return [0] * self.original.ledger.height

    def compare_freezes(self, errors: dict[str, NDArray[np.float64]], progress: Progress, *, alone: bool) -> list[int]:
        """One walk through the reference."""
        sums: list[int] = []
        frames = self.original.ledger.height

        def reference() -> Iterator[bytes]:
            for picture in islice(self.pictures(DECODERS if alone else 1), frames):
                sums.append(0 if alone else adler32(picture))
                yield picture

        sources = {one.flow.name: one.display.source for one in self.received}
        for slot, frozen in enumerate(freeze_errors(reference(), sources)):
            for name, error in frozen.items():
                errors[name][slot] = error
            if slot % 25 == 0:
                progress("comparing pictures", slot / frames)
        if len(sums) != frames:
            name = self.original.source.name
            raise StreamError(f"{name} decodes to {len(sums):,} pictures, the ledger names {frames:,}")
        return sums

    def check(
        self,
        one: Received,
        got: list[int],
        part: Part,
        sums: list[int],
        errors: NDArray[np.float64],
        *,
        as_planned: bool,
    ) -> None:
        """A picture with the reference's checksum has no error; the rest are compared point by point."""
        if not as_planned and not part.whole:
            got, part = checksums(one, one.decodable), Part(one.decodable, one.slots, whole=True)
        if len(got) != len(part.slots):
            raise StreamError(
                f"the received movie decodes to {len(got):,} pictures where the ledger has {len(part.slots):,} "
                "decodable frames: which picture is which cannot be told"
            )
        if got == [sums[slot] for slot in part.slots]:
            for slot in one.slots:
                if one.display.source[slot] == slot:
                    errors[slot] = 0.0
            return
        self.compare_all(one, errors)

    def compare_all(self, one: Received, errors: NDArray[np.float64]) -> None:
        """Walks through both decodes side by side: for a received movie whose pictures differ from those sent."""
        mine = luma_pictures(one.stream, one.decodable, self.original.width, self.original.height)
        decodable = set(one.slots)
        held = black(self.original.width * self.original.height)
        for slot, picture in enumerate(self.pictures()):
            if slot in decodable:
                got = next(mine)
                held = got if one.display.source[slot] == slot else held
            errors[slot] = squared_error(picture, held)


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
