"""The tables of chapter 3, filled with what the thesis published and with what was measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl

from framewire.studies.ouwens import notes
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.model import ThesisTable, thesis_table
from framewire.studies.ouwens.published import BITRATES, LINK_LAYER_RETRIES, OVENS, RETRIES, lookup
from framewire.studies.table import DASH, Cell, Column, Row

__all__ = ["FRAME_LOSS_TABLES", "LOSS_COLUMNS", "parameters", "tables"]

FRAME_LOSS_TABLES = {
    "3.8": ("udp-blocking", 3),
    "3.9": ("udp-blocking", 4),
    "3.10": ("udp-blocking", 5),
    "3.11": ("udp-blocking", 6),
    "3.14": ("udp", 3),
    "3.15": ("udp", 4),
    "3.16": ("udp", 5),
    "3.17": ("udp", 6),
    "3.19": ("tcp+ifd", 3),
    "3.20": ("tcp+ifd", 4),
    "3.21": ("tcp+ifd", 5),
    "3.22": ("tcp+ifd", 6),
}
"""Flow and bitrate of each."""

LOSS_COLUMNS = ("I", "P", "B", "total")

_SECTIONS = {"udp-blocking": "3.6", "tcp": "3.7", "udp": "3.8", "tcp+ifd": "3.9"}
_NAMES = {"udp-blocking": "Blocking UDP", "udp": "Non-blocking UDP", "tcp+ifd": "IFD"}
_RUN_CLASSES = {"1": "1", "2": "2", "3": "3", "4": "4", "5-10": "5_10", "10+": "over_10"}
_RUN_KEYS = ("run1_pct", "run2_pct", "run3_pct", "run4_pct", "run5to10_pct", "run10plus_pct")
_WHERE = ("retry value", "oven")
_RATIO_NOTE = "Point at a difference for the part of it that the movies' I:P:B ratio explains; judged is what remains."
_RUNS_NOTE = "Shares are of the number of sequences; packets and sequences are sums over three runs."
_SNIFFER_NOTE = (
    "The first columns are what was sent here; then what a sniffer sees that misses 35 % of the transmissions, each by "
    "itself, beside the same published numbers. The thesis' sniffer missed whole packets rather: with the oven it saw "
    "1.0 to 1.9 % of the packets sent three times or more, though by table 3.3 only 0.7 % lose their first two "
    "transmissions; a sniffer that misses transmissions one by one would have seen less than half of those. So the "
    "first columns are judged."
)


def tables(measured: Measured) -> list[ThesisTable]:
    """Every table with results, in the order of the thesis; :func:`parameters` is the one without."""
    losses = {number: _frame_losses(measured, number) for number in FRAME_LOSS_TABLES}
    return [
        _transmissions(measured, "3.2", "udp"),
        _packet_losses(measured),
        _transmissions(measured, "3.4", "tcp"),
        _segments(measured),
        _stream_durations(measured),
        _movie_durations(measured, "3.7", "udp-blocking"),
        *(losses[number] for number in ("3.8", "3.9", "3.10", "3.11")),
        _consecutive(measured, "3.12", "udp-blocking"),
        _movie_durations(measured, "3.13", "tcp"),
        *(losses[number] for number in ("3.14", "3.15", "3.16", "3.17")),
        _consecutive(measured, "3.18", "udp"),
        *(losses[number] for number in ("3.19", "3.20", "3.21", "3.22")),
    ]


def parameters(measured: Measured) -> list[tuple[str, str, str]]:
    """Table 3.1: parameter, the thesis' values, ours."""
    summary = measured.summaries.get("movies")

    def ours(column: str) -> str:
        return (
            DASH if summary is None else ", ".join(str(value) for value in summary[column].unique(maintain_order=True))
        )

    repeats = DASH if summary is None else str(summary["repeat"].n_unique())
    return [
        ("protocol", "blocking UDP + RTP; TCP; non-blocking UDP + RTP; TCP + IFD", ours("flow")),
        ("retry value", "0, 1, 2, 3, 4, 8, 16, 256 (no results for 256)", ours("retry")),
        ("MPEG bitrate (Mbit/s)", "3, 4, 5, 6", ours("bitrate")),
        ("interference", "no, yes (20 s to 40 s)", ours("oven")),
        ("time of day", "morning, mid-day, afternoon", f"{repeats} seeds; curves show the last"),
    ]


