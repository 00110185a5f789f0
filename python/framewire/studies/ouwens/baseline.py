"""What a count of met bounds is worth: how many of the same bounds are met without any model of a link.

**Nothing lost** knows only the movie: no frame is lost, every packet is sent once, every stream takes the movie's time.
**One number per column** knows the answers: for each column of each table the median of what the thesis published in
the judged rows, in every one of them. What depends on nothing that was varied, it gets right.

The others do not know the answer: each number is told from other published ones, with its whole setting (retry value
and oven; 0 and 16 are one) left out of what it is told from. They know the thesis and no link.

- **Mean**: the mean of its column's other settings.
- **Factors**: the same retry value with the other state of the oven, and what the oven changes in the mean at the other
  retry values: an additive model of retry value and oven.
- **Nearest**: the setting with the same oven and the nearest number of attempts, as a ratio; the mean of two that are
  equally near.
- **Other bitrate**: the same setting of the same table at the other published bitrate, where there is one.

None is corrected for the movie's I:P:B ratio, and none has a spread of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.ouwens.published import DURATION_S, attempts
from framewire.studies.ouwens.tables import FRAME_LOSS_TABLES
from framewire.studies.verdicts import Verdict

__all__ = ["BASELINE_NAMES", "TOLD_FROM_OTHERS", "Baseline", "DurationError", "Setting", "baseline", "duration_errors"]


@dataclass(frozen=True)
class Setting:
    """A published number and what was set for it."""

    series: tuple[str, str]
    """What is predicted alike: its table and column, without the oven."""
    attempts: int
    oven: bool
    value: float

    def is_as(self, other: Setting) -> bool:
        """Whether both measure the same thing."""
        return (self.series, self.attempts, self.oven) == (other.series, other.attempts, other.oven)


@dataclass(frozen=True)
class Baseline:
    """How many of the judged numbers each meets, and what is left to be gained by a model."""

    judged: int = 0
    nothing_lost: int = 0
    one_number: int = 0
    mean: int = 0
    factors: int = 0
    nearest: int = 0
    other_bitrate: int = 0
    none: int = 0
    """Numbers that all of them miss."""
    none_but_here: int = 0
    """Of these, the ones that are met here."""
    only_without: int = 0
    """Numbers missed here that one which does not know the answer meets."""

    def __add__(self, other: Baseline) -> Baseline:
        return Baseline(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class DurationError:
    """How far off durations are at some retry values: the mean of what is off as a share of the thesis' value."""

    rows: str
    numbers: int
    here: float
    by: Mapping[str, float]
    """Of each of :data:`TOLD_FROM_OTHERS` that predicts all of them."""


def baseline(judgements: Sequence[Judgement]) -> Baseline:
    """Of the numbers that are met or missed; those that nothing is asked of, and excepted ones, do not count."""
    judged = [one for one in judgements if one.verdict in (Verdict.HOLDS, Verdict.FAILS)]
    columns: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        columns.setdefault((one.table, one.column), []).append(one.published)
    settings = [_setting(one.table, one.row, one.column, one.published) for one in judged]
    said: dict[str, list[float | None]] = {
        "nothing_lost": [_nothing_lost(one) for one in judged],
        "one_number": [median(columns[one.table, one.column]) for one in judged],
    }
    for name, tell in TOLD_FROM_OTHERS.items():
        said[name] = [tell(setting, [other for other in settings if not other.is_as(setting)]) for setting in settings]
    meets = {
        name: [value is not None and _meets(one, value) for one, value in zip(judged, values, strict=True)]
        for name, values in said.items()
    }
    none = [one for number, one in enumerate(judged) if not any(some[number] for some in meets.values())]
    without = [
        one for number, one in enumerate(judged)
        if one.verdict == Verdict.FAILS and any(meets[name][number] for name in TOLD_FROM_OTHERS)
    ]  # fmt: skip
    return Baseline(
        judged=len(judged),
        **{name: sum(some) for name, some in meets.items()},
        none=len(none),
        none_but_here=sum(one.verdict == Verdict.HOLDS for one in none),
        only_without=len(without),
    )


