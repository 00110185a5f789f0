"""The figures of chapter 3 that show measurements: 3.5 to 3.62, drawn from our runs.

The thesis' curves are not published as numbers. What its text says of each figure stands beside ours (in our words),
with the numbers of ours that it refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

import polars as pl

from framewire.report.figures.base import Figure, Layout, Trace, base_layout, rounded, thinned
from framewire.report.palette import INTERFERENCE_FILL
from framewire.studies.ouwens.figure_texts import SAYS
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.plan import PROTOCOLS

__all__ = ["SECTIONS", "PaperFigure", "Spec", "figures", "specs"]

Kind = Literal["throughput", "levels", "latency", "size", "jitter"]

SECTIONS = {"udp-blocking": "3.6", "tcp": "3.7", "udp": "3.8", "tcp+ifd": "3.9"}
_FIRST = {"udp-blocking": 5, "tcp": 19, "udp": 33, "tcp+ifd": 49}
_RETRY_COLOURS = {1: "#D55E00", 2: "#E69F00", 3: "#56B4E9", 4: "#0072B2"}
_BITRATE_COLOURS = {3: "#44AA99", 4: "#999933", 5: "#AA4499", 6: "#332288"}
_OVEN_S = (20.0, 40.0)
_POINTS = {"throughput": 500, "levels": 500, "latency": 320, "jitter": 320, "size": 400}
_UNITS = {
    "throughput": "throughput (Mbit/s)",
    "levels": "throughput (Mbit/s)",
    "latency": "latency (ms)",
    "size": "latency (ms)",
    "jitter": "jitter (ms)",
}
_TITLES: dict[Kind, str] = {
    "throughput": "Throughput",
    "levels": "Throughput on two levels",
    "latency": "Latency",
    "size": "Size and latency",
    "jitter": "Jitter",
}
_NANOS = 1e9
LEAST_MS = 0.1
"""The lower end of logarithmic axes."""


@dataclass(frozen=True)
class Line:
    """One curve: a run, and which of its series."""

    name: str
    colour: str
    retry: int
    bitrate: int
    oven: str
    level: Literal["frames", "packets"] = "frames"
    dash: str = "solid"


@dataclass(frozen=True)
class Spec:
    """A figure of the thesis."""

    number: str
    kind: Kind
    flow: str
    lines: tuple[Line, ...]
    title: str

    @property
    def oven(self) -> bool:
        """Whether the oven is on in all its runs."""
        return all(line.oven == "yes" for line in self.lines)


@dataclass(frozen=True)
class PaperFigure:
    """A figure of ours, what the thesis says of its own, and what ours shows."""

    spec: Spec
    figure: Figure
    says: str
    finds: str


def specs() -> Iterator[Spec]:
    """All figures, in order."""
    for flow in ("udp-blocking", "tcp", "udp", "tcp+ifd"):
        yield from _of_protocol(flow)


def figures(measured: Measured) -> list[PaperFigure]:
    """All figures, drawn."""
    return [_drawn(spec, measured) for spec in specs()]


def _of_protocol(flow: str) -> Iterator[Spec]:
    number = _FIRST[flow]

    def spec(kind: Kind, lines: tuple[Line, ...], what: str) -> Spec:
        nonlocal number
        made = Spec(f"3.{number}", kind, flow, lines, f"{_TITLES[kind]}, {PROTOCOLS[flow]}, {what}")
        number += 1
        return made

    high = 4 if flow == "udp" else 6
    for oven in ("no", "yes"):
        yield spec("throughput", _by_retry(high, oven), f"{high} Mbit/s{_with(oven)}")
    for oven in ("no", "yes"):
        yield spec("throughput", _by_bitrate(oven), f"retry value 4{_with(oven)}")
    if flow == "udp":
        for bitrate in (5, 6):
            yield spec("levels", _levels(bitrate), f"{bitrate} Mbit/s, retry value 4")
    for oven in ("no", "yes"):
        yield spec("latency", _by_retry(3, oven), f"3 Mbit/s{_with(oven)}")
    for oven in ("no", "yes"):
        yield spec("latency", _by_bitrate(oven), f"retry value 4{_with(oven)}")
    yield spec("size", _corners((1, 4), (3,)), "3 Mbit/s, retry values 1 and 4")
    yield spec("size", _corners((4,), (3, 6)), "retry value 4, 3 and 6 Mbit/s")
    for oven in ("no", "yes"):
        yield spec("jitter", _by_retry(3, oven), f"3 Mbit/s{_with(oven)}")
    for oven in ("no", "yes"):
        yield spec("jitter", _by_bitrate(oven), f"retry value 4{_with(oven)}")


def _with(oven: str) -> str:
    return ", with the oven" if oven == "yes" else ""


def _by_retry(bitrate: int, oven: str) -> tuple[Line, ...]:
    return tuple(Line(f"retry {retry}", _RETRY_COLOURS[retry], retry, bitrate, oven) for retry in (1, 2, 3, 4))


def _by_bitrate(oven: str) -> tuple[Line, ...]:
    return tuple(Line(f"{rate} Mbit/s", _BITRATE_COLOURS[rate], 4, rate, oven) for rate in (3, 4, 5, 6))


def _levels(bitrate: int) -> tuple[Line, ...]:
    colour = _BITRATE_COLOURS[bitrate]
    return (
        Line("UDP", "#75828A", 4, bitrate, "no", "packets"),
        Line("UDP, oven", "#75828A", 4, bitrate, "yes", "packets", "dot"),
        Line("MPEG", colour, 4, bitrate, "no"),
        Line("MPEG, oven", colour, 4, bitrate, "yes", "frames", "dot"),
    )


def _corners(retries: tuple[int, ...], bitrates: tuple[int, ...]) -> tuple[Line, ...]:
    colours = _RETRY_COLOURS if len(retries) > 1 else _BITRATE_COLOURS
    lines = []
    for retry in retries:
        for bitrate in bitrates:
            for oven in ("no", "yes"):
                value = retry if len(retries) > 1 else bitrate
                name = f"retry {retry}" if len(retries) > 1 else f"{bitrate} Mbit/s"
                dash = "circle" if oven == "no" else "circle-open"
                named = f"{name}{', oven' if oven == 'yes' else ''}"
                lines.append(Line(named, colours[value], retry, bitrate, oven, dash=dash))
    return tuple(lines)


Series = tuple[list[float], list[float]]


def _drawn(spec: Spec, measured: Measured) -> PaperFigure:
    series = {line: _series(spec, line, measured) for line in spec.lines}
    says = SAYS.get(spec.number, "")
    name = "figure-" + spec.number.replace(".", "-")
    title = f"Figure {spec.number}: {spec.title}"
    if not any(x for x, _ in series.values()):
        return PaperFigure(spec, Figure(name, title, "", absent="its runs were not measured", half=True), says, "")
    traces = [_trace(spec, line, *series[line]) for line in spec.lines if series[line][0]]
    figure = Figure(name, title, "", traces, _layout(spec, series), half=True)
    return PaperFigure(spec, figure, says, _finding(spec, series))


def _series(spec: Spec, line: Line, measured: Measured) -> Series:
    ledger = measured.ledger(spec.flow, bitrate=line.bitrate, retry=line.retry, oven=line.oven)
    if ledger.is_empty():
        return [], []
    arrived = ledger.filter(pl.col("complete")).sort("arrival_rel_ns", "frame")
    if spec.kind in ("throughput", "levels"):
        return _rates(ledger if line.level == "packets" else arrived, line.level)
    if spec.kind == "size":
        return (arrived["size"] / 1e3).to_list(), _log_latency(arrived)
    at = (arrived["arrival_rel_ns"] / _NANOS).to_list()
    if spec.kind == "latency":
        return at, _log_latency(arrived)
    known = arrived.filter(pl.col("jitter_ns").is_not_null())
    jitter = (known["jitter_ns"] / 1e6).clip(lower_bound=LEAST_MS / 10).to_list()
    return (known["arrival_rel_ns"] / _NANOS).to_list(), jitter


def _log_latency(run: pl.DataFrame) -> list[float]:
    """Latencies above the least of the run, so that a logarithmic axis can show them: an offset is in all of them."""
    shifted = (run["latency_ns"] - run["latency_ns"].min()) / 1e6
    return [float(value) for value in shifted.clip(lower_bound=LEAST_MS)]


def _rates(rows: pl.DataFrame, level: str) -> Series:
    """Mbit/s by the second; what arrived of frames that did not arrive whole counts at the time they were due."""
    if level == "packets":
        rows = rows.with_columns(at=pl.coalesce("arrival_rel_ns", "due_ns"), bytes=pl.col("bytes_received"))
    else:
        rows = rows.with_columns(at=pl.col("arrival_rel_ns"), bytes=pl.col("size").cast(pl.Int64))
    sums = rows.group_by(second=pl.col("at") // int(_NANOS)).agg(pl.col("bytes").sum()).sort("second")
    counted = dict(zip(sums["second"], sums["bytes"], strict=True))
    last = rows["at"].max()
    if not counted or not isinstance(last, int):
        return [], []
    rates = [counted.get(second, 0) * 8 / 1e6 for second in range(int(max(counted)) + 1)]
    # The last second is not full; its point stands at the end and has the rate of what there is of it.
    end = last / _NANOS
    part = end - (len(rates) - 1)
    rates[-1] = min(rates[-1] / part, rates[-2]) if len(rates) > 1 and part > 0 else rates[-1]
    return [*(second + 0.5 for second in range(len(rates) - 1)), end], rates


def _trace(spec: Spec, line: Line, x: list[float], y: list[float]) -> Trace:
    if spec.kind == "size":
        x, y = _some(x, y, _POINTS["size"])
        marker = {"color": line.colour, "size": 4, "symbol": line.dash, "opacity": 0.6}
        return {
            "type": "scatter",
            "mode": "markers",
            "name": line.name,
            "x": rounded(x),
            "y": rounded(y),
            "marker": marker,
        }
    few_x, few_y = thinned(x, y, _POINTS[spec.kind])
    stroke = {"color": line.colour, "width": 1.4, "dash": line.dash}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.name,
        "x": rounded(few_x),
        "y": rounded(few_y, 3),
        "line": stroke,
    }


def _some(x: list[float], y: list[float], most: int) -> Series:
    """Some of many points, the same each time, and without the rhythm of a group of pictures."""
    chosen = sorted(sorted(range(len(x)), key=lambda index: index * 2_654_435_761 % 2**32)[:most])
    return [x[index] for index in chosen], [y[index] for index in chosen]


def _layout(spec: Spec, series: dict[Line, Series]) -> Layout:
    logarithmic = spec.kind in ("latency", "size", "jitter")
    xaxis: Layout = {"title": {"text": "frame size (kB)" if spec.kind == "size" else "time (s)"}, "rangemode": "tozero"}
    yaxis: Layout = {"title": {"text": _UNITS[spec.kind]}}
    if logarithmic:
        yaxis |= {"type": "log", "exponentformat": "none", "rangemode": "normal", "dtick": 1}
    shapes = []
    if spec.kind != "size" and any(line.oven == "yes" for line in spec.lines):
        shapes.append(
            {
                "type": "rect",
                "xref": "x",
                "yref": "paper",
                "x0": _OVEN_S[0],
                "x1": _OVEN_S[1],
                "y0": 0,
                "y1": 1,
                "fillcolor": INTERFERENCE_FILL,
                "line": {"width": 0},
                "layer": "below",
            }
        )
    return base_layout(_UNITS[spec.kind], height=270, xaxis=xaxis, yaxis=yaxis, shapes=shapes)


def _finding(spec: Spec, series: dict[Line, Series]) -> str:
    told = [
        f"{line.name}: {text}" for line, (x, y) in series.items() if x and (text := _NUMBERS[spec.kind](spec, x, y))
    ]
    return _HEADS[spec.kind] + "; ".join(told) + "."


def _throughput_numbers(spec: Spec, x: list[float], y: list[float]) -> str:
    """Mean rate before the oven and during it, and the length: a whole second at either end is not full."""
    end = f", ends at {x[-1]:.0f} s"
    if not any(line.oven == "yes" for line in spec.lines):
        return f"{fmean(y[1:-1] or y):.2f}{end}"
    before = [rate for at, rate in zip(x, y, strict=True) if 1 <= at < _OVEN_S[0]]
    during = [rate for at, rate in zip(x, y, strict=True) if _OVEN_S[0] + 1 < at < _OVEN_S[1]]
    return f"{fmean(before or [0.0]):.2f}, then {fmean(during or [0.0]):.2f}{end}"


def _latency_numbers(_spec: Spec, _x: list[float], y: list[float]) -> str:
    return f"{median(y):,.0f}, at the end {y[-1]:,.0f}"


def _jitter_numbers(_spec: Spec, _x: list[float], y: list[float]) -> str:
    return f"{median(y):.1f}, {max(y):.0f}"


def _correlation(_spec: Spec, x: list[float], y: list[float]) -> str:
    mean_x, mean_y = fmean(x), fmean(y)
    product = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    squares = sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)
    return f"{product / squares**0.5 + 0.0:.2f}".replace("-0.00", "0.00") if squares > 0 else ""


_NUMBERS: dict[Kind, Callable[[Spec, list[float], list[float]], str]] = {
    "throughput": _throughput_numbers,
    "levels": _throughput_numbers,
    "latency": _latency_numbers,
    "size": _correlation,
    "jitter": _jitter_numbers,
}
_HEADS: dict[Kind, str] = {
    "throughput": "Mean Mbit/s: ",
    "levels": "Mean Mbit/s before the oven's 20 s and in them: ",
    "latency": "Median latency in ms above the least of the run: ",
    "size": "Correlation of size and latency: ",
    "jitter": "Median and largest jitter in ms: ",
}
