"""The means of a campaign as a table for a terminal."""

from __future__ import annotations

import math

import polars as pl
from rich import box
from rich.table import Table

__all__ = ["means_table", "with_error"]


def means_table(means: pl.DataFrame) -> Table:
    """A row per group: what was varied, then each metric as mean ± half its confidence interval."""
    metrics = [name.removesuffix("_ci95") for name in means.columns if name.endswith("_ci95")]
    places = means.columns[: means.columns.index(metrics[0])]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for name in places:
        table.add_column(_heading(name), overflow="fold", justify="right" if means[name].dtype.is_numeric() else "left")
    for name in metrics:
        table.add_column(_heading(name), justify="right", no_wrap=True)
    before: list[str] = []
    for row in means.iter_rows(named=True):
        cells = [str(row[name]) for name in places]
        # What stays the same as in the line above is left out, as far as everything before it does, too.
        same = next((i for i, (a, b) in enumerate(zip(cells, before, strict=False)) if a != b), 0)
        shown = ["" if position < same else cell for position, cell in enumerate(cells)]
        table.add_row(*shown, *(with_error(row[name], row[f"{name}_ci95"]) for name in metrics))
        before = cells
    return table


def with_error(mean: float | None, half_width: float | None) -> str:
    """A mean to the digits that its error leaves meaningful: two of the error.

    >>> with_error(66.123456, 0.2345), with_error(66.123456, None), with_error(None, None)
    ('66.12 ± 0.23', '66.12', '-')
    >>> with_error(4_512_345.0, 12_345.0), with_error(0.0, 0.0), with_error(1500.0, 0.0)
    ('4.512M ± 0.012M', '0 ± 0', '1500 ± 0')
    """
    if mean is None:
        return "-"
    scale, unit = (1e6, "M") if abs(mean) >= 1e6 else (1.0, "")
    mean, error = mean / scale, None if half_width is None else half_width / scale
    if error is None or error == 0:
        text = f"{mean:.4g}{unit}"
        return text if error is None else f"{text} ± 0"
    digits = min(6, max(0, 1 - math.floor(math.log10(error))))
    return f"{mean:.{digits}f}{unit} ± {error:.{digits}f}{unit}"


def _heading(name: str) -> str:
    """A name in at most two lines, broken where it has a joint.

    >>> _heading("network.wifi.retry"), _heading("latency_p95_ms"), _heading("flow")
    ('network.wifi.\\nretry', 'latency\\np95_ms', '\\nflow')
    """
    for joint, kept in ((".", "."), ("_", "")):
        before, found, after = name.rpartition(joint) if joint == "." else name.partition(joint)
        if found:
            return f"{before}{kept}\n{after}"
    return f"\n{name}"
