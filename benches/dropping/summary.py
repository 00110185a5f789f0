"""The page in short: means over everything, and what they say. Every figure and every "where" is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean

import tables
from cases import MAIN_STARTUP_MS, RIVALS, STARTUPS_MS, Method, Setting
from results import (
    OPTIMISED,
    Results,
    best_ours,
    best_rival,
    by_rule,
    cell,
    mean,
    method_named,
    movie,
    seconds,
    shown_settings,
)
from sweep import Key

from framewire.studies.writers import markdown_table

Choice = Callable[[Key], Setting]

NEAR_PERCENT = 3.0
"""Who shows at least so nearly as many frames as ours makes dropping needless."""


def in_short(results: Results) -> str:
    """A table of means, so that a reader has one number, and sentences."""
    choices: list[tuple[str, Choice]] = [
        ("the best rival of each cell, with its best limit", lambda key: best_rival(results.sweep, key)),
        ("`ifd-optimised`", lambda key: OPTIMISED),
        ("**`dependency`, limit = start-up**", lambda key: by_rule(key[2])),
        ("`dependency`, best limit", lambda key: best_ours(results.sweep, key)),
    ]
    lines = [["mean over all movies and links", *(f"start-up {seconds(startup)}" for startup in STARTUPS_MS)]]
    for name, choice in choices:
        cells = [_mean(results, startup, choice) for startup in STARTUPS_MS]
        lines.append([name, *(f"**{one}**" if name.startswith("**") else one for one in cells)])
    said = (_by_movie(results), _optimised(results), _nothing_dropped(results))
    words = "\n".join(tables.wrapped(one, "- ") for one in said)
    return (
        f"**In short.** Frames shown in time, and the longest freeze:\n\n{markdown_table(lines[0], lines[1:])}\n{words}"
    )


def _mean(results: Results, startup: int, choice: Choice) -> str:
    one = mean([results.sweep.seen[key][choice(key)] for key in results.keys(startup)])
    return f"{one.shown_percent:.1f} % ({one.longest_freeze_s:.1f} s)"


def _shown(results: Results, codec: str, startup: int, choice: Choice) -> float:
    """Mean over the links."""
    keys = [key for key in results.keys(startup) if key[0] == codec]
    return fmean(results.sweep.seen[key][choice(key)].shown_percent for key in keys)


def _pairs(results: Results) -> Iterator[tuple[str, int]]:
    return ((codec, startup) for startup in STARTUPS_MS for codec in results.codecs)


def _by_movie(results: Results) -> str:
    """Whether it is the choice for every movie, against any one rival."""

    def of(method: Method) -> Choice:
        return lambda key: results.sweep.best(key, method, "equal")

    behind = []
    pairs = list(_pairs(results))
    for codec, startup in pairs:
        ours = _shown(results, codec, startup, lambda key: by_rule(key[2]))
        rival = max(RIVALS, key=lambda method: _shown(results, codec, startup, of(method)))
        theirs = _shown(results, codec, startup, of(rival))
        if round(theirs, 1) > round(ours, 1):
            behind.append(f"{movie(codec)}, start-up {seconds(startup)}: {ours:.1f} % against {theirs:.1f} % of "
                          f"{rival.label}")  # fmt: skip
    text = (
        "`dependency` with the player's start-up as its limit shows more frames, in the mean over the links, than any "
        f"one of the others with its best limits for {len(pairs) - len(behind)} of {len(pairs)} pairs of a movie and a "
        "start-up"
    )
    return f"{text}. Behind: {'; '.join(behind)}." if behind else f"{text}."


def _optimised(results: Results) -> str:
    """Where holding one frame is better, and where it is worst."""
    shown = {
        (codec, startup): (
            _shown(results, codec, startup, lambda key: OPTIMISED),
            _shown(results, codec, startup, lambda key: by_rule(key[2])),
        )
        for codec, startup in _pairs(results)
    }

    def told(pair: tuple[str, int]) -> str:
        theirs, ours = shown[pair]
        return f"{movie(pair[0])}, start-up {seconds(pair[1])} ({theirs:.1f} % against {ours:.1f} %)"

    better = [told(pair) for pair, (theirs, ours) in shown.items() if round(theirs, 1) > round(ours, 1)]
    worst = max(shown, key=lambda pair: shown[pair][1] - shown[pair][0])
    lowest, count = _lowest_latency(results)
    return (
        f"`ifd-optimised` shows more than it with {'; '.join(better) if better else 'no movie'}, and is furthest "
        f"behind with {told(worst)}. The 95th percentile of its latency is below that of `dependency` and of all "
        f"rivals in {lowest} of {count} cells, start-up {seconds(MAIN_STARTUP_MS)}."
    )


def _lowest_latency(results: Results) -> tuple[int, int]:
    lowest = 0
    keys = results.keys(MAIN_STARTUP_MS)
    for codec, link, _ in keys:
        latency = {
            setting: tables.P95.mean(results.rows(codec, link, setting.flow_name))
            for setting in shown_settings(results.sweep, codec, link)
            if setting.method.name != "tcp+ifd"
        }
        own = latency.pop(OPTIMISED)
        lowest += own is not None and all(value is None or own < value for value in latency.values())
    return lowest, len(keys)


def _nothing_dropped(results: Results) -> str:
    """Where plain TCP is as good."""
    plain = Setting(method_named("tcp"), None, "equal")
    keys = [key for startup in STARTUPS_MS for key in results.keys(startup)]
    near = []
    for key in keys:
        theirs, ours = (results.sweep.seen[key][one].shown_percent for one in (plain, by_rule(key[2])))
        if theirs > ours - NEAR_PERCENT:
            near.append(f"{cell(key)}, start-up {seconds(key[2])} ({theirs:.1f} % against {ours:.1f} %)")
    where = f": {'; '.join(near)}" if near else ""
    return (
        f"Nothing has to be dropped at all (plain TCP shows no more than {NEAR_PERCENT:g} % fewer) in {len(near)} of "
        f"{len(keys)} cells{where}."
    )
