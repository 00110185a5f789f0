"""Which settings are compared with which, and how the page calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from framewire.studies.dropping.measure import Key, Measured, Seen
from framewire.studies.dropping.plan import DEFAULT, MOVIES, RIVALS, Method, Setting

__all__ = ["Choice", "best_ours", "best_rival", "by_rule", "case", "choice_of", "mean", "named", "seconds", "span"]

Choice = Callable[[Key], Setting]


def by_rule(startup_ms: int, socket: str = "equal") -> Setting:
    """Ours, with the limit that is known before."""
    return Setting(DEFAULT, startup_ms, socket)


def best_rival(measured: Measured, key: Key) -> Setting:
    """The one with the most frames shown, with equal sockets."""
    settings = [measured.best(key, method, "equal") for method in RIVALS]
    return max(settings, key=lambda one: measured.seen[key][one].shown_percent)


def best_ours(measured: Measured, key: Key) -> Setting:
    """Ours, with a limit chosen as theirs."""
    return measured.best(key, DEFAULT, "equal")


def choice_of(measured: Measured, method: Method, socket: str = "equal") -> Choice:
    """A method with the best limit of each case."""
    return lambda key: measured.best(key, method, socket)


def mean(seen: Sequence[Seen]) -> Seen:
    """Over cases, each of the same weight."""
    return Seen((fmean(one.shown_percent for one in seen),), (fmean(one.longest_freeze_s for one in seen),))


def case(key: Key) -> str:
    """A movie over a link."""
    return f"{MOVIES[key[0]]} over {key[1]}"


def named(setting: Setting) -> str:
    """A method with its limit."""
    return setting.method.label + (f" at {setting.limit_ms:,} ms" if setting.limit_ms else "")


def seconds(startup_ms: int) -> str:
    """A start-up."""
    return f"{startup_ms / 1000:g} s"


def span(values: Sequence[float], digits: int) -> str:
    """From the least to the most.

    >>> span([1.0, 2.25], 1), span([1.0], 1)
    ('1.0 to 2.2', '1.0')
    """
    least, most = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return least if least == most else f"{least} to {most}"
