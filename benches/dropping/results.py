"""What was measured, and how the page calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from cases import DEFAULT, MAIN_STARTUP_MS, METHODS, MOVIES, RIVALS, Link, Method, Setting
from measure import Row
from sweep import Key, Seen, Sweep

OPTIMISED = Setting(next(method for method in METHODS if method.name == "tcp+ifd-optimised"), None, "equal")


@dataclass(frozen=True)
class Results:
    """Everything measured."""

    codecs: Sequence[str]
    links: Sequence[Link]
    sweep: Sweep
    unseen: Sweep
    """Over the links that nothing was tuned on."""
    chosen: Sequence[Row]
    applications: Sequence[Row]

    def keys(self, startup_ms: int) -> list[Key]:
        """Every movie over every link."""
        return [(codec, link.name, startup_ms) for codec in self.codecs for link in self.links]

    def rows(self, codec: str, link: str, flow: str) -> list[Row]:
        """Of the full tables."""
        return [row for row in self.chosen if (row.codec, row.link, row.flow) == (codec, link, flow)]


def by_rule(startup_ms: int, socket: str = "equal") -> Setting:
    """Ours, with the limit that is known before."""
    return Setting(DEFAULT, startup_ms, socket)


def best_rival(sweep: Sweep, key: Key) -> Setting:
    """The one with the most frames shown, with equal sockets."""
    settings = [sweep.best(key, method, "equal") for method in RIVALS]
    return max(settings, key=lambda one: sweep.seen[key][one].shown_percent)


def best_ours(sweep: Sweep, key: Key) -> Setting:
    """Ours, with a limit chosen as theirs."""
    return sweep.best(key, DEFAULT, "equal")


def shown_settings(sweep: Sweep, codec: str, link: str) -> list[Setting]:
    """The rows of a full table."""
    key = (codec, link, MAIN_STARTUP_MS)
    best = [sweep.best(key, method, "equal") for method in METHODS]
    return list(dict.fromkeys([*best[:-1], by_rule(MAIN_STARTUP_MS), best[-1]]))


def mean(seen: Sequence[Seen]) -> Seen:
    """Over cells, each of the same weight."""
    return Seen(fmean(one.shown_percent for one in seen), fmean(one.longest_freeze_s for one in seen))


def movie(codec: str) -> str:
    """As the page calls it in a row."""
    return MOVIES[codec].replace("B frames without a pyramid", "no pyramid").replace("a pyramid of B frames", "pyramid")


def cell(key: Key) -> str:
    """A movie over a link."""
    return f"{movie(key[0])} over {key[1]}"


def named(setting: Setting) -> str:
    """A method with its limit."""
    return setting.method.label + (f" at {setting.limit_ms:,} ms" if setting.limit_ms else "")


def seconds(startup_ms: int) -> str:
    """A start-up."""
    return f"{startup_ms / 1000:g} s"


def span(values: Sequence[float], digits: int) -> str:
    """From the least to the most."""
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{least} to {most}"


def method_named(name: str) -> Method:
    """Of the lab's transports."""
    return next(method for method in METHODS if method.name == name)
