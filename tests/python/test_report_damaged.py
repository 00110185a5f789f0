"""Reports of runs that are damaged at random: what there is, or one clear error, and never a traceback."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from framewire import cli
from framewire.checksums import sealed, unsealed

GOLDEN = Path(__file__).parents[1] / "golden" / "format-3"
VALUES = (None, 0, -1, 1e308, "x", "", [], {}, [1, 2, 3], True, 2**70, {"a": 1}, [[]])
CASES = 24


def places(document: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where values stand in a JSON document."""
    keys = document.keys() if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    return [place for key in keys for place in [(*above, key), *places(document[key], (*above, key))]]


def bits(run: Path, draw: random.Random) -> None:
    file = draw.choice(sorted(run.iterdir()))
    data = bytearray(file.read_bytes())
    for _ in range(draw.choice((1, 5, 100))):
        place = draw.randrange(len(data) * 8)
        data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)


def length(run: Path, draw: random.Random) -> None:
    file = draw.choice(sorted(run.iterdir()))
    file.write_bytes(file.read_bytes()[: draw.randrange(file.stat().st_size)])


def value(run: Path, draw: random.Random) -> None:
    document = json.loads((run / "run.json").read_text())
    *above, last = draw.choice(places(document))
    inner = document
    for key in above:
        inner = inner[key]
    inner[last] = draw.choice(VALUES)
    (run / "run.json").write_text(json.dumps(document))


def column(run: Path, draw: random.Random) -> None:
    file = draw.choice(sorted(run.glob("*.parquet")))
    table = pl.read_parquet(file)
    name = draw.choice(table.columns)
    changes = (
        table.drop(name),
        table.with_columns(pl.lit(None).cast(table[name].dtype).alias(name)),
        table.with_columns(pl.lit("x").alias(name)),
        table.head(draw.choice((0, 1))),
    )
    draw.choice(changes).write_parquet(file)


@pytest.mark.parametrize("damage", [bits, length, value, column], ids=lambda damage: damage.__name__)
def test_a_damaged_run_has_a_report_or_one_clear_error(
    damage: Callable[[Path, random.Random], None], tmp_path: Path
) -> None:
    draw = random.Random(f"{damage.__name__} 1")
    codes = []
    for number in range(CASES // 4):
        run = tmp_path / f"run{number}"
        shutil.copytree(GOLDEN, run)
        damage(run, draw)
        result = CliRunner().invoke(cli.app, ["report", str(run)])
        assert isinstance(result.exception, SystemExit | None), f"{damage.__name__} {number}: {result.exception!r}"
        codes.append(result.exit_code)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert (result.exit_code, len(errors)) in ((0, 0), (2, 1)), result.stderr
    assert (2 in codes) == (damage is not column), "some of these draws make a report impossible"


@pytest.fixture
def sealed_run(tmp_path: Path) -> Path:
    """A run with checksums, as they are written today."""
    run = tmp_path / "run"
    shutil.copytree(GOLDEN, run)
    seal(run)
    return run


def seal(run: Path) -> None:
    names = [path.name for path in run.iterdir() if path.name != "run.json"]
    document, _ = unsealed(json.loads((run / "run.json").read_text()))
    (run / "run.json").write_text(json.dumps(sealed(document, run, names)))


def one_error(run: Path) -> str:
    """What a report says that cannot be made; in one line, and never with a traceback."""
    result = CliRunner().invoke(cli.app, ["report", str(run)])
    assert (result.exit_code, type(result.exception)) == (2, SystemExit), result.output
    assert "Traceback" not in result.output
    [error] = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    return error


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize("change", [flipped, cut, Path.unlink], ids=["flipped", "cut", "removed"])
@pytest.mark.parametrize("name", ["run.json", "frames.parquet"])
def test_damage_to_what_a_report_needs_is_always_noticed(
    name: str, change: Callable[[Path], None], sealed_run: Path
) -> None:
    assert CliRunner().invoke(cli.app, ["report", str(sealed_run)]).exit_code == 0
    change(sealed_run / name)
    assert name in one_error(sealed_run)


@pytest.mark.parametrize("name", ["frame", "fate", "flow"])
def test_a_ledger_without_a_column_that_a_report_needs_is_noticed(name: str, sealed_run: Path) -> None:
    file = sealed_run / "frames.parquet"
    pl.read_parquet(file).drop(name).write_parquet(file)
    seal(sealed_run)
    error = one_error(sealed_run)
    assert "frames.parquet" in error and name in error


@pytest.mark.parametrize("name", ["summary.parquet", "flows.parquet", "packets.parquet", "scenario.toml"])
def test_what_is_left_out_is_said_in_the_terminal(name: str, sealed_run: Path) -> None:
    whole = CliRunner().invoke(cli.app, ["report", str(sealed_run)])
    assert (whole.exit_code, name in whole.stderr) == (0, False), whole.stderr
    file = sealed_run / name
    file.write_bytes(bytes(file.stat().st_size))
    damaged = CliRunner().invoke(cli.app, ["report", str(sealed_run)])
    warnings = [line for line in damaged.stderr.splitlines() if line.startswith("warning: ")]
    assert damaged.exit_code == 0 and [line for line in warnings if name in line], damaged.stderr
