"""How a campaign is shown while it goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from framewire.campaign.run import Event
from framewire.progress import Display, Silence

__all__ = ["for_console"]


def for_console(console: Console) -> Display:
    """A bar where it can be drawn, lines elsewhere."""
    return _Bar(console) if console.is_terminal and not console.is_dumb_terminal else _Lines(console)


class _Bar(Silence):
    """One bar: the preparation, then the cells."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
        )
        self._task: TaskID | None = None
        self._text = ""

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        match event.get("event"):
            case "step":
                self._show(str(event["text"]), event.get("share"), 1.0, "")
            case "damaged":
                self._progress.console.print(damage_of(event), markup=False, highlight=False, soft_wrap=True)
            case "cells":
                done = event["found"] + event["computed"] + event["failed"]
                self._show("cells", done, event["cells"], facts_of(event))

    def _show(self, text: str, done: float | None, total: float, facts: str) -> None:
        if text != self._text and self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        if self._task is None:
            self._task = self._progress.add_task(text, total=None, facts=facts)
        self._text = text
        self._progress.update(self._task, total=None if done is None else total, completed=done or 0, facts=facts)


class _Lines(Silence):
    """A line every few seconds, for logs."""

    def __init__(self, console: Console, every_s: float = 5.0) -> None:
        self._console = console
        self._every_s = every_s
        self._next = 0.0
        self._text = ""

    def __call__(self, event: Event) -> None:
        match event.get("event"):
            case "step" if event["text"] != self._text:
                self._text = str(event["text"])
                self._print(f"{self._text} ...")
            case "damaged":
                self._print(damage_of(event))
            case "cells":
                over = event["found"] + event["computed"] + event["failed"] == event["cells"]
                if over or time.monotonic() >= self._next:
                    self._next = time.monotonic() + self._every_s
                    self._print(facts_of(event))

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def damage_of(event: Event) -> str:
    """Which cell is damaged, or which table of all cells, and what happens."""
    if event["cell"] is None:
        return f"warning: {event['reason']}; it is written again from the cells"
    return f"warning: cell {event['cell']}: {event['reason']}; it is computed again"


def facts_of(event: Event) -> str:
    """Cells, speed and time left of a progress event.

    >>> event = {"cells": 672, "found": 100, "computed": 50, "failed": 0, "simulated_s": 3000.0, "elapsed_s": 10.0}
    >>> facts_of(event)
    '150 of 672 cells (100 found), 300 simulated s/s, 1:44 left'
    """
    done = event["found"] + event["computed"] + event["failed"]
    parts = [f"{done} of {event['cells']} cells"]
    notes = [f"{event[what]} {what}" for what in ("found", "failed") if event[what]]
    parts[0] += f" ({', '.join(notes)})" if notes else ""
    now, elapsed_s = event["computed"] + event["failed"], event["elapsed_s"]
    if now and elapsed_s > 0:
        parts.append(f"{event['simulated_s'] / elapsed_s:.0f} simulated s/s")
        left_s = elapsed_s / now * (event["cells"] - done)
        parts.append(f"{left_s // 60:.0f}:{left_s % 60:02.0f} left" if done < event["cells"] else f"{elapsed_s:.1f} s")
    return ", ".join(parts)
