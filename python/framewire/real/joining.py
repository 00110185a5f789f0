"""The run that is made of the directories of both ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framewire import _native, files
from framewire.checksums import DamagedError, unsealed
from framewire.errors import InputError, RunError
from framewire.real.answers import answer_to
from framewire.run import Run, check_out, partial_directory, seal

__all__ = ["join", "side_of"]


def side_of(directory: Path) -> str | None:
    """``sender``, ``receiver`` or ``server`` of one end's directory; None of any other.

    Raises InputError where its description cannot be read.
    """
    try:
        document = files.read_json(directory / "run.json")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{directory / 'run.json'}: cannot be read: {error}") from None
    side = document.get("side") if isinstance(document, dict) else None
    return side if side in ("sender", "receiver", "server") else None


def join(
    sender: str | os.PathLike[str],
    receiver: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
) -> Run:
    """Makes a run of what both ends recorded: the ledger, frame by frame, with all times on the sender's clock.

    Datagrams are matched by their numbers, frames of a byte stream by their place in it. The movie has to be
    where it was when it was sent.

    Args:
        sender: the directory that `send` made; or a server's, or that of one of its answers.
        receiver: the directory that `receive` made, copied from wherever that was.
        out: the run directory to make. Unless given that is ``<name of the sender's>-joined`` beside the sender's, or
            what was made there of these very directories before.

    Raises:
        InputError: when one of them is not what it should be, or they are of different streams.
    """
    ends = [Path(sender), Path(receiver)]
    if side_of(ends[0]) == "receiver" and side_of(ends[1]) != "receiver":
        ends.reverse()
    if [side_of(one) for one in ends] == ["server", "receiver"]:
        ends[0] = answer_to(*ends)
    for one, wanted in zip(ends, ("sender", "receiver"), strict=True):
        _check(one, wanted)
    documents = [files.read_json(one / "run.json") for one in ends]
    made_of = [str(document.get("checksums", {}).get("document")) for document in documents]
    if out is None:
        for before in _candidates(ends[0]):
            if not before.exists():
                break
            if (known := _made_before(before, made_of)) is not None:
                return known
    chosen = Path(out) if out is not None else _free(ends[0])
    check_out(chosen)
    with partial_directory(chosen.name, chosen) as (partial, directory):
        try:
            made: dict[str, Any] = json.loads(_native.join_sides(ends[0], ends[1], partial))
        except _native.EndpointRefusal as error:
            raise InputError(str(error)) from None
        except _native.EndpointFailure as error:
            raise RunError(str(error)) from None
        seal(partial, made_of=made_of, **{key: documents[0].get(key) for key in ("sent_with", "sound_left_out")})
        partial.rename(directory)
    failures = () if made["failure"] is None else (str(made["failure"]),)
    return Run(directory, str(made["status"]), failures=failures)


def _check(directory: Path, wanted: str) -> None:
    """Whether it is of this side, and as it was written."""
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory")
    if side_of(directory) != wanted:
        other = {"sender": "send --to", "receiver": "receive"}[wanted]
        found = f"no {wanted}"
        if side_of(directory) == "server":
            found = "a server, which has a ledger for each client in clients/"
        raise InputError(f"{directory}: is of {found}; framewire {other} makes directories of a {wanted}")
    try:
        _, checksums = unsealed(files.read_json(directory / "run.json"))
        for path in (*directory.glob("*.parquet"), *directory.glob("*.toml"), *directory.glob("received/*")):
            checksums.check(directory, path.relative_to(directory).as_posix())
    except DamagedError as error:
        raise InputError(f"{directory}: {error}") from None


def _made_before(directory: Path, made_of: list[str]) -> Run | None:
    """The run that was made of two directories, by the checksums of their descriptions; None of any other."""
    try:
        document = files.read_json(directory / "run.json")
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("made_of") != made_of:
        return None
    failures = [flow.get("failure") for flow in document.get("flows") or []]
    return Run(directory, str(document.get("status")), failures=tuple(str(one) for one in failures if one))


def _free(sender: Path) -> Path:
    return next(path for path in _candidates(sender) if not path.exists())


def _candidates(sender: Path) -> Iterator[Path]:
    """Names beside the sender's directory, so that relative and absolute names work alike."""
    stem = f"{sender.resolve().name}-joined"
    return (sender.resolve().parent / (stem if count == 1 else f"{stem}-{count}") for count in range(1, 1_000))
