"""What a server answered its clients with, of which it kept a ledger: the directories in its ``clients/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire import files
from framewire.errors import InputError

__all__ = ["Answer", "answer_to", "answers_of", "listed", "who"]

LISTED = 5
"""Answers that are named one by one."""

_RECEIVER = re.compile(r"framewire/\S+ \(stream [0-9a-f]{16}\)")
"""How ``framewire receive`` calls itself where it asks for a movie."""


@dataclass(frozen=True)
class Answer:
    """One of them: its directory, its line of ``clients.ndjson``, and the number by which a receiver knows it."""

    directory: Path
    served: dict[str, Any]
    session: str | None

    def __str__(self) -> str:
        served = self.served
        asked = who(served.get("user_agent"))
        return f"{self.directory}: {asked} at {served.get('peer')}, {served.get('what')}, {served.get('ended')}"


def who(user_agent: str | None) -> str:
    """Who asked, by what it calls itself.

    >>> who("framewire/0.1.0 (stream 00000000000000af)"), who("Lavf/59.27.100"), who(None)
    ('framewire receive', 'Lavf/59.27.100', 'a client')
    """
    if user_agent is None:
        return "a client"
    return "framewire receive" if _RECEIVER.fullmatch(user_agent) else user_agent


def answers_of(server: Path) -> list[Answer]:
    """Those of a server's directory, in the order in which its clients connected."""
    found = []
    for file in sorted(server.glob("clients/*/run.json"), key=lambda file: (len(file.parent.name), file.parent.name)):
        document = files.read_json(file)
        # Runs that were made of an answer and a receiver's end lie beside it.
        if document.get("side") == "sender" and isinstance(document.get("served"), dict):
            found.append(Answer(file.parent, document["served"], document.get("session")))
    return found


def listed(answers: list[Answer]) -> list[str]:
    """A line for each, but for so many that nobody reads them."""
    more = [f"and {len(answers) - LISTED:,} more"] if len(answers) > LISTED else []
    return [*map(str, answers[:LISTED]), *more]


def answer_to(server: Path, receiver: Path) -> Path:
    """The directory of the answer to a receiver, by the number that it said when it asked.

    Raises InputError where none of them is.
    """
    session = files.read_json(receiver / "run.json").get("session")
    answers = answers_of(server)
    for answer in answers:
        if session is not None and answer.session == session:
            return answer.directory
    known = "\n  ".join(["; the answers with a ledger are:", *listed(answers)]) if answers else ""
    raise InputError(f"{receiver}: none of the answers of the server {server} is the one to it{known}")