def _places(first: Iterable[int]) -> list[tuple[int, str]]:
    return [(value, oven) for value in first for oven in OVENS]


def _movie_durations(measured: Measured, number: str, flow: str) -> ThesisTable:
    def row(retry: int, oven: str) -> Row:
        cells = [
            Cell(
                lookup("movie_duration", "duration_s", table=number, bitrate_mbps=rate, retry=retry, interference=oven),
                tuple(measured.samples("movies", "duration_s", bitrate=rate, retry=retry, oven=oven, flow=flow)),
            )
            for rate in BITRATES
        ]
        return Row((str(retry), oven), tuple(cells))

    name = {"udp-blocking": "blocking UDP", "tcp": "TCP"}[flow]
    return thesis_table(
        number,
        f"Mean duration of the movie over {name}",
        _SECTIONS[flow],
        _WHERE,
        tuple(Column(f"{rate} Mbit/s", "s") for rate in BITRATES),
        tuple(row(*place) for place in _places(RETRIES)),
        facts={"flow": flow},
    )


def _frame_losses(measured: Measured, number: str) -> ThesisTable:
    flow, rate = FRAME_LOSS_TABLES[number]
    more = notes.of_frame_sizes(measured) if number == "3.17" else ""
    share = {
        kind: 100 * pl.col(f"lost_{kind.lower()}") / pl.col(f"frames_{kind.lower()}") for kind in ("I", "P", "B")
    } | {"total": 100 * pl.col("lost") / pl.col("frames")}

    def row(retry: int, oven: str) -> Row:
        cells = [
            Cell(
                lookup("frame_losses", f"{kind}_pct", table=number, bitrate_mbps=rate, retry=retry, interference=oven),
                tuple(measured.samples("movies", share[kind], bitrate=rate, retry=retry, oven=oven, flow=flow)),
            )
            for kind in LOSS_COLUMNS
        ]
        return Row((str(retry), oven), tuple(cells))

    return thesis_table(
        number,
        f"{_NAMES[flow]}: frames lost of the {rate} Mbit/s movie",
        _SECTIONS[flow],
        _WHERE,
        tuple(Column(kind, "%") for kind in LOSS_COLUMNS),
        tuple(row(*place) for place in _places(RETRIES)),
        note=" ".join(filter(None, (_RATIO_NOTE if number in ("3.17", "3.22") else "", more))),
        facts={"flow": flow, "bitrate": str(rate)},
    )


