"""A run that goes on, as a program holds it: what it says, how it is ended early, and its result."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from framewire.errors import Stopped
from framewire.stopping import StopRequest

if TYPE_CHECKING:
    from framewire.run import Run

__all__ = ["Event", "Progress", "RunHandle"]

Event = dict[str, Any]
"""What a run says: ``event`` names it, docs/usage.md lists the rest."""

Progress = Callable[[Event], None]
"""Called with every event of a run."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGINT, signal.SIGTERM)
"""Signals on which a run ends early."""

TICK_S = 0.1
"""Time between two looks at signals: the system may hand one to another thread, which wakes no waiting one."""

PATIENCE_S = 2.0
"""How long a run that was stopped, with nothing to keep, is waited for: another program may hold what it waits for."""


class RunHandle:
    """A run that :func:`framewire.start` began: it goes on in a thread of its own, in whichever world.

    As a context, leaving it waits for the end of the run, and an exception gives the run up: nothing of it stays.

    >>> with framewire.start("scenarios/quick.toml", world="simulated") as handle:  # doctest: +SKIP
    ...     for event in handle.events:
    ...         print(event)
    ...     run = handle.result()
    """

    def __init__(self, work: Callable[[Progress, StopRequest], Run]) -> None:
        self._work = work
        self._said: SimpleQueue[Event | None] = SimpleQueue()
        self._stop = StopRequest()
        self._asked_at: float | None = None
        self._run: Run | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._carry_out, name="framewire run", daemon=True)
        self._thread.start()

    @property
    def events(self) -> Iterator[Event]:
        """What the run says, as it comes, to its end; each event is given out once.

        ``step`` (a text, before the streams), ``started``, ``progress``, ``stopping`` and ``finished``.
        """
        while (event := self._next()) is not None:
            yield event

    @property
    def is_going_on(self) -> bool:
        """Whether the run has not ended."""
        return self._thread.is_alive() and not self._is_abandoned()

    def stop(self) -> None:
        """End the streams now: what was recorded becomes a valid result with status ``partial``.

        Of a run whose streams have not begun nothing is kept, nor of one that is stopped a second time:
        :meth:`result` then raises Stopped. May be called from any thread; after the end it does nothing.
        """
        if not self.is_going_on:
            return
        self._asked_at = time.monotonic()
        if not self._stop.count:
            self._said.put({"event": "stopping"})
        self._stop.ask()

    def result(self) -> Run:
        """Wait for the end. Raises InputError, MachineError or RunError for a run that failed, Stopped for one that was
        stopped before there was anything to keep."""
        while self.is_going_on:
            self._thread.join(TICK_S)
        if self._error is not None:
            raise self._error
        if self._run is None:
            raise Stopped
        return self._run

    def follow(self, progress: Progress) -> Run:
        """Hand every event to a function, from this thread, and return the result.

        On the main thread Ctrl-C, SIGTERM and SIGHUP stop the run meanwhile; raises KeyboardInterrupt where nothing of
        it is kept. A signal that comes when the run has just ended is said of its result, too. An exception of
        ``progress`` gives the run up.
        """
        with self, self._stopped_by_signals() as came:
            for event in self.events:
                progress(event)
            try:
                run = self.result()
            except Stopped:
                raise KeyboardInterrupt from None
        return replace(run, interrupted=True) if came else run

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.is_going_on:
            self.stop()
            self.stop()
        while self.is_going_on:
            self._thread.join(TICK_S)

    def _carry_out(self) -> None:
        try:
            self._run = self._work(self._say, self._stop)
        except BaseException as error:  # it is raised where the result is asked for
            self._error = Stopped() if self._stop.count and not self._stop.has_streams else error
        finally:
            self._said.put(None)

    def _say(self, event: Event) -> None:
        self._stop.check()
        self._said.put(event)

    def _next(self) -> Event | None:
        while True:
            try:
                return self._said.get(timeout=TICK_S)
            except Empty:
                if not self.is_going_on and self._said.empty():
                    return None

    def _is_abandoned(self) -> bool:
        """Whether it was stopped with nothing to keep, and does not end: it ends by itself when it says something."""
        lost = self._stop.count > 1 or (self._stop.count and not self._stop.has_streams)
        return bool(lost) and self._asked_at is not None and time.monotonic() - self._asked_at > PATIENCE_S

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[list[int]]:
        """Gives the signals that came."""
        came: list[int] = []
        if threading.current_thread() is not threading.main_thread():
            yield came  # only the main thread may handle signals; the caller's own handling stays
            return

        def handle(number: int, _frame: FrameType | None) -> None:
            came.append(number)
            self.stop()

        # What this process ignores stays ignored: nohup does that for a terminal that closes.
        asked = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
        previous = {number: signal.signal(number, handle) for number in asked}
        try:
            yield came
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
