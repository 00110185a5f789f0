"""How a run is shown while it goes on: bars that move in place on a terminal, a few lines elsewhere, both on stderr."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from framewire.missing_frames import in_words
from framewire.run_handle import Event

__all__ = ["Bars", "Display", "Lines", "Silence", "for_console"]


SHORT_S = 5.0
"""A step that takes less is printed by its name alone."""


class Display(Protocol):
    """Shows events of a run; a context for the time of the run."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def __call__(self, event: Event) -> None: ...


def for_console(console: Console, every_s: float = 60.0) -> Display:
    """Bars where they can be drawn, lines elsewhere, of a step that goes on at least so often."""
    return Bars(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console, every_s)


class Silence:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, event: Event) -> None:
        return None


class Bars(Silence):
    """A bar per stream with elapsed time, throughput and what is missing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tasks: dict[str, TaskID] = {}
        self._step: TaskID | None = None
        self._step_text = ""
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}", markup=False),
            console=console,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        match event.get("event"):
            case "step":
                self._show_step(str(event.get("text", "")), event.get("share"))
            case "started":
                self._end_step()
                width = max((len(str(flow)) for flow in event.get("flows", [])), default=0)
                for flow in event.get("flows", []):
                    task = self._progress.add_task(str(flow).ljust(width), total=None, facts="starting")
                    self._tasks[str(flow)] = task
            case "progress":
                self._advance(event)
            case "stopping":
                kept = "what was streamed is kept" if self._tasks else "nothing was streamed yet"
                self._console.print(f"Stopping; {kept}. Ctrl-C again stops that, too.")

    def _advance(self, event: Event) -> None:
        task = self._tasks.get(str(event.get("flow")))
        if task is None:
            return
        self._progress.update(
            task,
            total=event.get("frames"),
            completed=_sent(event)[0],  # also when it is done: a flow that was stopped or broke has no full bar
            facts=facts_of(event),
        )

    def _show_step(self, text: str, share: float | None) -> None:
        if text != self._step_text:
            self._end_step()
            self._step, self._step_text = self._progress.add_task(text, total=None, facts=""), text
        if self._step is not None and share is not None:
            self._progress.update(self._step, total=1.0, completed=share, facts=f"{share:.1%}" if share else "")

    def _end_step(self) -> None:
        if self._step is not None:
            self._progress.remove_task(self._step)
            self._step, self._step_text = None, ""


class Lines(Silence):
    """A few lines, for logs: of all streams together at their beginning and each quarter, or of a step at each quarter,
    otherwise every minute; and one for each stream when it is done. As a context it also tells of a step from which
    nothing is heard, so that a log shows that it goes on."""

    def __init__(self, console: Console, every_s: float = 60.0) -> None:
        self._console = console
        self._every_s = every_s
        self._sent: dict[str, tuple[int, int]] = {}
        self._done: set[str] = set()
        self._flows = 0
        self._latest_s = 0.0
        self._streaming = _Quarters(0.0, every_s, reached=-1)
        self._step = ""
        self._steps = _Quarters(SHORT_S, every_s)
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._is_over.clear()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._ticker is not None:
            self._ticker.join()

    def _tick(self) -> None:
        while not self._is_over.wait(min(1.0, max(0.01, self._every_s / 4))):
            with self._lock:
                if self._step and self._steps.is_overdue():
                    self._print(f"{self._step}: going on")

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event.get("event"):
            case "step":
                self._show_step(str(event.get("text", "")), event.get("share"))
            case "started":
                self._step = ""
                self._flows = len(event.get("flows", []))
                # Of a flow that nothing is known of yet, which in the simulated world has not begun.
                self._sent = {str(flow): (0, int(event.get("frames") or 0)) for flow in event.get("flows", [])}
                self._print(f"streaming: {', '.join(map(str, event.get('flows', [])))}")
            case "progress":
                self._advance(event)
            case "stopping":
                self._print(f"stopping; {'what was streamed is kept' if self._flows else 'nothing was streamed yet'}")

    def _advance(self, event: Event) -> None:
        flow, (sent, what) = str(event.get("flow")), _sent(event)
        self._sent[flow] = (sent, int(event.get("frames") or 0))
        if event.get("state") == "done":
            if flow not in self._done:
                self._done.add(flow)
                self._print(f"{flow}: {facts_of(event)}, {sent} of {event.get('frames', '?')} frames{what}")
            return
        elapsed_s = float(event.get("elapsed_s") or 0.0)
        # In virtual time each network has a clock of its own, and one is simulated after the other.
        at = f"{elapsed_s:.0f} s" if elapsed_s >= self._latest_s - 1 else f"{flow} at {elapsed_s:.0f} s"
        self._latest_s = max(self._latest_s, elapsed_s)
        frames = sum(of for _, of in self._sent.values())
        share = sum(sent for sent, _ in self._sent.values()) / frames if frames else 0.0
        if self._streaming.passed(share):
            flows = max(self._flows, len(self._sent))
            done = f"{share:.0%} of the frames" if frames else "going on"
            self._print(f"streaming: {done}, {at}, {flows - len(self._done)} of {flows} flows under way")

    def _show_step(self, text: str, share: float | None) -> None:
        if text != self._step:
            self._step, self._steps = text, _Quarters(min(SHORT_S, self._every_s), self._every_s)
            self._print(f"{text} ...")
        elif share and share < 1 and self._steps.passed(share):
            self._print(f"{text}: {share:.0%}")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Quarters:
    """When a line is due: at every further quarter, no sooner than after a time, and at the latest after another."""

    def __init__(self, soonest_s: float, latest_s: float, *, reached: int = 0) -> None:
        self._soonest_s, self._latest_s = soonest_s, latest_s
        self._last = time.monotonic()
        self._quarter = reached

    def is_overdue(self) -> bool:
        """Whether nothing was reported for the longer time; that counts as a report."""
        if time.monotonic() - self._last < self._latest_s:
            return False
        self._last = time.monotonic()
        return True

    def passed(self, share: float) -> bool:
        """Whether one is due now, at this share of the whole; it counts as reported."""
        waited = time.monotonic() - self._last
        if waited < self._latest_s and (int(4 * share) <= self._quarter or waited < self._soonest_s):
            return False
        self._last, self._quarter = time.monotonic(), int(4 * share)
        return True


def facts_of(event: Event) -> str:
    """Elapsed time, throughput and missing frames of a progress event; what an application drops is not known.

    >>> event = {"elapsed_s": 12.34, "throughput_bps": 4_100_000, "dropped": 10, "lost": 10, "given_up": 0}
    >>> facts_of(event | {"state": "draining"})
    '  12.3 s   4.10 Mbit/s    10 lost  draining'
    >>> facts_of({"elapsed_s": 12.34, "throughput_bps": 4_100_000, "dropped": None, "state": "streaming"})
    '  12.3 s   4.10 Mbit/s'
    """
    elapsed = float(event.get("elapsed_s") or 0.0)
    rate = float(event.get("throughput_bps") or 0.0) / 1e6
    state = str(event.get("state", ""))
    shown = "" if state == "streaming" else f"  {state}"
    missing = in_words(event)
    return f"{elapsed:6.1f} s {rate:6.2f} Mbit/s{missing and ' '}{missing}{shown}"


def _sent(event: Event) -> tuple[int, str]:
    """How far a flow has come: frames given to the transport, or of an application that reads the movie itself those
    that arrived, and what to call them.

    >>> _sent({"offered": 12, "arrived": 10}), _sent({"offered": None, "arrived": 10}), _sent({})
    ((12, ''), (10, ' arrived'), (0, ''))
    """
    if event.get("offered", 0) is None:
        return int(event.get("arrived") or 0), " arrived"
    return int(event.get("offered", 0)), ""
