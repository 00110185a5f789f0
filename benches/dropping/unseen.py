"""The same over links that nothing was tuned on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import tables
from cases import STARTUPS_MS, UNSEEN, UNSEEN_MOVIES, Setting
from results import OPTIMISED, Results, best_ours, best_rival, by_rule, cell, mean, movie, named, seconds
from sweep import Key, Sweep

from framewire.studies.writers import markdown_table

Choice = Callable[[Key], Setting]
TITLE = "Links that nothing was tuned on"
HEADS = ("the best rival, with its best limit", "ifd-optimised", "**dependency**, limit = start-up",
         "dependency, best limit")  # fmt: skip

RULES = Path(__file__).parents[2] / "crates" / "transport" / "src" / "dependency" / "threshold.rs"
FIXED = (700, 1, 2, 1, 2, 300, 1, 4, 400, 320, 1, 3, 7, 8)
"""The numbers in the thresholds when these links were chosen."""


def section(results: Results) -> str:
    """A table of every movie, link and start-up, and how the lead compares with that in the cells of tuning."""
    sweep = results.unseen
    choices: list[Choice] = [
        lambda key: best_rival(sweep, key),
        lambda key: OPTIMISED,
        lambda key: by_rule(key[2]),
        lambda key: best_ours(sweep, key),
    ]
    lines = [["", *HEADS]]
    for startup in STARTUPS_MS:
        keys = [(codec, link.name, startup) for codec in UNSEEN_MOVIES for link in UNSEEN]
        for key in keys:
            chosen = [choice(key) for choice in choices]
            texts = tables.of_seen([sweep.seen[key][one] for one in chosen])
            texts[0] += f"<br>{named(chosen[0])}"
            texts[-1] += f"<br>{chosen[-1].limit_ms:,} ms"
            lines.append([f"{cell(key)}, {seconds(startup)}", *texts])
        means = tables.of_seen([mean([sweep.seen[key][choice(key)] for key in keys]) for choice in choices])
        lines.append([f"*mean, {seconds(startup)}*", *means])
    _check_unseen()
    return f"## {TITLE}\n\n{_words(results)}\n{markdown_table(lines[0], lines[1:])}\n"


def _check_unseen() -> None:
    """Raises ValueError where the thresholds are others: then these links have been seen, and new ones are wanted."""
    constants = re.findall(r"const [A-Z_]+: Threshold =(.*?);", RULES.read_text(encoding="utf-8"), re.DOTALL)
    numbers = tuple(int(number) for text in constants for number in re.findall(r"\b\d+\b", text))
    if numbers != FIXED:
        raise ValueError(
            f"{RULES}: the thresholds are {numbers}, and were {FIXED} when cases.UNSEEN was chosen: choose links that "
            "nothing was tuned on anew, then state the new numbers in unseen.FIXED"
        )


def _words(results: Results) -> str:
    leads = []
    for startup in STARTUPS_MS:
        here = _leads(results.unseen, [(codec, link.name, startup) for codec in UNSEEN_MOVIES for link in UNSEEN])
        there = _leads(results.sweep, [key for key in results.keys(startup) if key[0] in UNSEEN_MOVIES])
        text = (
            f"start-up {seconds(startup)}: {fmean(here):+.1f} % in the mean, behind in {_behind(here)} of {len(here)}"
        )
        if there:
            text += f" (over the links of tuning {fmean(there):+.1f} %, {_behind(there)} of {len(there)})"
        leads.append(f"- {text}\n")
    links = "".join(f"- {link.name}: {link.text}\n" for link in UNSEEN)
    movies = " and ".join(movie(codec) for codec in UNSEEN_MOVIES)
    said = (
        "These links were chosen after the thresholds of `dependency` were fixed, and no result over them has changed "
        f"any. The movies are two of the same, {movies}: it is the links and the draws that are new."
    )
    lead = (
        "What `dependency` with its limit at the start-up shows beyond the best rival with its best limit, and the "
        "same two movies over the links of the other tables:"
    )
    return (
        f"{tables.wrapped(said)}\n\n{links}\n{tables.wrapped(lead)}\n\n{''.join(leads)}\n"
        "Frames shown in time in per cent, and the longest freeze in seconds; equal sockets.\n"
    )


def _leads(sweep: Sweep, keys: Sequence[Key]) -> list[float]:
    return [
        round(sweep.seen[key][by_rule(key[2])].shown_percent, 1)
        - round(sweep.seen[key][best_rival(sweep, key)].shown_percent, 1)
        for key in keys
    ]


def _behind(leads: Sequence[float]) -> int:
    return sum(round(lead, 1) < 0 for lead in leads)