def _consecutive(measured: Measured, number: str, flow: str) -> ThesisTable:
    runs = pl.sum_horizontal(f"runs_{suffix}" for suffix in _RUN_CLASSES.values())
    as_counted = pl.sum_horizontal(
        min(length, notes.LONGEST_COUNTED) * pl.col(f"runs_{suffix}")
        for length, suffix in enumerate(_RUN_CLASSES.values(), 1)
    )
    sums = {
        "lost packets": ("lost_packets", pl.col("packets_lost")),
        "sequences": ("loss_sequences", runs),
        f"packets, at most {notes.LONGEST_COUNTED} a sequence": ("lost_packets", as_counted),
    }

    def row(rate: int, retry: int, oven: str) -> Row:
        place = {"bitrate": rate, "retry": retry, "oven": oven, "flow": flow}
        there = {"table": number, "bitrate_mbps": rate, "retry": retry, "interference": oven}
        is_defined = (
            lookup("consecutive_losses", "loss_sequences", **there) != 0
        )  # shares of nothing are printed as 0.0
        shares = [
            Cell(
                lookup("consecutive_losses", key, **there) if is_defined else None,
                tuple(
                    measured.samples("movies", pl.when(runs > 0).then(100 * pl.col(f"runs_{suffix}") / runs), **place)
                ),
            )
            for key, suffix in zip(_RUN_KEYS, _RUN_CLASSES.values(), strict=True)
        ]
        counts = [
            Cell(lookup("consecutive_losses", key, **there), tuple(measured.samples("movies", 3 * expression, **place)))
            for key, expression in sums.values()
        ]
        return Row((f"{rate} Mbit/s", str(retry), oven), (*shares, *counts))

    columns = [*(Column(name, "%") for name in _RUN_CLASSES), *(Column(name, "", 0) for name in sums)]
    places = [(rate, retry, oven) for rate in BITRATES for retry, oven in _places((1, 2, 3, 4))]
    return thesis_table(
        number,
        f"{_NAMES[flow]}: how many UDP packets were lost in a row",
        _SECTIONS[flow],
        ("bitrate", *_WHERE),
        tuple(columns),
        tuple(row(*place) for place in places),
        note=_RUNS_NOTE + (f" {notes.of_counts()}" if number == "3.18" else ""),
        facts={"flow": flow},
    )


def _transmissions(measured: Measured, number: str, flow: str, rate: str = "auto") -> ThesisTable:
    def row(retry: int, oven: str) -> Row:
        there = {"table": number, "protocol": flow, "retry": retry, "interference": oven}
        place = {"rate": rate, "retry": retry, "oven": oven, "flow": flow}
        shares = []
        for count in range(1, 6):
            column = f"sniffed_tx_{count}" if count < 5 else "sniffed_tx_5_up"
            possible = count <= retry
            samples = measured.samples("link-layer", 100 * pl.col(column), **place) if possible else []
            shares.append(Cell(lookup("transmissions", "packets_pct", **there, tx_count=count), tuple(samples)))
        counts = [
            Cell(
                lookup("transmissions", published, **there, tx_count=1),
                tuple(measured.samples("link-layer", column, **place)),
            )
            for published, column in (
                ("unique_packets", "sniffed_unique"),
                ("total_transmissions", "sniffed_total"),
            )
        ]
        sent = []
        for count, seen in enumerate(shares, 1):
            column = f"tx_{count}" if count < 5 else "tx_5_up"
            samples = measured.samples("link-layer", 100 * pl.col(column), **place) if count <= retry else []
            sent.append(Cell(seen.published, tuple(samples)))
        return Row((str(retry), oven), (*sent, *shares, *counts))

    columns = [Column(f"{count} x", "%") for count in range(1, 6)]
    columns += [Column(f"{count} x, 65 % seen", "%") for count in range(1, 6)]
    columns += [Column("unique seen", "", 0), Column("total seen", "", 0)]
    return thesis_table(
        number,
        f"Transmissions per packet on the 802.11b level, {flow.upper()}",
        "3.5",
        _WHERE,
        tuple(columns),
        tuple(row(*place) for place in _places(LINK_LAYER_RETRIES)),
        note=_SNIFFER_NOTE,
        facts={"flow": flow},
    )


def _packet_losses(measured: Measured) -> ThesisTable:
    def row(retry: int, oven: str) -> Row:
        place = {"rate": "auto", "retry": retry, "oven": oven, "flow": "udp"}
        there = {"retry": retry, "interference": oven}
        values: dict[str, str | pl.Expr] = {
            "lost_pct": 100 * pl.col("packets_lost") / pl.col("packets_sent"),
            "lost_packets": "packets_lost",
            "total_packets": "packets_sent",
        }
        cells = [
            Cell(lookup("packet_losses", key, **there), tuple(measured.samples("link-layer", value, **place)))
            for key, value in values.items()
        ]
        return Row((str(retry), oven), tuple(cells))

    columns = (Column("lost", "%", 2), Column("lost", "packets", 0), Column("sent", "packets", 0))
    return thesis_table(
        "3.3",
        "Losses on the UDP level",
        "3.5",
        _WHERE,
        columns,
        tuple(row(*place) for place in _places(LINK_LAYER_RETRIES)),
    )


