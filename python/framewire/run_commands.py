"""``framewire report``, ``score`` and ``render``: what is made of a run directory."""

from __future__ import annotations

import dataclasses
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from framewire import files, run_output
from framewire import progress as progress_module
from framewire.commands import AsJson, clear_errors, print_json, stderr, stdout, terminable, warn
from framewire.errors import InputError

if TYPE_CHECKING:
    from framewire.run import Run

__all__ = ["register"]

RunDirectory = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="A run directory.")]
Open = Annotated[bool, typer.Option("--open", help="Open it in a browser.")]


EVERY_S = 5.0
"""Where progress is told in lines, one comes at least so often."""


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(epilog="Example: framewire report runs/demo-20261120-140000 --open")(report)
    app.command(
        short_help="Score a run as a decoder conceals what is damaged.",
        epilog="Example: framewire score runs/camera-20261120-140000 udp",
    )(score)
    app.command(
        short_help="Write a film of what each viewer saw.",
        epilog="Example: framewire render runs/demo-20261120-140000 udp tcp+ifd --from 30 --to 45",
    )(render)


@clear_errors
def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A run directory, that of a campaign, or that of a sender (framewire send)."
        ),
    ],
    receiver: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECEIVER_DIR]", help="Beside a sender's: that of its receiver. A run is made of both."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The HTML file [default: DIR/report.html].")
    ] = None,
    film: Annotated[
        bool, typer.Option("--film", help="With short films of the worst moments; of a run, some MB and seconds more.")
    ] = False,
    open_report: Open = False,
) -> None:
    """Write the report of a run or of a campaign, one HTML file.

    Of the directories of both ends of a stream it makes a run first, beside that of the sender, and says
    what came of it as framewire run does.
    """
    from framewire.campaign.description import is_campaign
    from framewire.report import write as write_report

    joined = _joined(directory, receiver)
    directory = directory if joined is None else joined.directory
    is_run = (directory / "run.json").is_file()
    if not is_run and not is_campaign(directory):
        lacks = "not a run directory: it has no run.json (and no campaign: it has no campaign.json)"
        raise InputError(f"{directory}: {lacks if directory.exists() else 'no such directory'}")
    files.check_takes_files(out or directory / "report.html")
    if is_run:
        with progress_module.for_console(stderr(), every_s=EVERY_S) as display:
            written = write_report(directory, out, display, film=film)
        path = written.path
        for one in written.left_out:
            warn(one)
        if joined is not None:
            run_output.print_run(joined, path, written.verdict)
            _open(path, asked=open_report)
            return
    elif film:
        raise InputError(f"{directory}: --film is of a run; any cell can be run again: framewire campaign cell")
    else:
        from framewire.campaign.results import Campaign  # polars is slow to import

        path = Campaign(directory).report(out)
    _written(path, open_it=open_report)


def _joined(directory: Path, receiver: Path | None) -> Run | None:
    """The run that is made of a sender's and a receiver's directory; None of any other directory."""
    from framewire.real.joining import join, side_of
    from framewire.report.facts import NOT_CHECKED

    if receiver is not None:
        joined = join(directory, receiver)
        if not files.read_json(joined.directory / "run.json").get("session_checked"):
            warn(f"{directory}, {receiver}: {NOT_CHECKED}")
        return joined
    side = side_of(directory)
    if side is not None:
        ends = {"sender": f"{directory} RECEIVER_DIR", "receiver": f"SENDER_DIR {directory}"}
        if side == "server":
            raise InputError(f"{directory}: {_of_a_server(directory)}")
        raise InputError(f"{directory}: is of the {side} alone; with both ends: framewire report {ends[side]}")
    return None


def _of_a_server(directory: Path) -> str:
    """Why there is no report of a server, and of what there is one."""
    from framewire.real.answers import answers_of, listed

    answers = answers_of(directory)
    said = "is of a server (framewire send --serve)"
    if not answers:
        return f"{said}, and no client was sent a movie from its beginning: clients.ndjson has what each was sent"
    return "\n  ".join(
        [
            f"{said}, with a ledger for each client; with a receiver's own (framewire receive URL):",
            f"framewire report {directory} RECEIVER_DIR",
            *listed(answers),
        ]
    )


def _written(path: Path, *, open_it: bool) -> None:
    typer.echo(path)
    _open(path, asked=open_it)


