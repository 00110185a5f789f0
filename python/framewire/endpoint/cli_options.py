"""What ``framewire send`` and ``framewire receive`` share: options, and what is asked of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framewire import files
from framewire.commands import EXIT_INTERRUPTED, EXIT_TERMINATED
from framewire.endpoint.sessions import CONTROLLERS
from framewire.errors import InputError
from framewire.suggestions import refused

__all__ = ["ControlPort", "KeyFile", "Log", "controller_of", "exit_if", "key_of", "refuse_given"]

LARGEST_KEY = 1 << 16
"""Bytes of a file with a key."""

KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="At least 16 bytes that both sides share: control packets are authenticated."),
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Write what happens as JSON lines.")]
ControlPort = Annotated[int | None, typer.Option(metavar="PORT", help="Port of control packets [default: the next].")]


def refuse_given(context: typer.Context, what: str, names: tuple[str, ...]) -> None:
    """Raises InputError for an option that was given and does not belong to what the command does."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise InputError(f"{parameter.opts[0]}: this command {what}")


def exit_if(interrupted: bool, *, terminated: bool) -> None:
    """Ends the command with the exit code of Ctrl-C or of SIGTERM."""
    if interrupted:
        raise typer.Exit(EXIT_TERMINATED if terminated else EXIT_INTERRUPTED)


def controller_of(transport: str | None) -> str:
    """What decides the rate of an adaptive stream, by ``--transport``."""
    name = transport or "vtp"
    if name not in CONTROLLERS:
        raise refused("transport", name, CONTROLLERS)
    return name


def key_of(path: Path | None) -> bytes | None:
    """What a file with a key has; whether it is long enough is seen when it is used."""
    try:
        return None if path is None else files.read_bytes(path, LARGEST_KEY)
    except OSError as error:
        raise InputError(f"{path}: the key cannot be read: {error.strerror or error}") from None
