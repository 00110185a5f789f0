"""Tables of measures, the best of each marked; and paragraphs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from measure import Row
from sweep import Seen

from framewire.studies.table import Cell
from framewire.studies.writers import markdown_table


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


SHOWN = Measure("shown in time", "%", lambda row: row.shown_percent, 1, True)
PSNR = Measure("PSNR", "dB", lambda row: row.psnr_db, 1, True)
FREEZE = Measure("longest freeze", "s", lambda row: row.longest_freeze_s, 2, False)
P95 = Measure("latency p95", "ms", lambda row: row.latency_p95_ms, 0, False)
MEASURES = (
    SHOWN,
    PSNR,
    FREEZE,
    P95,
    Measure("latency max", "ms", lambda row: row.latency_max_ms, 0, False),
    Measure("key frames lost", "", lambda row: row.keys_lost, 1, False),
    Measure("undecodable", "kB", lambda row: row.wasted_kb, 0, False),
)


def of_measures(named: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """A row for each name, a column for each measure."""
    columns = [[measure.mean(rows) for _, rows in named] for measure in MEASURES]
    heads = [f"{measure.title} {measure.unit}".strip() for measure in MEASURES]
    rows = [
        [name, *(_cell(measure, column, place) for measure, column in zip(MEASURES, columns, strict=True))]
        for place, (name, _) in enumerate(named)
    ]
    return markdown_table(["", *heads], rows)


def _cell(measure: Measure, column: Sequence[float | None], place: int) -> Cell:
    known = [value for value in column if value is not None]
    text = measure.text(column[place])
    best = measure.text((max if measure.more_is_better else min)(known)) if known else ""
    return Cell(text=text, mark="best" if text == best else None)


def of_seen(seen: Sequence[Seen]) -> list[str]:
    """Per cent of frames shown in time, the most of them in bold, each with the longest freeze in seconds."""
    top = max(round(one.shown_percent, 1) for one in seen)
    shown = [f"{one.shown_percent:.1f}" for one in seen]
    return [
        f"{f'**{text}**' if round(one.shown_percent, 1) == top else text} ({one.longest_freeze_s:.2f})"
        for text, one in zip(shown, seen, strict=True)
    ]


def wrapped(text: str, bullet: str = "") -> str:
    """A paragraph, or a point of a list, in lines of the width of the sources."""
    return textwrap.fill(
        text,
        width=120,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
