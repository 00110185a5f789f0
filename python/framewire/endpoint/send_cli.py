"""``framewire send``: a movie to one receiver, movies to players, or a streaming file to clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from framewire.commands import (
    AsJson,
    clear_errors,
    one_of,
    print_json,
    stdout,
    terminable,
)
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
from framewire.endpoint.sessions import CONTROLLERS, ESTIMATES, Interrupted
from framewire.endpoint.sessions import send as send_stream
from framewire.errors import InputError, NotAStreamingFile
from framewire.real.ends import PATIENCE_S
from framewire.real.serving import AHEAD_S, FIRST_REQUEST_S, IDLE_S
from framewire.suggestions import refused
from framewire.transports import CARRIERS, begun_by_senders, called, parts_of

__all__ = ["send"]

PACES = ("clock", "client")
"""By which a served movie goes."""


@clear_errors
def send(
    context: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A movie, for --to: any file with video, lab for the lab's own, or - for standard input. For --serve: "
            "a file with video, or a folder of such. Else a streaming file: framewire movie ladder makes one.",
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Send the movie there: to framewire receive, or any program that plays it."
        ),
    ] = None,
    serve: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Serve the movie, or every movie of a folder, to players and browsers: http://127.0.0.1:8080/ or "
            "rtsp://127.0.0.1:8554/. These are the ports where it states none; 80 and 554 have to be stated.",
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen for clients; only this machine by default.")
    ] = "127.0.0.1:5004",
    control_port: ControlPort = None,
    transport: Annotated[
        str | None,
        typer.Option(
            help=f"With --to, how the movie is carried: one of {', '.join(begun_by_senders())} [default: udp], or "
            "another combination of their parts (framewire transports --all). For clients, what decides the rate: "
            f"{', '.join(CONTROLLERS)} [default: vtp]. With tfrc, clients need the same.",
            autocompletion=one_of(lambda: [*called(CARRIERS), *CONTROLLERS]),
        ),
    ] = None,
    duration: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --to: cut the movie to this, as 10 s.")
    ] = None,
    start: Annotated[
        float, typer.Option(metavar="S", min=0.0, help="With --to: begin at the key frame before this time.")
    ] = 0.0,
    loop: Annotated[
        int, typer.Option(metavar="N", min=1, help="With --to: send it N times, one behind the other.")
    ] = 1,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="With --to or --serve: a setting of the movie or of the flow (docs/scenario.md), as flow.0.mtu=1400, "
            "movie.sound=true. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="With --to or --serve: the directory to make [default: runs/send-... or runs/serve-...].",
        ),
    ] = None,
    sdp: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --to: write a session description, by which others receive RTP."),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0.1,
            help="With --to or --serve: how long a receiver may take no connection, or nothing of it.",
        ),
    ] = PATIENCE_S,
    delay: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0.0,
            help="With --to: how long the first frame waits, so that a player can be started with the --sdp FILE.",
        ),
    ] = 0.0,
    pace: Annotated[
        str,
        typer.Option(
            metavar="clock|client",
            help="With --serve: movies go by their frame clocks, or as fast as a client takes them. Files as they are "
            "always go as fast.",
        ),
    ] = PACES[0],
    ahead: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0.0,
            help=f"With --serve: how much of a movie is due at once, for the player to be ahead [default: {AHEAD_S:g} "
            "over HTTP, 0 by RTSP].",
        ),
    ] = None,
    endless: Annotated[
        bool,
        typer.Option("--endless", help="With --serve: transport streams, and RTSP, begin anew where they have ended."),
    ] = False,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:PASSWORD", help="With --serve rtsp://: who may play; the password is not sent (Digest)."
        ),
    ] = None,
    first_request: Annotated[
        float,
        typer.Option(metavar="S", min=0.1, help="With --serve: a connection that says nothing for so long is closed."),
    ] = FIRST_REQUEST_S,
    idle: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="With --serve: the same between two requests.")
    ] = IDLE_S,
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
    """Send a movie to one receiver (--to), serve movies to players (--serve), or a streaming file to clients.

    With --to, the movie goes there as it is, frame by frame at its times, by any transport of the lab whose sender
    opens the connection (not http, not rtsp); what was offered, given up and sent is recorded, and framewire report
    SENDER_DIR RECEIVER_DIR joins it with what came.
    With --serve, any client fetches the file as it is, as MP4 or as a transport stream, by HTTP, or plays it
    by RTSP; at most --clients at a time, with headers of 16 KiB, and --patience for one that takes
    nothing (docs/serving.md).
    Without both, each client has the rate and the level that its network carries.

    Ctrl-C and SIGTERM end it with its result; the exit code is 130 after Ctrl-C. After SIGTERM it is 143 with --to,
    and 0 of a server, with --serve or of a streaming file.
    """
    if serve is not None:
        if to is not None:
            raise InputError("--to and --serve: a movie is sent to one receiver, or served to many")
        if loop > 1:
            raise InputError("--loop: does not go with --serve; --endless begins streams anew where they have ended")
        refuse_given(
            context, "serves movies (--serve), with which it does not go", (*OF_A_STREAMING_FILE, *OF_ONE_RECEIVER)
        )
        _serve_movies(
            as_json,
            path,
            serve,
            transport=transport,
            pace=pace,
            ahead_s=ahead,
            is_endless=endless,
            set=overrides,
            out=out,
            clients=clients,
            first_request_s=first_request,
            idle_s=idle,
            patience_s=patience,
            user=user,
        )
        return
    if to is not None:
        refuse_given(context, "sends a movie to one receiver (--to)", (*OF_A_SERVER, *OF_SERVED_MOVIES))
        _send_movie(
            as_json,
            path,
            to,
            transport=transport or "udp",
            start_s=start,
            duration=duration,
            times=loop,
            set=overrides,
            out=out,
            sdp=sdp,
            patience_s=patience,
            delay_s=delay,
        )
        return
    refuse_given(context, "serves a streaming file; it is of a movie, for --to HOST:PORT", OF_A_MOVIE_SENT)
    refuse_given(context, "serves a streaming file; it is of movies, for --serve URL", OF_SERVED_MOVIES)
    carried = None if transport is None else parts_of(transport)
    if carried is not None:
        where = (
            "is served: --serve URL says where"
            if carried.asks
            else "carries a movie to one receiver: --to HOST:PORT says where that is"
        )
        raise InputError(f"--transport {transport}: {where}")
    controller = controller_of(transport)
    _serve_clients(
        as_json,
        path,
        Address.parse(listen, control=control_port),
        log,
        controller=controller,
        title=title,
        ack_every=k,
        estimate=estimate,
        estimate_header=estimate_header,
        key=key_of(key_file),
        clients=clients,
        sessions=sessions,
    )


OF_A_STREAMING_FILE = (
    "listen",
    "control_port",
    "title",
    "k",
    "estimate",
    "estimate_header",
    "sessions",
    "key_file",
    "log",
)
"""Parameters of ``send`` without ``--to`` and ``--serve``."""

OF_A_SERVER = ("clients", *OF_A_STREAMING_FILE)
"""Those of many clients."""

OF_ONE_RECEIVER = ("start", "duration", "loop", "sdp", "delay")
"""Those with ``--to`` alone."""

OF_A_MOVIE_SENT = (*OF_ONE_RECEIVER, "overrides", "out", "patience")
"""All with it."""

OF_SERVED_MOVIES = ("pace", "ahead", "endless", "first_request", "idle", "user")
"""Those with ``--serve`` alone."""


def _send_movie(as_json: bool, path: Path, to: str, **options: Any) -> None:
    from framewire.real import cli as of_movies  # it is slow to import, and a server does without

    with terminable() as is_terminated:
        end = of_movies.send(as_json, path, to, **options)
        exit_if(end.interrupted, terminated=is_terminated())


def _serve_movies(as_json: bool, path: Path, at: str, *, pace: str, **options: Any) -> None:
    from framewire.real import serving_cli as of_movies

    if pace not in PACES:
        raise refused("pace", pace, PACES)
    with terminable() as is_terminated:
        of_movies.serve(as_json, path, at, is_paced=pace == PACES[0], **options)
        exit_if(not is_terminated(), terminated=False)


def _serve_clients(
    as_json: bool, path: Path, address: Address, log: Path | None, *, controller: str, **options: Any
) -> None:
    interrupted = False
    with messages.log_to(log, messages.server(controller)) as listener, terminable() as is_terminated:
        try:
            served = send_stream(path, address, controller=controller, listener=listener, **options)
        except Interrupted as interruption:
            served, interrupted = interruption.result, not is_terminated()
        except NotAStreamingFile:
            other = "--to HOST:PORT sends a movie to one receiver, --serve URL serves it"
            raise InputError(f"{path}: not a streaming file; {other}") from None
    if as_json:
        print_json(served)
    else:
        late = served["lateness_s"]["p99"]
        spoken = "" if late is None else f"; 99 % of packets left within {late * 1e3:.2f} ms of their time"
        count = served["sessions"]
        stdout().print(f"{count} session{'' if count == 1 else 's'}{spoken}", highlight=False)
    exit_if(interrupted, terminated=False)