def _open(path: Path, *, asked: bool) -> None:
    if asked:
        webbrowser.open(path.resolve().as_uri())


def _refuse_no_run(directory: Path) -> None:
    if not (directory / "run.json").is_file():
        reason = "not a run directory: it has no run.json" if directory.exists() else "no such directory"
        raise InputError(f"{directory}: {reason}")


@clear_errors
def score(
    directory: RunDirectory,
    flows: Annotated[
        list[str] | None, typer.Argument(metavar="[FLOW]...", help="Flows to score [default: all].")
    ] = None,
    no_vmaf: Annotated[
        bool, typer.Option("--no-vmaf", help="Leave out VMAF, which takes as long as all the rest.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score the pictures of a run both ways: damaged frames discarded, as in the report, and as decoded.

    As decoded, FFmpeg's decoder is given all that came, damaged frames up to their first gap, and conceals what it can.
    VMAF is measured where ffmpeg has the filter libvmaf, or where FRAMEWIRE_VMAF_FFMPEG names an ffmpeg that has it.
    The scores of all frames are kept as as_decoded.parquet, beside those of other flows that were scored before.
    """
    from framewire import as_decoded
    from framewire.as_decoded import vmaf
    from framewire.report.data import load

    _refuse_no_run(directory)
    run = load(directory)
    files.check_takes_files(directory / as_decoded.FILE)
    vmaf_by = None if no_vmaf else vmaf.find()
    with progress_module.for_console(stderr(), every_s=EVERY_S) as display:
        scores, table, missing = as_decoded.measure(run, display, flows or (), vmaf_by)
    for one in missing:
        warn(f"not scored: {one}")
    for scored in scores:
        if scored.left_out:
            warn(
                f"{scored.flow}: {scored.left_out:,} frames with a gap count as lost as decoded, too: their queue "
                "changed numbers around them, and how they began is not known"
            )
        if scored.as_decoded_psnr_db is None:
            warn(
                f"{scored.flow}: as decoded is not measured: nothing is kept of damaged frames of a transport stream "
                'where they are discarded; damaged = "pass" of the flow keeps it'
            )
    if not scores:
        raise InputError(f"{directory}: there is no picture to score")
    as_decoded.write(run, table)
    if as_json:
        print_json([dataclasses.asdict(one) for one in scores])
    else:
        stdout().print(run_output.scores_table(scores))
        if vmaf_by is None and not no_vmaf:
            why = f"VMAF is not measured: ffmpeg has no filter libvmaf ({vmaf.VARIABLE} may name one that has)"
            stdout().print(why, markup=False, highlight=False)


@clear_errors
def render(
    directory: RunDirectory,
    flows: Annotated[
        list[str] | None, typer.Argument(metavar="[FLOW]...", help="Flows to show [default: all].")
    ] = None,
    begin: Annotated[float, typer.Option("--from", metavar="S", help="Where to begin, in seconds.")] = 0.0,
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="Where to end [default: its end].")] = None,
    width: Annotated[
        int | None,
        typer.Option(metavar="PIXELS", min=64, max=3840, help="Of each screen [default: what fits into 1920x1080]."),
    ] = None,
    no_texts: Annotated[bool, typer.Option("--no-texts", help="No frame numbers, fates and red frames.")] = False,
    sound: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose sound is heard: a flow's, sent or none [default: the first flow's]."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The MP4 file [default: RUN_DIR/film.mp4].")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write the file anew where it is there already.")] = False,
    open_film: Open = False,
) -> None:
    """Write a film of what each viewer saw: all screens beside what was sent, with every freeze and pause.

    Ctrl-C leaves nothing of it; a film that is there stays.
    """
    from framewire import render as rendering

    _refuse_no_run(directory)
    if out is not None and out.suffix.lower() != ".mp4":
        raise InputError(f"{out}: the film is MP4: allowed is a name that ends in .mp4")
    files.check_takes_files(out or directory / "film.mp4")
    options = rendering.Options(tuple(flows or ()), begin, end, width, texts=not no_texts, sound=sound)
    with progress_module.for_console(stderr(), every_s=EVERY_S) as display, terminable():
        path, missing = rendering.render(directory, out, options, display, replace=replace)
    for one in missing:
        warn(f"not shown: {one}")
    _written(path, open_it=open_film)
