"""``framewire reproduce``: measure again what a study measured, and put the two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framewire.campaign import display
from framewire.campaign.runner import cores
from framewire.commands import AsJson, clear_errors, complain, print_json, stderr, stdout
from framewire.errors import InputError, RunError

app = typer.Typer(
    help="Repeat a published study, and put its tables beside ours.",
    short_help="Repeat a published study beside ours.",
    epilog="Example: framewire reproduce ouwens --quick",
    no_args_is_help=True,
)


@app.callback()
def _reproduce() -> None:
    """Repeat a published study, and put its tables beside ours."""


@app.command(short_help="Repeat the 802.11b thesis.", epilog="Example: framewire reproduce ouwens --quick")
@clear_errors
def ouwens(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where campaigns, CSV files and the report are kept.")
    ] = Path("reproduce/ouwens"),
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cells at once [default: one per core].")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of every random draw.")] = 1,
    repeats: Annotated[int, typer.Option(metavar="N", help="Repeats of each setting, 1 to 3.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of the grid: retry values 1, 3 and 4, 3 and 6 Mbit/s.")
    ] = False,
    carrier_sense: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="For how long a station does not notice another's beginning, as '5 us' [default: the scenario's].",
        ),
    ] = None,
    no_open_questions: Annotated[
        bool, typer.Option("--thesis-only", help="Leave out what the thesis did not measure.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML.")] = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Print every table, bound and effect, not only a line for each table.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Repeat the measurements of the 802.11b thesis (J. Ouwens, 2005) in virtual time.

    672 movie runs and its link-layer set, then what it left open. What was computed before in DIR is found again.
    """
    from framewire.studies.ouwens import page, summary, terminal
    from framewire.studies.ouwens.comparison import compare
    from framewire.studies.ouwens.measure import carry_out
    from framewire.studies.ouwens.plan import REPEATS, measurements

    if not 1 <= repeats <= REPEATS:
        raise InputError(f"--repeats: {repeats} is not allowed; allowed is 1 to {REPEATS}")
    every = measurements(seed=seed, repeats=repeats, quick=quick, carrier_sense=carrier_sense)
    if no_open_questions:
        every = [one for one in every if one.section != "open"]
    with display.for_console(stderr()) as shown:
        measured = carry_out(every, out / "campaigns", jobs=jobs, seed=seed, progress=shown)
        shown({"event": "step", "text": "comparing"})
        comparison = compare(measured, with_figures=not no_report)
        terminal.write_csv(comparison, out / "tables")
        report = None if no_report else page.write(comparison, out / "report.html")
    if as_json:
        print_json(terminal.as_json(comparison) | {"report": None if report is None else str(report)})
    else:
        console = stdout()
        (terminal if tables else summary).show(comparison, console)
        console.print()
        terminal.show_cost(comparison, console)
        where = f"tables   {out / 'tables'} as CSV files" if tables else f"tables   {out / 'tables'}, or with --tables"
        console.print(where, markup=False, highlight=False, soft_wrap=True)
        if report is not None:
            console.print(f"report   {report}", markup=False, highlight=False, soft_wrap=True)
    for failure in measured.failures:
        complain(failure)
    if measured.failures:
        raise typer.Exit(RunError.exit_code)


@app.command(short_help="Repeat the paper on VTP.", epilog="Example: framewire reproduce balk --quick")
@clear_errors
def balk(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where the CSV file, the numbers and the report are kept, and nothing else "
            "[default: reproduce/balk, quick: reproduce/balk-quick].",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Experiments at once [default: one per core].")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The first seed.")] = 1,
    repeats: Annotated[
        int | None, typer.Option(metavar="N", help="Seeds of each experiment, 2 to 1,000 [default: 20, quick: 3].")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of the experiments.")] = False,
    made_up: Annotated[
        bool,
        typer.Option("--made-up", help="Stream made-up sizes of frames, not encoded movies: needs no ffmpeg."),
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also stream over the recorded links in it (Mahimahi's *.up and *.down, or with .gz)."
        ),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Print what stands beside the paper, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Repeat the experiments of the paper on VTP (Balk, Gerla, Sanadidi, Maggiorini) in virtual time.

    Figures 9 to 24: sending plans, fairness to TCP, random loss, TFRC, PSNR, frame rates and quantisers. Each claim of
    the paper stands beside ours, with a verdict, and its rate control beside the better one.
    """
    from framewire.studies.balk import clips, page, terminal
    from framewire.studies.balk import traces as recorded
    from framewire.studies.balk.comparison import compare
    from framewire.studies.balk.measure import carry_out
    from framewire.studies.balk.plan import QUICK_SEEDS, SEEDS, settings

    count = (QUICK_SEEDS if quick else SEEDS) if repeats is None else repeats
    for name, value, least, most in (("repeats", count, 2, 1_000), ("jobs", 1 if jobs is None else jobs, 1, 1_024)):
        if not least <= value <= most:
            raise InputError(f"--{name}: {value} is not allowed; allowed is {least} to {most}")
    out = out or Path("reproduce/balk-quick" if quick else "reproduce/balk")
    terminal.check_directory(out)
    links = recorded.load(traces)
    with display.for_console(stderr()) as shown:

        def making(step: str, share: float | None) -> None:
            shown({"event": "step", "text": step, "share": share})

        movies = {name: clips.made_up(name) if made_up else clips.encoded(name, making) for name in clips.CLIPS}
        every = settings(quick=quick, traces={name: link.mean_bps / 1e6 for name, link in links.items()})
        measured = carry_out(
            every, movies, seed=seed, repeats=count, jobs=jobs or cores(), traces=links, progress=shown
        )
        shown({"event": "step", "text": "comparing"})
        comparison = compare(measured)
        terminal.write_files(comparison, out)
        (out / "report.html").unlink(missing_ok=True)  # of other numbers
        report = None if no_report else page.write(comparison, out / "report.html")
    if as_json:
        print_json(terminal.as_json(comparison) | {"report": None if report is None else str(report)})
    else:
        console = stdout()
        terminal.show(comparison, console, tables=tables)
        console.print(f"numbers  {out / 'claims.csv'}, {out / 'results.json'}", markup=False, highlight=False)
        if report is not None:
            console.print(f"report   {report}", markup=False, highlight=False, soft_wrap=True)
    for failure in measured.failures:
        complain(failure)
    if measured.failures:
        raise typer.Exit(RunError.exit_code)
