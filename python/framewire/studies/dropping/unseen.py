"""The same over links that nothing was tuned on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from framewire.studies.dropping.choices import Choice, best_ours, best_rival, by_rule, case, mean, named, seconds
from framewire.studies.dropping.claims import lead
from framewire.studies.dropping.measure import Key, Measured
from framewire.studies.dropping.plan import MOVIES, OPTIMISED, STARTUPS_MS
from framewire.studies.dropping.tables import seen_cells
from framewire.studies.parts import Part, Points, Section
from framewire.studies.table import Cell, Table, of_texts

__all__ = ["THRESHOLDS", "section"]

TITLE = "Links that nothing was tuned on"

THRESHOLDS = (700, 1, 2, 1, 2, 300, 1, 4, 400, 320, 1, 3, 7, 8)
"""The numbers in the rules of ``dependency`` (crates/transport/src/dependency/threshold.rs) when these links were
chosen. Where they are others, these links have been seen, and new ones are wanted: a test compares."""


def section(measured: Measured) -> Section:
    """How the lead compares with that in the cases of tuning, and a table of every movie, link and start-up."""
    movies = " and ".join(MOVIES[codec] for codec in measured.plan.unseen_movies)
    said = (
        "These links were chosen after the thresholds of `dependency` were fixed, and no result over them has changed "
        f"any. The movies are of the same, {movies}: it is the links and the draws that are new."
    )
    lead_is = (
        "What `dependency` with its limit at the start-up shows beyond the best rival with its best limit, and the "
        "same movies over the links of the other tables:"
    )
    links = Points([f"{link.name}: {link.text}" for link in measured.plan.unseen])
    words = "Frames shown in time in per cent, and the longest freeze in seconds; equal sockets."
    parts: list[Part] = [said, links, lead_is, Points(list(_leads(measured))), words, _table(measured)]
    return Section(TITLE, parts, "unseen", "Links not tuned on")


def _leads(measured: Measured) -> Iterator[str]:
    for startup in STARTUPS_MS:
        here = _of_each(measured, measured.unseen_keys(startup))
        there = _of_each(measured, [key for key in measured.keys(startup) if key[0] in measured.plan.unseen_movies])
        if here:
            text = f"start-up {seconds(startup)}: {_told(here)}"
            yield f"{text} (over the links of tuning {_told(there)})" if there else text


def _told(leads: Sequence[float]) -> str:
    behind = sum(round(one, 1) < 0 for one in leads)
    return f"{fmean(leads):+.1f} points in the mean, behind in {behind} of {len(leads)}"


def _of_each(measured: Measured, keys: Sequence[Key]) -> list[float]:
    return [
        fmean(lead(measured, [key], lambda one: by_rule(one[2]), lambda one: best_rival(measured, one))) for key in keys
    ]


def _table(measured: Measured) -> Table:
    choices: list[tuple[str, Choice]] = [
        ("the best rival, with its best limit", lambda key: best_rival(measured, key)),
        ("ifd-optimised", lambda _: OPTIMISED),
        ("dependency, limit = start-up", lambda key: by_rule(key[2])),
        ("dependency, best limit", lambda key: best_ours(measured, key)),
    ]
    rows: list[list[str | Cell]] = []
    for startup in STARTUPS_MS:
        keys = measured.unseen_keys(startup)
        for key in keys:
            chosen = [choice(key) for _, choice in choices]
            below = [named(chosen[0]), "", "", f"{chosen[-1].limit_ms:,} ms"]
            rows.append([
                f"{case(key)}, {seconds(startup)}",
                *seen_cells([measured.seen[key][one] for one in chosen], below),
            ])  # fmt: skip
        if keys:
            of_all = [mean([measured.seen[key][choice(key)] for key in keys]) for _, choice in choices]
            rows.append([f"mean, {seconds(startup)}", *seen_cells(of_all)])
    return of_texts(["", *(name for name, _ in choices)], rows, title=TITLE, key="unseen-links")
