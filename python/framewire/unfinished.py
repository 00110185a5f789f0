"""Directories that are being filled, each owned by the process that fills it, and what killed processes left of them.

Beside a directory NAME lies the file ``.NAME.owner``, which its process holds by a lock of the system
(:mod:`framewire.lock`): the lock ends with the process, however that ends. A directory whose file nobody holds was left
by a process that was killed. One without such a file, or beside a file that says something else, is not ours, and is
never touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from framewire.lock import LockedError, hold

__all__ = ["clear", "made"]

SUFFIX = ".owner"

MARK = "framewire fills the directory beside\n"
"""What such a file says."""


@contextmanager
def made(directory: Path) -> Iterator[None]:
    """Makes a directory and owns it for the time of the context; removed at the end, unless it was renamed.

    Raises LockedError where a living process owns it, FileExistsError where it is nobody's, OSError where it cannot be
    made.
    """
    with _owning(_owner_of(directory)):
        directory.mkdir()
        try:
            yield
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def clear(parent: Path) -> None:
    """Removes directories in ``parent`` that killed processes have left. What cannot be removed stays."""
    for owner in parent.glob(f".*{SUFFIX}"):
        try:
            if owner.is_symlink() or owner.read_text(encoding="utf-8") != MARK:
                continue
            with _owning(owner):
                shutil.rmtree(_owned_by(owner), ignore_errors=True)
        except (LockedError, OSError, UnicodeDecodeError):
            continue


def _owner_of(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}{SUFFIX}")


def _owned_by(owner: Path) -> Path:
    return owner.with_name(owner.name[1 : -len(SUFFIX)])


@contextmanager
def _owning(owner: Path) -> Iterator[None]:
    """Holds the file of an owner, which is removed at the end."""
    while True:
        with owner.open("a", encoding="utf-8") as file, hold(file, wait=False):
            if not _is_there(file, owner):
                continue  # its last owner removed it between the two calls
            if file.tell() == 0:
                file.write(MARK)
                file.flush()
            try:
                yield
            finally:
                if os.name == "posix":  # elsewhere an open file cannot be removed
                    owner.unlink(missing_ok=True)
        if os.name != "posix":
            owner.unlink(missing_ok=True)
        return


def _is_there(file: TextIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
