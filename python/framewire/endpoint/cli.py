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
from framewire.real.ends import PATIENCE_S, SILENCE_S, WAIT_S
from framewire.real.serving import AHEAD_S, FIRST_REQUEST_S, IDLE_S
from framewire.suggestions import refused
from framewire.transports import CARRIERS

__all__ = ["receive", "send"]

PACES = ("clock", "client")
"""By which a served movie goes."""

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
            "rtsp://127.0.0.1:8554/.",
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen for clients; only this machine by default.")
    ] = "127.0.0.1:5004",
    control_port: ControlPort = None,
    transport: Annotated[
        str | None,
        typer.Option(
            help="With --to, how the movie is carried: udp [default], ts, tcp, rtp+tcp, udp+dependency ... "
            f"(docs/transports.md). For clients, what decides the rate: {', '.join(CONTROLLERS)} [default: vtp]. With "
            "tfrc, clients need the same.",
            autocompletion=one_of(lambda: [*CARRIERS, *CONTROLLERS]),
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
            help="With --to: a setting of the movie or of the flow (docs/scenario.md), as flow.0.mtu=1400 or "
            "movie.sound=true. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="With --to: the directory to make [default: runs/send-...]."),
    ] = None,
    sdp: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --to: write a session description, by which others receive RTP."),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            metavar="S", min=0.1, help="With --to: how long a receiver may take no connection, or nothing of it."
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
    by RTSP (interleaved); at most --clients at a time, with headers of 16 KiB, and --patience for one that takes
    nothing (docs/serving.md).
    Without both, each client has the rate and the level that its network carries.

    Ctrl-C and SIGTERM end it with its result; the exit code is 130 after Ctrl-C, and 143 after SIGTERM, but of a
    server 0.
    """
    if serve is not None:
        if to is not None:
            raise InputError("--to and --serve: a movie is sent to one receiver, or served to many")
        _refuse_given(context, "serves movies (--serve)", (*OF_A_STREAMING_FILE, *OF_ONE_RECEIVER))
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
        _refuse_given(context, "sends a movie to one receiver (--to)", (*OF_A_SERVER, *OF_SERVED_MOVIES))
        _send_movie(as_json, path, to, transport, start, duration, loop, overrides, out, sdp, patience, delay)
        return
    _refuse_given(context, "serves a streaming file; it is of a movie, for --to HOST:PORT", OF_A_MOVIE_SENT)
    _refuse_given(context, "serves a streaming file; it is of movies, for --serve URL", OF_SERVED_MOVIES)
    if transport in CARRIERS:
        raise InputError(f"--transport {transport}: carries a movie to one receiver: --to HOST:PORT says where that is")
    transport = transport or "vtp"
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
            help="Without TITLE, how the movie comes: udp [default], ts, tcp, rtp+tcp ... With TITLE, the server's: "
            f"{', '.join(CONTROLLERS)} [default: vtp]. Of these, only tfrc has reports of its own and must be "
            "given on both sides; lost packets are asked for again wherever the server (vtp-hybrid) does that.",
            autocompletion=one_of(lambda: [*CARRIERS, *CONTROLLERS]),
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(help="Without TITLE: that of another program's stream, which does not say: m2v, h264, h265, m4v."),
    ] = None,
    sdp: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Without TITLE: the session description of another program's stream of RTP."),
    ] = None,
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
        _refuse_given(context, "receives a movie; it is of a stream with a TITLE", OF_A_CLIENT)
        if "://" in server:
            _refuse_given(
                context, "asks a server for a movie; it is of one that listens", ("transport", "codec", "sdp")
            )
            _ask_for_movie(as_json, server, user=user, out=out, wait_s=wait, silence_s=silence, max_size=max_size)
            return
        _refuse_given(context, "listens for a movie; it is of rtsp:// URLs", ("user",))
        _receive_movie(as_json, server, transport, codec, sdp, out, wait, silence, max_size)
        return
    _refuse_given(context, "asks a server for a title; it is of a movie, without TITLE", OF_A_MOVIE_RECEIVED)
    if transport in CARRIERS:
        raise InputError(f"--transport {transport}: what is carried so has no title: leave {title!r} out")
    transport = transport or "vtp"
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

OF_A_CLIENT = ("replace", "control_port", "key_file", "log")
"""Parameters of ``receive`` with a title."""

OF_A_MOVIE_RECEIVED = ("codec", "sdp", "wait", "silence", "user")
"""Those without."""


def _refuse_given(context: typer.Context, what: str, names: tuple[str, ...]) -> None:
    """Raises InputError for an option that was given and does not belong to what the command does."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise InputError(f"{parameter.opts[0]}: this command {what}")


def _send_movie(
    as_json: bool,
    path: Path,
    to: str,
    transport: str | None,
    start: float,
    duration: str | None,
    loop: int,
    overrides: list[str] | None,
    out: Path | None,
    sdp: Path | None,
    patience: float,
    delay: float,
) -> None:
    from framewire.real import cli as of_movies  # it is slow to import, and a server does without

    with terminable() as is_terminated:
        end = of_movies.send(
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
        _exit_if(end.interrupted, terminated=is_terminated())


def _serve_movies(as_json: bool, path: Path, at: str, *, pace: str, **options: Any) -> None:
    from framewire.real import serving_cli as of_movies

    if pace not in PACES:
        raise refused("pace", pace, PACES)
    with terminable() as is_terminated:
        of_movies.serve(as_json, path, at, is_paced=pace == PACES[0], **options)
        _exit_if(not is_terminated(), terminated=False)


def _receive_movie(
    as_json: bool,
    at: str,
    transport: str | None,
    codec: str | None,
    sdp: Path | None,
    out: Path | None,
    wait: float,
    silence: float,
    max_size: str,
) -> None:
    from framewire.real import cli as of_movies

    with terminable() as is_terminated:
        end = of_movies.receive(
            as_json,
            at,
            transport=transport or "udp",
            codec=codec,
            sdp=sdp,
            out=out,
            wait_s=wait,
            silence_s=silence,
            max_size=max_size,
        )
        _exit_if(end.interrupted, terminated=is_terminated())


def _ask_for_movie(as_json: bool, url: str, **options: Any) -> None:
    from framewire.real import cli as of_movies

    with terminable() as is_terminated:
        end = of_movies.receive(as_json, url, **options)
        _exit_if(end.interrupted, terminated=is_terminated())


def _exit_if(interrupted: bool, *, terminated: bool) -> None:
    if interrupted:
        raise typer.Exit(EXIT_TERMINATED if terminated else EXIT_INTERRUPTED)


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
