"""Tables of runs and of the machine, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from framewire.doctor import Check
from framewire.transports import Transport
from framewire.wrapped_table import Column, WrappedTable

__all__ = ["WIDTH", "checks_table", "comparison", "transports_table"]

WIDTH = 100
"""Columns of output that goes to a file or a pipe."""

NOT_MEASURED = "-"


def comparison(rows: Iterable[Mapping[str, Any]]) -> WrappedTable:
    """One row per flow of a run's summary: what the viewer had, and in a wide terminal what the transport did for it.

    Shares are of the frames that were offered; those that were not have a column where there are any, and so has the
    share of the packets of sound that came in time.
    """
    rows = list(rows)

    def column(heading: str, text: Callable[[Mapping[str, Any]], str]) -> Column:
        return Column(heading, [text(row) for row in rows])

    def known(name: str) -> bool:
        return any(row.get(name) is not None for row in rows)

    # With what was shown and lost these account for every frame; where there are none they take no place.
    others = [
        column(f"{heading}\n%", lambda row, fate=fate: _share(row.get(fate), row.get("offered")))  # type: ignore[misc]
        for heading, fate in (("late", "late"), ("undec.", "undecodable"))
        if any(row.get(fate) for row in rows)
    ]
    columns = [
        column("shown\n%", lambda row: _share(row.get("shown"), row.get("offered"))),
        *others,
        column("lost %\nI/P/B", _lost),
        *([column("sound\n%", _sound)] if known("sound_shown") else []),
        column("latency\np95 ms", lambda row: _number(row.get("latency_p95_ms"), "{:.0f}")),
        column("rate\nMbit/s", lambda row: _number(_rate(row), "{:.2f}", 1e-6)),
        column("waits\ns", lambda row: _number(row.get("stalled_s"), "{:.1f}")),
    ]
    if known("level_switches"):
        columns.append(column("mean\nlevel", lambda row: _number(row.get("level_mean"), "{:.2f}")))
    if any(row.get("not_offered") for row in rows):
        columns.append(column("not\noffered", lambda row: _number(row.get("not_offered"), "{:.0f}")))
    if any(row.get("status") != "complete" for row in rows):
        columns.append(Column("status", [str(row.get("status")) for row in rows], "left"))
    details = [column("duration\ns", lambda row: _number(row.get("duration_s"), "{:.1f}"))]
    if known("level_switches"):
        details.append(column("level\nswitches", lambda row: _number(row.get("level_switches"), "{:.0f}")))
    if known("retransmissions"):
        details += [
            column("resent\npackets", lambda row: _number(row.get("retransmissions"), "{:.0f}")),
            column("timeouts", lambda row: _number(row.get("timeouts"), "{:.0f}")),
            column("mean\nSRTT ms", lambda row: _number(row.get("srtt_mean_ms"), "{:.1f}")),
        ]
    return WrappedTable([Column("flow", [str(row.get("flow")) for row in rows], "left")], columns, details)


def checks_table(checks: Iterable[Check]) -> Table:
    """What works, and below it what each missing thing costs."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("")
    table.add_column("what", no_wrap=True)
    table.add_column("found, and what it costs where it is missing", ratio=1)
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]missing[/]" if check.required else "[yellow]absent[/]"
        facts = "; ".join(text for text in (check.detail, check.cost) if text)
        table.add_row(mark, escape(check.name), escape(facts))
    return table


def _number(value: float | None, form: str, scale: float = 1.0) -> str:
    """A measured value, or a dash.

    >>> _number(4_100_000, "{:.2f}", 1e-6), _number(None, "{}")
    ('4.10', '-')
    """
    return NOT_MEASURED if value is None else form.format(value * scale)


def transports_table(shown: Iterable[Transport]) -> WrappedTable:
    """One row for each transport: its parts, and in a wide terminal what it does."""
    shown = list(shown)
    headings = ("queue", "format", "session", "socket", "overflow")
    columns = [
        Column(heading, ["-" if one.parts is None else one.parts.words[heading] or "wait" for one in shown], "left")
        for heading in headings
    ]
    names = Column("transport", [one.name for one in shown], "left")
    return WrappedTable([names], columns, [Column("what it does", [one.summary for one in shown], "left")])


def _rate(row: Mapping[str, Any]) -> float | None:
    """Of whole frames; of a flow that has none, of what it brought.

    >>> _rate({"frames": None, "packet_throughput_bps": 2e6}), _rate({"frames": 9, "frame_throughput_bps": None})
    (2000000.0, None)
    """
    rate = row.get("packet_throughput_bps" if row.get("frames") is None else "frame_throughput_bps")
    return None if rate is None else float(rate)


def _share(part: int | None, whole: int | None) -> str:
    return NOT_MEASURED if part is None or not whole else f"{100 * part / whole:.1f}"


def _sound(row: Mapping[str, Any]) -> str:
    """Per cent of the packets of sound that came in time, of those that were offered.

    >>> _sound({"sound_shown": 3, "sound_late": 0, "sound_lost": 1}), _sound({"sound_shown": None})
    ('75.0', '-')
    """
    fates = [row.get(f"sound_{fate}") for fate in ("shown", "late", "lost")]
    return _share(fates[0], sum(count or 0 for count in fates))


def _lost(row: Mapping[str, Any]) -> str:
    """Per cent of the I, P and B frames offered that were lost, in whole numbers that never call some all or nothing.

    >>> _lost({"lost_i": 0, "offered_i": 101, "lost_p": 3, "offered_p": 400, "lost_b": 998, "offered_b": 999})
    '0/1/>99'
    >>> _lost({"lost_i": 1, "offered_i": 300, "lost_p": 2, "offered_p": 2, "lost_b": 0, "offered_b": 0}), _lost({})
    ('<1/100/-', '-')
    """
    if row.get("lost_i") is None:
        return NOT_MEASURED
    counts = [(row.get(f"lost_{kind}") or 0, row.get(f"offered_{kind}") or 0) for kind in "ipb"]
    return "/".join(_whole_share(lost, of) for lost, of in counts)


def _whole_share(part: int, whole: int) -> str:
    if not whole:
        return NOT_MEASURED
    share = 100 * part / whole
    return "<1" if 0 < share < 0.5 else ">99" if 99.5 <= share < 100 else f"{share:.0f}"
