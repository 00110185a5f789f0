"""Tables for a terminal, readable at 100 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from framewire.doctor import Check

__all__ = ["WIDTH", "checks_table", "comparison"]

WIDTH = 100
"""Columns of output that goes to a file or a pipe."""

NOT_MEASURED = "-"


def comparison(
    rows: Iterable[Mapping[str, Any]], never_offered: Mapping[str, Mapping[str, int]] | None = None
) -> Table:
    """One row per flow of a run's summary.

    ``never_offered`` counts, by flow and picture type, the frames that a partial run ended before: the summary has them
    as lost, here they are left out of frames and losses and get a column.
    """
    left = never_offered or {}
    rows = [_without(row, left.get(str(row.get("flow")), {})) for row in rows]
    table = _table()
    table.add_column("\nflow", overflow="fold")
    headings = (
        "duration\ns",
        "shown\n%",
        "lost\nI",
        "lost\nP",
        "lost\nB",
        "latency\np95 ms",
        "rate\nMbit/s",
        "stalls\n",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    if left:
        table.add_column("never\noffered", justify="right", no_wrap=True)
    ended_early = [row for row in rows if row.get("status") != "complete"]
    if ended_early:
        table.add_column("\nstatus")
    for row in rows:
        cells = [
            escape(str(row.get("flow"))),
            _number(row.get("duration_s"), "{:.1f}"),
            _share(row.get("shown"), row.get("frames")),
            *(_of(row.get(f"lost_{kind}"), row.get(f"frames_{kind}")) for kind in "ipb"),
            _number(row.get("latency_p95_ms"), "{:.0f}"),
            _number(row.get("frame_throughput_bps"), "{:.2f}", 1e-6),
            _stalls(row.get("stalls"), row.get("stalled_s")),
        ]
        cells += [str(sum(left.get(str(row.get("flow")), {}).values()))] if left else []
        table.add_row(*cells, *([escape(str(row.get("status")))] if ended_early else []))
    return table


def checks_table(checks: Iterable[Check]) -> Table:
    """What works, and below it what each missing thing costs."""
    table = _table()
    table.add_column("")
    table.add_column("what", no_wrap=True)
    table.add_column("found, and what it costs where it is missing", ratio=1)
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]" if check.required else "[yellow]absent[/]"
        facts = "; ".join(text for text in (check.detail, check.cost) if text)
        table.add_row(mark, escape(check.name), escape(facts))
    return table


def _without(row: Mapping[str, Any], left: Mapping[str, int]) -> dict[str, Any]:
    """A row of the summary less frames that were never offered, by picture type."""
    fewer = {f"{what}_{kind.lower()}": count for kind, count in left.items() for what in ("frames", "lost")}
    fewer |= dict.fromkeys(("frames", "lost"), sum(left.values()))
    return {name: value - fewer[name] if name in fewer and value is not None else value for name, value in row.items()}


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)


def _number(value: float | None, form: str, scale: float = 1.0) -> str:
    """A measured value, or a dash.

    >>> _number(4_100_000, "{:.2f}", 1e-6), _number(None, "{}")
    ('4.10', '-')
    """
    return NOT_MEASURED if value is None else form.format(value * scale)


def _share(part: int | None, whole: int | None) -> str:
    return NOT_MEASURED if part is None or not whole else f"{100 * part / whole:.1f}"


def _of(part: int | None, whole: int | None) -> str:
    return NOT_MEASURED if part is None else f"{part}/{whole}"


def _stalls(count: int | None, seconds: float | None) -> str:
    if count is None:
        return NOT_MEASURED
    return f"{count} ({seconds:.1f} s)" if count and seconds is not None else str(count)
