"""The emulator as a program of its own: where it is, how it is started, what it says.

A user namespace needs a process without threads, so the emulated world does not live in this process. The program
gets a plan and answers with one JSON event per line; its log goes to stderr. This module owns its lifetime.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from framewire.errors import FramewireError, InputError, MachineError, RunError

__all__ = ["Event", "Outcome", "drive", "find"]

NAME = "framewire-emu"
ERRORS: dict[int, type[FramewireError]] = {InputError.exit_code: InputError, MachineError.exit_code: MachineError}
"""What the emulator's exit code means; every other one is about the run."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGINT, signal.SIGTERM)
"""Signals on which a run ends early."""

Event = dict[str, Any]
"""One line of the emulator: ``event`` names it, docs/scenario.md lists the rest."""


def find() -> Path:
    """The emulator program: ``FRAMEWIRE_EMU``, else the one installed with the package, else the first in PATH."""
    stated = os.environ.get("FRAMEWIRE_EMU")
    if stated:
        if not os.access(stated, os.X_OK) or Path(stated).is_dir():
            raise MachineError(f"FRAMEWIRE_EMU is {stated}, which is not a program")
        return Path(stated)
    packaged = Path(__file__).parent / "_bin" / NAME
    if os.access(packaged, os.X_OK):
        return packaged
    in_path = shutil.which(NAME)
    if in_path is None:
        raise MachineError(
            f"the emulator {NAME} is not installed: on Linux `make setup` builds it, or set FRAMEWIRE_EMU; "
            "the simulated world (--world simulated) does without it"
        )
    return Path(in_path)


@dataclass(frozen=True)
class Outcome:
    """How the emulator ended."""

    status: str
    """``complete`` or ``partial``."""
    interrupted: bool
    """Whether it was asked to stop."""
    failures: tuple[str, ...] = ()
    """Flows that broke, each with its reason."""


def drive(arguments: list[str], on_event: Callable[[Event], None]) -> Outcome:
    """Start the emulator, hand every event on, and wait for its end.

    The first SIGINT, SIGTERM or SIGHUP is passed on: the emulator ends its streams and writes what it has. The second
    kills it. Whatever happens here, the emulator does not outlive the call.
    """
    program = find()
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=0,  # the terminal's Ctrl-C comes to us alone
            )
        except OSError as error:
            raise MachineError(f"the emulator {program} does not start: {error.strerror}") from None
        try:
            with _stop_on_signal(process) as stop:
                last = _follow(process, on_event, stop)
                process.wait()
        finally:
            _kill(process)
        return _outcome(process.returncode, last, stop, _last_line(log))


class _Stop:
    """What was asked by signals."""

    requests = 0


@contextmanager
def _stop_on_signal(process: subprocess.Popen[bytes]) -> Iterator[_Stop]:
    stop = _Stop()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        stop.requests += 1
        process.send_signal(signal.SIGINT if stop.requests == 1 else signal.SIGKILL)

    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may handle signals; the caller's own handling stays
        return
    # What this process ignores stays ignored: nohup does that for a terminal that closes.
    asked = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, handle) for number in asked}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _follow(process: subprocess.Popen[bytes], on_event: Callable[[Event], None], stop: _Stop) -> Event:
    """Hands events on until the emulator closes its output; returns the last one that decides."""
    last: Event = {}
    announced = False
    for line in process.stdout or ():
        if stop.requests and not announced:
            announced = True
            on_event({"event": "stopping"})
        if not line.strip():
            continue
        event = _parse(line)
        if event["event"] in ("finished", "error"):
            last = event
        on_event(event)
    return last


def _parse(line: bytes) -> Event:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        shown = line.decode(errors="replace").strip()[:120]
        raise RunError(f"the emulator said something that is not an event: {shown}")
    return event


def _outcome(code: int, last: Event, stop: _Stop, log: str) -> Outcome:
    if last.get("event") == "error":
        raise ERRORS.get(code, RunError)(str(last.get("message", "the emulator failed without a message")))
    status = last.get("status")
    if status in ("complete", "partial") and code in (0, 130):
        return Outcome(str(status), stop.requests > 0, tuple(map(str, last.get("failures", ()))))
    if stop.requests > 1:
        raise KeyboardInterrupt
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    raise RunError(f"the emulator {how} before the run was finished" + (f"; its last words: {log}" if log else ""))


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _last_line(log: Any) -> str:
    longest = 2_000
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - longest))
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
