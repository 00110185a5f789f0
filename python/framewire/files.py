"""Files that others made: regular ones only, no larger than what they can mean, and read as what they say they are.

A device such as ``/dev/zero`` has no end, a named pipe without a writer is waited for without end, and a document may
be nested deeper than its reader can follow.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from framewire import _native
from framewire.errors import InputError

__all__ = [
    "LARGEST_DOCUMENT",
    "LARGEST_TEXT",
    "check_regular",
    "check_takes_files",
    "is_container",
    "kind_of_video",
    "read_bytes",
    "read_json",
    "read_text",
    "read_toml",
    "remembered",
    "sha256",
    "why_absent",
]

P = ParamSpec("P")
T = TypeVar("T")

LARGEST_TEXT = 1 << 20
"""Bytes of a file that a person writes: a scenario, a campaign."""

LARGEST_DOCUMENT = 1 << 28
"""Bytes of a file that a program wrote: the index of a campaign of a hundred thousand cells has a tenth of it."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raises OSError, with what it is instead, for what is no regular file; and where there is none."""
    _check_mode(Path(path).stat().st_mode, path)


def why_absent(error: OSError) -> str:
    """Why there is no such file, as the end of a sentence: a loop of links, a directory that may not be entered ...

    >>> why_absent(OSError(errno.ENOENT, "No such file or directory"))
    'no such file'
    >>> why_absent(OSError(errno.ELOOP, "Too many levels of symbolic links"))
    'symbolic links that lead to each other and to no file'
    >>> why_absent(OSError(errno.EACCES, "Permission denied"))
    'permission denied'
    """
    if error.errno == errno.ENOENT:
        return "no such file"
    if error.errno == errno.ELOOP:
        return "symbolic links that lead to each other and to no file"
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


_ELEMENTARY = "a video elementary stream"


def is_container(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file looks like video with a container around it; raises OSError when it cannot be read."""
    return kind_of_video(path) not in (None, _ELEMENTARY)


MP4 = "an MP4 or MOV file"


def kind_of_video(path: str | os.PathLike[str]) -> str | None:
    """Which kind of video file a regular file looks like, by its first bytes; None where they match none.

    Raises OSError when it cannot be read.
    """
    check_regular(path)
    with Path(path).open("rb") as file:
        head = file.read(12)
    known = (
        (head[4:8] in (b"ftyp", b"moov", b"mdat"), MP4),
        (head.startswith(b"\x1aE\xdf\xa3"), "a Matroska or WebM file"),
        (head.startswith(b"RIFF"), "an AVI file"),
        (head.startswith(b"FLV\x01"), "an FLV file"),
        (head.startswith(b"OggS"), "an Ogg file"),
        (head.startswith(b"DKIF"), "an IVF file"),
        (head.startswith(bytes.fromhex("3026B2758E66CF11")), "an ASF or WMV file"),
        (head.startswith(b"\0\0\1\xba"), "an MPEG program stream"),
        (head.startswith((b"\0\0\1", b"\0\0\0\1")), _ELEMENTARY),
        (head.startswith(b"G"), "an MPEG transport stream"),
    )
    return next((name for is_it, name in known if is_it), None)


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """What is in a regular file.

    Raises OSError when it cannot be read, is no regular file or has more than ``most`` bytes.
    """
    # To open a named pipe without a writer is to wait already.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        _check_mode(found.st_mode, path)
        # As much memory as is asked for is taken at once. What grows meanwhile is read to the byte that is too many.
        data = file.read(min(found.st_size, most) + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"has more than {most >> 10} KiB, which is the most that is read", os.fspath(path))
    return data


def read_text(path: str | os.PathLike[str], most: int = LARGEST_TEXT) -> str:
    """The same as text; raises UnicodeDecodeError for what is not UTF-8."""
    return read_bytes(path, most).decode("utf-8").replace("\r\n", "\n")


def read_json(path: str | os.PathLike[str], most: int = LARGEST_DOCUMENT) -> Any:
    """A JSON document; raises ValueError for what is none, which says in words where."""
    try:
        return json.loads(read_text(path, most))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON document (line {error.lineno}, column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not a text in UTF-8 (byte {error.start + 1:,})") from None


def check_takes_files(place: str | os.PathLike[str]) -> None:
    """Raises InputError where ``place`` cannot be made or filled: the nearest directory that there is takes no files.

    For the beginning of what takes long: that it could not be written would be found at the end.
    """
    whole = Path(place).absolute()
    for link in (whole, *whole.parents):
        if link.is_symlink() and not link.exists():
            raise InputError(f"{place}: cannot be made: {link} is a symbolic link that leads nowhere")
    nearest = whole if whole.is_dir() else next((parent for parent in whole.parents if parent.exists()), None)
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        # Some file systems, as that of /proc, say of every file that there is no such one.
        reason = "no files can be made there" if error.errno == errno.ENOENT else error.strerror
        raise InputError(f"{place}: cannot be made in {nearest}: {reason}") from None


def remembered(found: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """Makes a function look for what it finds in a file once, as long as that file is the same: by its place on the
    disk, its size and when it was written. The caller must not change what is found; an error is found again."""

    def find(path: Path, _identity: tuple[int, ...], *arguments: Any, **named: Any) -> T:
        return found(path, *arguments, **named)

    find_once: Callable[..., T] = functools.lru_cache(maxsize=64)(find)

    def of(path: Path, /, *arguments: P.args, **named: P.kwargs) -> T:
        try:
            now = path.stat()
        except OSError:
            return found(path, *arguments, **named)
        identity = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
        return find_once(path, identity, *arguments, **named)

    functools.update_wrapper(of, found)
    return of


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a regular file in hexadecimal; raises OSError when it cannot be read or is none."""
    check_regular(path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_toml(text: str) -> dict[str, Any]:
    """A TOML document as Python's reader has it; raises ValueError for what is none.

    Python's reader bounds neither nesting nor dotted keys (fifty thousand parts take it 10 GB): that of scenarios,
    which does, reads the text before it.
    """
    _native.check_toml(text)
    return tomllib.loads(text)


def _check_mode(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise OSError(errno.EINVAL, f"is {kind}; a regular file is needed", os.fspath(path))
