"""What a server or a client of the compiled half raises, as errors for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from framewire import _native
from framewire.errors import InputError, NotAStreamingFile, RunError

__all__ = ["for_the_user"]


@contextmanager
def for_the_user(in_words: Callable[[str], str] = str) -> Iterator[None]:
    """Raises InputError for what was refused, and RunError, in these words, for what could not be done."""
    try:
        yield
    except _native.EndpointRefusal as error:
        raise InputError(str(error)) from None
    except _native.NotAStreamingFile as error:
        raise NotAStreamingFile(str(error)) from None
    except _native.EndpointFailure as error:
        raise RunError(in_words(str(error))) from None
