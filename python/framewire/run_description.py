"""The shape of ``run.json``: what its readers rely on, checked once, when it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from framewire.transports import EXTERNAL, parts_of

__all__ = ["by_clock", "problem_of", "rate_number"]


def problem_of(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a description, with key and what is allowed; None where nothing is.

    A key that is missing, or null, is one that an earlier version did not write.

    >>> problem_of({"format": 3, "flows": [{"name": ["udp"]}]})
    "flows: [{'name': ['udp']}] is not allowed; allowed is a list of tables, each with a text as `name`"
    """
    for key, (is_right, allowed) in _SHAPE.items():
        value = document.get(key)
        if value is not None and not is_right(value):
            shown = repr(value)
            shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
            return f"{key}: {shown} is not allowed; allowed is {allowed}"
    return None


def by_clock(document: Mapping[str, Any]) -> frozenset[str]:
    """The flows whose datagrams have clock references of a transport stream in place of numbers.

    Where an earlier version did not say so of a flow, its transport does. What an application sent counts among them
    then: of clock references as of numbers the order holds.

    >>> old = [{"name": name, "transport": name} for name in ("ts", "ts+rtp", "udp", "http+ts", "external")]
    >>> sorted(by_clock({"flows": [*old, {"name": "vlc", "transport": "external", "clock_references": False}]}))
    ['external', 'ts']
    """
    return frozenset(flow["name"] for flow in document.get("flows") or [] if _is_by_clock(flow))


def _is_by_clock(flow: Mapping[str, Any]) -> bool:
    stated = flow.get("clock_references")
    if stated is not None:
        return bool(stated)
    transport = str(flow.get("transport"))
    parts = parts_of(transport)
    return transport == EXTERNAL or (parts is not None and (parts.format, parts.socket) == ("ts", "datagram"))


_LONGEST = 80
"""Characters of a value that are shown."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _are_flows(value: object) -> bool:
    def is_flow(entry: object) -> bool:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            return False
        texts = (entry.get("transport"), entry.get("failure"))
        return all(text is None or isinstance(text, str) for text in texts)

    return isinstance(value, list) and all(map(is_flow, value))


def _are_spans(value: object) -> bool:
    def is_span(entry: object) -> bool:
        return isinstance(entry, list) and len(entry) == 2 and all(map(_is_number, entry))

    return isinstance(value, list) and all(map(is_span, value))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_proof(value: object) -> bool:
    return isinstance(value, dict | list)


_SHAPE: Mapping[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("program", "version", "world", "status", "ended_by", "origin_utc"), (_is_text, "a text")),
    **dict.fromkeys(("movie", "ladder", "kernel"), (_is_table, "a table")),
    "accuracy": (_is_proof, "a table"),
    "flows": (_are_flows, "a list of tables, each with a text as `name`"),
    "interference": (_are_spans, "a list of pairs of seconds"),
}


def rate_number(given: Any) -> float | None:
    """A frame rate given as a number, as `25/1`, or as a pair."""
    try:
        if isinstance(given, str) and "/" in given:
            above, below = given.split("/")
            return float(above) / float(below)
        if isinstance(given, list):
            return float(given[0]) / float(given[1])
        return float(given) if given else None
    except (ValueError, TypeError, ZeroDivisionError, IndexError):
        return None
