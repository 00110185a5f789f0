"""The command line.

Exit codes: 0 done; 1 a run failed; 2 wrong input (scenario, movie, option); 3 this machine lacks something;
130 interrupted. Messages and progress go to stderr, results to stdout.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import framewire
from framewire import doctor as doctor_module
from framewire import files, run_commands, run_output, standard_streams, terminal, transports
from framewire import progress as progress_module
from framewire import scenario as scenario_module
from framewire.campaign import cli as campaign_cli
from framewire.commands import (
    EXIT_INTERRUPTED,
    AsJson,
    Overrides,
    clear_errors,
    complain,
    one_of,
    print_json,
    stderr,
    stdout,
    warn,
)
from framewire.endpoint import receive_cli, send_cli
from framewire.errors import InputError, RunError
from framewire.movie.ladder import cli as ladder_cli
from framewire.run import WORLDS
from framewire.studies import cli as studies_cli

if TYPE_CHECKING:
    from framewire.report.verdict import Verdict

app = typer.Typer(
    name="framewire",
    epilog="Begin with: framewire run scenarios/quick.toml --world simulated. "
    "Exit codes: 0 done, 1 run failed, 2 wrong input, 3 the machine lacks something, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
movie_app = typer.Typer(
    help="Make the lab's test movie, or look into one.",
    epilog='Example: framewire movie make --bitrate "4 Mbit/s" --out movie.m2v',
    no_args_is_help=True,
)
scenario_app = typer.Typer(
    help="Read, check and complete scenario files.",
    epilog="Example: framewire scenario check scenarios/demo.toml",
    no_args_is_help=True,
)
app.add_typer(movie_app, name="movie")
app.add_typer(scenario_app, name="scenario")
app.add_typer(campaign_cli.app, name="campaign")
app.add_typer(studies_cli.app, name="reproduce")

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario file (TOML).")]
Out = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="Where to write.")]


def main() -> None:
    """Entry point of the program."""
    standard_streams.install()
    app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"framewire {framewire.__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A laboratory for video transport: what the viewer got, frame by frame, and why."""


