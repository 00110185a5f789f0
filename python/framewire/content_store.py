"""What is made once and then found again: movies, ladders, what was measured of them, cells of campaigns.

Each thing is a file or a directory under a name with the :func:`key` of its recipe, which is all that it is made of:
another recipe is another name, so that nothing stale is ever found. It is made beside its place and put there when it
is whole, so that a process that is killed leaves nothing that looks complete. One process at a time makes a thing; what
a killed one left is removed by the next.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

from framewire import lock

__all__ = ["ContentStore", "are_whole", "existing", "key", "put", "replacing"]

KEY_DIGITS = 16
"""Of a SHA-256 in hexadecimal: 64 bits, so that two of a million recipes share a key once in 37 million stores."""

T = TypeVar("T")


def key(recipe: Any, digits: int = KEY_DIGITS) -> str:
    """The same for the same recipe, which is anything that JSON can state.

    >>> key({"a": 1, "b": [2]}) == key({"b": [2], "a": 1}) != key({"a": 1, "b": [3]})
    True
    """
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:digits]


def existing(place: Path) -> Path | None:
    """What is there: for a thing that one rename puts in place, and that is not cut off afterwards."""
    return place if place.exists() else None


def are_whole(directory: Path, sizes: Mapping[str, int]) -> bool:
    """Whether these files are there with the sizes that they were written with."""
    try:
        return all((directory / name).stat().st_size == size for name, size in sizes.items())
    except (FileNotFoundError, NotADirectoryError):
        return False


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name of this writer's own beside a file that it will take the place of, whole, at the end of the context.

    Where an error ends the context, the file stays as it was.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def put(made: Path, place: Path) -> None:
    """Puts a file or a directory that is whole where it is to be found; what is there was not."""
    if place.is_dir():
        shutil.rmtree(place)
    made.replace(place)


class ContentStore:
    """A directory of things that are made once."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)

    def keep(
        self,
        name: str,
        find: Callable[[Path], T | None],
        make: Callable[[Path], Path],
        waiting: Callable[[str, float], None] | None = None,
    ) -> T:
        """The thing of a name, made where there is none that is whole.

        ``find`` is given its place, and says what is there: None for nothing, or what is not whole. ``make`` is given
        a directory to work in, on the same file system and removed afterwards, and returns what is to be put in place.
        What belongs to it and lies beside it, ``make`` puts there itself: it is there when the thing is. ``waiting`` is
        called, as those are that show progress, where another process is making the same.

        Raises OSError where the directory cannot be made or written.
        """
        place = self.directory / name
        with self.held(name, waiting):
            found = find(place)
            if found is None:
                with tempfile.TemporaryDirectory(prefix=_prefix(place), dir=self.directory) as scratch:
                    put(make(Path(scratch)), place)
                found = find(place)
                assert found is not None, f"{place} was just made"
            return found

    @contextlib.contextmanager
    def held(self, name: str, waiting: Callable[[str, float], None] | None = None) -> Iterator[None]:
        """Lets one process at a time make the thing of a name; what a killed one left is removed.

        ``waiting`` is called where another one is making it.
        """
        place = self.directory / name
        self.directory.mkdir(parents=True, exist_ok=True)
        with place.with_suffix(".lock").open("w", encoding="utf-8") as file, _taken(file, name, waiting):
            for left_behind in self.directory.glob(f"{_prefix(place)}*"):
                shutil.rmtree(left_behind, ignore_errors=True)
            yield


@contextlib.contextmanager
def _taken(file: TextIO, name: str, waiting: Callable[[str, float], None] | None) -> Iterator[None]:
    """The lock of a thing, at once or when another process has made it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock.hold(file, wait=False))
        except lock.LockedError:
            if waiting is not None:
                waiting(f"waiting for another process, which makes {name}", 0.0)
            stack.enter_context(lock.hold(file, wait=True))
        yield


def _prefix(place: Path) -> str:
    return f".{place.stem}-"
