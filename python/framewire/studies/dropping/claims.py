"""What docs/dropping.md says of our dropping, as bounds of this project on what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from framewire.studies.dropping.applications import ELEMENT, TWIN, mean_shown, rivals_shown
from framewire.studies.dropping.choices import Choice, best_rival, by_rule, case, choice_of, seconds, span
from framewire.studies.dropping.measure import Key, Measured
from framewire.studies.dropping.plan import MAIN_STARTUP_MS, METHODS, MOVIES, OPTIMISED, RIVALS, STARTUPS_MS
from framewire.studies.dropping.tables import P95
from framewire.studies.verdicts import Bounds, Claim, Finding, Number, Verdict, together

__all__ = ["NEEDED_POINTS", "findings", "lead", "lowest_latency", "near_plain_tcp"]

NEEDED_POINTS = 3.0
"""Where plain TCP shows so many frames in a hundred fewer than ours, dropping was needed."""

AGREE_POINTS = 3.0
"""What an element and the lab's transport with the same rules may differ by in the mean of all cases, in real time."""

AHEAD = Bounds(low=0.0)


def findings(measured: Measured) -> list[Finding]:
    """What came of each."""
    return [*_by_movie(measured), *_unseen(measured), _latency(measured), _needed(measured), *_programs(measured)]


def lead(measured: Measured, keys: Sequence[Key], ours: Choice, theirs: Choice) -> list[float]:
    """What ours shows beyond theirs, in points, in the mean over cases: one for each draw where there are any."""
    pairs = [(measured.seen[key][ours(key)].shown, measured.seen[key][theirs(key)].shown) for key in keys]
    draws = max(len(one) for one, _ in pairs)
    return [fmean(one[min(draw, len(one) - 1)] - other[min(draw, len(one) - 1)] for one, other in pairs)
            for draw in range(draws)]  # fmt: skip


def _judged(measured: Measured, keys: Sequence[Key], values: Sequence[float], bounds: Bounds) -> Verdict:
    is_drawn = any(measured.plan.link(link).is_drawn for _, link, _ in keys)
    return bounds.judge(Number.of(values), exact=not is_drawn)


def _by_movie(measured: Measured) -> Iterator[Finding]:
    for startup in STARTUPS_MS:
        claim = Claim(
            f"start-up {seconds(startup)}",
            "For every movie `dependency` with its limit at the start-up shows more frames, in the mean over the "
            "links, than any one of the others with its best limits.",
        )
        yield _of_cases(measured, claim, [
            [key for key in measured.keys(startup) if key[0] == codec] for codec in MOVIES
        ], lambda keys: _strongest(measured, keys), "movies")  # fmt: skip


def _strongest(measured: Measured, keys: Sequence[Key]) -> Choice:
    """The one rival with the most frames in the mean over cases."""
    choices = [choice_of(measured, method) for method in RIVALS]
    return max(choices, key=lambda choice: fmean(measured.seen[key][choice(key)].shown_percent for key in keys))


def _unseen(measured: Measured) -> Iterator[Finding]:
    for startup in STARTUPS_MS:
        claim = Claim(
            f"start-up {seconds(startup)}",
            "Over links that nothing was tuned on it shows more frames, in the mean, than the best rival of each case.",
        )
        yield _of_cases(
            measured, claim, [measured.unseen_keys(startup)], lambda _: lambda key: best_rival(measured, key), "means"
        )


def _of_cases(
    measured: Measured,
    claim: Claim,
    groups: Sequence[Sequence[Key]],
    rival: Callable[[Sequence[Key]], Choice],
    what: str,
) -> Finding:
    """A claim on groups of cases holds where it holds on each."""
    known = [keys for keys in groups if keys]
    leads = [lead(measured, keys, lambda key: by_rule(key[2]), rival(keys)) for keys in known]
    judged = [_judged(measured, keys, values, AHEAD) for keys, values in zip(known, leads, strict=True)]
    means = [fmean(values) for values in leads]
    where = f" in {len(means)} {what}" if len(means) > 1 else ""
    return Finding(claim, f"{span(means, 1)} points more{where}" if means else "", together(judged))


def _latency(measured: Measured) -> Finding:
    claim = Claim(
        f"start-up {seconds(MAIN_STARTUP_MS)}",
        "The 95th percentile of the latency of `ifd-optimised` is below that of `dependency` and of all others.",
    )
    lowest, count = lowest_latency(measured)
    return Finding(
        claim,
        f"in {lowest} of {count} cases" if count else "",
        Verdict.of(lowest == count) if count else Verdict.NOT_MEASURED,
    )


def lowest_latency(measured: Measured) -> tuple[int, int]:
    """In how many cases, of how many, that of `ifd-optimised` is the lowest; `ifd` apart."""
    lowest = 0
    keys = measured.keys(MAIN_STARTUP_MS)
    for codec, link, _ in keys:
        latency = {
            setting: P95.mean(measured.of(codec, link, setting))
            for setting in measured.shown_settings(codec, link)
            if setting.method.name != "tcp+ifd"
        }
        own = latency.pop(OPTIMISED)
        lowest += own is not None and all(value is None or own < value for value in latency.values())
    return lowest, len(keys)


def _needed(measured: Measured) -> Finding:
    claim = Claim("every start-up", f"Plain TCP shows at least {NEEDED_POINTS:g} points fewer, in every case.")
    keys = [key for startup in STARTUPS_MS for key in measured.keys(startup)]
    bounds = Bounds(low=NEEDED_POINTS)
    leads = {key: lead(measured, [key], lambda key: by_rule(key[2]), choice_of(measured, METHODS[0])) for key in keys}
    judged = [_judged(measured, [key], values, bounds) for key, values in leads.items()]
    if not keys:
        return Finding(claim, "", Verdict.NOT_MEASURED)
    least = min(leads, key=lambda key: fmean(leads[key]))
    finds = f"at least {fmean(leads[least]):.1f} points ({case(least)}, start-up {seconds(least[2])})"
    return Finding(claim, finds, together(judged))


def near_plain_tcp(measured: Measured) -> list[tuple[Key, float, float]]:
    """Cases in which dropping was not needed, with what plain TCP and ours show."""
    found = []
    for key in (key for startup in STARTUPS_MS for key in measured.keys(startup)):
        theirs = measured.seen[key][measured.best(key, METHODS[0], "equal")].shown_percent
        ours = measured.seen[key][by_rule(key[2])].shown_percent
        if theirs > ours - NEEDED_POINTS:
            found.append((key, theirs, ours))
    return found


def _programs(measured: Measured) -> Iterator[Finding]:
    """Of single runs in real time, so without an interval."""
    ahead = Claim("the programs themselves", "`ifdsink` shows more frames than any program of others, in the mean.")
    agree = Claim(
        "the programs themselves",
        f"`ifdsink` and the lab's `tcp+dependency` show the same in the mean, to within {AGREE_POINTS:g} points.",
    )
    ours, twin = (mean_shown(measured.applications, name) for name in (ELEMENT, TWIN))
    others = rivals_shown(measured.applications)
    if ours is None or not others:
        yield Finding(ahead, "", Verdict.NOT_MEASURED)
    else:
        name = max(others, key=lambda one: others[one])
        yield Finding(ahead, f"{ours:.1f} % against {others[name]:.1f} % of {name}", Verdict.of(ours > others[name]))
    if ours is None or twin is None:
        yield Finding(agree, "", Verdict.NOT_MEASURED)
    else:
        yield Finding(agree, f"{ours:.1f} % and {twin:.1f} %", Verdict.of(abs(ours - twin) <= AGREE_POINTS))
