"""What the paper leaves open: how much hangs on alpha, and how rivals do under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from framewire.confidence import mean_with_confidence
from framewire.studies.balk import climbing
from framewire.studies.balk.figures import video_kbps
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import (
    ALPHAS,
    FLOWS,
    LOSSES,
    PACKETS_PER_REQUEST,
    RIVALS,
    STRONG_FLOWS,
    TFRC_ROUND_TRIPS_MS,
    Setting,
    Transport,
    alone,
    isolated,
    mild,
    strong,
)
from framewire.studies.balk.variants import K_OVER_K_MINUS_1, LIBRARYS_READING, READINGS
from framewire.studies.numbers import estimated
from framewire.studies.table import Table, of_texts

__all__ = ["tables"]


def tables(measured: Measured) -> list[Table]:
    """Those of which anything was measured."""
    every = [
        _fairness(measured),
        _over_k(measured),
        _alpha(measured),
        _rivals(measured),
        _lossy_rivals(measured),
        _one_ruler(measured),
        _tfrc(measured),
        _over_loss(measured),
    ]
    return [table for table in every if table.rows]


def _rows(
    measured: Measured, places: Sequence[tuple[str, Setting]], values: Sequence[tuple[Callable[[Run], float], int]]
) -> list[list[str]]:
    return [
        [name, *(estimated(measured.mean(setting, value), digits) for value, digits in values)]
        for name, setting in places
        if measured.of(setting)
    ]


def _share(run: Run) -> float:
    return run.share


def _fairness(measured: Measured) -> Table:
    rows = []
    kinds = [("mild, 3 Mbit/s", mild, FLOWS), ("strong, 5 Mbit/s", strong, STRONG_FLOWS)]
    for name, setting, counts in kinds:
        for flows in counts:
            paper, other = setting(flows), replace(setting(flows), variant=K_OVER_K_MINUS_1)
            values = [
                measured.mean(paper, _share),
                measured.mean(paper, lambda run: run.tcp_share),
                measured.mean(paper, lambda run: run.share_by("wire")),
                measured.mean(paper, lambda run: run.tcp_share_by("wire")),
                measured.mean(paper, lambda run: run.packet_loss_percent),
                measured.mean(other, _share),
                measured.mean(other, lambda run: run.packet_loss_percent),
            ]
            if any(values):
                rows.append([f"{name}, {flows} flows", *map(estimated, values)])
    columns = [
        "",
        "share",
        "TCP's share",
        "share with headers",
        "TCP's with headers",
        "packets lost (%)",
        "share, k over k - 1",
        "lost, k over k - 1 (%)",
    ]
    hint = (
        "A sample is the bytes since the last control packet, the packets' headers among them, over the time since "
        "then: above what arrives by the headers' part of a packet. In the last two columns, the bytes of k packets "
        "over the k - 1 gaps between them, k / (k - 1) of what arrives: with k = 5 up to a fifth of the packets may be "
        "lost before the estimate falls below the rate."
    )
    return of_texts(columns, rows, title="Fairness, and how equation 1 is read", note=hint)


def _over_k(measured: Measured) -> Table:
    rows = []
    for k in PACKETS_PER_REQUEST:
        settings = [mild(8, k=k), *(replace(mild(8, k=k), variant=reading) for reading in READINGS)]
        values = [measured.mean(setting, _share) for setting in settings]
        if any(values):
            rows.append([f"k = {k}", *map(estimated, values)])
    columns = ["8 flows, 3 Mbit/s", LIBRARYS_READING, *(reading.name for reading in READINGS)]
    return of_texts(columns, rows, title="Figure 17 in numbers: shares by reading")


def _alpha(measured: Measured) -> Table:
    kinds: list[tuple[str, Callable[[float | None], Setting], Callable[[Run], float]]] = [
        ("seconds to the top level, alone", isolated, climbing.first_at_top_s),
        ("share, 8 flows, 3 Mbit/s", lambda alpha: mild(8, alpha=alpha), _share),
        ("share, 8 flows, k = 1", lambda alpha: mild(8, alpha=alpha, k=1), _share),
        ("share, 8 flows, k = 20", lambda alpha: mild(8, alpha=alpha, k=20), _share),
        ("share, 16 flows, 3 Mbit/s", lambda alpha: mild(16, alpha=alpha), _share),
        ("share, 32 flows, 3 Mbit/s", lambda alpha: mild(32, alpha=alpha), _share),
        ("share, strong clip, 12 flows, 5 Mbit/s", lambda alpha: strong(12, alpha=alpha), _share),
        ("the same, 1 % loss", lambda alpha: strong(12, alpha=alpha, loss_percent=1.0), _share),
    ]
    alphas = (None, *ALPHAS)
    rows = [
        [name, *(estimated(measured.mean(setting(alpha), value)) for alpha in alphas)]
        for name, setting, value in kinds
        if any(measured.of(setting(alpha)) for alpha in ALPHAS)
    ]
    columns = ["", *("the library's" if alpha is None else f"alpha {alpha:g}" for alpha in alphas)]
    hint = "The paper has about 7 s in the first row, and shares near 1 in the others but for 32 flows."
    return of_texts(columns, rows, title="How much hangs on alpha", note=hint)


_COLUMNS = ("share", "frames intact and in time (%)", "mean quantiser", "level switches", "link used")


def _values() -> list[tuple[Callable[[Run], float], int]]:
    return [
        (_share, 2),
        (lambda run: run.intact_percent, 1),
        (lambda run: run.quantiser, 1),
        (lambda run: run.switches, 1),
        (lambda run: run.utilisation, 3),
    ]


def _rivals(measured: Measured) -> Table:
    places: list[tuple[str, Setting]] = [(transport, mild(8, transport=transport)) for transport in RIVALS]
    places.append(("vtp among cubic", mild(8, congestion="cubic")))
    title = "Controllers: mild clip among 7 TCP connections, 3 Mbit/s"
    return of_texts(["", *_COLUMNS], _rows(measured, places, _values()), title=title)


def _lossy_rivals(measured: Measured) -> Table:
    places = [(transport, strong(12, transport=transport, loss_percent=1.0)) for transport in RIVALS]
    title = "Controllers: strong clip among 11 TCP connections, 5 Mbit/s, 1 % random loss"
    return of_texts(["", *_COLUMNS], _rows(measured, places, _values()), title=title)


_STEADY: Sequence[tuple[str, Callable[[Run, Run], float], int]] = (
    ("mean (kbit/s)", lambda run, _: fmean(run.steady_kbps()), 0),
    ("worst second (kbit/s)", lambda run, _: run.least_second_kbps(), 0),
    ("mean, with headers", lambda run, _: fmean(run.steady_kbps("wire")), 0),
    ("worst second, with headers", lambda run, _: run.least_second_kbps("wire"), 0),
    ("of its own without loss (%)", lambda run, free: 100 * fmean(run.of_lossless(free)), 1),
    ("deepest dip of that (%)", lambda run, free: run.dip_percent(free), 1),
    ("seconds below 90 % of it", lambda run, free: float(sum(part < 0.9 for part in run.of_lossless(free))), 1),
)


def _one_ruler(measured: Measured) -> Table:
    """Figure 20: the same of all."""
    names: Sequence[tuple[str, Transport]] = (("VTP", "vtp"), ("VTP, hybrid", "vtp-hybrid"), ("TFRC", "tfrc"))
    rows = []
    for loss in (1.0, 5.0):
        for name, transport in names:
            pairs = measured.paired(alone(loss, transport), alone(0.0, transport))
            means = [mean_with_confidence([value(*pair) for pair in pairs]) for _, value, _ in _STEADY if pairs]
            cells = [estimated(mean, digits) for mean, (_, _, digits) in zip(means, _STEADY, strict=False)]
            rows += [[f"{name}, {loss:g} % loss", *cells]] if cells else []
    hint = (
        "Seconds 10 to 30 of the stream, 10 ms: what was received, of all by the same ruler. The plan rises by a "
        "quarter in this time, so that dips are of what the same stream receives in the same second without loss. The "
        "hybrid rate control sends ahead of the plan."
    )
    return of_texts(["", *(name for name, *_ in _STEADY)], rows, title="Figure 20 by one ruler", note=hint)


def _tfrc(measured: Measured) -> Table:
    rows = []
    for rtt in TFRC_ROUND_TRIPS_MS:
        estimates = [measured.mean(alone(loss, "tfrc", rtt), video_kbps) for loss in (1.0, 5.0)]
        if any(estimates):
            rows.append([f"{rtt:g} ms", *(estimated(one, 0) for one in estimates)])
    hint = "Video received, kbit/s; the plan of the top level is the most that it may send."
    return of_texts(["round trip", "1 % loss", "5 % loss"], rows, title="TFRC alone, by round-trip time", note=hint)


def _over_loss(measured: Measured) -> Table:
    places = [("0 %", strong(12)), *((f"{loss:g} %", strong(12, loss_percent=loss)) for loss in LOSSES)]
    values: list[tuple[Callable[[Run], float], int]] = [
        (lambda run: run.stream_kbps, 0),
        (lambda run: sum(run.tcp_kbps) / len(run.tcp_kbps), 0),
        (lambda run: run.utilisation, 3),
    ]
    columns = ["random loss", "VTP (kbit/s)", "TCP, mean (kbit/s)", "link used"]
    return of_texts(columns, _rows(measured, places, values), title="Figure 19 in numbers")
