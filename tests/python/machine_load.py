"""What else a machine does can be seen in a run of the emulated world; which failures it excuses.

A run says by itself when its network was late (`disturbed`). Its hosts are processes of this machine too: a sender's
thread that is not woken offers two frames at once, which no transport was built for, and a receiver's that is not
woken loses datagrams in its socket. Both are in what the run records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

import framewire
from framewire.errors import RunError
from too_busy import MOST, WORDS

__all__ = ["disturbance", "excused", "lateness_ms", "load", "run", "soon", "too_busy"]

NEVER_WAIT = ("udp", "udp-whole", "udp+ifd", "tcp+ifd", "tcp+ifd-optimised")
"""Transports that take every frame when it is due, so that one that is offered later was offered by a late thread."""

WORST_MS = 40.0
"""A frame at 25 Hz: the same that the product tolerates of a single release."""


def too_busy(evidence: str) -> NoReturn:
    """Ends the test: it says nothing, because of what this evidence tells of the machine. Such ends are counted."""
    pytest.skip(f"{WORDS}: {evidence}")


def run(text: str, directory: Path, **options: Any) -> framewire.Run:
    """Runs a scenario; skips where the machine is too busy even to set it up in time."""
    try:
        return framewire.run(text, out=directory / "run", **options)
    except RunError as error:
        if "overloaded" in str(error):
            too_busy(str(error))
        raise


def lateness_ms(result: framewire.Run, flow: str, quantile: float) -> float:
    """How late frames of a flow were offered, as far as that was the machine's doing.

    A flow whose transport waits cannot tell; what the worst of the others in the same run met stands for it.
    """
    witnesses = [flow] if flow in NEVER_WAIT else list(NEVER_WAIT)
    late = (pl.col("offered_ns") - pl.col("due_ns")) / 1e6
    frames = result.frames.filter(pl.col("flow").is_in(witnesses))
    found = frames.group_by("flow").agg(late=late.quantile(quantile))["late"].max()
    return float(found) if isinstance(found, int | float) else 0.0


def disturbance(result: framewire.Run, flow: str) -> str | None:
    """Why this run does not show how the flow fares by itself; None where it does."""
    proof = result.results.meta["accuracy"][flow]
    if proof["disturbed"] is not None:
        return str(proof["disturbed"])
    overflows = proof["evidence"]["receiver_receive_overflows"]
    if overflows:
        return f"the receiver was not woken in time for {overflows} datagrams"
    worst = lateness_ms(result, flow, 1.0)
    return f"a sender was woken {worst:.0f} ms late" if worst > WORST_MS else None


@contextmanager
def excused(result: framewire.Run, *flows: str) -> Iterator[None]:
    """What does not hold here is a failure, unless one of these flows (all, when none is named) was disturbed."""
    try:
        yield
    except AssertionError as error:
        for flow in flows or result.results.meta["accuracy"]:
            reason = disturbance(result, flow)
            if reason is not None:
                too_busy(f"{flow} was disturbed: {reason}; so {str(error).splitlines()[0]}")
        raise


def load() -> float:
    """How many programs per processor wanted to run, in the mean of the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def soon(took_s: float, allowed_s: float, waiting: float) -> None:
    """Fails where something took longer than allowed; skips where more than two programs per processor wanted to run.

    ``waiting`` is the `load` before the test, to which it has added nothing. Four times as long is a failure on any
    machine.
    """
    if allowed_s <= took_s < 4 * allowed_s and waiting > MOST:
        too_busy(f"load {waiting:.1f} per processor, and it took {took_s:.1f} s of {allowed_s} s")
    assert 0 < took_s < allowed_s
