"""The file of a report: whole, or not at all."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from framewire.errors import InputError

__all__ = ["write"]


def write(html: str, target: Path) -> Path:
    """Writes a report beside its place and then moves it there, and returns where that is.

    Raises:
        InputError: when the file cannot be written; nothing of it is left then.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(html, encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InputError(f"{target}: cannot write the report: {error.strerror}") from error
    return target
