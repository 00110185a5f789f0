"""``framewire send`` and ``framewire receive``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from framewire.commands import AsJson, clear_errors, print_json, stderr, stdout
from framewire.errors import InputError, RunError
from framewire.stream.endpoint import CONTROLLERS, Address, Listener
from framewire.stream.endpoint import receive as receive_stream
from framewire.stream.endpoint import send as send_stream

__all__ = ["receive", "send"]

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
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen; only this machine unless told otherwise.")
    ] = "127.0.0.1:5004",
    control_port: ControlPort = None,
    transport: Annotated[str, typer.Option(help=f"What decides the rate: {', '.join(CONTROLLERS)}.")] = "vtp",
    title: Annotated[str | None, typer.Option(help="What clients ask for [default: the file's name].")] = None,
    k: Annotated[int, typer.Option("-k", help="Video packets per control packet.")] = 5,
    clients: Annotated[int, typer.Option(help="Sessions at a time.")] = 1_000,
    sessions: Annotated[int | None, typer.Option(help="End after so many [default: serve until Ctrl-C].")] = None,
    key_file: KeyFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Serve a streaming file to any number of clients, each at the rate and the level that its network carries."""
    address = Address.parse(listen, control=control_port)
    with _listener(log, "serving at") as listener:
        served = send_stream(
            path,
            address,
            title=title,
            controller=transport,
            ack_every=k,
            key=_key(key_file),
            clients=clients,
            sessions=sessions,
            listener=listener,
        )
    if as_json:
        print_json(served)
    else:
        late = served["lateness_s"]["p99"]
        spoken = "" if late is None else f"; 99 % of packets left within {late * 1e3:.2f} ms of their time"
        stdout().print(f"{served['sessions']} sessions{spoken}", highlight=False)


@clear_errors
def receive(
    server: Annotated[str, typer.Argument(metavar="ADDRESS:PORT", help="Where the server is.")],
    title: Annotated[str, typer.Argument(help="What to ask for: the name of the server's file without its ending.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write whole frames here, as a decoder takes them."),
    ] = None,
    control_port: ControlPort = None,
    transport: Annotated[
        str, typer.Option(help="vtp, or what the server was told: tfrc, or better (lost packets are asked for again).")
    ] = "vtp",
    key_file: KeyFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Receive an adaptive stream, and say how many frames came from which level."""
    if transport not in CONTROLLERS:
        raise InputError(f"transport {transport!r} does not exist; {', '.join(CONTROLLERS)} do")
    with _listener(log, "") as listener:
        viewed = receive_stream(
            Address.parse(server, control=control_port),
            out,
            title=title,
            tfrc=transport == "tfrc",
            repeats=transport == "better",
            key=_key(key_file),
            listener=listener,
        )
    if as_json:
        print_json(viewed)
    else:
        levels = ", ".join(f"{count} of level {level}" for level, count in enumerate(viewed["frames_by_level"]))
        stdout().print(
            f"{viewed['frames']} whole frames ({levels}), {viewed['frames_lost']} lost; ended: {viewed['ended']}",
            highlight=False,
        )
    if viewed["ended"] not in ("EndOfMovie", "Stopped"):
        raise RunError(f"{server}: the session ended before the movie: {viewed['ended']}")


@contextmanager
def _listener(log: Path | None, spoken: str) -> Iterator[Listener]:
    """What tells of events: on stderr where something begins, and in the log."""
    lines = None if log is None else log.open("w", encoding="utf-8")

    def listener(kind: str, event: dict[str, Any]) -> None:
        if kind == "listening" and spoken:
            stderr().print(
                f"{spoken} {event['data']} (video) and {event['control']} (control)", highlight=False, soft_wrap=True
            )
        if lines is not None:
            lines.write(json.dumps({"kind": kind, **event}) + "\n")

    try:
        yield listener
    finally:
        if lines is not None:
            lines.close()


def _key(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
