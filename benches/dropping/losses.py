"""Where the best of the others beats our default, by every measure of the full tables, and why it is left at that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import cases
import tables
from cases import DEFAULT, LIMITS_MS, MAIN_STARTUP_MS, RIVALS, STARTUPS_MS, Setting
from results import OPTIMISED, Results, by_rule, cell, method_named, named, seconds, span
from sweep import Key

COUNTED = 0.5
"""A rival counts from this share of the frames that ours shows: a stream that is late altogether loses no key frame."""

OF_SWEEP = (tables.SHOWN, tables.FREEZE)
"""Known for every start-up; the others only for the main one."""


@dataclass(frozen=True)
class Loss:
    """A cell in which a rival is better by a measure."""

    key: Key
    rival: Setting
    ours: float
    theirs: float


def section(results: Results) -> str:
    """The lists, and the reasons."""
    parts = [_rules(results)]
    for measure, startup in _measures():
        lost = losses(results, measure, startup)
        parts.append(f"- **{measure.title}, start-up {seconds(startup)}**: behind in {len(lost)} of "
                     f"{len(results.keys(startup))}\n")  # fmt: skip
        parts.extend(f"  - {_told(results, measure, one)}\n" for one in lost)
    return "".join([*parts, "\n", _why(results), "\n"])


def _measures() -> list[tuple[tables.Measure, int]]:
    others = [(measure, MAIN_STARTUP_MS) for measure in tables.MEASURES if measure not in OF_SWEEP]
    return [*((measure, startup) for measure in OF_SWEEP for startup in STARTUPS_MS), *others]


def _rules(results: Results) -> str:
    keys = results.keys(MAIN_STARTUP_MS)
    left_out = Counter(
        method.label for key in keys for method in RIVALS if not _counts(results, key, _setting(results, key, method))
    )
    listed = ", ".join(f"{label} in {count}" for label, count in left_out.most_common()) or "nobody"
    lower = sum(
        (_value(results, tables.P95, key, OPTIMISED) or 0.0) < (_value(results, tables.P95, key, _ours(key)) or 0.0)
        for key in keys
    )
    rules = (
        "With its limit at the start-up, against the best of the others by the measure that is named, each with the "
        "limit that showed most in that cell: one chosen for another measure could not show more. A "
        f"rival that showed less than {100 * COUNTED:g} % of what `dependency` showed is not counted, as a stream that "
        "is late altogether loses no key frame and freezes in one piece; with a start-up of "
        f"{seconds(MAIN_STARTUP_MS)} that leaves out {listed}, of {len(keys)} cells. Latency is that of the frames "
        "which arrived, and a rule that drops more has less of it: it is counted all the same, and both shares of "
        "frames shown stand beside it. `ifd` and `ifd-optimised` are not among the others, being ours; the 95th "
        f"percentile of `ifd-optimised` is below that of `dependency` in {lower} of {len(keys)}."
    )
    return f"## Where `dependency` loses\n\n{tables.wrapped(rules)}\n\n"


def losses(results: Results, measure: tables.Measure, startup: int) -> list[Loss]:
    """Where ours is behind, as far as the digits of the tables show."""
    found = []
    for key in results.keys(startup):
        ours = _value(results, measure, key, _ours(key))
        rivals = [_setting(results, key, method) for method in RIVALS]
        known = {
            one: value
            for one in rivals
            if _counts(results, key, one) and (value := _value(results, measure, key, one)) is not None
        }
        if ours is None or not known:
            continue
        best = (max if measure.more_is_better else min)(known, key=lambda one: known[one])
        ahead, behind = (known[best], ours) if measure.more_is_better else (ours, known[best])
        if round(ahead, measure.digits) > round(behind, measure.digits):
            found.append(Loss(key, best, ours, known[best]))
    return found


def _ours(key: Key) -> Setting:
    return by_rule(key[2])


def _setting(results: Results, key: Key, method: cases.Method) -> Setting:
    return results.sweep.best(key, method, "equal")


def _counts(results: Results, key: Key, rival: Setting) -> bool:
    seen = results.sweep.seen[key]
    return seen[rival].shown_percent >= COUNTED * seen[_ours(key)].shown_percent


def _value(results: Results, measure: tables.Measure, key: Key, setting: Setting) -> float | None:
    if measure == tables.SHOWN:
        return results.sweep.seen[key][setting].shown_percent
    if measure == tables.FREEZE:
        return results.sweep.seen[key][setting].longest_freeze_s
    return measure.mean(results.rows(key[0], key[1], setting.flow_name))


def _told(results: Results, measure: tables.Measure, loss: Loss) -> str:
    text = f"{cell(loss.key)} {measure.text(loss.ours)} against {measure.text(loss.theirs)} of {named(loss.rival)}"
    if measure == tables.SHOWN:
        return text
    shown = [results.sweep.seen[loss.key][one].shown_percent for one in (_ours(loss.key), loss.rival)]
    return f"{text} (shown {shown[0]:.1f} % against {shown[1]:.1f} %)"


def _why(results: Results) -> str:
    reasons = [_freezes(results), _standstill(results), _long_startup(results)]
    return "Why it is left at that:\n\n" + "".join(tables.wrapped(one, "- ") + "\n" for one in reasons if one)


def _freezes(results: Results) -> str:
    lost = losses(results, tables.FREEZE, MAIN_STARTUP_MS)
    seen = results.sweep.seen
    more = [seen[one.key][_ours(one.key)].shown_percent - seen[one.key][one.rival].shown_percent for one in lost]
    if not more:
        return ""
    assert fmean(more) > 0, "the page says that longer freezes are paid back in frames"
    narrow = [key for key in results.keys(MAIN_STARTUP_MS) if key[1] == cases.NARROW.name]
    obs = method_named("tcp+obs")
    ours = [seen[key][_ours(key)] for key in narrow]
    theirs = [seen[key][_setting(results, key, obs)] for key in narrow]

    def both(which: Sequence[object]) -> str:
        freezes = span([one.longest_freeze_s for one in which], 2)  # type: ignore[attr-defined]
        return f"{freezes} s, {span([one.shown_percent for one in which], 1)} % shown"  # type: ignore[attr-defined]

    return (
        "**Freezes.** A link that is too narrow takes a share of the frames from every method. OBS Studio's rule takes "
        "B frames everywhere, as long as they suffice, which are short gaps and many of them; `dependency` takes the "
        f"ends of groups, which is one longer gap in a group. Over {cases.NARROW.name}: {both(theirs)} for the former, "
        f"{both(ours)} for the latter. Frames are the return: where its longest freeze is the longer one (start-up "
        f"{seconds(MAIN_STARTUP_MS)}), `dependency` shows {fmean(more):.1f} % more in the mean ({span(more, 1)} %). "
        f"{_no_return(results)}"
    )


def _no_return(results: Results) -> str:
    """Where a longer freeze bought nothing."""
    seen = results.sweep.seen
    every = [one for startup in STARTUPS_MS for one in losses(results, tables.FREEZE, startup)]
    none = [
        f"{cell(one.key)}, start-up {seconds(one.key[2])}"
        for one in every
        if seen[one.key][_ours(one.key)].shown_percent <= seen[one.key][one.rival].shown_percent
    ]
    return (
        f"Of the {len(every)} longer freezes with any start-up, {len(none)} had no such return"
        f"{': ' if none else ''}{'; '.join(none)}."
    )


def _standstill(results: Results) -> str:
    keys = [key for key in results.keys(MAIN_STARTUP_MS) if key[1] in cases.TRACES]
    if not keys:
        return ""
    seen = results.sweep.seen
    floors = []
    for link in dict.fromkeys(key[1] for key in keys):
        least = min(
            one.longest_freeze_s
            for key in keys
            if key[1] == link
            for setting, one in seen[key].items()
            if setting.socket == "equal" and _counts(results, key, setting)
        )
        floors.append(f"{least:.2f} s over {link}")
    near = [limit for limit in LIMITS_MS if abs(limit - MAIN_STARTUP_MS) <= 0.15 * MAIN_STARTUP_MS]
    steps = [
        (abs(first.longest_freeze_s - second.longest_freeze_s), abs(first.shown_percent - second.shown_percent), key)
        for key in keys
        for first, second in pairwise(seen[key][Setting(DEFAULT, limit, "equal")] for limit in near)
    ]
    freeze, shown, key = max(steps)
    return (
        "**Links that stand still** for longer than the player waits freeze every method: with no rule and no limit is "
        f"the longest freeze below {' and '.join(floors)}, whatever the movie (rules and limits that count as above). "
        "What differs is "
        "where in a group the stream goes on, which is chance: between neighbours among the limits of "
        f"{', '.join(f'{limit:,}' for limit in near)} ms the longest freeze of `dependency` differs by up to "
        f"{freeze:.2f} s ({cell(key)}; frames shown by {shown:.1f} %), and by "
        f"{fmean(one[0] for one in steps):.2f} s in the mean."
    )


def _long_startup(results: Results) -> str:
    startup = STARTUPS_MS[-1]
    lost = losses(results, tables.SHOWN, startup)
    if not lost:
        return ""
    who = Counter(one.rival.method.label for one in lost)
    listed = ", ".join(f"{label} in {count}" for label, count in who.most_common())
    most = max(one.theirs - one.ours for one in lost)
    return (
        f"**A start-up of {seconds(startup)}.** Ahead are {listed}, by up to {most:.1f} %. Who drops late and whole "
        "groups wins where the link comes back in time, and he who never drops where it always does; which it will be "
        "is known only afterwards."
    )
