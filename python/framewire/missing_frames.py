"""Frames that are missing while a run goes on: lost under way, or given up by the sender, as far as that is known."""

from __future__ import annotations

from collections.abc import Mapping

from framewire.run_handle import Event, Progress
from framewire.transports import parts_of

__all__ = ["in_words", "told_apart"]


def told_apart(notify: Progress, transports: Mapping[str, str]) -> Progress:
    """Adds ``lost`` and ``given_up`` to events of flows, which say of both together how many were ``dropped``.

    ``transports`` is by the name of a flow. Over a stream nothing is lost, and a queue that sends every frame gives
    none up; of the others they are null.

    >>> said = []
    >>> tell = told_apart(said.append, {"a": "tcp+ifd", "b": "udp", "c": "udp+ifd"})
    >>> for flow in "abc":
    ...     tell({"event": "progress", "flow": flow, "dropped": 7})
    >>> [(one["lost"], one["given_up"]) for one in said]
    [(0, 7), (7, 0), (None, None)]
    """

    def tell(event: Event) -> None:
        if event.get("event") == "progress":
            lost, given_up = _apart(event.get("dropped"), transports.get(str(event.get("flow")), ""))
            event = {**event, "lost": lost, "given_up": given_up}
        notify(event)

    return tell


def _apart(dropped: int | None, transport: str) -> tuple[int | None, int | None]:
    parts = parts_of(transport)
    if dropped is None or parts is None:
        return None, None
    if dropped == 0 or parts.queue == "direct":
        return dropped, 0
    return (0, dropped) if parts.socket == "stream" else (None, None)


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