def _segments(measured: Measured) -> ThesisTable:
    """Table 3.5: segments by how often TCP sent them, and how many came more than once."""
    packets = measured.packets.get("tcp-segments")
    sent = _copies_of_segments(packets, pl.col("hop") == "sender-device")
    arrived = _copies_of_segments(packets, (pl.col("hop") == "wire") & (pl.col("outcome") == "delivered"))

    def row(retry: int, oven: str) -> Row:
        copies = sent.get((retry, oven), {})
        came = arrived.get((retry, oven), {})
        values = [_share(copies, count, count) for count in (1, 2, 3)] + [_share(copies, 4), _share(came, 2)]
        unique = [float(sum(came.values()))] if came else []
        cells = [Cell(None, tuple(samples)) for samples in (*values, unique)]
        return Row((str(retry), oven), tuple(cells))

    columns = [*(Column(f"{count} x", "%", 2) for count in (1, 2, 3)), Column("more", "%", 2)]
    columns += [Column("came twice or more", "%", 2), Column("unique", "", 0)]
    return thesis_table(
        "3.5",
        "Transmissions per segment on the TCP level",
        "3.5",
        _WHERE,
        tuple(columns),
        tuple(row(*place) for place in _places(LINK_LAYER_RETRIES)),
        note="Measured once. Segments by the number of times that TCP gave them to the card.",
    )


def _share(copies: dict[int, int], least: int, most: int | None = None) -> list[float]:
    """Percent of the segments of which there were so many copies."""
    some = sum(segments for count, segments in copies.items() if count >= least and (most is None or count <= most))
    return [100 * some / sum(copies.values())] if copies else []


def _copies_of_segments(
    packets: Callable[[], pl.LazyFrame] | None, where: pl.Expr
) -> dict[tuple[int, str], dict[int, int]]:
    if packets is None:
        return {}
    there = packets().filter((pl.col("direction") == "forward") & (pl.col("payload") > 0) & where)
    copies = there.group_by("retry", "oven", "sequence").agg(copies=pl.len())
    counts = copies.group_by("retry", "oven", "copies").agg(segments=pl.len()).collect()
    found: dict[tuple[int, str], dict[int, int]] = {}
    for retry, oven, number, segments in counts.iter_rows():
        found.setdefault((retry, oven), {})[number] = segments
    return found


def _stream_durations(measured: Measured) -> ThesisTable:
    sets = [(rate, flow, oven) for rate in ("auto", "5.5") for flow in ("udp", "tcp") for oven in OVENS]

    def row(retry: int) -> Row:
        cells = [
            Cell(
                lookup("stream_duration", "duration_s", protocol=flow, retry=retry, interference=oven),
                tuple(measured.samples("link-layer", "duration_s", rate=rate, retry=retry, oven=oven, flow=flow)),
            )
            for rate, flow, oven in sets
        ]
        return Row((str(retry),), tuple(cells))

    def name(rate: str, flow: str, oven: str) -> str:
        return f"{flow.upper()}{', oven' if oven == 'yes' else ''}{'' if rate == 'auto' else ', at 5.5 Mbit/s'}"

    return thesis_table(
        "3.6",
        "Duration of the stream",
        "3.5",
        ("retry value",),
        tuple(Column(name(*one), "s") for one in sets),
        tuple(row(retry) for retry in LINK_LAYER_RETRIES),
        note="The right half is the same with the card fixed at 5.5 Mbit/s, beside the same published values.",
    )
