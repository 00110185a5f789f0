"""The page in short: means over everything, and what they say. Every figure and every "where" is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from framewire.report.figures.base import Figure, base_layout, rounded
from framewire.report.palette import TRANSPORT_COLOURS
from framewire.studies.dropping.choices import (
    Choice,
    best_ours,
    best_rival,
    by_rule,
    case,
    choice_of,
    mean,
    seconds,
)
from framewire.studies.dropping.claims import NEEDED_POINTS, lowest_latency, near_plain_tcp
from framewire.studies.dropping.measure import Key, Measured, Seen
from framewire.studies.dropping.plan import (
    MAIN_STARTUP_MS,
    METHODS,
    MOVIES,
    OPTIMISED,
    RIVALS,
    STARTUPS_MS,
    Setting,
)
from framewire.studies.dropping.tables import P95, SHOWN, Measure
from framewire.studies.parts import Drawing, Drawings
from framewire.studies.table import Cell, Table, of_texts

__all__ = ["drawings", "headline", "means", "points"]


def _mean(measured: Measured, startup: int, choice: Choice) -> Seen:
    return mean([measured.seen[key][choice(key)] for key in measured.keys(startup)])


def headline(measured: Measured) -> str:
    """The two numbers that matter most."""
    if not measured.keys(MAIN_STARTUP_MS):
        return "Nothing was measured."
    ours, theirs = (
        _mean(measured, MAIN_STARTUP_MS, choice).shown_percent
        for choice in (lambda key: by_rule(key[2]), lambda key: best_rival(measured, key))
    )
    return (
        f"With a start-up of {seconds(MAIN_STARTUP_MS)} dependency shows {ours:.1f} % of all frames in time in the "
        f"mean over movies and links, the best rival of each case with its best limit {theirs:.1f} %."
    )


def means(measured: Measured) -> Table:
    """So that a reader has one number."""
    choices: list[tuple[str, Choice, bool]] = [
        ("the best rival of each case, with its best limit", lambda key: best_rival(measured, key), False),
        ("ifd-optimised", lambda _: OPTIMISED, False),
        ("dependency, limit = start-up", lambda key: by_rule(key[2]), True),
        ("dependency, best limit", lambda key: best_ours(measured, key), False),
    ]
    known = [startup for startup in STARTUPS_MS if measured.keys(startup)]
    rows: list[list[str | Cell]] = []
    for name, choice, is_default in choices if known else ():
        seen = [_mean(measured, startup, choice) for startup in known]
        texts = [f"{one.shown_percent:.1f} % ({one.longest_freeze_s:.1f} s)" for one in seen]
        rows.append([name, *(Cell(text=text, mark="best" if is_default else None) for text in texts)])
    heads = ["mean over all movies and links", *(f"start-up {seconds(startup)}" for startup in known)]
    return of_texts(heads, rows, title="Frames shown in time, and the longest freeze", key="means")


def points(measured: Measured) -> Iterator[str]:
    """What the means say."""
    if measured.keys(MAIN_STARTUP_MS):
        yield _by_movie(measured)
        yield _optimised(measured)
        yield _nothing_dropped(measured)


def _shown(measured: Measured, codec: str, startup: int, choice: Choice) -> float:
    """Mean over the links."""
    keys = [key for key in measured.keys(startup) if key[0] == codec]
    return fmean(measured.seen[key][choice(key)].shown_percent for key in keys)


def _pairs(measured: Measured) -> list[tuple[str, int]]:
    return [(codec, startup) for startup in STARTUPS_MS for codec in measured.plan.movies]


def _by_movie(measured: Measured) -> str:
    """Whether it is the choice for every movie, against any one rival."""
    behind = []
    pairs = _pairs(measured)
    for codec, startup in pairs:
        ours = _shown(measured, codec, startup, lambda key: by_rule(key[2]))
        of_rivals = {one.label: _shown(measured, codec, startup, choice_of(measured, one)) for one in RIVALS}
        rival = max(of_rivals, key=lambda one: of_rivals[one])
        if round(of_rivals[rival], 1) > round(ours, 1):
            behind.append(
                f"{MOVIES[codec]}, start-up {seconds(startup)}: {ours:.1f} % against {of_rivals[rival]:.1f} % of "
                f"{rival}"
            )
    text = (
        "`dependency` with the player's start-up as its limit shows more frames, in the mean over the links, than any "
        f"one of the others with its best limits for {len(pairs) - len(behind)} of {len(pairs)} pairs of a movie and a "
        "start-up"
    )
    return f"{text}. Behind: {'; '.join(behind)}." if behind else f"{text}."


def _optimised(measured: Measured) -> str:
    """Where holding one frame is better, and where it is worst."""
    shown = {
        (codec, startup): (
            _shown(measured, codec, startup, lambda _: OPTIMISED),
            _shown(measured, codec, startup, lambda key: by_rule(key[2])),
        )
        for codec, startup in _pairs(measured)
    }

    def told(pair: tuple[str, int]) -> str:
        theirs, ours = shown[pair]
        return f"{MOVIES[pair[0]]}, start-up {seconds(pair[1])} ({theirs:.1f} % against {ours:.1f} %)"

    better = [told(pair) for pair, (theirs, ours) in shown.items() if round(theirs, 1) > round(ours, 1)]
    worst = max(shown, key=lambda pair: shown[pair][1] - shown[pair][0])
    lowest, count = lowest_latency(measured)
    return (
        f"`ifd-optimised` shows more than it with {'; '.join(better) if better else 'no movie'}, and is furthest "
        f"behind with {told(worst)}. The 95th percentile of its latency is below that of `dependency` and of all "
        f"rivals in {lowest} of {count} cases, start-up {seconds(MAIN_STARTUP_MS)}."
    )


def _nothing_dropped(measured: Measured) -> str:
    """Where plain TCP is as good."""
    near = [
        f"{case(key)}, start-up {seconds(key[2])} ({theirs:.1f} % against {ours:.1f} %)"
        for key, theirs, ours in near_plain_tcp(measured)
    ]
    count = sum(len(measured.keys(startup)) for startup in STARTUPS_MS)
    where = f": {'; '.join(near)}" if near else ""
    return (
        f"Nothing has to be dropped at all (plain TCP shows less than {NEEDED_POINTS:g} points fewer) in {len(near)} "
        f"of {count} cases{where}."
    )


def drawings(measured: Measured) -> Drawings:
    """Frames shown and latency, a bar per method."""
    keys = measured.keys(MAIN_STARTUP_MS)
    start = f"start-up {seconds(MAIN_STARTUP_MS)}"
    shown = _bars(measured, keys, "shown", f"Frames shown in time, {start}", SHOWN, {})
    latency = _bars(
        measured, keys, "latency", f"Latency of the frames that arrived, 95th percentile, {start}", P95, {"type": "log"}
    )
    return Drawings([Drawing(shown), Drawing(latency)])


def _bars(
    measured: Measured, keys: Sequence[Key], name: str, title: str, measure: Measure, axis: dict[str, str]
) -> Figure:
    data = [
        {
            "type": "bar",
            "name": method.label,
            "x": [case(key) for key in keys],
            "y": rounded([measure.mean(measured.of(key[0], key[1], _shown_of(measured, key, place))) for key in keys]),
            "marker": {"color": TRANSPORT_COLOURS[method.name]},
        }
        for place, method in enumerate(METHODS)
    ]
    hint = "Each method with its best limit, dependency with the start-up as its limit; equal sockets."
    absent = None if keys else "nothing was measured"
    layout = base_layout(measure.unit, barmode="group", yaxis=axis, height=420)
    return Figure(f"dropping-{name}", title, hint, data, layout, absent)


def _shown_of(measured: Measured, key: Key, place: int) -> Setting:
    return measured.shown_settings(key[0], key[1])[place]
