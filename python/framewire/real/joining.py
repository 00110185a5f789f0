"""The run that is made of the directories of both ends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from framewire import _native, files
from framewire.checksums import DamagedError, unsealed
from framewire.errors import InputError, RunError
from framewire.run import Run, check_out, partial_directory, seal

__all__ = ["join", "side_of"]


def side_of(directory: Path) -> str | None:
    """``sender`` or ``receiver`` where a directory is of one end of a stream; None where it is anything else.

    Raises InputError where its description cannot be read.
    """
    try:
        document = files.read_json(directory / "run.json")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{directory / 'run.json'}: cannot be read: {error}") from None
    side = document.get("side") if isinstance(document, dict) else None
    return side if side in ("sender", "receiver") else None


def join(
    sender: str | os.PathLike[str],
    receiver: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
) -> Run:
    """Makes a run of what both ends recorded: the ledger, frame by frame, with all times on the sender's clock.

    Datagrams are matched by their numbers, frames of a byte stream by their place in it. The movie has to be
    where it was when it was sent.

    Args:
        sender: the directory that `send` made.
        receiver: the directory that `receive` made, copied from wherever that was.
        out: the run directory to make; ``runs/<name of the sender's>-joined`` unless given.

    Raises:
        InputError: when one of them is not what it should be, or they are of different streams.
    """
    ends = [Path(sender), Path(receiver)]
    if [side_of(one) for one in ends] == ["receiver", "sender"]:
        ends.reverse()
    for one, wanted in zip(ends, ("sender", "receiver"), strict=True):
        _check(one, wanted)
    chosen = Path(out) if out is not None else _free(ends[0])
    check_out(chosen)
    with partial_directory(chosen.name, chosen) as (partial, directory):
        try:
            made: dict[str, Any] = json.loads(_native.join_sides(ends[0], ends[1], partial))
        except _native.EndpointRefusal as error:
            raise InputError(str(error)) from None
        except _native.EndpointFailure as error:
            raise RunError(str(error)) from None
        seal(partial)
        partial.rename(directory)
    failures = () if made["failure"] is None else (str(made["failure"]),)
    return Run(directory, str(made["status"]), failures=failures)


def _check(directory: Path, wanted: str) -> None:
    """Whether it is of this side, and as it was written."""
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory")
    if side_of(directory) != wanted:
        other = {"sender": "send", "receiver": "receive"}[wanted]
        raise InputError(f"{directory}: is of no {wanted}; framewire {other} makes such directories")
    try:
        _, checksums = unsealed(files.read_json(directory / "run.json"))
        for path in (*directory.glob("*.parquet"), *directory.glob("*.toml"), *directory.glob("received/*")):
            checksums.check(directory, path.relative_to(directory).as_posix())
    except DamagedError as error:
        raise InputError(f"{directory}: {error}") from None


def _free(sender: Path) -> Path:
    """Beside the sender's directory, so that relative and absolute names work alike."""
    stem = f"{sender.resolve().name}-joined"
    candidates = (sender.resolve().parent / (stem if count == 1 else f"{stem}-{count}") for count in range(1, 1_000))
    return next(path for path in candidates if not path.exists())
