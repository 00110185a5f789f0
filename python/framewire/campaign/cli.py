"""``framewire campaign``: run one, look at one, look into one of its cells."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from framewire import progress as progress_module
from framewire import run_output
from framewire.campaign import display, selection
from framewire.campaign.plan import resolve
from framewire.campaign.run import campaign
from framewire.campaign.schema import schema as campaign_schema
from framewire.campaign.spec import read
from framewire.commands import EXIT_INTERRUPTED, AsJson, Overrides, clear_errors, complain, print_json, stderr, stdout
from framewire.errors import RunError

if TYPE_CHECKING:
    from framewire.campaign.results import Campaign

MOST_LINES = 60
"""Of a table that was not asked for."""


class RunUnlessNamed(TyperGroup):
    """``framewire campaign FILE`` is ``framewire campaign run FILE``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Names the command where only its arguments are given."""
        if args and args[0] not in self.commands and args[0] not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Both ways to use it."""
        formatter.write_usage(ctx.command_path, "FILE [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """The options of the command that need not be named, and the commands."""
        own = [option for option in self.commands["run"].params if isinstance(option, TyperOption)]
        records = [option.get_help_record(ctx) for option in (*own, *self.get_params(ctx))]
        with formatter.section("Options of FILE"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)


app = typer.Typer(
    cls=RunUnlessNamed,
    help="Run a grid of scenarios with repeats in virtual time, on all cores: framewire campaign FILE.",
    short_help="Run a grid of scenarios with repeats.",
    epilog="Example: framewire campaign scenarios/campaign-quick.toml",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign file (TOML).")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a campaign.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="A column of the summary [default: the campaign's]. Repeatable."),
]


@app.command(
    short_help="Run a campaign, or continue it.",
    epilog="Example: framewire campaign run scenarios/campaign-quick.toml --repeats 5",
)
@clear_errors
def run(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Its directory [default: campaigns/<name>].")
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cells at once [default: one per core].")] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", help="Repeats, instead of the file's.")] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML.")] = False,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Run a campaign, or continue it: cells that its directory holds are not computed again.

    Ctrl-C, a crash or a full disk lose nothing but the cells under way: the same command goes on. The outcome has a
    page, report.html in its directory.
    """
    try:
        with display.for_console(stderr()) as shown:
            result = campaign(file, set=overrides, repeats=repeats, out=out, jobs=jobs, progress=shown)
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command continues")
        sys.stderr.flush()
        # Ctrl-C twice leaves cells under way. They may be lost at any moment, but Python would wait for them.
        os._exit(EXIT_INTERRUPTED)
    page = None if no_report or not result.meta["cells"]["done"] else result.report()
    if as_json:
        print_json(_as_json(result, None, None))
    else:
        _print(result, None, None, limit=MOST_LINES, computed_now=True)
        if page is not None:
            stdout().print(f"report   {page}", markup=False, highlight=False, soft_wrap=True)
    for failure in result.failures:
        complain(f"cell {failure.place}: {failure.reason}; its scenario: {failure.scenario}")
    if result.failures:
        raise typer.Exit(RunError.exit_code)


@app.command(
    short_help="Show the means of a campaign.",
    epilog="Example: framewire campaign show campaigns/quick --by flow --metric latency_p95_ms",
)
@clear_errors
def show(
    directory: Directory,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="AXIS", help="Group by these [default: all and flow].")
    ] = None,
    metrics: Metrics = None,
    as_json: AsJson = False,
) -> None:
    """Show the means of a campaign, with 95 % confidence intervals; n is the number of repeats.

    A campaign that has not finished, or is being computed, is shown as far as it came.
    """
    from framewire.campaign.results import Campaign  # polars is slow to import

    result = Campaign(directory)
    if as_json:
        print_json(_as_json(result, metrics, by))
    else:
        _print(result, metrics, by)


