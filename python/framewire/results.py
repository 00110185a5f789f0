"""A run directory, opened: its tables as polars frames, its description and its scenario.

The format is described in ``docs/results.md``. Tables are read when they are first asked for.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from framewire import earlier_formats, files, run_tables, stats
from framewire.checksums import Checksums, DamagedError, unsealed
from framewire.errors import InputError
from framewire.run_description import by_clock, problem_of

__all__ = ["FORMAT_VERSION", "PICTURE", "TABLES", "RunDirectory"]

FORMAT_VERSION = 6
"""The newest version of the results format that is read here; older ones are read too."""

PICTURE = 0
"""The track of the ledger that is the picture; others are sound."""

TABLES = ("frames", "packets", "flows", "accuracy", "summary")
"""The tables of a run."""

SOMETIMES = ("rtcp", "as_decoded")
"""Tables that only some runs have."""


class RunDirectory:
    """One run: a scenario that was executed once.

    Raises InputError when ``path`` is not a run directory, or was written by a newer framewire.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        """Where it is."""
        self.meta: dict[str, Any]
        self.meta, self._checksums = _read_description(self.path)
        """``run.json``: format and program version, the machine, the movie, the status, the proof of accuracy."""

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.path)!r})"

    @property
    def status(self) -> str:
        """``complete``, ``partial`` or ``failed``."""
        return str(self.meta.get("status") or "complete")

    @property
    def by_clock(self) -> frozenset[str]:
        """The flows whose datagrams have clock references in place of numbers (``sequence`` in :attr:`packets`)."""
        return by_clock(self.meta)

    @cached_property
    def frames(self) -> pl.DataFrame:
        """The ledger: one row per frame of the picture and flow."""
        return self.table("frames")

    @cached_property
    def sound(self) -> pl.DataFrame:
        """The rows of the ledger that are of sound, one per packet and flow; none where none was sent."""
        return self._read("frames", None).filter(pl.col("track") != PICTURE)

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row per packet and hop."""
        return self.table("packets")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The state of each flow over time."""
        return self.table("flows")

    @cached_property
    def accuracy(self) -> pl.DataFrame:
        """Releases of the emulated network, one row per packet."""
        return self.table("accuracy")

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One row per flow."""
        return self.table("summary")

    @cached_property
    def rtcp(self) -> pl.DataFrame:
        """What the ends of flows reported to each other, and what was so; empty where no flow has RTCP."""
        return self.table("rtcp") if (self.path / "rtcp.parquet").is_file() else pl.DataFrame()

    @cached_property
    def protocols(self) -> dict[str, str]:
        """By flow the protocol (``udp``, ``tcp``) that carried it; empty where the packets cannot be read."""
        try:
            return stats.main_protocols(self.packets)
        except InputError:
            return {}

    @cached_property
    def scenario(self) -> str:
        """The scenario as resolved, as TOML text."""
        path = self.path / "scenario.toml"
        try:
            self._checksums.check(self.path, path.name)
            return files.read_text(path)
        except FileNotFoundError:
            raise InputError(f"{self.path}: has no scenario.toml") from None
        except DamagedError as error:
            raise InputError(f"{self.path}: {error}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from None

    def check(self, path: Path) -> str | None:
        """Compares a file of the run with what was written, and returns its checksum, if it has one.

        Raises InputError when it is damaged, or cannot be read.
        """
        try:
            return self._checksums.check(self.path, path.relative_to(self.path).as_posix())
        except DamagedError as error:
            raise InputError(f"{self.path}: {error}") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None

    def table(self, name: str, columns: Collection[str] | None = None) -> pl.DataFrame:
        """One of :data:`TABLES` or :data:`SOMETIMES`, read from its file: all of it, or what it has of these columns
        and of those that every table of its kind has. Of ``frames`` it is the picture's; :attr:`sound` has the others.

        Raises InputError when there is no such table, or when its file is missing or damaged.
        """
        if name not in (*TABLES, *SOMETIMES):
            raise InputError(f"{name}: not a table of a run; allowed are {', '.join((*TABLES, *SOMETIMES))}")
        table = self._read(name, columns)
        is_ledger = name == "frames" and "track" in table.columns
        return table.filter(pl.col("track") == PICTURE) if is_ledger else table

    def _read(self, name: str, columns: Collection[str] | None) -> pl.DataFrame:
        path = self.path / f"{name}.parquet"
        if not path.is_file():
            raise InputError(f"{self.path}: has no {path.name}")
        self.check(path)
        filled = run_tables.without_nulls(name)
        try:
            rows = pl.scan_parquet(path, glob=False)
            known = rows.collect_schema().names()
            needed = {*columns, *filled, *earlier_formats.NEEDED, "track"} if columns is not None else {*known}
            asked = [name for name in known if name in needed]
            table = rows.select(asked).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(f"{path}: cannot be read as a table: {_first_line(error)}") from None
        problem = run_tables.problem_of(name, table)
        if problem is not None:
            raise InputError(f"{path}: cannot be read as a table of a run: {problem}")
        table = self._as_now(name, table)
        return run_tables.completed(name, table) if columns is None else table

    def _as_now(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """A table of an earlier version of the format as the newest one has it."""
        if name == "frames":
            return earlier_formats.frames(table, self.meta)
        if name == "summary":
            summary = earlier_formats.summary(table, self.meta, self._frames_if_readable)
            return earlier_formats.transports(summary)
        return table

    def _frames_if_readable(self) -> pl.DataFrame | None:
        try:
            return self.frames
        except InputError:
            return None


def _read_description(path: Path) -> tuple[dict[str, Any], Checksums]:
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        raise InputError(f"{path}: not a run directory but a file")
    file = path / "run.json"
    try:
        meta = files.read_json(file)
    except FileNotFoundError:
        raise InputError(f"{path}: not a run directory: it has no run.json") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read: {error}") from None
    version = meta.get("format") if isinstance(meta, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"{file}: does not say its format (a whole number from 1)")
    if version > FORMAT_VERSION:
        raise InputError(
            f"{path}: written by a newer framewire: format {version}, this one reads up to {FORMAT_VERSION}"
        )
    try:
        meta, checksums = unsealed(meta)
    except DamagedError as error:
        raise InputError(f"{file}: {error}") from None
    problem = problem_of(meta)
    if problem is not None:
        raise InputError(f"{file}: {problem}")
    return meta, checksums


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
