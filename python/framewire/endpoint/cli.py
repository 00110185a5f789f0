"""``framewire send`` and ``framewire receive``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from framewire import files
from framewire.commands import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    AsJson,
    clear_errors,
    one_of,
    print_json,
    stdout,
    terminable,
)
from framewire.endpoint import messages
from framewire.endpoint.address import Address
from framewire.endpoint.closing_message import how_it_plays, why_it_ended
from framewire.endpoint.sessions import CONTROLLERS, ESTIMATES, MAX_SIZE, Interrupted
from framewire.endpoint.sessions import receive as receive_stream
from framewire.endpoint.sessions import send as send_stream
from framewire.errors import InputError, RunError
from framewire.suggestions import refused

__all__ = ["receive", "send"]

LARGEST_KEY = 1 << 16
"""Bytes of a file with a key."""

KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="At least 16 bytes that both sides share: control packets are authenticated."),
]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="Write what happens as JSON lines.")]
ControlPort = Annotated[int | None, typer.Option(metavar="PORT", help="Port of control packets [default: the next].")]


@clear_errors
def send(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A streaming file: framewire movie ladder makes one.")],
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen; only this machine by default.")
    ] = "127.0.0.1:5004",
    control_port: ControlPort = None,
    transport: Annotated[
        str,
        typer.Option(
            help=f"What decides the rate: {', '.join(CONTROLLERS)}. With tfrc, clients need the same.",
            autocompletion=one_of(lambda: CONTROLLERS),
        ),
    ] = "vtp",
    title: Annotated[str | None, typer.Option(help="What clients ask for [default: the file's name].")] = None,
    k: Annotated[int, typer.Option("-k", help="Video packets per control packet.")] = 5,
    estimate: Annotated[
        str, typer.Option(help=f"How vtp reads equation 1 of its paper: {' or '.join(map(repr, ESTIMATES))}.")
    ] = ESTIMATES[0],
    estimate_header: Annotated[
        int | None,
        typer.Option(metavar="BYTES", help=f"Header of each packet that {ESTIMATES[0]!r} counts [default: all of it]."),
    ] = None,
    clients: Annotated[int, typer.Option(help="Sessions at a time.")] = 1_000,
    sessions: Annotated[int | None, typer.Option(help="End after so many [default: serve until Ctrl-C].")] = None,
    key_file: KeyFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Serve a streaming file to any number of clients, each at the rate and the level that its network carries.

    Ctrl-C and SIGTERM end it with its result; the exit code is 130 after Ctrl-C and 0 after SIGTERM.
    """
    _check_transport(transport)
    address = Address.parse(listen, control=control_port)
    key, interrupted = _key(key_file), False
    with messages.log_to(log, messages.server(transport)) as listener, terminable() as is_terminated:
        try:
            served = send_stream(
                path,
                address,
                title=title,
                controller=transport,
                ack_every=k,
                estimate=estimate,
                estimate_header=estimate_header,
                key=key,
                clients=clients,
                sessions=sessions,
                listener=listener,
            )
        except Interrupted as interruption:
            served, interrupted = interruption.result, not is_terminated()
    if as_json:
        print_json(served)
    else:
        late = served["lateness_s"]["p99"]
        spoken = "" if late is None else f"; 99 % of packets left within {late * 1e3:.2f} ms of their time"
        count = served["sessions"]
        stdout().print(f"{count} session{'' if count == 1 else 's'}{spoken}", highlight=False)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


@clear_errors
def receive(
    server: Annotated[
        str, typer.Argument(metavar="ADDRESS:PORT", help="Where the server is: an IP address or a name.")
    ],
    title: Annotated[str, typer.Argument(help="What to ask for: the name of the server's file without its ending.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write whole frames here, as an elementary stream (.m4v, .h264, .h265), and audio beside them: FILE "
            "with another ending. A command that makes a film of them is printed. Files that are there already are "
            "refused.",
        ),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write FILE, and audio beside it, anew.")] = False,
    max_size: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Stop when FILE and audio beside it have so much, whatever is sent."),
    ] = MAX_SIZE,
    control_port: ControlPort = None,
    transport: Annotated[
        str,
        typer.Option(
            help=f"The server's: {', '.join(CONTROLLERS)}. Only tfrc has reports of its own and must be "
            "given on both sides; lost packets are asked for again wherever the server (vtp-hybrid) does that.",
            autocompletion=one_of(lambda: CONTROLLERS),
        ),
    ] = "vtp",
    key_file: KeyFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Receive an adaptive stream, and say how many frames came from which level.

    Exit code 0 is the end of the movie; 1 also a server that was stopped before, or --max-size: what came until then
    stays in FILE. Ctrl-C (130) and SIGTERM (143) end it with its result.
    """
    _check_transport(transport)
    address, key, interrupted = Address.parse(server, control=control_port), _key(key_file), False
    terminated = False
    with (
        messages.receiver(title, tfrc=transport == "tfrc") as listener,
        messages.log_to(log, listener) as told,
        terminable() as is_terminated,
    ):
        try:
            viewed = receive_stream(
                address,
                out,
                title=title,
                tfrc=transport == "tfrc",
                key=key,
                replace=replace,
                max_size=max_size,
                listener=told,
            )
        except Interrupted as interruption:
            viewed, interrupted, terminated = interruption.result, True, is_terminated()
    if as_json:
        print_json(viewed)
    else:
        _show(viewed, out, by="you" if interrupted else "the server")
    if interrupted:
        raise typer.Exit(EXIT_TERMINATED if terminated else EXIT_INTERRUPTED)
    wrong = why_it_ended(viewed, server=server, title=title, keyed=key is not None, max_size=max_size)
    if wrong is not None:
        raise RunError(wrong)


def _show(viewed: dict[str, Any], out: Path | None, *, by: str) -> None:
    """What came, and what plays it; nothing where nothing did."""
    lines = []
    came_to_end = viewed["ended"] == "EndOfMovie"  # else what is counted as lost was, for the most part, never sent
    if viewed["packets"]:
        levels = ", ".join(f"{count} of level {level}" for level, count in enumerate(viewed["frames_by_level"]))
        stopped = "until --max-size was reached" if viewed.get("size_limit_reached") else f"until {by} stopped it"
        ended = {"EndOfMovie": "to the end of the movie", "Stopped": stopped}.get(viewed["ended"])
        lost = _lost(viewed["frames_lost"], came_to_end=came_to_end)
        lines.append(f"{viewed['frames']} whole frames ({levels}), {lost}; {ended or 'not to the end'}")
    elif viewed["ended"] == "Stopped":
        lines.append(f"{by} stopped it before anything came")
    heard = viewed["audio"]
    if heard is not None and heard["packets"]:
        where = "" if heard["file"] is None else f": {heard['file']}"
        lines.append(f"{heard['packets']} packets of audio, {_lost(heard['lost'], came_to_end=came_to_end)}{where}")
    for line in [*lines, *how_it_plays(viewed, out)]:
        stdout().print(line, markup=False, highlight=False, soft_wrap=True)


def _lost(count: int, *, came_to_end: bool) -> str:
    return f"{count} lost" if came_to_end else "what followed did not come"


def _check_transport(name: str) -> None:
    if name not in CONTROLLERS:
        raise refused("transport", name, CONTROLLERS)


def _key(path: Path | None) -> bytes | None:
    try:
        return None if path is None else files.read_bytes(path, LARGEST_KEY)
    except OSError as error:
        raise InputError(f"{path}: the key cannot be read: {error.strerror or error}") from None
