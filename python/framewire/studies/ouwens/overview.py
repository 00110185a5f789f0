"""The whole at a glance: every published number against ours, one point each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from framewire.report.figures.base import Figure, Trace, base_layout, rounded
from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.verdicts import Verdict

__all__ = ["overview"]

_COLOURS = {Verdict.HOLDS: "#2a9d6a", Verdict.FAILS: "#d1242f", Verdict.EXCEPTED: "#c99700", None: "#9aa5ac"}
_LEAST_PERCENT = 0.05
"""Where a loss of nothing stands on a logarithmic axis: below all that a table with one decimal can say."""


def overview(tables: Sequence[ThesisTable], judgements: Sequence[Judgement]) -> list[Figure]:
    """Durations and frame losses."""
    verdicts = {(one.table, one.row, one.column): one.verdict for one in judgements}
    durations = [table for table in tables if table.number in ("3.6", "3.7", "3.13")]
    losses = [table for table in tables if table.facts.get("bitrate")]
    title = "Durations (tables 3.6, 3.7, 3.13)"
    return [
        _figure("overview-durations", title, "s", durations, verdicts, lambda value: value),
        _figure(
            "overview-losses",
            "Frame losses by type (tables 3.8 to 3.22)",
            "%",
            losses,
            verdicts,
            lambda value: max(value, _LEAST_PERCENT),
        ),
    ]


def _figure(
    name: str,
    title: str,
    unit: str,
    tables: Sequence[ThesisTable],
    verdicts: Mapping[tuple[str, tuple[str, ...], str], Verdict | None],
    place: Callable[[float], float],
) -> Figure:
    points: dict[Verdict | None, list[tuple[float, float, str]]] = {key: [] for key in _COLOURS}
    for table in tables:
        for row, column, cell in table.cells():
            if cell.published is not None and cell.ours is not None and "at 5.5" not in column.name:
                oven = ", oven" if row.labels[1:] == ("yes",) else ""
                text = f"table {table.number}, retry {row.labels[0]}{oven}, {column.name}"
                verdict = verdicts.get((table.number, row.labels, column.name))
                points[verdict].append((place(cell.published), place(cell.ours.mean), text))
    every = [value for some in points.values() for x, y, _ in some for value in (x, y)]
    if not every:
        return Figure(name, title, "", absent="nothing was measured", half=True)
    ends = [min(every) / 1.3, max(every) * 1.3]
    line: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "equal",
        "x": rounded(ends),
        "y": rounded(ends),
        "line": {"color": "#c9d1d6", "width": 1},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    traces = [line, *(_points(key, some, unit) for key, some in points.items() if some)]
    ticks = [0.1, 1, 10, 100] if unit == "%" else [30, 50, 100, 200, 500]
    axis = {"type": "log", "exponentformat": "none", "rangemode": "normal", "tickvals": ticks}
    hint = "Each point is a published number; on the line both are equal."
    if unit == "%":
        hint += f" A loss of nothing stands at {_LEAST_PERCENT} %."
    layout = base_layout(
        unit,
        height=330,
        xaxis=axis | {"title": {"text": f"thesis ({unit})"}},
        yaxis=axis | {"title": {"text": f"here ({unit})"}},
    )
    return Figure(name, title, hint, traces, layout, half=True)


def _points(key: Verdict | None, some: Sequence[tuple[float, float, str]], unit: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": key or "no bound",
        "x": rounded([x for x, _, _ in some]),
        "y": rounded([y for _, y, _ in some]),
        "text": [text for _, _, text in some],
        "hovertemplate": f"%{{text}}<br>thesis %{{x}} {unit}, here %{{y}} {unit}<extra></extra>",
        "marker": {"color": _COLOURS[key], "size": 6, "opacity": 0.75},
    }
