"""A ladder on disk: found again where it is whole, and copied to where the user wants it, over nothing of theirs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire.content_store import ContentStore, are_whole
from framewire.errors import InputError, MachineError
from framewire.files import read_json

__all__ = ["DESCRIPTION", "PAGE", "MadeLadder", "copied", "found", "kept_and_copied", "settle"]

DESCRIPTION = "ladder.json"
PAGE = "ladder.html"
"""What ``--plot`` draws beside a ladder."""

SCRATCH = ".framewire-ladder-"
"""How the directory begins in which a ladder is copied, before it is put where it is to be."""


@dataclass(frozen=True)
class MadeLadder:
    """A ladder that is ready to be sent."""

    directory: Path
    description: dict[str, Any]

    @property
    def streaming_file(self) -> Path:
        """What a server sends."""
        return self.directory / str(self.description["streaming_file"])

    @property
    def levels(self) -> list[Path]:
        """The encoded levels, lowest first."""
        return [self.directory / level["file"] for level in self.description["levels"]]


def found(place: Path) -> MadeLadder | None:
    """The ladder that was made here before, if it is whole."""
    try:
        description = read_json(place / DESCRIPTION)
        whole = are_whole(place, description["files"])
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError):
        return None
    return MadeLadder(place, description) if whole else None


def kept_and_copied(
    store: ContentStore,
    name: str,
    build: Callable[[Path], Path],
    out: Path | None,
    *,
    replace: bool,
    report: Callable[[str, float], None],
) -> MadeLadder:
    """The ladder of a name in a store, made where it is not there, and with ``out`` copied to that directory.

    Raises InputError as :func:`settle` does, and MachineError when a directory cannot be written.
    """

    def find(place: Path) -> MadeLadder | None:
        kept = found(place)
        settle(out, replace, kept)
        return kept

    try:
        kept = store.keep(name, find, build, report)
        return kept if out is None else copied(kept, out)
    except OSError as error:
        place = error.filename or store.directory
        raise MachineError(f"{place}: the ladder cannot be kept: {error.strerror or error}") from error


def settle(out: Path | None, replace: bool, kept: MadeLadder | None) -> None:
    """Says whether a ladder may go to ``out``: what is there is an empty directory, the same one or to be replaced.

    ``kept`` is the ladder where it was made before. Raises InputError before anything is encoded.
    """
    if out is None or not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out}: a directory is needed, and this is a file")
    there = found(out)
    same = kept is not None and there is not None and there.description == kept.description
    # Only a process that was killed leaves a directory of its own behind, which is nothing of the user's.
    if same or all(path.name.startswith(SCRATCH) for path in out.iterdir()):
        return
    if not (out / DESCRIPTION).is_file():
        raise InputError(f"{out}: exists already, and holds no ladder; allowed is the name of a directory to be made")
    if not replace:
        raise InputError(
            f"{out}: exists already, with another ladder; allowed are the name of a directory to be made, or --replace"
        )


def copied(made: MadeLadder, out: Path) -> MadeLadder:
    """Puts a ladder into a directory, in the place of the one that was there: all of it, or nothing is changed.

    It is copied to a directory beside ``out`` first, or in ``out`` where that is there already: what is there may be
    mounted, or have files of the user, and only within a file system are files put into place without being copied.

    Raises InputError for a file of the user that has the name of one of the ladder's.
    """
    there = out.is_dir()
    if there:
        _keep_of_user(made, out)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=out if there else out.parent))
    new, old = scratch / "new", scratch / "old"
    try:
        new.mkdir()
        for name in _names(made):
            shutil.copyfile(made.directory / name, new / name)
        if there:
            _exchange(new, old, out, _names(made))
        else:
            new.rename(out)
    except BaseException:
        # Empty, unless the old ladder could not be put back: then this is where it is.
        if not old.is_dir() or not any(old.iterdir()):
            shutil.rmtree(scratch, ignore_errors=True)
        raise
    shutil.rmtree(scratch, ignore_errors=True)
    return MadeLadder(out, made.description)


def _names(made: MadeLadder) -> list[str]:
    """Its files, the description first."""
    return [DESCRIPTION, *made.description["files"]]


def _keep_of_user(made: MadeLadder, out: Path) -> None:
    before = _of_ladder(out)
    for name in _names(made):
        if (out / name).exists() and name not in before:
            raise InputError(
                f"{out / name}: exists already, and is not of the ladder there; allowed are a directory without such a "
                "file, or the name of one to be made"
            )


def _exchange(new: Path, old: Path, out: Path, names: Sequence[str]) -> None:
    """Moves the ladder in ``out`` to ``old`` and that in ``new`` to ``out``, or leaves both where they were.

    A description stands in ``out`` at any time, so that ``--replace`` is allowed even after a kill in between.
    """
    old.mkdir()
    try:
        for name in _of_ladder(out):
            if name == DESCRIPTION and (out / name).exists():
                # Under its name only when it is whole: what is in `old` goes back if this is interrupted.
                shutil.copyfile(out / name, old.with_name(name)).replace(old / name)
            elif (out / name).exists():
                (out / name).replace(old / name)
        for name in names:
            (new / name).replace(out / name)
    except BaseException:
        for name in names:
            if not (new / name).exists() and (out / name).exists():
                (out / name).replace(new / name)
        for path in old.iterdir():
            path.replace(out / path.name)
        raise


def _of_ladder(directory: Path) -> list[str]:
    """The files of the ladder that a directory holds, and of nothing else in it."""
    try:
        described = read_json(directory / DESCRIPTION)["files"]
        names = [name for name in described if Path(name).name == name]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        names = []
    return [*names, DESCRIPTION, PAGE]
