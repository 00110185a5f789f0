"""Standard output and error of the program: what is wrong with them stops no run and no server.

A terminal may be closed, a disk that messages go to may be full, and a pipe may have a reader that does not read: none
of that is a reason to lose an hour of streaming.
"""

from __future__ import annotations

import io
import os
import select
import sys
from pathlib import Path
from typing import TextIO

__all__ = ["Messages", "install"]

CHUNK_BYTES = 4096
"""Not more is written at once: a pipe that poll(2) calls writable has room for so much (``PIPE_BUF`` of pipe(7))."""

PATIENCE_MS = 50
"""How long a message waits for its reader. One that was left out makes the next ones wait no longer at all."""


class Messages(io.TextIOBase):
    """A stream of messages that raises nothing and never blocks: what cannot be written is left out and counted."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._left_out = 0

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self._stream.encoding or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What it cannot encode is escaped."""
        return "backslashreplace"

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Writes what can be written now."""
        if self._left_out and self._is_ready(0):
            missing, self._left_out = self._left_out, 0
            self._put(f"({missing} messages before this one were left out: they could not be written)\n")
        self._put(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def _put(self, text: str) -> None:
        data = text.encode(self.encoding, "backslashreplace")
        try:
            while data:
                if not self._is_ready(0 if self._left_out else PATIENCE_MS):
                    self._left_out += 1
                    return
                data = data[os.write(self.fileno(), data[:CHUNK_BYTES]) :]
        except (OSError, ValueError):  # a full disk, a reader that has gone, a stream that was closed
            self._left_out += 1

    def _is_ready(self, patience_ms: int) -> bool:
        if not hasattr(select, "poll"):  # Windows
            return True
        poll = select.poll()
        try:
            poll.register(self.fileno(), select.POLLOUT)
            return any(events & select.POLLOUT for _, events in poll.poll(patience_ms))
        except (OSError, ValueError):
            return False


def install() -> None:
    """Opens those of the three standard streams that are closed, as the null device, and makes standard error safe.

    A descriptor below 3 that is closed would otherwise become that of the next file or socket that is opened, and what
    is printed would go there.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free, which is this one
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
    sys.stderr = Messages(sys.stderr)
