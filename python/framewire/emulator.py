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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framewire.errors import FramewireError, InputError, MachineError, RunError
from framewire.run_handle import Event, Progress
from framewire.stopping import StopRequest

__all__ = ["Outcome", "drive", "find"]

NAME = "framewire-emu"
ERRORS: dict[int, type[FramewireError]] = {InputError.exit_code: InputError, MachineError.exit_code: MachineError}
"""What the emulator's exit code means; every other one is about the run."""


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
    failures: tuple[str, ...] = ()
    """Flows that broke, each with its reason."""


def drive(arguments: Sequence[str], on_event: Progress, stop: StopRequest) -> Outcome:
    """Start the emulator, hand every event on, and wait for its end.

    Asked to stop, it ends its streams and writes what it has; asked again, it is killed. Whatever happens here, the
    emulator does not outlive the call.
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
            with stop.carried_out_by(lambda count: process.send_signal(_SIGNALS[min(count, 2)])):
                last = _follow(process, on_event)
                process.wait()
        finally:
            _kill(process)
        return _outcome(process.returncode, last, _last_line(log))


_SIGNALS = {1: signal.SIGINT, 2: signal.SIGKILL}
"""What the emulator is sent when it is asked to stop, and when it is asked again."""


def _follow(process: subprocess.Popen[bytes], on_event: Progress) -> Event:
    """Hands events on until the emulator closes its output; returns the last one that decides."""
    last: Event = {}
    for line in process.stdout or ():
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


def _outcome(code: int, last: Event, log: str) -> Outcome:
    if last.get("event") == "error":
        raise ERRORS.get(code, RunError)(str(last.get("message", "the emulator failed without a message")))
    status = last.get("status")
    if status in ("complete", "partial") and code in (0, 130):
        return Outcome(str(status), tuple(map(str, last.get("failures", ()))))
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
