"""``framewire campaign``: run one, look at one, look into one of its cells."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from framewire import progress as progress_module
from framewire.campaign import display
from framewire.campaign.plan import resolve
from framewire.campaign.run import campaign
from framewire.campaign.schema import schema as campaign_schema
from framewire.campaign.spec import read
from framewire.commands import EXIT_INTERRUPTED, AsJson, Overrides, clear_errors, complain, print_json, stderr, stdout
from framewire.errors import RunError

if TYPE_CHECKING:
    from framewire.campaign.results import Campaign

MOST_LINES = 60
"""Of a table that nobody asked for."""


class RunUnlessNamed(TyperGroup):
    """``framewire campaign FILE`` is ``framewire campaign run FILE``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Names the command where only its arguments are given."""
        if args and args[0] not in self.commands and args[0] not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RunUnlessNamed,
    help="Run a grid of scenarios with repeats in virtual time, on all cores: framewire campaign FILE.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign file (TOML).")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a campaign.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="NAME", help="A column of the summary [default: the campaign's]. Repeatable."),
]


@app.command()
@clear_errors
def run(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Its directory [default: campaigns/<name>].")
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cells at once [default: one per core].")] = None,
    repeats: Annotated[int | None, typer.Option(metavar="N", help="Repeats, instead of the file's.")] = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Run a campaign, or continue it: cells that its directory holds are not computed again.

    Ctrl-C, a crash or a full disk lose nothing but the cells under way: the same command goes on.
    """
    try:
        with display.for_console(stderr()) as shown:
            result = campaign(file, set=overrides, repeats=repeats, out=out, jobs=jobs, progress=shown)
    except KeyboardInterrupt:
        complain("interrupted; what is finished is kept, and the same command continues")
        sys.stderr.flush()
        # Ctrl-C twice leaves cells under way. They may be lost at any moment, but Python would wait for them.
        os._exit(EXIT_INTERRUPTED)
    if as_json:
        print_json(_as_json(result, None, None))
    else:
        _print(result, None, None, limit=MOST_LINES)
    for failure in result.failures:
        complain(f"cell {failure.place}: {failure.reason}; its scenario: {failure.scenario}")
    if result.failures:
        raise typer.Exit(RunError.exit_code)


@app.command()
@clear_errors
def show(
    directory: Directory,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="AXIS", help="Group by these [default: all and flow].")
    ] = None,
    metrics: Metrics = None,
    as_json: AsJson = False,
) -> None:
    """Show the means of a campaign, with 95 % confidence intervals."""
    from framewire.campaign.results import Campaign  # polars is slow to import

    result = Campaign(directory)
    if as_json:
        print_json(_as_json(result, metrics, by))
    else:
        _print(result, metrics, by)


@app.command()
@clear_errors
def cell(
    directory: Directory,
    cell_id: Annotated[str, typer.Argument(metavar="ID", help="What the column `cell` says, or its beginning.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run directory [default: runs/<name>-<date>].")
    ] = None,
) -> None:
    """Run one cell again, alone and in full: a run directory with packets and a report."""
    from framewire.campaign.results import Campaign  # polars is slow to import

    with progress_module.for_console(stderr()) as shown:
        result = Campaign(directory).run_cell(cell_id, out=out, progress=shown)
        report = result.report(progress=shown)
    console = stdout()
    console.print(f"results  {result.directory}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"report   {report}", markup=False, highlight=False, soft_wrap=True)


@app.command()
@clear_errors
def check(file: File, overrides: Overrides = None) -> None:
    """Check a campaign and every scenario in it without running it."""
    spec = read(file, set=overrides)
    points = len(resolve(spec))
    axes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in spec.axes) or "no axes"
    typer.echo(f"{file}: a valid campaign, {spec.name}: {axes}, {spec.repeats} repeats: {points * spec.repeats} cells")


@app.command()
@clear_errors
def schema() -> None:
    """Print the JSON schema of the campaign file, for editors."""
    print_json(campaign_schema())


def _as_json(result: Campaign, metrics: list[str] | None, by: list[str] | None) -> dict[str, object]:
    return {
        "directory": str(result.directory),
        **{key: result.meta[key] for key in ("cells", "simulated_s", "computing_s", "hashes", "failed")},
        "means": [] if not result.hashes else result.means(metrics, by).to_dicts(),
    }


def _print(result: Campaign, metrics: list[str] | None, by: list[str] | None, limit: int | None = None) -> None:
    console = stdout()
    if result.hashes:
        from framewire.campaign.table import means_table

        means = result.means(metrics, by)
        console.print(means_table(means if limit is None else means.head(limit)))
        if limit is not None and means.height > limit:
            console.print(f"... and {means.height - limit} more rows: framewire campaign show {result.directory}")
        console.print()
    cells = result.meta["cells"]
    facts = f"{cells['done']} of {cells['planned']} cells, {cells['computed_now']} computed now"
    facts += f", {cells['failed']} failed" if cells["failed"] else ""
    facts += (
        f"; {result.meta['simulated_s']:.0f} simulated s, computed in {result.meta['computing_s']:.1f} s one by one"
    )
    console.print(facts, markup=False, highlight=False, soft_wrap=True)
    console.print(f"results  {result.directory}", markup=False, highlight=False, soft_wrap=True)
