"""``framewire receive``: a movie from one sender or a server of movies, or an adaptive stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from framewire.commands import AsJson, clear_errors, one_of, print_json, stdout, terminable
from framewire.endpoint import messages
from framewire.endpoint.address import Address
from framewire.endpoint.cli_options import (
    ControlPort,
    KeyFile,
    Log,
    controller_of,
    exit_if,
    key_of,
    refuse_given,
)
from framewire.endpoint.closing_message import how_it_plays, why_it_ended
from framewire.endpoint.sessions import CONTROLLERS, MAX_SIZE, Interrupted
from framewire.endpoint.sessions import receive as receive_stream
from framewire.errors import InputError, RunError
from framewire.real.ends import DAMAGED, RTCP, SILENCE_S, WAIT_S
from framewire.transports import CARRIERS, begun_by_senders, called, parts_of

__all__ = ["receive"]


@clear_errors
def receive(
    context: typer.Context,
    server: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS:PORT",
            help="Without TITLE, where to listen: 127.0.0.1 for this machine alone; or what to ask a server for, "
            "http://HOST:PORT/PATH or rtsp://HOST:PORT/PATH. With TITLE, where the server is.",
        ),
    ],
    title: Annotated[
        str | None,
        typer.Argument(help="What to ask a server for: the name of its file without its ending."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Without TITLE, the directory to make [default: runs/receive-...]. With TITLE, "
            "write whole frames here, as an elementary stream (.m4v, .h264, .h265), and audio beside them: the file "
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
        str | None,
        typer.Option(
            help=f"Without TITLE, how the movie comes: one of {', '.join(begun_by_senders())} [default: udp], or with "
            "another queue, which does not matter; of rtsp:// rtsp [default] or rtsp+udp. With TITLE, the server's: "
            f"{', '.join(CONTROLLERS)} [default: vtp]. Of these, only tfrc has reports of its own and must be "
            "given on both sides; lost packets are asked for again wherever the server (vtp-hybrid) does that.",
            autocompletion=one_of(lambda: [*called(CARRIERS), *CONTROLLERS]),
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            help="Without TITLE: that of another program's stream, which does not say: m2v, m4v, h264, h265, obu (AV1) "
            "or mjpeg, or FFmpeg's name of it."
        ),
    ] = None,
    sdp: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Without TITLE: the session description of another program's stream of RTP."),
    ] = None,
    damaged: Annotated[
        str,
        typer.Option(
            help="Without TITLE: a frame with a packet missing: discard, or pass: what came up to the gap is kept.",
            autocompletion=one_of(lambda: DAMAGED),
        ),
    ] = DAMAGED[0],
    rtcp: Annotated[
        str,
        typer.Option(
            help="Without TITLE: reports to a sender of RTP in datagrams: full, as far as it allows any, or none.",
            autocompletion=one_of(lambda: RTCP),
        ),
    ] = RTCP[0],
    wait: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="Without TITLE: how long the first bytes are waited for.")
    ] = WAIT_S,
    silence: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="Without TITLE: a stream that is silent for so long has ended.")
    ] = SILENCE_S,
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME:PASSWORD", help="With rtsp://: who asks, where the server wants to know."),
    ] = None,
    key_file: KeyFile = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Receive a movie, or from a server (TITLE) an adaptive stream.

    Without TITLE it listens for one movie, from framewire send --to or another program, and records what comes; nothing
    else is open but the port and the next one up. With a URL it asks a server of HTTP or RTSP instead.
    With TITLE it says how many frames came from which level.

    Exit code 0 is the end of the movie; 1 also a server that was stopped before, or --max-size: what came until then
    stays in FILE. Ctrl-C (130) and SIGTERM (143) end it with its result.
    """
    if title is None:
        common: dict[str, Any] = {"out": out, "wait_s": wait, "silence_s": silence, "max_size": max_size}
        refuse_given(context, "receives a movie; it is of a stream with a TITLE", OF_A_CLIENT)
        if "://" in server:
            refuse_given(
                context,
                "asks a server for a movie; it is of one that listens",
                ("codec", "sdp", "damaged", "rtcp"),
            )
            _record_movie(as_json, server, user=user, transport=transport, **common)
            return
        refuse_given(context, "listens for a movie; it is of rtsp:// URLs", ("user",))
        stated: dict[str, Any] = {"codec": codec, "sdp": sdp, "damaged": damaged, "rtcp": rtcp}
        _record_movie(as_json, server, transport=transport or "udp", **stated, **common)
        return
    refuse_given(context, "asks a server for a title; it is of a movie, without TITLE", OF_A_MOVIE_RECEIVED)
    if transport is not None and parts_of(transport) is not None:
        raise InputError(f"--transport {transport}: what is carried so has no title: leave {title!r} out")
    controller = controller_of(transport)
    _receive_adaptive(
        as_json,
        server,
        Address.parse(server, control=control_port),
        out,
        log,
        title=title,
        tfrc=controller == "tfrc",
        key=key_of(key_file),
        replace=replace,
        max_size=max_size,
    )


OF_A_CLIENT = ("replace", "control_port", "key_file", "log")
"""Parameters of ``receive`` with a title."""

OF_A_MOVIE_RECEIVED = ("codec", "sdp", "damaged", "rtcp", "wait", "silence", "user")
"""Those without."""


def _record_movie(as_json: bool, at: str, **options: Any) -> None:
    """What comes at an address, or from the server that a URL names."""
    from framewire.real import cli as of_movies

    with terminable() as is_terminated:
        end = of_movies.receive(as_json, at, **options)
        exit_if(end.interrupted, terminated=is_terminated())


def _receive_adaptive(
    as_json: bool,
    server: str,
    address: Address,
    out: Path | None,
    log: Path | None,
    *,
    title: str,
    tfrc: bool,
    key: bytes | None,
    replace: bool,
    max_size: str,
) -> None:
    interrupted = terminated = False
    with (
        messages.receiver(title, tfrc=tfrc) as listener,
        messages.log_to(log, listener) as told,
        terminable() as is_terminated,
    ):
        try:
            viewed = receive_stream(
                address, out, title=title, tfrc=tfrc, key=key, replace=replace, max_size=max_size, listener=told
            )
        except Interrupted as interruption:
            viewed, interrupted, terminated = interruption.result, True, is_terminated()
    if as_json:
        print_json(viewed)
    else:
        _show(viewed, out, by="you" if interrupted else "the server")
    exit_if(interrupted, terminated=terminated)
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
