"""How a run and its flows ended, where that was not the end of the movie."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

import polars as pl
from markupsafe import Markup

from framewire.report.data import ReportRun

__all__ = ["coverage", "cut_off", "failures", "is_of_machine", "not_offered", "notes", "stopped"]

OF_MACHINE = frozenset(
    {errno.EFBIG, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""Errors of the machine that a run is made on, and not of the network that it is about: a limit on the size of files, a
disk that is full or broken, too many open files, no memory."""

OS_ERROR = re.compile(r"\(os error (\d+)\)")
"""How the standard library of Rust ends the text of an error of the system."""


def failures(run: ReportRun) -> dict[str, str]:
    """By the name of a flow how it failed."""
    return {
        str(entry.get("name")): str(entry["failure"])
        for entry in run.info.get("flows") or []
        if isinstance(entry, dict) and entry.get("failure")
    }


def is_of_machine(failure: str) -> bool:
    """Whether the machine, or a limit set on it, ended a flow.

    >>> is_of_machine("receiver: received movie cannot be written: File too large (os error 27)")
    True
    >>> is_of_machine("sender: Connection reset by peer (os error 104)")
    False
    """
    return any(int(number) in OF_MACHINE for number in OS_ERROR.findall(failure))


def cut_off(run: ReportRun) -> str | None:
    """Which flows the machine cut off and why, so that nothing can be chosen by them; None where it did not."""
    of_machine = {flow: failure for flow, failure in failures(run).items() if is_of_machine(failure)}
    if not of_machine:
        return None
    by_failure: dict[str, list[str]] = {}
    for flow, failure in of_machine.items():
        by_failure.setdefault(OS_ERROR.sub("", failure).strip(), []).append(flow)
    said = "; ".join(f"{' and '.join(flows)} ({why})" for why, flows in by_failure.items())
    return f"this machine cut off {said}"


def notes(run: ReportRun) -> list[Markup]:
    """How the run and its flows ended, where that was not their end."""
    said: list[Markup] = []
    if run.partial:
        early = f"ended early ({run.ended_by})" if run.ended_by else "did not come to its end"
        said.append(
            Markup("<b>The run is {}</b>: it {}{}. Do not choose by it.").format(run.status, early, on_the_way(run))
        )
        said += not_offered(run)
        said += [Markup("{}.").format(text) for text in [under_way(run.frames)] if text]
    failed = failures(run)
    said += [
        Markup("<b>{}</b> is partial: {}. What did not come after that counts as lost, and is no fault of it.").format(
            flow, failure
        )
        if is_of_machine(failure)
        else Markup("<b>{}</b> failed: {}. What it did not send counts as its own loss.").format(flow, failure)
        for flow, failure in failed.items()
    ]
    said += [
        Markup("<b>{}</b> ended as {}.").format(row["flow"], row["status"])
        for row in run.summary.iter_rows(named=True)
        if row.get("status") not in (None, "complete", run.status) and row["flow"] not in failed
    ]
    return said


def stopped(run: ReportRun) -> str | None:
    """That the run did not come to its end, why, and how much of the movie it covers; None of one that did."""
    if not run.partial:
        return None
    ended = {"interrupted": "was stopped", "time limit": "reached its time limit"}
    early = ended.get(run.ended_by or "", "did not come to its end")
    return f"the run {early}{coverage([(run.ledger(flow).height, run.not_offered(flow)) for flow in run.streams])}"


def coverage(flows: Sequence[tuple[int, int]]) -> str:
    """How much of the movie was offered, of frames of the movie and those not offered by flow; nothing where that was
    all of it.

    >>> coverage([(750, 683), (750, 680)])
    ' after 8 to 9 % of the movie (67 to 70 of 750 frames, by flow)'
    >>> coverage([(750, 0), (750, 0)]), coverage([(1500, 1499)])
    ('', ' after less than 1 % of the movie (1 of 1,500 frames)')
    """
    frames = max((all_of_it for all_of_it, _ in flows), default=0)
    if not any(left for _, left in flows):
        return ""
    offered = sorted({all_of_it - left for all_of_it, left in flows})
    ends = dict.fromkeys((offered[0], offered[-1]))
    shares = " to ".join(dict.fromkeys(_whole_percent(count, frames) for count in ends))
    counts = " to ".join(f"{count:,}" for count in ends)
    return f" after {shares} % of the movie ({counts} of {frames:,} frames{', by flow' if len(ends) > 1 else ''})"


def _whole_percent(part: int, whole: int) -> str:
    return "less than 1" if 0 < 100 * part < whole else str(100 * part // whole)


def on_the_way(run: ReportRun) -> str:
    """Says that frames were still on their way when the run ended, where some were."""
    if "root_cause" not in run.frames.columns:
        return ""
    cut = run.frames.filter((pl.col("fate") == "lost") & (pl.col("root_cause") == "run ended")).height
    return f", and {cut:,} frames that were offered but had not arrived by then count as lost" if cut else ""


def under_way(frames: pl.DataFrame) -> str:
    """How many frames the end of the run met on their way, which are held against nobody; nothing where it met none.

    >>> under_way(pl.DataFrame({"fate": ["shown", "not offered", "not offered"], "offered_ns": [0, 40, None]}))
    '1 frame was still under way, in time, and is not judged: it counts as not offered'
    """
    if "offered_ns" not in frames.columns:
        return ""
    count = frames.filter((pl.col("fate") == "not offered") & pl.col("offered_ns").is_not_null()).height
    if not count:
        return ""
    number, were, they = (f"{count:,} frames", "were", "they count") if count > 1 else ("1 frame", "was", "it counts")
    are = "are" if count > 1 else "is"
    return f"{number} {were} still under way, in time, and {are} not judged: {they} as not offered"


def not_offered(run: ReportRun) -> list[Markup]:
    """How many frames the run ended before, and that they count nowhere."""
    counts = {flow.name: (run.not_offered(flow), run.ledger(flow).height) for flow in run.streams}
    if not any(left for left, _ in counts.values()):
        return []
    if len({*counts.values()}) == 1:
        left, frames = next(iter(counts.values()))
        each = Markup("{:,} of {:,}{}").format(left, frames, " by each flow" if len(counts) > 1 else "")
        differ = ""
    else:
        each = Markup(", ").join(Markup("{} {:,} of {:,}").format(name, *pair) for name, pair in counts.items())
        differ = " So these shares are of different parts of the movie."
    return [Markup("Frames that were not offered are left out of all shares: {}.{}").format(each, differ)]
