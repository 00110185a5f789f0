"""What the commands of the command line share: arguments, exit codes, and messages.

Messages and progress go to stderr, results to stdout.
"""

from __future__ import annotations

import functools
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, ParamSpec, TypeVar

import typer
from rich.console import Console

from framewire import terminal
from framewire.errors import FramewireError, RunError

__all__ = [
    "EXIT_INTERRUPTED",
    "EXIT_TERMINATED",
    "AsJson",
    "Overrides",
    "clear_errors",
    "complain",
    "one_of",
    "print_json",
    "stderr",
    "stdout",
    "terminable",
    "warn",
]

EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

P = ParamSpec("P")
R = TypeVar("R")

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Lay a value over the scenario, for instance network.wifi.retry=3 or flow.udp.mtu=1400. Repeatable.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]


def clear_errors(command: Callable[P, R]) -> Callable[P, R]:
    """One clear message instead of a traceback, and the exit code that belongs to it."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except FramewireError as error:
            complain(str(error))
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
            raise typer.Exit(RunError.exit_code) from None

    return wrapped


@contextmanager
def terminable() -> Iterator[Callable[[], bool]]:
    """SIGTERM ends what goes on as Ctrl-C does; what is given shows whether it came.

    Signals are for the main thread: elsewhere nothing changes.
    """
    came = False

    def end(_number: int, _frame: object) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGTERM, before)


def print_json(document: object) -> None:
    """The result of a command for other programs. An iterator in it becomes a list, written as it is read."""
    pieces, length = [], 0
    for piece in _json_pieces(document):
        pieces.append(piece)
        length += len(piece)
        if length > 1 << 16:
            typer.echo("".join(pieces), nl=False)
            pieces, length = [], 0
    typer.echo("".join(pieces))


def _json_pieces(document: object) -> Iterator[str]:
    """A document as text with indents, piece by piece.

    >>> "".join(_json_pieces({"a": iter([{"b": 1}]), "c": iter([]), "d": [2]})) == json.dumps(
    ...     {"a": [{"b": 1}], "c": [], "d": [2]}, indent=2
    ... )
    True
    """
    if not isinstance(document, dict) or not any(isinstance(value, Iterator) for value in document.values()):
        yield json.dumps(document, indent=2, default=str)
        return
    before = "{"
    for key, value in document.items():
        yield f"{before}\n  {json.dumps(key)}: "
        before = ","
        if not isinstance(value, Iterator):
            yield json.dumps(value, indent=2, default=str).replace("\n", "\n  ")
            continue
        opening = "["
        for item in value:
            yield f"{opening}\n    " + json.dumps(item, indent=2, default=str).replace("\n", "\n    ")
            opening = ","
        yield "[]" if opening == "[" else "\n  ]"
    yield "\n}"


def one_of(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completes the value of an option in a shell; the names are asked for when they are needed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def complain(message: str) -> None:
    """Say what went wrong."""
    stderr().print(bounded(f"error: {message}"), markup=False, highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """Say what is lacking in a result that is there."""
    stderr().print(bounded(f"warning: {message}"), markup=False, highlight=False, soft_wrap=True)


LONGEST_MESSAGE = 8_000
"""Characters of a message, which may quote what a user gave: two paths of the greatest length (PATH_MAX, limits.h)."""


def bounded(message: str) -> str:
    """A message without the middle of what is too long: it begins with where something is wrong, and ends with why.

    >>> bounded("a.toml: short"), len(bounded("a.toml: " + 30_000 * "x" + ": File name too long")) < 8_100
    ('a.toml: short', True)
    """
    if len(message) <= LONGEST_MESSAGE:
        return message
    begin, end = 600, 300
    left_out = len(message) - begin - end
    return f"{message[:begin]} [... {left_out:,} more characters ...] {message[-end:]}"


def stdout() -> Console:
    """Where results go: as wide as the terminal, or readable where there is none."""
    return Console(width=None if sys.stdout.isatty() else terminal.WIDTH)


def stderr() -> Console:
    """Where messages and progress go."""
    return Console(stderr=True)
