"""What a run found, for a terminal: the end of ``framewire run`` and of ``framewire campaign cell``."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from framewire import (
    application_congestion,
    burst_losses,
    capture_notes,
    equivalent_flows,
    terminal,
    unexplained_losses,
)
from framewire.commands import stdout
from framewire.errors import InputError
from framewire.run import Run
from framewire.scenario import ExternalFlow, Scenario, read

if TYPE_CHECKING:
    import polars as pl

    from framewire.as_decoded import Score
    from framewire.report.verdict import Verdict

__all__ = ["print_run", "report_command", "scores_table", "without_pictures"]

ALSO_AT_THE_END = ("count from its first packet", burst_losses.TO_A_FULL_QUEUE, "verdict is of the picture")
"""Parts of the caveats that are printed at the end of a run too: by them figures of some flows mean something else."""


def print_run(result: Run, report: Path | None, verdict: Verdict | None) -> None:
    """Prints the table, the notes, where things are, and the verdict in one sentence."""
    console = stdout()
    rows = result.summary.to_dicts()
    if result.status != "complete" and not result.failures:
        why = "its time limit was reached" if result.ended_by == "time limit" else "it was interrupted"
        console.print(f"This result is partial: {why}{_coverage(rows) or ' before the movie was over'}.")
        console.print()
    console.print(terminal.comparison(rows))
    if any(row["not_offered"] for row in rows):
        console.print("Shares and losses are of the frames that were offered to the transports.")
        if text := _under_way(result.frames):
            console.print(f"{text}.", markup=False, highlight=False)
    scenario = read(result.results.scenario)
    applications = any(isinstance(flow, ExternalFlow) for flow in scenario.flows)
    protocols = result.results.protocols if applications else {}
    for note in (
        equivalent_flows.note(scenario),
        application_congestion.note(scenario, result.results.meta, protocols),
    ):
        if note is not None:
            console.print(f"Note: {note}.", markup=False, highlight=False)
    unsent = result.results.meta.get("sound_left_out")
    if isinstance(unsent, str):
        console.print(f"Note: {unsent}.", markup=False, highlight=False)
    for note in (
        _unexplained(scenario, result) + capture_notes.notes(result.results.meta, scenario) + _of_verdict(verdict)
    ):
        console.print(f"Note: {note}.", markup=False, highlight=False)
    console.print(f"results  {result.directory}", markup=False, highlight=False, soft_wrap=True)
    if report is not None:
        console.print(f"report   {report}", markup=False, highlight=False, soft_wrap=True)
        if result.interrupted:
            console.print(without_pictures(result), markup=False, highlight=False, soft_wrap=True)
    if verdict is not None:
        console.print()
        sentence = textwrap.fill(
            verdict.sentence.replace(" %", "\N{NO-BREAK SPACE}%"), console.width, break_on_hyphens=False
        )
        console.print(sentence, style="bold", markup=False, highlight=False, soft_wrap=True)


def _under_way(frames: pl.DataFrame) -> str:
    """How many frames the end of the run met on their way."""
    from framewire.report import endings

    return endings.under_way(frames)


def _coverage(rows: Sequence[Mapping[str, Any]]) -> str:
    from framewire.report.endings import coverage

    known = [(row["frames"], row["not_offered"] or 0) for row in rows if row.get("frames")]
    return coverage(known)


def report_command(result: Run) -> str:
    """What makes the whole report of a run, for a shell."""
    return shlex.join(["framewire", "report", str(result.directory)])


def without_pictures(result: Run) -> str:
    """What to say of the report of a run that was interrupted."""
    return f"pictures are not in the report yet: {report_command(result)}"


NOT_MEASURED = "\N{EN DASH}"


def scores_table(scores: Sequence[Score]) -> Table:
    """The two ways to score a run side by side: what a receiver shows that discards damaged frames, and as decoded."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    names = ("flow", "damaged\nframes", "discarded\nPSNR dB", "\nSSIM", "\nVMAF")
    for name in (*names, "as decoded\nPSNR dB", "\nSSIM", "\nVMAF"):
        table.add_column(name, justify="left" if name == "flow" else "right")
    for one in scores:
        discarded = (one.discarded_psnr_db, one.discarded_ssim, one.discarded_vmaf)
        decoded = (one.as_decoded_psnr_db, one.as_decoded_ssim, one.as_decoded_vmaf)
        texts = [
            NOT_MEASURED if value is None else f"{value:.{digits}f}"
            for values in (discarded, decoded)
            for value, digits in zip(values, (1, 3, 1), strict=True)
        ]
        table.add_row(Text(one.flow), NOT_MEASURED if one.damaged is None else f"{one.damaged:,}", *texts)
    return table


def _of_verdict(verdict: Verdict | None) -> list[str]:
    """Notes on what a verdict is worth: on flows that it may wrong, and on other runs."""
    if verdict is None:
        return []
    later = [text.striptags().rstrip(".") for text in verdict.caveats if any(part in text for part in ALSO_AT_THE_END)]
    if verdict.provisional is not None and "disturbed" in verdict.provisional:
        calm = "" if "sender" in verdict.provisional else "; --world simulated needs no calm machine"
        return [*later, f"the report says what disturbed this run{calm}"]
    if verdict.provisional is None and verdict.seeded and verdict.best:
        return [*later, "this is one run with one seed; framewire campaign repeats it with others"]
    return later


def _unexplained(scenario: Scenario, result: Run) -> list[str]:
    """Notes on losses whose cause is not known; tables that cannot be read cost only these."""
    if not any(isinstance(flow, ExternalFlow) for flow in scenario.flows):
        return []
    try:
        return unexplained_losses.notes(scenario, result.frames, result.results.packets)
    except InputError:
        return []
