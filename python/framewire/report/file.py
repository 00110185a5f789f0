"""The file of a report: whole, or not at all."""

from __future__ import annotations

from pathlib import Path

from framewire.content_store import replacing
from framewire.errors import InputError

__all__ = ["write"]


def write(html: str, target: Path) -> Path:
    """Writes a report beside its place and then moves it there, and returns where that is.

    Raises:
        InputError: when the file cannot be written; nothing of it is left then.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as part:
            part.write_text(html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot write the report: {error.strerror}") from error
    return target
