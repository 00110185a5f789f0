"""Messages for a word that is not allowed: what is allowed, and what may have been meant."""

from __future__ import annotations

from collections.abc import Sequence

from framewire import _native
from framewire.errors import InputError

__all__ = ["guess", "refused"]


def guess(word: object, known: Sequence[str]) -> str | None:
    """The known word that may have been meant: the only one that begins so, or the one that is much like it.

    >>> [guess(word, ["emulated", "simulated"]) for word in ("sim", "emulatd", "real")]
    ['simulated', 'emulated', None]
    """
    text = str(word)
    beginning = [name for name in known if name.startswith(text)] if len(text) > 1 else []
    if len(beginning) == 1:
        return beginning[0]
    return _native.nearest(text, list(known))


def refused(key: str, value: object, known: Sequence[str]) -> InputError:
    """An option that has to be one of these words, with what may have been meant in front of them.

    >>> str(refused("world", "sim", ["emulated", "simulated"]))
    'world: "sim" is not allowed; did you mean "simulated"? allowed is one of emulated, simulated'
    """
    meant = guess(value, known)
    hint = "" if meant is None else f'did you mean "{meant}"? '
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return InputError(f"{key}: {shown} is not allowed; {hint}allowed is one of {', '.join(known)}")
