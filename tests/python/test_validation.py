"""The program behind the validation page: it joins what belongs together, and its bounds bind on both sides."""

from __future__ import annotations

import importlib
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from framewire.studies.outcome import Outcome
from framewire.studies.verdicts import Verdict

VALIDATION = Path(__file__).parents[2] / "benches" / "validation"
DATASET = VALIDATION / "kernel-6.18.csv"


@pytest.fixture(autouse=True)
def path_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(VALIDATION))
    yield
    for name in [name for name, module in sys.modules.items() if _lies_there(module)]:
        del sys.modules[name]


def _lies_there(module: ModuleType) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(str(VALIDATION))


@pytest.fixture
def comparison() -> ModuleType:
    return importlib.import_module("comparison")


@pytest.fixture
def kernel(comparison: ModuleType) -> pl.DataFrame:
    return comparison.read_runs(DATASET)


def scaled(runs: pl.DataFrame, column: str, factor: float) -> pl.DataFrame:
    """The same runs with one quantity changed."""
    return runs.with_columns((pl.col(column) * factor).cast(runs.schema[column]))


def missed(comparison: ModuleType, kernel: pl.DataFrame, simulated: pl.DataFrame) -> set[str]:
    """What of the criteria does not hold."""
    criteria = comparison.judge(comparison.compare(kernel, simulated))
    return {one.claim.source.split(": ")[1] for one in criteria if one.verdict != Verdict.HOLDS}


def test_the_dataset_covers_the_grid_without_disturbed_runs(comparison: ModuleType, kernel: pl.DataFrame) -> None:
    assert len(kernel.select(comparison.CELL).unique()) == 3 * 2 * 3 * 3 * 2 * 2
    assert kernel.filter(pl.col("disturbed") != 0).is_empty()
    assert kernel.select(*comparison.CELL, "seed").is_duplicated().sum() == 0


def test_the_kernel_agrees_with_itself(comparison: ModuleType, kernel: pl.DataFrame) -> None:
    assert missed(comparison, kernel, kernel) == set()


@pytest.mark.parametrize(
    ("column", "factor", "criteria"),
    [
        ("received_bytes", 1.11, {"goodput, median"}),
        ("received_bytes", 0.89, {"goodput, median"}),
        ("received_bytes", 1.25, {"goodput, median", "goodput, worst"}),
        ("received_bytes", 0.75, {"goodput, median", "goodput, worst"}),
        ("srtt_ms", 1.11, {"mean RTT"}),
        ("srtt_ms", 0.89, {"mean RTT"}),
        ("retransmissions", 1.3, {"retransmissions"}),
        ("retransmissions", 0.7, {"retransmissions"}),
    ],
)
def test_bounds_bind_on_both_sides(
    comparison: ModuleType, kernel: pl.DataFrame, column: str, factor: float, criteria: set[str]
) -> None:
    assert missed(comparison, kernel, scaled(kernel, column, factor)) == criteria


def test_a_run_without_a_counterpart_is_an_error(comparison: ModuleType, kernel: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="1 of the kernel's .* runs have no simulated counterpart"):
        comparison.compare(kernel, kernel.head(-1))


def test_a_cell_off_its_bound_is_named_with_its_reason(
    comparison: ModuleType, kernel: pl.DataFrame, tmp_path: Path
) -> None:
    section = importlib.import_module("kernel_section")
    reasons = tmp_path / "reasons.toml"
    reasons.write_text('[[reason]]\nmatch = { algorithm = "reno" }\nquantities = ["rtt"]\ntext = "Because."\n')
    cells = comparison.compare(kernel, scaled(kernel, "srtt_ms", 1.5))
    text = Outcome(sections=[section.write(cells, kernel, reasons, DATASET, "pictures")]).markdown()
    known, unknown = text.split("Without a known reason:")
    assert known.count("- reno, 5 Mbit/s") == 36
    assert "Because." in known
    assert "- cubic, 5 Mbit/s, 20 ms, 0 %, one product, bulk: rtt" in unknown
    assert "- reno" not in unknown


def test_pictures_are_well_formed() -> None:
    drawing = importlib.import_module("drawing")
    panel = drawing.Panel("a < b", [(0.0, 1.0), (1.0, 3.0)], [(0.0, 2.0), (1.0, 0.0)])
    assert len(ElementTree.fromstring(drawing.curves([panel] * 4, 3, "packets")).findall("{*}polyline")) == 8
    errors = drawing.ErrorPanel("reno", [(0.5, 0.01), (20.0, -0.5)], 0.12)
    assert len(ElementTree.fromstring(drawing.errors([errors], "label")).findall("{*}circle")) == 2


def test_the_page_begins_with_what_it_comes_to(comparison: ModuleType, kernel: pl.DataFrame) -> None:
    opening = importlib.import_module("opening")
    cells = comparison.compare(kernel, scaled(kernel, "retransmissions", 1.5))
    parts = opening.write(comparison.judge(cells), cells, None, {"headline": "3 of 4 are met. More."}, "pictures")
    text = Outcome(title="Validation", overview=parts).markdown()
    words = " ".join(text.split())
    assert "24 of 30 criteria" in words and "; reno, lossy: retransmissions" in words
    assert f"{len(cells)} cells" in words and "bbr 0.0 %, 0.0 %" in words
    assert "3 of 4 are met. " in words and "ns-3" not in words
    assert text.endswith("(pictures/goodput.svg)\n")
