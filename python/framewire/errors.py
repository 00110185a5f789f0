"""What can go wrong, and the exit code of the command line for it.

Every error is one clear message that names the thing and what is allowed.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["FramewireError", "InputError", "MachineError", "NotAStreamingFile", "RunError", "Stopped"]


class FramewireError(Exception):
    """Base of all errors that are meant for the user."""

    exit_code: ClassVar[int] = 1


class RunError(FramewireError):
    """A run started and failed."""


class InputError(FramewireError, ValueError):
    """A scenario, movie, directory or option is not what it has to be."""

    exit_code = 2


class NotAStreamingFile(InputError):
    """A file is of another format than a streaming file."""


class MachineError(FramewireError):
    """This machine lacks something that is needed: a program, a permission, a kernel feature."""

    exit_code = 3


class Stopped(FramewireError):
    """A run was stopped before there was anything to keep, or given up."""

    exit_code = 130

    def __init__(self, message: str = "the run was stopped, and nothing of it is kept") -> None:
        super().__init__(message)
