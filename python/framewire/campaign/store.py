"""Where the cells of a campaign are kept: a directory per cell, filled under another name and renamed when it is whole.

A process that is killed at any moment leaves finished cells, which are found again, and unfinished ones, which are
removed. One process at a time works in a directory: the lock is the system's, so that a crash releases it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from framewire import files, lock
from framewire.campaign.runner import Outcome
from framewire.checksums import Checksums, DamagedError, sealed, unsealed
from framewire.content_store import are_whole, put
from framewire.errors import InputError, RunError

__all__ = ["FAILED", "MENDED", "FinishedCell", "Store"]

FORMAT = 2  # of cell.json; 1 had no checksums
DESCRIPTION = "cell.json"
UNFINISHED = ".part"
FAILED = "failed"
"""Where the scenarios of cells are kept that could not be computed."""

MENDED = "the same `framewire campaign` command computes it again"


@dataclass(frozen=True)
class FinishedCell:
    """A cell that was computed, as its description says."""

    id: str
    directory: Path
    hashes: dict[str, str]
    """The canonical hash of each table (``docs/results.md``)."""
    simulated_s: float
    wall_s: float
    bytes: dict[str, int]
    """Size of each file."""
    broken_flows: tuple[str, ...]
    """Flows that broke, each with its reason."""
    checksums: Checksums
    """Of each file."""

    def table(self, name: str) -> Path:
        """The file of a table."""
        return self.directory / f"{name}.parquet"

    def keeps(self, name: str) -> bool:
        """Whether a table was kept: of another there may be a hash."""
        return self.table(name).name in self.bytes

    def damage(self, *names: str) -> str | None:
        """What is wrong with these files, or with any; None where they are what was written."""
        try:
            for name in names or self.bytes:
                self.checksums.check(self.directory, name)
        except (OSError, DamagedError) as error:
            return str(error)
        return None


class Store:
    """The directory of a campaign; opened with :meth:`locked`, or as it is for reading."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cells = directory / "cells"
        self.failed = directory / FAILED

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the directory, and keeps other processes out for the time of a campaign."""
        if self.directory.is_dir() and any(self.directory.iterdir()) and not self.cells.is_dir():
            raise InputError(f"{self.directory}: is there, and not the directory of a campaign; choose another --out")
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be made: {error.strerror}") from None
        with (self.directory / "lock").open("a+", encoding="utf-8") as file:
            try:
                with lock.hold(file, wait=False):
                    _state_owner(file)
                    self._sweep()
                    yield
            except lock.LockedError:
                file.seek(0)
                owner = file.read().strip() or "unknown"
                raise RunError(f"{self.directory}: another process works on this campaign: {owner}") from None

    def finished(self, cell_id: str) -> FinishedCell | None:
        """A cell that was computed before, when it is whole."""
        directory = self.cells / cell_id
        try:
            said, checksums = unsealed(files.read_json(directory / DESCRIPTION))
            if not (said["format"] == 1 or (said["format"] == FORMAT and checksums.files)):
                return None
            # A machine that lost its power may have kept a name and lost what was in it.
            if not are_whole(directory, said["bytes"]):
                return None
            return FinishedCell(
                id=cell_id,
                directory=directory,
                hashes=said["hashes"],
                simulated_s=said["simulated_s"],
                wall_s=said["wall_s"],
                bytes=said["bytes"],
                broken_flows=tuple(said["broken_flows"]),
                checksums=checksums,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def is_there(self, cell_id: str) -> bool:
        """Whether a cell was computed before, whole or not."""
        return (self.cells / cell_id).is_dir()

    def unfinished(self, cell_id: str) -> Path:
        """Where a cell is computed; it is made by the process that computes it."""
        return self.cells / f"{cell_id}{UNFINISHED}"

    def commit(self, outcome: Outcome, scenario: str) -> None:
        """Makes a finished cell of what was computed."""
        unfinished = self.unfinished(outcome.id)
        (unfinished / "scenario.toml").write_text(scenario, encoding="utf-8")
        sizes = {entry.name: entry.stat().st_size for entry in sorted(unfinished.iterdir())}
        description = {
            "format": FORMAT,
            "id": outcome.id,
            "hashes": outcome.hashes,
            "simulated_s": outcome.simulated_s,
            "wall_s": outcome.wall_s,
            "broken_flows": outcome.broken_flows,
            "bytes": sizes,
        }
        text = json.dumps(sealed(description, unfinished, sizes))
        (unfinished / DESCRIPTION).write_text(text, encoding="utf-8")
        put(unfinished, self.cells / outcome.id)  # one that is there is damaged, or it would not have been computed
        self.failure(outcome.id).unlink(missing_ok=True)

    def fail(self, cell_id: str, place: str, scenario: str, reason: str) -> Path:
        """Keeps the scenario of a cell that failed, with the reason."""
        shutil.rmtree(self.unfinished(cell_id), ignore_errors=True)
        self.failed.mkdir(exist_ok=True)
        path = self.failure(cell_id)
        comment = "\n".join(f"# {line}".rstrip() for line in reason.splitlines())
        path.write_text(f"# Cell {place} failed:\n{comment}\n\n{scenario}", encoding="utf-8")
        return path

    def reason(self, cell_id: str) -> str:
        """Why a cell failed, as it was kept with its scenario."""
        try:
            lines = self.failure(cell_id).read_text(encoding="utf-8").splitlines()[1:]
        except (OSError, UnicodeDecodeError) as error:
            return f"its reason cannot be read: {error}"
        return "\n".join(line.removeprefix("#").strip() for line in itertools.takewhile(bool, lines))

    def failure(self, cell_id: str) -> Path:
        """Where the scenario of a cell that failed is kept."""
        return self.failed / f"{cell_id}.toml"

    def scenario(self, prefix: str) -> tuple[str, Path]:
        """Id and scenario of the one cell, finished or failed, whose id begins so."""
        whole = [path for path in self.cells.glob("*/scenario.toml") if not path.parent.name.endswith(UNFINISHED)]
        found = {path.parent.name: path for path in whole} | {path.stem: path for path in self.failed.glob("*.toml")}
        matching = sorted(cell_id for cell_id in found if cell_id.startswith(prefix)) if prefix else []
        if len(matching) != 1:
            problem = f"begins {len(matching)} ids" if matching else "is not a cell of this campaign"
            raise InputError(f"{self.directory}: {prefix!r} {problem}; allowed are the ids in the column `cell`")
        if self.is_there(matching[0]):
            finished = self.finished(matching[0])
            damage = "it is damaged" if finished is None else finished.damage("scenario.toml")
            if damage is not None:
                raise InputError(f"cell {matching[0]}: {damage}; {MENDED}")
        return matching[0], found[matching[0]]

    def _sweep(self) -> None:
        """Removes what a process that was killed left unfinished."""
        for left in self.cells.glob(f"*{UNFINISHED}"):
            shutil.rmtree(left, ignore_errors=True)


def _state_owner(file: TextIO) -> None:
    """Says for other processes which one holds the lock."""
    with contextlib.suppress(OSError):  # a full disk: only the message to others is lost
        file.truncate(0)
        file.write(f"process {os.getpid()}\n")
        file.flush()
