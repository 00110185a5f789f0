"""``framewire reproduce``: measure again what a study measured, and put the two side by side."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from framewire import files
from framewire.campaign import display
from framewire.commands import clear_errors, complain, print_json, stderr, stdout
from framewire.errors import InputError, RunError
from framewire.studies.registry import studies
from framewire.studies.study import Options, Study

if TYPE_CHECKING:
    from framewire.studies.outcome import Outcome

__all__ = ["add", "app"]

app = typer.Typer(
    help="Carry out a study, and hold what it says against what is measured.",
    short_help="Hold what a study says against what is measured.",
    epilog="Example: framewire reproduce ouwens --quick",
    no_args_is_help=True,
)

MOST_JOBS = 1_024


@app.callback()
def _reproduce() -> None:
    """Carry out a study, and hold what it says against what is measured."""


def carry_out(study: Study, options: Options) -> None:
    """Runs a study, writes its files and its page, and shows it. Ends with an error where a part of it failed."""
    from framewire.report import file

    _check(study, options)
    out = study.directory(options)
    study.check(options, out)
    files.check_takes_files(out)
    with display.for_console(stderr()) as shown:
        try:
            outcome = study.run(options, out, shown)
        except KeyboardInterrupt:
            complain(f"stopped; the same command goes on from here: what was measured is kept in {out}")
            raise
        written = _write(outcome, out)
        report, in_markdown = out / "report.html", out / "report.md"
        for old in (report, in_markdown):
            old.unlink(missing_ok=True)  # of other numbers
        if not options.no_report:
            shown({"event": "step", "text": "drawing"})
            file.write(outcome.html(), report)
            file.write(outcome.markdown(), in_markdown)
    if options.as_json:
        print_json(outcome.document() | {"report": None if options.no_report else str(report)})
    else:
        console = stdout()
        outcome.show(console, tables=options.tables)
        for name, where in (("numbers", written), ("report", "" if options.no_report else str(report))):
            if where:
                console.print(f"{name:9}{where}", markup=False, highlight=False, soft_wrap=True)
    for failure in outcome.failures:
        complain(failure)
    if outcome.failures:
        raise typer.Exit(RunError.exit_code)


def _check(study: Study, options: Options) -> None:
    limits = (("repeats", options.repeats, *study.repeats), ("jobs", options.jobs, 1, MOST_JOBS))
    for name, value, least, most in limits:
        if value is not None and not least <= value <= most:
            raise InputError(f"--{name}: {value} is not allowed; allowed is {least:,} to {most:,}")


def _write(outcome: Outcome, out: Path) -> str:
    """Writes all numbers, and says where."""
    from framewire.studies.writers import write_csv

    places = {write_csv(out / name, rows) for name, rows in outcome.csv_files()}
    results = out / "results.json"
    try:
        results.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(outcome.document(), indent=1, ensure_ascii=False, default=str)
        results.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot write the numbers: {error.strerror}") from error
    csv_files = [Path(os.path.commonpath(places))] if places else []
    return ", ".join(map(str, [results, *csv_files]))


def _command(study: Study) -> Callable[..., None]:
    """A command whose parameters are the options of the study."""

    def command(**given: Any) -> None:
        carry_out(study, study.options(**given))

    hints = get_type_hints(study.options, include_extras=True)
    command.__annotations__ = {one.name: hints[one.name] for one in fields(study.options)}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
            for one in fields(study.options)
        ]
    )
    command.__doc__ = study.description
    return command


def add(to: typer.Typer, study: Study) -> None:
    """Makes a command of a study."""
    example = f"Example: framewire reproduce {study.name} --quick"
    to.command(study.name, short_help=study.short, epilog=example)(clear_errors(_command(study)))


for _study in studies():
    add(app, _study)
