"""The dataset of a campaign: the tables of all cells as Parquet, with what was varied as columns.

``summary.parquet`` has a row per cell and flow; ``frames/`` and, on request, ``packets/``, ``flows/`` and ``rates/``
hold the ledgers and the tables of packets, states of flows and rates in parts of a few megabytes, which are read as one
table; with ``parts = false`` in the campaign they stay with their cells. ``campaign.json`` describes them and is
written last: a directory without it has no dataset (yet), whatever else is in it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from framewire import files
from framewire.campaign.axes import Label
from framewire.campaign.description import DESCRIPTION
from framewire.campaign.index import Place
from framewire.campaign.store import FinishedCell
from framewire.checksums import Checksums, DamagedError, sealed, unsealed
from framewire.content_store import replacing
from framewire.errors import RunError

__all__ = ["Axes", "Row", "canonical_hashes", "has_parts", "places", "summary", "write"]

PARTED = ("frames", "packets", "flows", "rates")
"""Tables in parts."""

PART_BYTES = 8_000_000
"""Compressed size of the tables that are put together at once: bounds the memory."""

SMALLEST_FREE = 1 << 20
"""A disk with less room than this is full."""


@dataclass(frozen=True)
class Row:
    """A cell of the campaign and where its tables are."""

    place: Place
    finished: FinishedCell


Axes = Mapping[str, Sequence[Label]]
"""The labels on each axis."""


def write(
    directory: Path, axes: Axes, rows: Sequence[Row], description: dict[str, Any], damaged: Callable[[str], None]
) -> None:
    """Writes the tables of these cells, then the description; nothing where the same is there already.

    ``damaged`` is called with a sentence on what is there and is not what was written. Killed in between, it leaves a
    directory without a description.
    """
    hashes = canonical_hashes(rows)
    description = description | {"hashes": hashes, "content": _content(rows)}
    target = directory / DESCRIPTION
    before = _same_content(target, description, damaged)
    if before is not None:
        _replace(target, sealed(description, directory, before.files))
        return
    target.unlink(missing_ok=True)
    _remove_tables(directory)
    if rows:
        _write_table(summary(axes, rows), directory / "summary.parquet")
        for name in PARTED if has_parts(description) else ():
            if any(row.finished.keeps(name) for row in rows):
                _write_parts(directory / name, name, rows, axes)
    tables = [*directory.glob("summary.parquet"), *directory.glob("*/part-*.parquet")]
    names = [table.relative_to(directory).as_posix() for table in tables]
    _replace(target, sealed(description, directory, names))


def has_parts(description: Mapping[str, Any]) -> bool:
    """Whether the tables of a dataset's cells are put together in it."""
    return bool(description.get("campaign", {}).get("parts", True))


def summary(axes: Axes, rows: Sequence[Row]) -> pl.DataFrame:
    """A row per cell and flow."""
    return _joined([(row, row.finished.table("summary")) for row in rows], axes)


def canonical_hashes(rows: Sequence[Row]) -> dict[str, str]:
    """A hash per table over what was measured at every point and repeat, by any process and in any order.

    It is the SHA-256 of a line per cell, in the order of the grid: labels, repeat and seed as JSON, and the canonical
    hash of the cell's table. Ids of cells, times and file layouts are not in it.
    """
    names = sorted({name for row in rows for name in row.finished.hashes})
    hashes = {}
    for name in names:
        digest = hashlib.sha256()
        for row in rows:
            place = [dict(row.place.labels), row.place.repeat, row.place.seed, row.finished.hashes.get(name)]
            digest.update(json.dumps(place, sort_keys=True).encode() + b"\n")
        hashes[name] = digest.hexdigest()
    return hashes


