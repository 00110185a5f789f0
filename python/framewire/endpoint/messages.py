"""What ``framewire send`` and ``framewire receive`` say while they work: on stderr, and in a log of JSON lines."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from framewire import progress
from framewire.commands import stderr
from framewire.endpoint.sessions import Listener

__all__ = ["log_to", "receiver", "server"]

_ENDLESS = 2**32 - 1
"""Frames of a live stream."""

_EVERY_S = 0.2

_WINDOW_S = 5.0
"""Of the rate that is shown, and how long nothing may come before that is said."""

_WATCH_EVERY_S = 1.0

_LOG_AT_MOST = 256 << 20
"""Bytes of a log: most of a day of a client, which has a line for every frame, and far more of a server."""


_WHY = {
    "EndOfMovie": "the movie was sent to its end",
    "Stopped": "it, or this server, was stopped before the end of the movie",
    "Vanished": "nothing was heard of it any more",
    "SourceFailed": "the file cannot be read any further",
}
"""Why a session ended, in a server's words."""


@contextmanager
def log_to(path: Path | None, listener: Listener) -> Iterator[Listener]:
    """The listener, and a line of JSON for each of its events, written as it comes.

    A log that cannot be written any more (a full disk) is given up with a warning, and what it logs goes on. A file
    ends at 256 MiB, whatever the other side makes happen, and its last line says so.
    """
    if path is None:
        yield listener
        return
    lines = path.open("w", encoding="utf-8", buffering=1)
    left = _LOG_AT_MOST if path.is_file() else math.inf  # what a pipe takes, its reader keeps
    is_written = True

    def both(kind: str, event: dict[str, Any]) -> None:
        nonlocal is_written, left
        listener(kind, event)
        if not is_written:
            return
        line = json.dumps({"kind": kind, **event}) + "\n"  # ASCII: a character is a byte
        left -= len(line)
        if left < 0:
            is_written = False
            line = json.dumps({"kind": "log", "event": "full", "bytes": _LOG_AT_MOST}) + "\n"
            _say(f"warning: {path}: has {_LOG_AT_MOST >> 20} MiB, the most that a log may have; it ends here")
        try:
            lines.write(line)
        except OSError as error:
            is_written = False
            _say(f"warning: {path}: cannot be written any further: {error.strerror or error}")

    try:
        yield both
    finally:
        with suppress(OSError):  # what is still kept back of a log that was given up
            lines.close()


def server(transport: str) -> Listener:
    """Says where a server listens, and which clients come and go."""
    clients: dict[int, tuple[str, float, int]] = {}

    def listener(kind: str, event: dict[str, Any]) -> None:
        if kind == "listening":
            _say(f"serving at {event['data']} (video) and {event['control']} (control); Ctrl-C ends it")
            if event["audio"] is not None:
                _say(f"with audio: {event['audio']}")
            return
        session = event["session"]
        address, began, level = clients.get(session, ("a client", event["at_s"], 0))
        match event["event"]:
            case "started":
                clients[session] = (event["data"], event["at_s"], 0)
                _say(f"{event['data']} comes; {_clients(event['sessions'])}")
            case "level":
                clients[session] = (address, began, event["to"])
            case "no feedback":
                _say(
                    f"warning: {address}: no report that {transport} can use in {event['for_s']:.0f} s; a client of "
                    "tfrc reports otherwise than those of all other transports (receive --transport)"
                )
            case "source failed":
                _say(f"{address}: {event['error']}")
            case "ended":
                clients.pop(session, None)
                late = event["lateness_p99_s"]
                spoken = "" if late is None else f"; 99 % of all packets within {late * 1e3:.2f} ms of their time"
                took = event["at_s"] - began
                why = _WHY.get(event["reason"], event["reason"])
                _say(f"{address} goes after {took:.1f} s at level {level}: {why}{spoken}")

    return listener


@contextmanager
def receiver(title: str, *, tfrc: bool = False) -> Iterator[Listener]:
    """Shows how far a client has come, and says what does not come although it should."""
    with progress.for_console(stderr()) as display:
        shown, over = _Receiver(title, display, tfrc=tfrc), threading.Event()

        def watch() -> None:
            while not over.wait(_WATCH_EVERY_S):
                shown.tick()

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield shown
        finally:
            over.set()
            watching.join()


class _Receiver:
    def __init__(
        self,
        title: str,
        display: progress.Display,
        *,
        tfrc: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._display, self._tfrc, self._clock = title, display, tfrc, clock
        self._lock = threading.Lock()  # events and ticks come from two threads
        self._frames: int | None = None
        self._whole = self._lost = self._bytes = self._level = self._newest = 0
        self._began = self._next = 0.0
        self._recent: deque[tuple[float, int]] = deque()
        self._heard: tuple[float, float] | None = None
        """When something came last: in the time of events, and on this side's clock; None before, and after the end."""

    def __call__(self, _kind: str, event: dict[str, Any]) -> None:
        with self._lock:
            self._handle(event)

    def tick(self) -> None:
        """Says that nothing comes, once that has lasted."""
        with self._lock:
            if self._heard is None:
                return
            at_s, heard = self._heard
            silent_s = self._clock() - heard
            if silent_s >= _WINDOW_S:
                self._show(at_s + silent_s, f"nothing has come for {silent_s:.0f} s")

    def _handle(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "described":
                self._frames = None if event["frames"] == _ENDLESS else event["frames"]
                self._began = event["at_s"]
                self._hear(event["at_s"])
                self._display({"event": "started", "flows": [self._title]})
            case "frame":
                self._whole += 1
                self._bytes += event["bytes"]
                self._recent.append((event["at_s"], event["bytes"]))
                self._level, self._newest = event["level"], event["frame"]
                self._hear(event["at_s"])
                self._show(event["at_s"], f"level {self._level}, {self._lost} frames lost")
            case "lost":
                self._lost += event["count"]
            case "ended":
                self._heard = None
                self._next = 0.0
                is_whole = event["reason"] == "EndOfMovie"
                self._show(event["at_s"], "done" if is_whole else "broken off", mean=True)
            case "no answer":
                _say(f"no answer for {event['for_s']:.0f} s; still asking")
            case "no feedback":
                _say(
                    f"warning: the server has used no report of this side for {event['for_s']:.0f} s: "
                    + (
                        "it seems to run without --transport tfrc; leave that out here too"
                        if self._tfrc
                        else "it seems to run with --transport tfrc; say that here too"
                    )
                )

    def _hear(self, at_s: float) -> None:
        self._heard = at_s, self._clock()

    def _show(self, at_s: float, state: str, *, mean: bool = False) -> None:
        """With the rate of the last seconds, or at the end of all of it."""
        if at_s < self._next or (self._whole == 0 and mean):
            return
        self._next = at_s + _EVERY_S
        elapsed = max(at_s - self._began, 1e-3)
        while self._recent and self._recent[0][0] <= at_s - _WINDOW_S:
            self._recent.popleft()
        span, count = (
            (elapsed, self._bytes) if mean else (min(elapsed, _WINDOW_S), sum(size for _, size in self._recent))
        )
        self._display(
            {
                "event": "progress",
                "flow": self._title,
                "elapsed_s": elapsed,
                "throughput_bps": 8 * count / span,
                "dropped": None,
                **({} if self._frames is None else {"frames": self._frames}),
                "offered": self._newest + 1 if self._whole else 0,
                "state": state,
            }
        )


def _clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count} clients"


def _say(text: str) -> None:
    stderr().print(text, markup=False, highlight=False, soft_wrap=True)
