"""Files that one process at a time may hold, on any operating system.

The lock is the system's: it ends with the process that holds it, however that ends. Where there is ``fcntl``, it is
flock(2); elsewhere it is ``msvcrt.locking`` of Windows, which locks a range of bytes and keeps others from reading it.
So the range lies far behind anything that is written to such a file, and what its owner says there can be read.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["LockedError", "hold"]

RANGE_START = 1 << 30
"""Where the byte lies that is locked on Windows; the file need not be as long."""

PATIENCE_S = 0.05
"""Time between two attempts where the system cannot wait for a lock by itself."""

TAKEN = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})
"""How ``msvcrt.locking`` says that another process holds the range."""


class LockedError(Exception):
    """Another process holds the lock."""


@contextmanager
def hold(file: TextIO, *, wait: bool) -> Iterator[None]:
    """Holds a file that is open for writing, for the time of the context.

    Where another process holds it, this one waits, or LockedError is raised. The file has to stay open meanwhile.
    """
    if fcntl is None:
        _lock_range(file, wait)
    else:
        _lock_file(file, wait)
    try:
        yield
    finally:
        if fcntl is None:
            _unlock_range(file)
        else:
            fcntl.flock(file, fcntl.LOCK_UN)


def _lock_file(file: TextIO, wait: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        raise LockedError from None


def _lock_range(file: TextIO, wait: bool) -> None:
    while not _try_range(file):
        if not wait:
            raise LockedError
        time.sleep(PATIENCE_S)


def _try_range(file: TextIO) -> bool:
    import msvcrt

    try:
        with _at_range(file) as descriptor:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


def _unlock_range(file: TextIO) -> None:
    import msvcrt

    file.flush()
    with _at_range(file) as descriptor:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]


@contextmanager
def _at_range(file: TextIO) -> Iterator[int]:
    """The file's descriptor, for a moment at the start of the range, which is what ``msvcrt.locking`` goes by."""
    descriptor = file.fileno()
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, RANGE_START, os.SEEK_SET)
    try:
        yield descriptor
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)