def duration_errors(tables: Sequence[ThesisTable]) -> list[DurationError]:
    """Durations of tables 3.6, 3.7 and 3.13 at retry value 1, at 2, and above, predicted from other published rows."""
    found = [
        (_setting(table.number, row.labels, column.name, cell.published), cell.ours.mean)
        for table in tables if table.number in ("3.6", "3.7", "3.13")
        for row, column, cell in table.cells()
        if cell.published is not None and cell.ours is not None and "at 5.5" not in column.name
    ]  # fmt: skip
    groups: dict[str, Callable[[int], bool]] = {
        "1": lambda count: count == 1, "2": lambda count: count == 2, "3 and more": lambda count: count >= 3,
    }  # fmt: skip
    settings = [setting for setting, _ in found]
    errors = []
    for name, belongs in groups.items():
        mine = [(setting, ours) for setting, ours in found if belongs(setting.attempts)]
        if not mine:
            continue
        by = {}
        for key, tell in TOLD_FROM_OTHERS.items():
            told = [tell(one, [other for other in settings if not other.is_as(one)]) for one, _ in mine]
            whole = [value for value in told if value is not None]
            if len(whole) == len(mine):
                by[key] = mean(abs(value / one.value - 1) for value, (one, _) in zip(whole, mine, strict=True))
        here = mean(abs(ours / one.value - 1) for one, ours in mine)
        errors.append(DurationError(name, len(mine), here, by))
    return errors


def _setting(table: str, row: tuple[str, ...], column: str, value: float) -> Setting:
    plain = column.removesuffix(", oven")
    oven = plain != column or row[1:] == ("yes",)
    return Setting((table, plain), attempts(int(row[0])), oven, value)


def _mean(one: Setting, others: Sequence[Setting]) -> float | None:
    values = [other.value for other in others if other.series == one.series]
    return mean(values) if values else None


def _factors(one: Setting, others: Sequence[Setting]) -> float | None:
    cells: dict[tuple[int, bool], list[float]] = {}
    for other in others:
        if other.series == one.series:
            cells.setdefault((other.attempts, other.oven), []).append(other.value)
    there = cells.get((one.attempts, not one.oven))
    changes = [
        mean(cells[count, one.oven]) - mean(cells[count, not one.oven])
        for count in sorted({count for count, _ in cells})
        if (count, True) in cells and (count, False) in cells
    ]
    return mean(there) + mean(changes) if there and changes else None


def _nearest(one: Setting, others: Sequence[Setting]) -> float | None:
    same = [other for other in others if other.series == one.series and other.oven == one.oven]
    distances = [abs(math.log(other.attempts / one.attempts)) for other in same]
    near = [other.value for other, far in zip(same, distances, strict=True) if far < min(distances) + 1e-9]
    return mean(near) if near else None


def _other_bitrate(one: Setting, others: Sequence[Setting]) -> float | None:
    there = _OTHER_BITRATE.get(one.series[0], one.series[0]), _OTHER_COLUMN.get(one.series[1], one.series[1])
    if there == one.series:
        return None
    wanted = Setting(there, one.attempts, one.oven, 0.0)
    values = [other.value for other in others if other.is_as(wanted)]
    return mean(values) if values else None


_OTHER_COLUMN = {"3 Mbit/s": "6 Mbit/s", "6 Mbit/s": "3 Mbit/s"}
_OTHER_BITRATE = {
    number: other
    for number, (flow, rate) in FRAME_LOSS_TABLES.items()
    for other, its in FRAME_LOSS_TABLES.items()
    if its == (flow, {3: 6, 6: 3}.get(rate))
}
"""Tables of frames lost at 3 and at 6 Mbit/s, the two that are published."""

TOLD_FROM_OTHERS: Mapping[str, Callable[[Setting, Sequence[Setting]], float | None]] = {
    "mean": _mean,
    "factors": _factors,
    "nearest": _nearest,
    "other_bitrate": _other_bitrate,
}
"""The ones that do not know the answer."""

BASELINE_NAMES = {
    "nothing_lost": "nothing lost",
    "one_number": "one number",
    "mean": "mean",
    "factors": "factors",
    "nearest": "nearest",
    "other_bitrate": "other bitrate",
}
"""Each as it is called where it is shown."""


def _nothing_lost(one: Judgement) -> float:
    if one.unit == "s":
        return DURATION_S
    return 100.0 if one.bound == "transmissions" and one.column == "1 x" else 0.0


def _meets(one: Judgement, says: float) -> bool:
    return one.limit is not None and abs(says - one.published) <= one.limit
