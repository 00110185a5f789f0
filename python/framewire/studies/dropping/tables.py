"""Tables of measures, the best of each marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from framewire.studies.dropping.choices import Choice, case
from framewire.studies.dropping.measure import Key, Measured, Row, Seen
from framewire.studies.table import Cell, Table, of_texts

__all__ = ["FREEZE", "MEASURES", "P95", "SHOWN", "Measure", "of_measures", "of_seen", "seen_cells"]


@dataclass(frozen=True)
class Measure:
    """A column."""

    title: str
    unit: str
    value: Callable[[Row], float | None]
    digits: int
    more_is_better: bool

    def mean(self, rows: Sequence[Row]) -> float | None:
        """Over the draws."""
        values = [value for row in rows if (value := self.value(row)) is not None]
        return fmean(values) if values else None

    def text(self, value: float | None) -> str:
        """As it is printed."""
        return "" if value is None else f"{value:.{self.digits}f}"

    def best(self, values: Sequence[float]) -> float:
        """Of several."""
        return (max if self.more_is_better else min)(values)


SHOWN = Measure("shown in time", "%", lambda row: row.shown_percent, 1, True)
FREEZE = Measure("longest freeze", "s", lambda row: row.longest_freeze_s, 2, False)
P95 = Measure("latency p95", "ms", lambda row: row.latency_p95_ms, 0, False)
MEASURES = (
    SHOWN,
    Measure("PSNR", "dB", lambda row: row.psnr_db, 1, True),
    FREEZE,
    P95,
    Measure("latency max", "ms", lambda row: row.latency_max_ms, 0, False),
    Measure("key frames lost", "", lambda row: row.keys_lost, 1, False),
    Measure("undecodable", "kB", lambda row: row.wasted_kb, 0, False),
)


def of_measures(title: str, named: Sequence[tuple[str, Sequence[Row]]], key: str = "") -> Table:
    """A row for each name, a column for each measure."""
    columns = [[measure.mean(rows) for _, rows in named] for measure in MEASURES]
    rows: list[list[str | Cell]] = [
        [name, *(_cell(measure, column, place) for measure, column in zip(MEASURES, columns, strict=True))]
        for place, (name, _) in enumerate(named)
    ]
    return of_texts(["", *(f"{one.title} {one.unit}".strip() for one in MEASURES)], rows, title=title, key=key)


def _cell(measure: Measure, column: Sequence[float | None], place: int) -> Cell:
    known = [value for value in column if value is not None]
    text = measure.text(column[place])
    best = measure.text(measure.best(known)) if known else ""
    return Cell(text=text, mark="best" if text and text == best else None)


def of_seen(
    measured: Measured, title: str, keys: Sequence[Key], columns: Sequence[tuple[str, Choice]], key: str = ""
) -> Table:
    """A row for each case: percent of frames shown, the most of them marked, with the longest freeze in seconds, and
    the limit below where there is one."""
    rows: list[list[str | Cell]] = []
    for one in keys:
        chosen = [choice(one) for _, choice in columns]
        below = [f"{setting.limit_ms:,} ms" if setting.limit_ms else "" for setting in chosen]
        rows.append([case(one), *seen_cells([measured.seen[one][setting] for setting in chosen], below)])
    return of_texts(["", *(name for name, _ in columns)], rows, title=title, key=key)


def seen_cells(seen: Sequence[Seen], below: Sequence[str] = ()) -> list[Cell]:
    """Percent of frames shown in time, the most of them marked, each with the longest freeze in seconds."""
    top = max(round(one.shown_percent, 1) for one in seen)
    lines = below or [""] * len(seen)
    return [
        Cell(
            text=f"{one.shown_percent:.1f} ({one.longest_freeze_s:.2f})",
            mark="best" if round(one.shown_percent, 1) == top else None,
            below=(line,) if line else (),
        )
        for one, line in zip(seen, lines, strict=True)
    ]