@app.command(
    short_help="Stream a movie over a network, as a scenario says.",
    epilog="Example: framewire run scenarios/demo.toml --set network.wifi.retry=2 --world simulated",
)
@clear_errors
def run(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The run directory to make [default: runs/<name>-<date>-<time>]."),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            metavar="WORLD",
            autocompletion=one_of(lambda: WORLDS),
            help="emulated: in real time, through this kernel's sockets; simulated: in virtual time, anywhere.",
        ),
    ] = "emulated",
    as_json: AsJson = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write the results only.")] = False,
    open_report: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Stream a movie over a network, as a scenario says; then a table and a report show what the viewer got.

    Ctrl-C ends the streams and keeps what there is, as a partial result, with a report without pictures, which
    framewire report makes whole. A second Ctrl-C before the results are written throws all of them away; one behind
    that leaves out the report. One that comes when the streams have just ended leaves out the pictures as well.
    """
    if no_report and open_report:
        raise InputError("--open needs the report: allowed is --no-report or --open, not both")
    console = stderr()
    with progress_module.for_console(console) as display:
        started = framewire.start(scenario, set=overrides, out=out, world=world)
        if world == "simulated" and not no_report:  # in the emulated world the processors are there for the network
            _prepare_report()
        result = started.follow(display)
        report, verdict = (None, _verdict_on(result)) if no_report else _report_of(result, display)
    rows = result.summary.to_dicts()
    if as_json:
        if result.interrupted and report is not None:
            warn(run_output.without_pictures(result))
        print_json(
            {
                "directory": str(result.directory),
                "status": result.status,
                "report": None if report is None else str(report),
                "failures": result.failures,
                "verdict": None if verdict is None else verdict.as_json(),
                "summary": rows,
            }
        )
    else:
        run_output.print_run(result, report, verdict)
    if open_report and report is not None:
        webbrowser.open(report.resolve().as_uri())
    for failure in result.failures:
        complain(failure)
    if result.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if result.failures:
        raise typer.Exit(RunError.exit_code)


def _prepare_report() -> None:
    """Loads in the background what the report will be made with. What fails here fails there, and is said there."""

    def load() -> None:
        with contextlib.suppress(Exception):
            from framewire import report

            report.prepare()

    with contextlib.suppress(RuntimeError):  # no more threads
        threading.Thread(target=load).start()


def _report_of(result: framewire.Run, display: progress_module.Display) -> tuple[Path, Verdict]:
    from framewire import report  # it pulls in what is slow to import

    try:
        # Pictures of what was interrupted would take longer than Ctrl-C may.
        written = report.write(result.directory, progress=display, pictures=not result.interrupted)
    except BaseException:
        complain(
            f"no report was written; the results are in {result.directory}, and this makes it: "
            f"{run_output.report_command(result)}"
        )
        raise
    return written.path, written.verdict


def _verdict_on(result: framewire.Run) -> Verdict | None:
    from framewire import report

    try:
        return report.judge(result.directory)
    except InputError:  # a table cannot be read
        return None


run_commands.register(app)


def _movie_codecs() -> list[str]:
    from framewire.movie.codecs import CODECS

    return [codec.name for codec in CODECS]


@movie_app.command(
    "make",
    short_help="Make a video elementary stream.",
    epilog='Example: framewire movie make holiday.mp4 --bitrate "5 Mbit/s" --duration "30 s"',
)
@clear_errors
def make_movie(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SOURCE]", help="A file that ffmpeg reads, to be encoded instead of the lab's test movie."
        ),
    ] = None,
    bitrate: Annotated[str, typer.Option(help="Mean rate.")] = "6 Mbit/s",
    named: Annotated[Path | None, typer.Option("--source", hidden=True, help="The same as SOURCE.")] = None,
    duration: Annotated[
        str | None, typer.Option(help="Length of the lab movie [default: 60 s], or cut the file to this.")
    ] = None,
    codec: Annotated[
        str, typer.Option(help="mpeg2, h264, h264-pyramid, h265 or mpeg4.", autocompletion=one_of(_movie_codecs))
    ] = "mpeg2",
    size: Annotated[
        str | None, typer.Option(metavar="WxH", help="Scale the file to fit within this [default: its own size].")
    ] = None,
    frame_rate: Annotated[
        str | None, typer.Option(metavar="HZ", help="Encode the file at this rate [default: its own].")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Copy it here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a video elementary stream: the lab's movie, or your own.

    It is made once and then found in the cache.
    """
    from framewire import movie  # ffmpeg is not needed elsewhere

    if source is not None and named is not None:
        raise InputError("SOURCE and --source are the same: only one of them may be given")
    source = source or named
    if out is not None:
        files.check_takes_files(out)
    with progress_module.for_console(stderr()) as display:
        made = movie.make(
            movie.parse_bitrate(bitrate),
            None if duration is None and source is not None else movie.parse_duration(duration or "60 s"),
            source,
            progress=lambda text, share: display({"event": "step", "text": text, "share": share}),
            codec=codec,
            size=size,
            frame_rate=frame_rate,
        )
    path = made.path if out is None else _copied(made.path, out)
    if as_json:
        print_json({"path": str(path), **made.metadata})
    else:
        typer.echo(path)


def _copied(made: Path, out: Path) -> Path:
    """A whole copy, or none."""
    from framewire.content_store import replacing

    try:
        with replacing(out) as part:
            shutil.copyfile(made, part)
    except OSError as error:
        raise InputError(f"{out}: the movie cannot be copied there: {error.strerror}") from None
    return out


@movie_app.command("probe", epilog="Example: framewire movie probe movie.m2v --frames")
@clear_errors
def probe_movie(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="MPEG-1, MPEG-2, MPEG-4 part 2, H.264, H.265 or AV1: an elementary stream, or a container (MP4, MKV, "
            "AVI, TS ...), whose video is taken out as it is.",
        ),
    ],
    as_json: AsJson = False,
    frame_rate: Annotated[
        str | None,
        typer.Option(metavar="HZ", help="That of a stream that does not tell its own; without it, times are unknown."),
    ] = None,
    frames: Annotated[bool, typer.Option("--frames", help="List every frame, too.")] = False,
) -> None:
    """Show groups of pictures, types, sizes and rates."""
    from framewire.movie.probe import probe  # only this command needs it

    found = probe(file, frame_rate)
    if as_json:
        print_json(found.as_json(frames))
    else:
        stdout().print(found.tables(), markup=False, highlight=False)
        for table in found.frame_tables() if frames else ():
            stdout().print(table, markup=False, highlight=False)


