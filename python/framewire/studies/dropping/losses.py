"""Where the best of the others beats our default, by every measure of the full tables, and why it is left at that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from framewire.studies.dropping.choices import by_rule, case, named, seconds, span
from framewire.studies.dropping.measure import Key, Measured, Seen
from framewire.studies.dropping.plan import (
    DEFAULT,
    LIMITS_MS,
    MAIN_STARTUP_MS,
    METHODS,
    NARROW,
    OPTIMISED,
    RIVALS,
    STARTUPS_MS,
    TRACES,
    Method,
    Setting,
)
from framewire.studies.dropping.tables import FREEZE, MEASURES, P95, SHOWN, Measure
from framewire.studies.parts import Folded, Part, Points, Section

__all__ = ["Loss", "losses", "section"]

COUNTED = 0.5
"""A rival counts from this share of the frames that ours shows: a stream that is late altogether loses no key frame."""

OF_EVERY_STARTUP = (SHOWN, FREEZE)
"""Known for every start-up; the others only for the main one."""

OBS = METHODS[3]


@dataclass(frozen=True)
class Loss:
    """A case in which a rival is better by a measure."""

    key: Key
    rival: Setting
    ours: float
    theirs: float


def section(measured: Measured) -> Section:
    """The lists, and the reasons."""
    parts: list[Part] = [_rules(measured)]
    for measure, startup in _measures():
        lost = losses(measured, measure, startup)
        summary = (
            f"{measure.title}, start-up {seconds(startup)}: behind in {len(lost)} of {len(measured.keys(startup))}"
        )
        points = [_told(measured, measure, one) for one in lost]
        parts.append(Folded(summary, [Points(points)] if points else []))
    parts += ["**Why it is left at that**", Points(list(_why(measured)))]
    return Section("Where dependency loses", parts, "losses", "Where it loses")


def _measures() -> list[tuple[Measure, int]]:
    others = [(measure, MAIN_STARTUP_MS) for measure in MEASURES if measure not in OF_EVERY_STARTUP]
    return [*((measure, startup) for measure in OF_EVERY_STARTUP for startup in STARTUPS_MS), *others]


def _rules(measured: Measured) -> str:
    keys = measured.keys(MAIN_STARTUP_MS)
    left_out = Counter(
        method.label for key in keys for method in RIVALS if not _counts(measured, key, _best(measured, key, method))
    )
    listed = ", ".join(f"{label} in {count}" for label, count in left_out.most_common()) or "nobody"
    lower = sum(
        (_value(measured, P95, key, OPTIMISED) or 0.0) < (_value(measured, P95, key, by_rule(key[2])) or 0.0)
        for key in keys
    )
    return (
        "With its limit at the start-up, against the best of the others by the measure that is named, each with the "
        "limit that showed most in that case: one chosen for another measure could not show more. A "
        f"rival that showed less than {100 * COUNTED:g} % of what `dependency` showed is not counted, as a stream that "
        "is late altogether loses no key frame and freezes in one piece; with a start-up of "
        f"{seconds(MAIN_STARTUP_MS)} that leaves out {listed}, of {len(keys)} cases. Latency is that of the frames "
        "which arrived, and a rule that drops more has less of it: it is counted all the same, and both shares of "
        "frames shown stand beside it. `ifd` and `ifd-optimised` are not among the others, being ours; the 95th "
        f"percentile of `ifd-optimised` is below that of `dependency` in {lower} of {len(keys)}."
    )


def losses(measured: Measured, measure: Measure, startup: int) -> list[Loss]:
    """Where ours is behind, as far as the digits of the tables show."""
    found = []
    for key in measured.keys(startup):
        ours = _value(measured, measure, key, by_rule(startup))
        known = {
            one: value
            for one in (_best(measured, key, method) for method in RIVALS)
            if _counts(measured, key, one) and (value := _value(measured, measure, key, one)) is not None
        }
        if ours is None or not known:
            continue
        best = max(known, key=lambda one: known[one] if measure.more_is_better else -known[one])
        ahead, behind = (known[best], ours) if measure.more_is_better else (ours, known[best])
        if round(ahead, measure.digits) > round(behind, measure.digits):
            found.append(Loss(key, best, ours, known[best]))
    return found


def _best(measured: Measured, key: Key, method: Method) -> Setting:
    return measured.best(key, method, "equal")


def _ours(measured: Measured, key: Key) -> Seen:
    return measured.seen[key][by_rule(key[2])]


def _counts(measured: Measured, key: Key, rival: Setting) -> bool:
    return measured.seen[key][rival].shown_percent >= COUNTED * _ours(measured, key).shown_percent


def _value(measured: Measured, measure: Measure, key: Key, setting: Setting) -> float | None:
    if measure == SHOWN:
        return measured.seen[key][setting].shown_percent
    if measure == FREEZE:
        return measured.seen[key][setting].longest_freeze_s
    return measure.mean(measured.of(key[0], key[1], setting))


def _told(measured: Measured, measure: Measure, loss: Loss) -> str:
    text = f"{case(loss.key)} {measure.text(loss.ours)} against {measure.text(loss.theirs)} of {named(loss.rival)}"
    if measure == SHOWN:
        return text
    ours, theirs = _ours(measured, loss.key), measured.seen[loss.key][loss.rival]
    return f"{text} (shown {ours.shown_percent:.1f} % against {theirs.shown_percent:.1f} %)"


def _why(measured: Measured) -> Iterator[str]:
    yield from filter(None, (_freezes(measured), _standstill(measured), _long_startup(measured)))


def _freezes(measured: Measured) -> str:
    lost = losses(measured, FREEZE, MAIN_STARTUP_MS)
    narrow = [key for key in measured.keys(MAIN_STARTUP_MS) if key[1] == NARROW.name]
    if not lost or not narrow:
        return ""
    more = [_ours(measured, one.key).shown_percent - measured.seen[one.key][one.rival].shown_percent for one in lost]
    ours = [_ours(measured, key) for key in narrow]
    theirs = [measured.seen[key][_best(measured, key, OBS)] for key in narrow]

    def both(which: Sequence[Seen]) -> str:
        freezes = span([one.longest_freeze_s for one in which], 2)
        return f"{freezes} s, {span([one.shown_percent for one in which], 1)} % shown"

    return (
        "**Freezes.** A link that is too narrow takes a share of the frames from every method. OBS Studio's rule takes "
        "B frames everywhere, as long as they suffice, which are short gaps and many of them; `dependency` takes the "
        f"ends of groups, which is one longer gap in a group. Over {NARROW.name}: {both(theirs)} for the former, "
        f"{both(ours)} for the latter. Where its longest freeze is the longer one (start-up "
        f"{seconds(MAIN_STARTUP_MS)}), `dependency` shows {fmean(more):+.1f} points in the mean ({span(more, 1)}). "
        f"{_no_return(measured)}"
    )


def _no_return(measured: Measured) -> str:
    """Where a longer freeze bought nothing."""
    every = [one for startup in STARTUPS_MS for one in losses(measured, FREEZE, startup)]
    none = [
        f"{case(one.key)}, start-up {seconds(one.key[2])}"
        for one in every
        if _ours(measured, one.key).shown_percent <= measured.seen[one.key][one.rival].shown_percent
    ]
    return (
        f"Of the {len(every)} longer freezes with any start-up, {len(none)} showed no more frames"
        f"{': ' if none else ''}{'; '.join(none)}."
    )


def _standstill(measured: Measured) -> str:
    keys = [key for key in measured.keys(MAIN_STARTUP_MS) if key[1] in TRACES]
    if not keys:
        return ""
    floors = []
    for link in dict.fromkeys(key[1] for key in keys):
        least = min(
            one.longest_freeze_s
            for key in keys
            if key[1] == link
            for setting, one in measured.seen[key].items()
            if setting.socket == "equal" and _counts(measured, key, setting)
        )
        floors.append(f"{least:.2f} s over {link}")
    near = [limit for limit in LIMITS_MS if abs(limit - MAIN_STARTUP_MS) <= 0.15 * MAIN_STARTUP_MS]
    steps = [
        (abs(first.longest_freeze_s - second.longest_freeze_s), abs(first.shown_percent - second.shown_percent), key)
        for key in keys
        for first, second in pairwise(measured.seen[key][Setting(DEFAULT, limit, "equal")] for limit in near)
    ]
    freeze, shown, key = max(steps)
    return (
        "**Links that stand still** for longer than the player waits freeze every method: with no rule and no limit is "
        f"the longest freeze below {' and '.join(floors)}, whatever the movie (rules and limits that count as above). "
        "What differs is where in a group the stream goes on, which is chance: between neighbours among the limits of "
        f"{', '.join(f'{limit:,}' for limit in near)} ms the longest freeze of `dependency` differs by up to "
        f"{freeze:.2f} s ({case(key)}; frames shown by {shown:.1f} points), and by "
        f"{fmean(one[0] for one in steps):.2f} s in the mean."
    )


def _long_startup(measured: Measured) -> str:
    startup = STARTUPS_MS[-1]
    lost = losses(measured, SHOWN, startup)
    if not lost:
        return ""
    who = Counter(one.rival.method.label for one in lost)
    listed = ", ".join(f"{label} in {count}" for label, count in who.most_common())
    most = max(one.theirs - one.ours for one in lost)
    return (
        f"**A start-up of {seconds(startup)}.** Ahead are {listed}, by up to {most:.1f} points. A rule that drops late "
        "and whole groups is ahead where the link comes back in time, and dropping nothing where it always does; which "
        "it will be is known only afterwards."
    )
