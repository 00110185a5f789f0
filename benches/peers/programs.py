"""Programs that are started, waited for and ended, and the ports between them."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


class Unable(Exception):
    """A peer lacks what it needs; in its own words where it says so."""


def run(command: Sequence[str]) -> str:
    """Runs a program to its end, which has to be a good one."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
    return done.stdout


def framewire(*words: str) -> list[str]:
    """The command of this checkout."""
    return [sys.executable, "-m", "framewire", *words]


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def last_line(text: str) -> str:
    """The last line that says something: of an error of Python's, what it is."""
    return first_line("\n".join(reversed(text.splitlines())))


PORTS = itertools.count(20_000 + 8 * (os.getpid() % 2_000), 4)


def free_port() -> int:
    """An even port of UDP and TCP that is free, with the one above it."""
    for port in PORTS:
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for kind, number in itertools.product((socket.SOCK_DGRAM, socket.SOCK_STREAM), (port, port + 1)):
                stack.enter_context(socket.socket(socket.AF_INET, kind)).bind(("127.0.0.1", number))
            return port
    raise AssertionError("the list has no end")


def is_bound(port: int) -> bool:
    """Whether something of this machine receives at a port of UDP, or listens at one of TCP."""
    end = f":{port:04X}"
    for name, states in (("udp", None), ("udp6", None), ("tcp", "0A"), ("tcp6", "0A")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(end) and states in (None, fields[3]):
                return True
    return False


@contextlib.contextmanager
def started(command: Sequence[str], port: int | None) -> Iterator[subprocess.Popen[str]]:
    """A program that is started, and where a port is given receives at it; it is ended with the context."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "python")}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            for _ in range(400):
                if port is None or process.poll() is not None or is_bound(port):
                    break
                time.sleep(0.05)
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], patience_s: float) -> str:
    """What a program said to its end; one that does not end by itself is interrupted, as by Ctrl-C."""
    for number in (None, signal.SIGINT, signal.SIGINT, signal.SIGKILL):
        if number is not None:
            process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=patience_s)[1]
    return ""
