"""Frames that are missing while a run goes on: lost under way, or given up by the sender, as far as that is known."""

from __future__ import annotations

from framewire.run_handle import Event

__all__ = ["in_words"]


def in_words(event: Event) -> str:
    """What is missing of a flow, for a line of its progress; nothing where it is not known.

    >>> in_words({"dropped": 12, "lost": 12, "given_up": 0}), in_words({"dropped": 12, "lost": 0, "given_up": 12})
    ('   12 lost', '   12 given up')
    >>> in_words({"dropped": 12}), in_words({"dropped": 12, "lost": 5, "given_up": 7}), in_words({"dropped": None})
    ('   12 lost or given up', '    5 lost, 7 given up', '')
    """
    dropped, lost, given_up = (event.get(name) for name in ("dropped", "lost", "given_up"))
    if lost is None or given_up is None:
        return "" if dropped is None else f"{dropped:5d} lost or given up"
    if lost and given_up:
        return f"{lost:5d} lost, {given_up} given up"
    return f"{given_up:5d} given up" if given_up else f"{lost:5d} lost"
