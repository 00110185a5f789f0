"""The file of a report: whole, or not at all."""

from __future__ import annotations

from pathlib import Path

from framewire.content_store import replacing
from framewire.errors import InputError

__all__ = ["write"]


def write(text: str, target: Path, what: str = "the report") -> Path:
    """Writes a report, or another text, beside its place and then moves it there, and returns where that is.

    ``what`` it is a message says.

    Raises:
        InputError: when the file cannot be written; nothing of it is left then.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot write {what}: {error.strerror}") from error
    return target
