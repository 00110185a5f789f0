"""The scores: what stood on each screen against what was sent, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from framewire import run_tables
from framewire.as_decoded.concealed import Concealed, decoded
from framewire.as_decoded.pairs import Measure, Pairs, ssim
from framewire.as_decoded.received_parts import counts_damaged, keeps_gaps
from framewire.as_decoded.vmaf import vmaf
from framewire.content_store import replacing
from framewire.psnr import CAP_DB, black, decibel, squared_error
from framewire.report.cut_stream import StreamError, luma_pictures
from framewire.report.data import Flow, ReportRun
from framewire.report.decoded_display import Screen
from framewire.report.psnr import add_checksum
from framewire.report.reference_pictures import Original, Pictures, Received

__all__ = ["FILE", "Score", "measure", "write"]

FILE = "as_decoded.parquet"
"""Its name in the run directory."""

SCHEMA = {"flow": pl.String, "display": pl.Int32, "as_decoded": pl.Boolean, "on_screen": pl.Int32,
          "psnr_db": pl.Float64, "ssim": pl.Float64, "vmaf": pl.Float64}  # fmt: skip

MEASURED = ("psnr_db", "ssim", "vmaf")
"""Columns of it that say how like a picture is to the one that was sent."""

WAYS = {False: "discarded", True: "as_decoded"}

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Score:
    """Of one flow: as its receiver discards, and as a decoder conceals."""

    flow: str
    discarded_psnr_db: float
    """Mean over all slots; an undamaged picture counts as :data:`framewire.psnr.CAP_DB`."""
    as_decoded_psnr_db: float | None
    """None, as the others of its kind, where what came of frames with a gap is not known (:func:`keeps_gaps`)."""
    discarded_ssim: float
    as_decoded_ssim: float | None
    discarded_vmaf: float | None
    """None where it was not measured, as the next one."""
    as_decoded_vmaf: float | None
    damaged: int | None
    """Frames that were handed on up to their first gap; None where they are not counted, and taken whole only."""
    left_out: int
    """Frames with a gap that count as lost, because it is not known how they began: a queue had changed numbers in
    those around them."""


def measure(
    run: ReportRun, progress: Progress | None = None, chosen: Sequence[str] = (), vmaf_by: str | None = None
) -> tuple[list[Score], pl.DataFrame, list[str]]:
    """Scores each flow both ways, all or those chosen, and returns means, the slots (the table of :data:`FILE`), and
    why flows have none.

    The second way gives FFmpeg's decoder all frames that came whole, whatever they refer to, and of the others what
    came up to the first gap, as receivers do that do not discard; a picture is shown when the player of the run would
    have it by then, and stands until the next one. VMAF is measured where ``vmaf_by``, an ffmpeg that has it
    (:func:`framewire.as_decoded.vmaf.find`), is given. Raises InputError for a flow that the run does not have.
    """
    measures = {"ssim": ssim()} | ({} if vmaf_by is None else {"vmaf": vmaf(vmaf_by)})
    wanted = run.named(chosen)
    found = Pictures(run)
    originals, problems = found.originals
    told = [f"{name}: {why}" for name, why in problems.items() if name in wanted]
    scores, tables = [], [pl.DataFrame(schema=SCHEMA)]
    for original in originals:
        flows = [flow for flow in original.flows if flow.name in wanted]
        for number, flow in enumerate(flows):
            if progress is not None:
                progress({"event": "step", "text": f"decoding {flow.name}", "share": number / len(flows)})
            try:
                score, table = _of_flow(run, flow, original, found.received(flow, original), measures)
            except StreamError as error:
                told.append(f"{flow.name}: {error}")
                continue
            scores.append(score)
            tables.append(table)
    return scores, pl.concat(tables), told


def write(run: ReportRun, table: pl.DataFrame) -> Path:
    """Keeps the scores in the run directory, beside those of other flows that are there."""
    path = run.directory / FILE
    kept = run_tables.completed("as_decoded", run.as_decoded)
    if kept.schema == table.schema:
        table = pl.concat([kept.filter(~pl.col("flow").is_in(table["flow"].unique().to_list())), table])
    with replacing(path) as part:
        table.write_parquet(part)
    with suppress(OSError, ValueError):  # of a run without checksums, or that cannot be written: none
        add_checksum(path)
    return path


def _of_flow(
    run: ReportRun, flow: Flow, original: Original, one: Received, measures: Mapping[str, Measure]
) -> tuple[Score, pl.DataFrame]:
    concealed = Concealed.of(run, flow, original, one)
    whole, right = [arrival for arrival in concealed.came if arrival.whole], {*one.slots}
    # A receiver that discards gives its decoder what came whole; shown is what is decoded right.
    of_whole = decoded(original, ((arrival.display, one.stream.read(arrival.frame)) for arrival in whole))
    kept = Screen(one.display.source, (pair for pair in of_whole if pair[0] in right))
    screens = {False: kept, True: Screen(concealed.played.source, concealed.pictures())}
    values = _compared(original, screens, measures)
    if not keeps_gaps(flow) and not run.ledger(flow)["complete"].all():
        values[True] = {}
    tables = [
        pl.DataFrame(
            {"flow": flow.name, "display": range(original.ledger.height), "as_decoded": way,
             "on_screen": screens[way].on_screen} | {name: values[way].get(name) for name in MEASURED},
            schema=SCHEMA,
        )
        for way in screens if values[way]
    ]  # fmt: skip
    means: dict[str, Any] = {f"{of}_{name}": _mean(name, values[way]) for way, of in WAYS.items() for name in MEASURED}
    score = Score(
        flow=flow.name,
        **means,
        damaged=sum(not arrival.whole for arrival in concealed.came) if counts_damaged(flow) else None,
        left_out=concealed.left_out,
    )
    return score, pl.concat(tables)


def _compared(
    original: Original, screens: Mapping[bool, Screen], measures: Mapping[str, Measure]
) -> dict[bool, dict[str, list[float]]]:
    """Each screen held against what was sent, slot by slot."""
    count, size = original.ledger.height, original.width * original.height
    found: dict[bool, dict[str, list[float]]] = {way: {"psnr_db": []} for way in screens}
    with ExitStack() as stack:
        pairs = {
            (way, name): stack.enter_context(Pairs(measure, original.width, original.height))
            for way in screens
            for name, measure in measures.items()
        }
        slot = -1
        frames = original.ledger["frame"].to_list()
        for slot, sent in enumerate(luma_pictures(original.stream, frames, original.width, original.height)):
            if slot == count:
                break
            for way, screen in screens.items():
                picture = screen.at(slot) or black(size)
                found[way]["psnr_db"].append(decibel(squared_error(sent, picture)))
                for name in measures:
                    pairs[way, name].take(picture, sent)
        if slot + 1 != count:
            raise StreamError(f"{original.source.name} decodes to {slot + 1:,} pictures, the ledger names {count:,}")
        for (way, name), one in pairs.items():
            found[way][name] = one.values()
    return found


def _mean(name: str, values: Mapping[str, list[float]]) -> float | None:
    if name not in values:
        return None
    most = CAP_DB if name == "psnr_db" else np.inf
    return float(np.minimum(values[name], most).mean())
