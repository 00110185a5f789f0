"""The hybrid rate control beside the paper's, experiment by experiment, and by how much it is better or worse.

What is compared are runs with the same seed: a difference counts where its 95 % confidence interval does not hold zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framewire.confidence import Estimate, mean_with_confidence
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import (
    FLOWS,
    FRAMES_AMONG,
    LOSSES,
    PACKETS_PER_REQUEST,
    STRONG_FLOWS,
    Setting,
    alone,
    hybrid,
    isolated,
    mild,
    over_trace,
    strong,
)
from framewire.studies.numbers import estimated
from framewire.studies.table import DASH, Cell, Table, of_texts
from framewire.studies.verdicts import Change

__all__ = ["by_figure", "by_how_much", "headline"]


@dataclass(frozen=True)
class Metric:
    """What is compared, and which way is better."""

    name: str
    value: Callable[[Run], float]
    digits: int
    higher_is_better: bool | None
    """None where it depends: the share is better the nearer it is to 1 from above, and says nothing below."""


def _beyond_share(run: Run) -> float:
    """What is taken beyond the fair share."""
    return max(run.share - 1, 0.0)


METRICS = (
    Metric("share of fair", lambda run: run.share, 2, None),
    Metric("frames in time (%)", lambda run: run.intact_percent, 1, True),
    Metric("mean level (0 to 2)", lambda run: run.mean_level, 2, True),
    Metric("level switches", lambda run: run.switches, 1, False),
    Metric("freezes", lambda run: run.freezes, 1, False),
    Metric("Jain's index", lambda run: run.jain, 3, True),
)


def _places(measured: Measured) -> list[tuple[str, str, Setting]]:
    """Figure, what is varied, and the setting with the paper's rate control."""
    places = [("15", "alone, 10 Mbit/s", isolated())]
    places += [("16", f"mild clip, {flows} flows, 3 Mbit/s", mild(flows)) for flows in FLOWS]
    places += [("17", f"8 flows, k = {k}", mild(8, k=k)) for k in PACKETS_PER_REQUEST]
    places += [("18", f"strong clip, {flows} flows, 5 Mbit/s", strong(flows)) for flows in STRONG_FLOWS]
    places += [("19", f"strong clip, 12 flows, {loss:g} % loss", strong(12, loss_percent=loss)) for loss in LOSSES]
    places += [("20", f"alone, {loss:g} % loss", alone(loss, "vtp")) for loss in (1.0, 5.0)]
    places += [("22", f"mild clip, {flows} flows, 3 Mbit/s", mild(flows)) for flows in FRAMES_AMONG]
    places += [("23", "strong clip, 12 flows, 5 Mbit/s", strong(12))]
    places += [("24", f"mild clip, {flows} flows, 2 Mbit/s", mild(flows, link_mbps=2)) for flows in FLOWS]
    for name, mean in measured.traces.items():
        beside = (("alone", 0), ("1 cubic", 1))
        places += [
            ("LTE", f"{name}, {name_of_place}", over_trace(name, mean, tcp, "vtp")) for name_of_place, tcp in beside
        ]
    return places


def _differences(pairs: Sequence[tuple[Run, ...]], metric: Metric) -> Estimate | None:
    """How much better the second of each pair is, seed by seed; above zero is better."""
    value = _beyond_share if metric.higher_is_better is None else metric.value
    sign = 1 if metric.higher_is_better else -1
    return mean_with_confidence([sign * (value(b) - value(a)) for a, b in pairs]) if pairs else None


def _cell(measured: Measured, setting: Setting, metric: Metric) -> Cell:
    """Both means, marked with how they differ; a dash where there is nothing to compare."""
    nobody_beside = setting.tcp == 0 and metric.name == "Jain's index"
    if nobody_beside or (setting.trace is not None and setting.tcp == 0 and metric.name == "share of fair"):
        return Cell(text=DASH)
    difference = _differences(measured.paired(setting, hybrid(setting)), metric)
    if difference is None:
        return Cell(text=DASH)
    change = Change.of(difference, least=0.5 * 10**-metric.digits)
    means = [measured.mean(one, metric.value) for one in (setting, hybrid(setting))]
    paper, other = (f"{one.mean:,.{metric.digits}f}" if one else DASH for one in means)
    text = f"{paper} \N{RIGHTWARDS ARROW} {other}" + ("" if change == Change.SAME else f" {change}")
    return Cell(text=text, mark=change)


def by_figure(measured: Measured) -> dict[str, Table]:
    """For each figure both rate controls with their intervals, and fixed-rate streaming where it was run."""
    tables: dict[str, list[list[str]]] = {}
    for figure, name_of_place, setting in _places(measured):
        ways = (("paper", setting), ("hybrid", hybrid(setting)), ("fixed rate", _fixed(setting)))
        for way, one in ways:
            if not measured.of(one) or not measured.of(hybrid(setting)):
                continue
            values = [estimated(measured.mean(one, metric.value), metric.digits) for metric in METRICS]
            tables.setdefault(figure, []).append([f"{name_of_place}: {way}", *values])
    columns = ["", *(metric.name for metric in METRICS)]
    return {figure: of_texts(columns, rows, title="The paper's rate control and the hybrid one")
            for figure, rows in tables.items()}  # fmt: skip


def _fixed(setting: Setting) -> Setting:
    return Setting(
        setting.clip,
        setting.link_mbps,
        setting.tcp,
        "fixed",
        k=setting.k,
        loss_percent=setting.loss_percent,
        rtt_ms=setting.rtt_ms,
        congestion=setting.congestion,
        trace=setting.trace,
    )


def _compared(measured: Measured) -> list[tuple[str, list[Cell]]]:
    """A row for each experiment, once."""
    rows: list[tuple[str, list[Cell]]] = []
    seen = set()
    for figure, name_of_place, setting in _places(measured):
        if setting in seen or not measured.of(hybrid(setting)) or not measured.of(setting):
            continue
        seen.add(setting)
        rows.append((f"{figure}: {name_of_place}", [_cell(measured, setting, metric) for metric in METRICS]))
    return rows


def by_how_much(measured: Measured) -> Table:
    """The paper's rate control and the hybrid one in one line for each experiment."""
    hint = (
        "Paper \N{RIGHTWARDS ARROW} hybrid. Better and worse are marked where the 95 % interval of the differences, "
        "seed by seed, does not hold zero. A share is better the less it is above 1; below 1 it says nothing, because "
        "the clip may ask for less. Mean level is of the frames in time; a freeze is half a second or longer without "
        "any (this player does not wait, so that nothing stalls). Where the share falls towards 1, the mean level has "
        "to fall with it."
    )
    rows: list[list[str | Cell]] = [[name, *cells] for name, cells in _compared(measured)]
    names = ["", *(metric.name for metric in METRICS)]
    return of_texts(names, rows, title="The hybrid rate control beside the paper's", note=hint)


def headline(measured: Measured) -> str:
    """The counts, and what it loses at."""
    rows = _compared(measured)
    if not rows:
        return ""
    parts = []
    for place, metric in enumerate(METRICS):
        counts = Counter(cells[place].mark for _, cells in rows)
        numbers = (counts[change] for change in (Change.BETTER, Change.WORSE, Change.SAME))
        parts.append("{}: {} better, {} worse, {} the same".format(metric.name, *numbers))
    return f"Of {len(rows)} experiments: " + "; ".join(parts) + "."