@app.command(
    short_help="List the cells of a campaign.",
    epilog="Example: framewire campaign cells campaigns/quick retry=4 repeat=1",
)
@clear_errors
def cells(
    directory: Directory,
    where: Annotated[
        list[str] | None,
        typer.Argument(metavar="AXIS=VALUE", help="Only those that stand there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the cells of a campaign: id, where each stands, and what became of it."""
    from framewire.campaign.results import Campaign  # polars is slow to import
    from framewire.campaign.table import cells_table

    result = Campaign(directory)
    listed = result.cells_at(selection.coordinates(where or []))
    if as_json:
        print_json(listed.to_dicts())
        return
    console = stdout()
    console.print(cells_table(listed))
    console.print()
    _print_facts(result)


@app.command(
    short_help="Run one cell again, alone and in full.",
    epilog="Example: framewire campaign cell campaigns/quick retry=4 repeat=1",
)
@clear_errors
def cell(
    directory: Directory,
    which: Annotated[
        list[str], typer.Argument(metavar="ID|AXIS=VALUE", help="Its id or the beginning of it, or where it stands.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run directory [default: runs/<name>-<date>].")
    ] = None,
) -> None:
    """Run one cell again, alone and in full: a table, the verdict, and a run directory with packets and a report.

    An axis may be named by what stands behind its last dot. `framewire campaign cells` lists ids and places.
    """
    from framewire import report
    from framewire.campaign.results import Campaign  # polars is slow to import

    wanted = which[0] if len(which) == 1 and "=" not in which[0] else selection.coordinates(which)
    with progress_module.for_console(stderr()) as shown:
        result = Campaign(directory).run_cell(wanted, out=out, progress=shown)
        written = report.write(result.directory, progress=shown)
    run_output.print_run(result, written.path, written.verdict)


@app.command(
    short_help="Check a campaign and every scenario in it.",
    epilog="Example: framewire campaign check scenarios/campaign-quick.toml",
)
@clear_errors
def check(file: File, overrides: Overrides = None) -> None:
    """Check a campaign and every scenario in it without running it."""
    spec = read(file, set=overrides)
    points = len(resolve(spec))
    axes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in spec.axes) or "no axes"
    typer.echo(f"{file}: a valid campaign, {spec.name}: {axes}, {spec.repeats} repeats: {points * spec.repeats} cells")


@app.command(
    short_help="Print the JSON schema of the campaign file.",
    epilog="Example: framewire campaign schema > campaign.schema.json",
)
@clear_errors
def schema() -> None:
    """Print the JSON schema of the campaign file, for editors."""
    print_json(campaign_schema())


def _as_json(result: Campaign, metrics: list[str] | None, by: list[str] | None) -> dict[str, object]:
    return {
        "directory": str(result.directory),
        **{key: result.meta[key] for key in ("finished", "cells", "simulated_s", "computing_s", "hashes", "failed")},
        "means": result.means(metrics, by).to_dicts() if result.meta["cells"]["done"] else [],
    }


def _print(
    result: Campaign,
    metrics: list[str] | None,
    by: list[str] | None,
    limit: int | None = None,
    computed_now: bool = False,
) -> None:
    console = stdout()
    if result.meta["cells"]["done"]:
        from framewire.campaign.table import means_table, notes

        means = result.means(metrics, by)
        shown = means if limit is None else means.head(limit)
        console.print(means_table(shown))
        for note in notes(shown):
            console.print(note, markup=False, highlight=False)
        if limit is not None and means.height > limit:
            console.print(f"... and {means.height - limit} more rows: framewire campaign show {result.directory}")
        console.print()
    _print_facts(result, computed_now)


def _print_facts(result: Campaign, computed_now: bool = False) -> None:
    console = stdout()
    cells = result.meta["cells"]
    facts = f"{cells['done']} of {cells['planned']} cells"
    facts += f", {cells['computed_now']} computed now" if computed_now else ""
    facts += f", {cells['failed']} failed" if cells["failed"] else ""
    facts += (
        f"; {result.meta['simulated_s']:.0f} simulated s, computed in {result.meta['computing_s']:.1f} s one by one"
    )
    console.print(facts, markup=False, highlight=False, soft_wrap=True)
    if not result.finished:
        console.print(
            "The campaign has not finished: this is what there is. The command that began it goes on with it."
        )
    console.print(f"results  {result.directory}", markup=False, highlight=False, soft_wrap=True)
