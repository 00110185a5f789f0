"""Directories that are being filled, each owned by the process that fills it, and what killed processes left of them.

Beside a directory NAME.partial lies the file ``.NAME.partial.owner``, which its process holds by a lock of the system
(:mod:`framewire.lock`): the lock ends with the process, however that ends. A directory whose file is unlocked was left
by a process that was killed, and is removed where the file says so, names the directory by its inode, and both are this
user's. Whatever else lies there, also a file that was copied or unpacked together with a directory, is not ours, and is
never touched.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from framewire import files
from framewire.lock import LockedError, hold

__all__ = ["clear", "made"]

SUFFIX = ".owner"

ENDING = ".partial"
"""How the names of such directories end."""

MARK = "framewire fills the directory beside"
"""What such a file says, before the inode of the directory."""

LARGEST = 200
"""Bytes of such a file, at most."""


@contextmanager
def made(directory: Path) -> Iterator[None]:
    """Makes a directory and owns it for the time of the context; removed at the end, unless it was renamed.

    Raises LockedError where a living process owns it, FileExistsError where it is of no run, OSError where it cannot be
    made, ValueError where its name does not end in ``.partial``.
    """
    if directory.name == ENDING or not directory.name.endswith(ENDING):
        raise ValueError(f"{directory}: the name of an unfinished directory ends in {ENDING}")
    owner = directory.with_name(f".{directory.name}{SUFFIX}")
    with _owning(owner) as file:
        if file.tell():
            _remove_left(owner)
        directory.mkdir()
        file.truncate(0)
        file.write(_says(directory))
        file.flush()
        try:
            yield
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def clear(parent: Path) -> None:
    """Removes directories in ``parent`` that killed processes have left. What cannot be removed stays."""
    for owner in parent.glob(f".?*{ENDING}{SUFFIX}"):
        try:
            if _is_left(owner):
                with _owning(owner):
                    _remove_left(owner)
        except (LockedError, OSError, UnicodeDecodeError):
            continue


def _owned_by(owner: Path) -> Path:
    return owner.with_name(owner.name[1 : -len(SUFFIX)])


def _is_left(owner: Path) -> bool:
    """Whether a file is of this user and says what those of unfinished directories say."""
    found = owner.lstat()
    is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and is_own and files.read_text(owner, LARGEST).startswith(MARK)


def _says(directory: Path) -> str:
    return f"{MARK}: {directory.lstat().st_ino}\n"


def _remove_left(owner: Path) -> None:
    """Removes the directory of an owner that is held, if it is the one that the file names."""
    directory = _owned_by(owner)
    try:
        is_named = stat.S_ISDIR(directory.lstat().st_mode) and files.read_text(owner, LARGEST) == _says(directory)
    except FileNotFoundError:
        return
    if is_named:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _owning(owner: Path) -> Iterator[TextIO]:
    """Holds the file of an owner, open for writing; removed at the end, unless the directory that it names is there.

    A file that says something else belongs to another program: FileExistsError.
    """
    while True:
        if owner.is_symlink() or (owner.exists() and not owner.is_file()):
            raise FileExistsError(f"{owner} is there, and is no file")
        with owner.open("a", encoding="utf-8") as file, hold(file, wait=False):
            if not _is_there(file, owner):
                continue  # its last owner removed it between the two calls
            if file.tell() and not _is_left(owner):
                raise FileExistsError(f"{owner} is there, and does not say that framewire made it")
            try:
                yield file
            finally:
                is_done = not _names_what_is_there(owner)
                if is_done and os.name == "posix":  # elsewhere an open file cannot be removed
                    owner.unlink(missing_ok=True)
        if is_done and os.name != "posix":
            owner.unlink(missing_ok=True)
        return


def _names_what_is_there(owner: Path) -> bool:
    try:
        return files.read_text(owner, LARGEST) == _says(_owned_by(owner))
    except (OSError, UnicodeDecodeError):
        return False


def _is_there(file: TextIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
