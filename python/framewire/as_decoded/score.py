"""The scores: what stood on each screen against what was sent, slot by slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from framewire.as_decoded.first_bytes import AsSent, beginning
from framewire.as_decoded.received_parts import Arrival, arrivals, counts_damaged
from framewire.as_decoded.similarity import Similarity
from framewire.content_store import replacing
from framewire.playout import play
from framewire.psnr import CAP_DB, black, decibel, squared_error
from framewire.report.cut_stream import StreamError, luma_pictures
from framewire.report.data import Flow, ReportRun
from framewire.report.decoded_display import Screen
from framewire.report.decoder import pictures
from framewire.report.psnr import add_checksum
from framewire.report.reference_pictures import Original, Pictures, Received

__all__ = ["FILE", "Score", "measure", "write"]

FILE = "as_decoded.parquet"
"""Its name in the run directory."""

SCHEMA = {"flow": pl.String, "display": pl.Int32, "as_decoded": pl.Boolean, "on_screen": pl.Int32,
          "psnr_db": pl.Float64, "ssim": pl.Float64}  # fmt: skip

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Score:
    """Of one flow: as its receiver discards, and as a decoder conceals."""

    flow: str
    discarded_psnr_db: float
    """Mean over all slots; an undamaged picture counts as :data:`framewire.psnr.CAP_DB`."""
    as_decoded_psnr_db: float
    discarded_ssim: float
    as_decoded_ssim: float
    damaged: int | None
    """Frames that were handed on up to their first gap; None where they are not counted, and taken whole only."""
    left_out: int
    """Frames with a gap that count as lost, because it is not known how they began: a queue had changed numbers in
    those around them."""


def measure(
    run: ReportRun, progress: Progress | None = None, chosen: Sequence[str] = ()
) -> tuple[list[Score], pl.DataFrame, list[str]]:
    """Scores each flow both ways, all or those chosen, and returns means, the slots (the table of :data:`FILE`), and
    why flows have none.

    The second way gives FFmpeg's decoder all frames that came whole, whatever they refer to, and of the others what
    came up to the first gap, as receivers do that do not discard; a picture is shown when the player of the run would
    have it by then, and stands until the next one. Raises InputError for a flow that the run does not have.
    """
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
                score, table = _of_flow(run, flow, original, found.received(flow, original))
            except StreamError as error:
                told.append(f"{flow.name}: {error}")
                continue
            scores.append(score)
            tables.append(table)
    return scores, pl.concat(tables), told


def write(run: ReportRun, table: pl.DataFrame) -> Path:
    """Keeps the scores in the run directory, beside those of other flows that are there."""
    path = run.directory / FILE
    kept = run.as_decoded
    if kept.schema == table.schema:
        table = pl.concat([kept.filter(~pl.col("flow").is_in(table["flow"].unique().to_list())), table])
    with replacing(path) as part:
        table.write_parquet(part)
    with suppress(OSError, ValueError):  # of a run without checksums, or that cannot be written: none
        add_checksum(path)
    return path


def _of_flow(run: ReportRun, flow: Flow, original: Original, one: Received) -> tuple[Score, pl.DataFrame]:
    as_sent = AsSent(flow, one, original.stream)
    came, unknown = [], 0
    for arrival in arrivals(run, flow):
        if arrival.payload is None or as_sent.knows(arrival.frame):
            came.append(arrival)
        else:
            unknown += 1
    damaged = sum(not arrival.whole for arrival in came) if counts_damaged(flow) else None
    largest = _largest_payload(run, flow)

    def begin(arrival: Arrival) -> bytes:
        return beginning(as_sent, arrival, largest)

    whole, right = [arrival for arrival in came if arrival.whole], {*one.slots}
    # A receiver that discards gives its decoder what came whole; shown is what is decoded right.
    of_whole = ((number, picture) for number, picture in _decoded(original, one, whole, begin) if number in right)
    kept = Screen(one.display.source, of_whole)
    concealed = Screen(_planned(run, flow, came), _decoded(original, one, came, begin))
    count, size = original.ledger.height, original.width * original.height
    rows: dict[bool, list[float]] = {False: [], True: []}
    with ExitStack() as stack:
        ssims = {way: stack.enter_context(Similarity(original.width, original.height)) for way in rows}
        frames = original.ledger["frame"].to_list()
        slot = -1
        for slot, sent in enumerate(luma_pictures(original.stream, frames, original.width, original.height)):
            if slot == count:
                break
            for way, screen in ((False, kept), (True, concealed)):
                picture = screen.at(slot) or black(size)
                rows[way].append(decibel(squared_error(sent, picture)))
                ssims[way].take(picture, sent)
        if slot + 1 != count:
            raise StreamError(f"{original.source.name} decodes to {slot + 1:,} pictures, the ledger names {count:,}")
        similar = {way: one.values() for way, one in ssims.items()}
    tables = [
        pl.DataFrame(
            {"flow": [flow.name] * count, "display": range(count), "as_decoded": [way] * count,
             "on_screen": screen.on_screen, "psnr_db": rows[way], "ssim": similar[way]},
            schema=SCHEMA,
        )
        for way, screen in ((False, kept), (True, concealed))
    ]  # fmt: skip
    means = [(float(np.minimum(rows[way], CAP_DB).mean()), float(np.mean(similar[way]))) for way in (False, True)]
    (discarded_db, discarded_ssim), (as_decoded_db, as_decoded_ssim) = means
    score = Score(flow.name, discarded_db, as_decoded_db, discarded_ssim, as_decoded_ssim, damaged, unknown)
    return score, pl.concat(tables)


def _largest_payload(run: ReportRun, flow: Flow) -> int:
    """Bytes behind the header of RTP that a packet of the flow has room for."""
    headers_of_ip_udp_rtp = 20 + 8 + 12
    return (1500 if flow.described is None else flow.described.mtu) - headers_of_ip_udp_rtp


def _decoded(
    original: Original, one: Received, came: list[Arrival], begin: Callable[[Arrival], bytes]
) -> Iterator[tuple[int, bytes]]:
    """The pictures of a decoder that is given these frames; ``begin`` knows how those began that were not kept."""

    def code(arrival: Arrival) -> bytes:
        is_guessed = arrival.payload is not None
        return begin(arrival) if is_guessed else one.stream.read(arrival.frame)

    if came:
        frames = ((arrival.display, code(arrival)) for arrival in came)
        given = ((display, begin) for display, begin in frames if begin)
        yield from pictures(original.stream.coding, original.width, original.height, given)


def _planned(run: ReportRun, flow: Flow, came: list[Arrival]) -> list[int | None]:
    """Which picture the run's player would have on the screen, slot by slot, were each frame shown of which something
    came; one that waits also waits for all before it in decode order."""
    ledger = run.ledger(flow)
    if not came:
        return [None] * ledger.height
    at = np.array([arrival.at_ns for arrival in came])
    known = pl.DataFrame(
        {"display": [arrival.display for arrival in came], "at": at, "ready": np.maximum.accumulate(at)},
        schema_overrides={"display": pl.Int32},
    )
    first = ledger.select((pl.col("arrival_ns") - pl.col("arrival_rel_ns")).min()).item()
    rows = ledger.select("frame", "display", "display_ns").join(known, on="display", how="left", maintain_order="left")
    shown = rows.with_columns(
        fate=pl.when(pl.col("at").is_null()).then(pl.lit("lost")).otherwise(pl.lit("shown")),
        arrival_ns="at",
        arrival_rel_ns=pl.col("at") - (int(at.min()) if first is None else first),
        ready_ns="ready",
    )
    return play(shown, run.player(flow)).source
