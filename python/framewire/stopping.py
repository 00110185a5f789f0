"""Ending a run early: asked once, its streams end and what was recorded is kept; asked again, it is given up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from framewire.errors import Stopped

__all__ = ["StopRequest"]


class StopRequest:
    """What was asked of a run, from any thread or from the handler of a signal."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the handler of a signal may come while its thread holds it
        self._carry_out: Callable[[int], None] | None = None
        self.count = 0
        """How often it was asked."""
        self.has_streams = False
        """Whether there is, or was, something that a stop keeps."""

    def ask(self) -> None:
        """End early; once more: give up what was recorded."""
        with self._lock:
            self.count += 1
            if self._carry_out is not None:
                self._carry_out(self.count)

    def check(self) -> None:
        """Raises Stopped where it was asked before there is anything to keep."""
        with self._lock:
            if self.count and not self.has_streams:
                raise Stopped

    @contextmanager
    def carried_out_by(self, carry_out: Callable[[int], None]) -> Iterator[None]:
        """For the time of the streams: every request calls a function with how often it was asked.

        Raises Stopped where it was asked before, and at the end where it was asked twice.
        """
        with self._lock:
            self.check()
            self.has_streams, self._carry_out = True, carry_out
        try:
            yield
        finally:
            with self._lock:
                self._carry_out = None
        if self.count > 1:
            raise Stopped
