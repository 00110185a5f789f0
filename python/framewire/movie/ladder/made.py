"""A ladder on disk: found again where it is whole, and copied to where the user wants it, over nothing of theirs."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire.errors import InputError

__all__ = ["DESCRIPTION", "PAGE", "MadeLadder", "copied", "found", "settle"]

DESCRIPTION = "ladder.json"
PAGE = "ladder.html"
"""What ``--plot`` draws beside a ladder."""


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
        description = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
        whole = all((place / name).stat().st_size == size for name, size in description["files"].items())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, KeyError):
        return None
    return MadeLadder(place, description) if whole else None


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
    if same or not any(out.iterdir()):
        return
    if not (out / DESCRIPTION).is_file():
        raise InputError(f"{out}: exists already, and holds no ladder; allowed is the name of a directory to be made")
    if not replace:
        raise InputError(
            f"{out}: exists already, with another ladder; allowed are the name of a directory to be made, or --replace"
        )


def copied(made: MadeLadder, out: Path) -> MadeLadder:
    """Puts a ladder into a directory, in the place of the one that was there."""
    out.mkdir(parents=True, exist_ok=True)
    for name in _of_ladder(out):
        (out / name).unlink(missing_ok=True)
    for name in (*made.description["files"], DESCRIPTION):
        shutil.copyfile(made.directory / name, out / name)
    return MadeLadder(out, made.description)


def _of_ladder(directory: Path) -> list[str]:
    """The files of the ladder that a directory holds, and of nothing else in it."""
    try:
        files = json.loads((directory / DESCRIPTION).read_text(encoding="utf-8"))["files"]
        names = [name for name in files if Path(name).name == name]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        names = []
    return [*names, DESCRIPTION, PAGE]