movie_app.command(
    "ladder",
    short_help="Encode a movie at several levels, and make a streaming file.",
    epilog="Example: framewire movie ladder --preset mild --out mild --plot",
)(ladder_cli.ladder)

app.command(
    "send",
    short_help="Send a movie, or serve an adaptive stream.",
    epilog="Example: framewire send holiday.mp4 --to 127.0.0.1:5004 --transport ts. To clients: "
    "framewire send mild/movie.vtp --listen 127.0.0.1:5004",
)(send_cli.send)
app.command(
    "receive",
    short_help="Receive a movie, or an adaptive stream.",
    epilog="Example: framewire receive 127.0.0.1:5004 --transport ts. From a server: "
    "framewire receive 127.0.0.1:5004 movie --out received.m4v",
)(receive_cli.receive)


@scenario_app.command(epilog="Example: framewire scenario resolve scenarios/quick.toml --set seed=7")
@clear_errors
def resolve(scenario: ScenarioFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Print a scenario with every default written out."""
    resolved = scenario_module.load(scenario, set=overrides)
    if as_json:
        print_json(resolved.data)
    else:
        typer.echo(resolved.toml, nl=False)


@scenario_app.command(epilog="Example: framewire scenario check my.toml --set network.wifi.retry=3")
@clear_errors
def check(scenario: ScenarioFile, overrides: Overrides = None) -> None:
    """Check a scenario without running it: also the files that it names.

    The movie, the ladder and the recording of a link have to be there, and of use.
    """
    from framewire import content  # not needed elsewhere

    resolved = scenario_module.load(scenario, set=overrides)
    with scenario_module.naming(scenario):
        content.check(resolved)
    typer.echo(
        f"{scenario}: a valid scenario, {resolved.name}, with flows {', '.join(flow.name for flow in resolved.flows)}"
    )


@scenario_app.command(epilog="Example: framewire scenario show scenarios/flat.toml --out flat.svg")
@clear_errors
def show(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; default: print it.")] = None,
) -> None:
    """Draw the network of a scenario as an SVG picture.

    It has the nodes, the links, and what each of them does in either direction.
    """
    from framewire import network_picture  # not needed elsewhere
    from framewire.report import file as report_file

    picture = network_picture.svg(scenario_module.load(scenario, set=overrides))
    if out is None:
        typer.echo(picture, nl=False)
    else:
        typer.echo(report_file.write(picture, out, "the picture"))


@scenario_app.command(epilog="Example: framewire scenario schema > scenario.schema.json")
@clear_errors
def schema() -> None:
    """Print the JSON schema of the scenario file, for editors."""
    print_json(scenario_module.schema())


@app.command(
    "transports",
    short_help="List the transports, and the parts of each.",
    epilog="Example: framewire transports --all",
)
@clear_errors
def list_transports(
    every: Annotated[bool, typer.Option("--all", help="Also the other combinations of parts.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the transports that a scenario may name, and what each is made of.

    The default settings are in the JSON. Names stand for a queue, a format, a session and a socket; a scenario may give
    these instead (docs/transports.md).
    """
    shown = [one for one in transports.TRANSPORTS if every or one.is_entry]
    if as_json:
        print_json([one.as_json() for one in shown])
    else:
        stdout().print(terminal.transports_table(shown))
        for one in shown:
            if one.also_called is not None:
                stdout().print(f"{one.also_called} is another name of {one.name}", highlight=False)


@app.command(epilog="Example: framewire doctor --json")
@clear_errors
def doctor(as_json: AsJson = False) -> None:
    """Check what works on this machine, and what is missing."""
    checks = doctor_module.examine()
    fit = doctor_module.is_fit(checks)
    if as_json:
        print_json({"fit": fit, "checks": [vars(check) for check in checks]})
    else:
        console = stdout()
        console.print(terminal.checks_table(checks))
        simulated = doctor_module.can_simulate(checks)
        lacking = "does not work here" + ("; with --world simulated it does." if simulated else ".")
        console.print(f"`framewire run` {'works here.' if fit else lacking}", markup=False)
    if not fit:
        raise typer.Exit(framewire.MachineError.exit_code)
