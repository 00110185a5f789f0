"""What the thesis left open (its section 4.2), measured on the same link: a table and an answer for each question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from framewire.confidence import Estimate, mean_with_confidence
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.model import ThesisTable, thesis_table
from framewire.studies.ouwens.plan import PROTOCOLS, STREAM_TRANSPORTS, STREAMS
from framewire.studies.ouwens.published import OVENS
from framewire.studies.table import Cell, Column, Row

__all__ = ["Question", "questions"]

SHOWN = 100 * pl.col("shown") / pl.col("frames")
LOST = 100 * pl.col("lost") / pl.col("frames")
UNDECODABLE = 100 * pl.col("undecodable") / pl.col("frames")
_SECTION = "open"
WHOLE = 98.0
"""Percent of its frames that a stream shows when it arrives whole, but for its start."""

LIVE_S = 61.0
"""Of a movie of 60 s."""


@dataclass(frozen=True)
class Question:
    """One of them."""

    key: str
    asked: str
    """What was left open."""
    answers: tuple[str, ...]
    table: ThesisTable


def questions(measured: Measured) -> list[Question]:
    """Those that were measured."""
    makers: list[tuple[str, Callable[[Measured], Question]]] = [
        ("ifd", _optimised),
        ("ifd", _udp_ifd),
        ("packet-size", _packet_size),
        ("fixed-rates", _fixed_rates),
        ("ieee80211g", _standards),
        (f"streams-{STREAM_TRANSPORTS[0]}", _streams),
    ]
    return [make(measured) for name, make in makers if measured.has(name)]


def _cells(
    measured: Measured, name: str, values: Iterable[tuple[str | pl.Expr, dict[str, object]]]
) -> tuple[Cell, ...]:
    return tuple(Cell(None, tuple(measured.samples(name, column, **place))) for column, place in values)


def _ifd_places() -> list[tuple[int, int, str]]:
    return [(rate, retry, oven) for rate in (4, 5, 6) for retry in (2, 4) for oven in OVENS]


def _ifd_rows(measured: Measured, columns: Sequence[tuple[str | pl.Expr, str]]) -> tuple[Row, ...]:
    rows = []
    for rate, retry, oven in _ifd_places():
        place: dict[str, object] = {"bitrate": rate, "retry": retry, "oven": oven}
        values = [(column, place | {"flow": flow}) for column, flow in columns]
        rows.append(Row((f"{rate} Mbit/s", str(retry), oven), _cells(measured, "ifd", values)))
    return tuple(rows)


_IFD_WHERE = ("bitrate", "retry value", "oven")


def _optimised(measured: Measured) -> Question:
    basic, optimised = "tcp+ifd", "tcp+ifd-optimised"
    table = thesis_table(
        "ifd-optimised",
        "Optimised against basic I-Frame Delay over TCP: frames shown (whole, with all that they refer to)",
        _SECTION,
        _IFD_WHERE,
        (
            Column("basic, shown", "%"),
            Column("optimised, shown", "%"),
            Column("basic, arrived in vain", "%"),
            Column("optimised, arrived in vain", "%"),
        ),
        _ifd_rows(measured, [(SHOWN, basic), (SHOWN, optimised), (UNDECODABLE, basic), (UNDECODABLE, optimised)]),
    )
    answers = (
        _gain("Frames shown, optimised less basic", table, 1, 0, "points"),
        _gain("Frames that arrive in vain (a reference is missing), optimised less basic", table, 3, 2, "points"),
        _range_of_gain(table, 1, 0, "points of frames shown"),
    )
    return Question(
        "ifd-optimised", "The optimised IFD was described and not measured (sections 1.5 and 3.9).", answers, table
    )


def _udp_ifd(measured: Measured) -> Question:
    over = {"TCP": "tcp+ifd", "UDP, full packets": "udp+ifd", "UDP, thesis' packets": "udp+ifd-thesis"}
    columns = [Column(f"{name}, shown", "%") for name in over] + [
        Column(f"{name}, latency p95", "ms", 0) for name in over
    ]
    wanted: list[tuple[str | pl.Expr, str]] = [(SHOWN, flow) for flow in over.values()]
    wanted += [("latency_p95_ms", flow) for flow in over.values()]
    table = thesis_table(
        "ifd-udp",
        "I-Frame Delay over UDP against I-Frame Delay over TCP",
        _SECTION,
        _IFD_WHERE,
        tuple(columns),
        _ifd_rows(measured, wanted),
    )
    answers = (
        _gain("Frames shown, UDP with full packets less TCP", table, 1, 0, "points"),
        _gain("Frames shown, UDP with the thesis' packets less TCP", table, 2, 0, "points"),
        _range_of_gain(table, 1, 0, "points of frames shown (full packets)"),
    )
    return Question(
        "ifd-udp",
        "IFD over UDP was to be compared with IFD over TCP (recommendations 5 and 6); the thesis "
        "expects comparable results (3.10).",
        answers,
        table,
    )


def _packet_size(measured: Measured) -> Question:
    kinds = [
        (f"udp-{rule}-{mtu}", f"UDP, rule {rule}, MTU {mtu}")
        for mtu in (1500, 576)
        for rule in ("thesis", "slices", "full")
    ] + [(f"tcp-{mtu}", f"TCP, MTU {mtu}") for mtu in (1500, 576)]
    rows = []
    for flow, name in kinds:
        values: list[tuple[str | pl.Expr, dict[str, object]]] = [
            (column, {"flow": flow, "oven": oven})
            for column in ("duration_s", pl.col("packet_throughput_bps") / 1e6)
            for oven in OVENS
        ]
        packets = measured.samples("packet-size", "packets_sent", flow=flow, oven="no")
        rows.append(Row((name,), (*_cells(measured, "packet-size", values), Cell(None, tuple(packets)))))
    columns = (
        Column("duration", "s"),
        Column("duration, oven", "s"),
        Column("payload rate", "Mbit/s", 2),
        Column("payload rate, oven", "Mbit/s", 2),
        Column("packets", "", 0),
    )
    table = thesis_table(
        "packet-size",
        "Effect of the packet size: a 6 Mbit/s movie over blocking UDP and over TCP, retry value 4",
        _SECTION,
        ("packets",),
        columns,
        tuple(rows),
    )
    first, full = table.rows[0].cells[0].ours, table.rows[2].cells[0].ours
    answers = []
    if first and full:
        answers.append(
            f"Full packets carry the movie in {full.mean:.1f} s, the thesis' in {first.mean:.1f} s: "
            f"{100 * (first.mean / full.mean - 1):+.0f} %. The rule for cutting costs UDP its advantage over "
            "TCP, as the thesis suspected (3.10)."
        )
    return Question(
        "packet-size",
        "The influence of packet size, and of RFC 2250 through it (recommendation 2).",
        tuple(answers),
        table,
    )


def _fixed_rates(measured: Measured) -> Question:
    rows = []
    rates = ("auto", "11", "5.5", "2", "1")
    for rate in rates:
        for retry in (1, 2, 4):
            for oven in OVENS:
                place: dict[str, object] = {"rate": rate, "retry": retry, "oven": oven}
                values: list[tuple[str | pl.Expr, dict[str, object]]] = [
                    ("duration_s", place | {"flow": "udp"}),
                    (LOST, place | {"flow": "udp"}),
                    ("duration_s", place | {"flow": "tcp"}),
                ]
                name = "automatic" if rate == "auto" else f"{rate} Mbit/s"
                rows.append(Row((name, str(retry), oven), _cells(measured, "fixed-rates", values)))
    columns = (Column("UDP, duration", "s"), Column("UDP, frames lost", "%"), Column("TCP, duration", "s"))
    table = thesis_table(
        "fixed-rates",
        "Fixed transmission rates against the card's own choice: the 3 Mbit/s movie as fast as the link takes it",
        _SECTION,
        ("rate", "retry value", "oven"),
        columns,
        tuple(rows),
    )
    best = [
        f"retry value {retry}{', oven' if oven == 'yes' else ''}: {name} ({took:.0f} s)"
        for retry in ("1", "2", "4")
        for oven in OVENS
        if (found := _least(table, retry, oven, 2)) is not None
        for name, took in [found]
    ]
    answers = (f"The fastest for TCP (oven always on, or off): {'; '.join(best)}.",) if best else ()
    return Question(
        "fixed-rates",
        "The effects of retry value and of rate in isolation (recommendation 1): the card could not be told a rate.",
        answers,
        table,
    )


def _least(table: ThesisTable, retry: str, oven: str, column: int) -> tuple[str, float] | None:
    found = [
        (row.labels[0], ours.mean)
        for row in table.rows
        if row.labels[1:] == (retry, oven) and (ours := row.cells[column].ours) is not None
    ]
    return min(found, key=lambda one: one[1], default=None)


def _standards(measured: Measured) -> Question:
    rows = []
    for flow, name in PROTOCOLS.items():
        for retry in (1, 2, 4):
            for oven in OVENS:
                values: list[tuple[str | pl.Expr, dict[str, object]]] = [
                    (column, {"standard": standard, "retry": retry, "oven": oven, "flow": flow})
                    for column in ("duration_s", SHOWN)
                    for standard in ("802.11b", "802.11g")
                ]
                rows.append(Row((name, str(retry), oven), _cells(measured, "ieee80211g", values)))
    columns = (Column("b, duration", "s"), Column("g, duration", "s"), Column("b, shown", "%"), Column("g, shown", "%"))
    table = thesis_table(
        "802.11g",
        "The 6 Mbit/s movie over 802.11b and over 802.11g",
        _SECTION,
        ("protocol", "retry value", "oven"),
        columns,
        tuple(rows),
    )
    return Question(
        "802.11g",
        "The same over 802.11g, the successor (recommendation 3).",
        (_gain("Frames shown, 802.11g less 802.11b", table, 3, 2, "points"),),
        table,
    )


def _streams(measured: Measured) -> Question:
    rows = []
    for transport in STREAM_TRANSPORTS:
        for count in STREAMS:
            for oven in OVENS:
                cells = []
                for column in (SHOWN, pl.col("duration_s")):
                    for standard in ("802.11b", "802.11g"):
                        place: dict[str, object] = {"streams": count, "standard": standard, "oven": oven}
                        cells.append(_per_repeat(measured, f"streams-{transport.replace('+', '-')}", column, place))
                rows.append(Row((PROTOCOLS[transport], count, oven), tuple(cells)))
    columns = (Column("b, shown", "%"), Column("g, shown", "%"), Column("b, duration", "s"), Column("g, duration", "s"))
    table = thesis_table(
        "streams",
        "Several 3 Mbit/s movies at once, through one card or from a laptop each: means over the streams",
        _SECTION,
        ("protocol", "streams", "oven"),
        columns,
        tuple(rows),
        note="Retry value 4.",
    )
    findings = []
    for standard, letter in (("802.11b", "b"), ("802.11g", "g")):
        live = {name: _most_live(table, name, letter) for name in map(PROTOCOLS.__getitem__, STREAM_TRANSPORTS)}
        most = [f"{name}: {streams}" for name, streams in live.items()]
        findings.append(
            f"Streams that arrive live ({WHOLE:g} % of the frames shown, within {LIVE_S:g} s) without the oven, "
            f"{standard}: {'; '.join(most)}."
        )
    return Question(
        "streams",
        "More than one simultaneous stream, possibly over 802.11g (recommendation 4).",
        tuple(findings),
        table,
    )


def _per_repeat(measured: Measured, name: str, column: pl.Expr, place: dict[str, object]) -> Cell:
    """The mean over the streams of each repeat."""
    repeats = measured.summaries[name]["repeat"].unique().sort().to_list() if measured.has(name) else []
    samples = [values for repeat in repeats if (values := measured.samples(name, column, **place, repeat=repeat))]
    return Cell(None, tuple(fmean(values) for values in samples))


def _most_live(table: ThesisTable, protocol: str, letter: str) -> int:
    most = 0
    for label, stations in STREAMS.items():
        shown = table.find((protocol, label, "no"), f"{letter}, shown")
        took = table.find((protocol, label, "no"), f"{letter}, duration")
        if shown and took and shown.ours and took.ours and shown.ours.mean >= WHOLE and took.ours.mean <= LIVE_S:
            most = max(most, len(stations))
    return most


def _paired(row: Row, one: int, other: int) -> list[float]:
    """Differences by repeat: repeats meet the same channel, so pairs differ by less than means do."""
    first, second = row.cells[one].samples, row.cells[other].samples
    return [a - b for a, b in zip(first, second, strict=True)] if len(first) == len(second) else []


def _gain(what: str, table: ThesisTable, one: int, other: int, unit: str) -> str:
    pairs = [gains for row in table.rows if (gains := _paired(row, one, other))]
    by_repeat = [fmean(gains) for gains in zip(*pairs, strict=True)]
    if not by_repeat:
        return f"{what}: not measured."
    estimate = mean_with_confidence(by_repeat)
    return f"{what}, mean over the rows: {_signed(estimate)} {unit}."


def _range_of_gain(table: ThesisTable, one: int, other: int, what: str) -> str:
    gains = [(fmean(pairs), row) for row in table.rows if (pairs := _paired(row, one, other))]
    if not gains:
        return ""
    (low, worst), (high, best) = min(gains, key=lambda g: g[0]), max(gains, key=lambda g: g[0])
    return f"From {low:+.1f} ({_place(worst)}) to {high:+.1f} ({_place(best)}) {what}."


def _place(row: Row) -> str:
    rate, retry, oven = row.labels
    return f"{rate}, retry value {retry}{', oven' if oven == 'yes' else ''}"


def _signed(estimate: Estimate) -> str:
    spread = "" if estimate.half_width is None else f" ± {estimate.half_width:.1f}"
    return f"{estimate.mean:+.1f}{spread}"