def _content(rows: Iterable[Row]) -> str:
    """Tells whether a dataset is made of exactly these cells."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps([row.place.id, dict(row.place.labels), row.place.repeat]).encode() + b"\n")
    return digest.hexdigest()


def _same_content(target: Path, description: dict[str, Any], damaged: Callable[[str], None]) -> Checksums | None:
    """The checksums of the tables that are there, where they are those of these cells, and undamaged. ``damaged`` is
    called with what is not."""
    try:
        before, checksums = unsealed(files.read_json(target))
        same = all(before[key] == description[key] for key in ("format", "content", "hashes"))
        same = same and has_parts(before) == has_parts(description)
        if not same or (description["hashes"] and "summary.parquet" not in checksums.files):
            return None
        for name in checksums.files:
            checksums.check(target.parent, name)
    except DamagedError as error:
        damaged(f"{target.name} {error}" if str(error).startswith("is ") else str(error))
        return None
    except ValueError:
        damaged(f"{target.name} cannot be read")
        return None
    except (OSError, KeyError, TypeError):  # none, or of an earlier version
        return None
    return checksums


def _replace(target: Path, description: dict[str, Any]) -> None:
    with replacing(target) as part:
        part.write_text(json.dumps(description, indent=1), encoding="utf-8")


def _remove_tables(directory: Path) -> None:
    (directory / "summary.parquet").unlink(missing_ok=True)
    for name in PARTED:
        shutil.rmtree(directory / name, ignore_errors=True)


def _write_parts(target: Path, name: str, rows: Sequence[Row], axes: Axes) -> None:
    target.mkdir()
    having = [(row, row.finished.table(name)) for row in rows if row.finished.keeps(name)]
    for number, part in enumerate(_parts(having)):
        _write_table(_joined(part, axes), target / f"part-{number:05}.parquet")


def _write_table(table: pl.DataFrame, path: Path) -> None:
    try:
        table.write_parquet(path)
    except pl.exceptions.PolarsError as error:  # it does not say what the system said
        full = shutil.disk_usage(path.parent).free < SMALLEST_FREE
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, os.strerror(number) if full else str(error).splitlines()[0], str(path)) from None


def _parts(tables: Sequence[tuple[Row, Path]]) -> Iterator[list[tuple[Row, Path]]]:
    """Cells whose tables are put together at once."""
    part: list[tuple[Row, Path]] = []
    size = 0
    for row, path in tables:
        part.append((row, path))
        size += row.finished.bytes[path.name]
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _joined(tables: Sequence[tuple[Row, Path]], axes: Axes) -> pl.DataFrame:
    """The tables of several cells as one, each row with its cell, its place in the grid, its repeat and its seed."""
    paths = [str(path) for _, path in tables]
    placed = places([row.place for row, _ in tables], axes).with_columns(pl.Series(_PATH, paths, pl.String))
    # All files at once: one by one takes three times as long. Points that share a cell name a file twice.
    distinct = list(dict.fromkeys(paths))
    try:
        contents = pl.read_parquet(distinct, glob=False, include_file_paths=_PATH)
    except pl.exceptions.PolarsError as error:
        raise RunError(_name_damaged(distinct, error)) from None
    return placed.join(contents, on=_PATH, how="inner", maintain_order="left_right").drop(_PATH)


def _name_damaged(paths: Sequence[str], error: Exception) -> str:
    """Which of several files cannot be read."""
    for path in paths:
        try:
            pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as found:
            reason = str(found).splitlines()[0]
            return f"{path}: damaged: {reason}; remove {Path(path).parent}, and the same command computes it again"
    return f"the tables of the cells do not fit together: {str(error).splitlines()[0]}"


_PATH = "path of the table"  # a column that no table has


def places(of: Sequence[Place], axes: Axes) -> pl.DataFrame:
    """A row per cell: its id, its label on each axis, its repeat and its seed."""
    schema = _axis_schema(axes)
    rows = [{"cell": at.id, **at.labels, "repeat": at.repeat, "seed": at.seed} for at in of]
    columns = {name: [_in_column(row[name], dtype) for row in rows] for name, dtype in schema.items()}
    return pl.DataFrame(columns, schema=schema)


def _in_column(value: Label, dtype: pl.DataType) -> Label:
    return str(value) if dtype == pl.String else value


def _axis_schema(axes: Axes) -> dict[str, pl.DataType]:
    """Columns that say where a row belongs, and their types."""
    return {
        "cell": pl.String(),
        **{name: _type_of(labels) for name, labels in axes.items()},
        "repeat": pl.Int32(),
        "seed": pl.Int64(),
    }


def _type_of(labels: Sequence[Label]) -> pl.DataType:
    kinds = set(map(type, labels))
    if kinds == {bool}:
        return pl.Boolean()
    if kinds == {int}:
        return pl.Int64()
    return pl.Float64() if kinds <= {int, float} else pl.String()
