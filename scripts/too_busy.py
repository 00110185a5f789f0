"""Whether this machine is too busy for tests of real time: the rule of both runners (scripts/rust-tests, conftest.py).

A test of real time ends as *machine too busy* where its own evidence says so (a run's proof of accuracy: it prints a
line that begins with `WORDS`, or skips with such a reason), or where it failed while more than `MOST` programs per
processor wanted to run. In Python that excuses only what is about time (`may_excuse`), unless the test is run again.
The gate runs these tests again, alone, when all others are over (`AGAIN`), so that a defect
does not hide behind a busy machine; only what a machine that is still too busy leaves open then is counted and named.
More than `BOUND` are a failure, because too little was tested. On an idle machine there is none: the tests themselves
keep fewer programs running.
"""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

__all__ = [
    "AGAIN",
    "BOUND",
    "MOST",
    "WORDS",
    "Machine",
    "is_run_again",
    "may_excuse",
    "put_off",
    "reasons_in",
    "running",
    "summary",
    "too_many",
]

WORDS = "machine too busy"
"""With which a test says that it does."""

MOST = 2.0
"""Programs per processor that want to run, above which a failure in real time says nothing."""

BOUND = 10
"""Tests of one run of the tests that may end so."""

AGAIN = "FRAMEWIRE_AGAIN"
"""Variable with the directory in which runners list the tests that ended so, one a line, to be run again. Where it is
not set they are counted."""

ABOUT_TIME = re.compile(
    r"_(?:s|ms|us|ns|bps)\b|(?<![a-z])(?:times?|timeout|timed|took|elapsed|seconds?|late|later|lateness|latency|delays?"
    r"|waits?|waited|soon|early|pace|bps|bitrate|jitter|deadline|overloaded|disturbed|answers?)(?![a-z])",
    re.IGNORECASE,
)
"""In the statement that failed, or the message of what was raised: what a machine that is too busy makes longer."""

CRASHED = re.compile(r"panicked at|Traceback \(most recent call last\)|Segmentation fault|core dumped")
"""In what a program printed: a defect, however busy the machine is."""

EVERY_S = 0.1

HEADING = re.compile(r"---- (\S+) stdout ----")
"""Over what a test in Rust printed."""


def running() -> int:
    """How many threads run or want to, besides the one that asks (proc_stat(5)); 0 where nothing tells it."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) - 1 for line in lines if line.startswith("procs_running")), 0)


class Machine:
    """Counts, as long as it is open, how many programs want to run."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Machine:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            self.seen.append((time.monotonic(), running()))

    def reason(self, began: float, ended: float) -> str | None:
        """Why a test of real time between these (of `time.monotonic`) says nothing; None where it does."""
        seen = [count for at, count in self.seen if began - EVERY_S <= at <= ended + EVERY_S]
        mean = sum(seen) / len(seen) / (os.cpu_count() or 1) if seen else 0.0
        return f"{mean:.1f} programs per processor wanted to run" if mean > MOST else None


def may_excuse(failed: str, printed: str) -> bool:
    """Whether a busy machine may be what made a test fail: at this statement or with this message, after this output.

    >>> may_excuse("assert took_s < 2", ""), may_excuse("assert frames == 50", "")
    (True, False)
    >>> may_excuse("assert took_s < 2", "thread 'main' panicked at src/main.rs:3:5")
    False
    """
    return ABOUT_TIME.search(failed) is not None and CRASHED.search(printed) is None


def reasons_in(text: str) -> list[tuple[str, str]]:
    """Which tests in Rust said it themselves, and why; the test is empty where the text does not tell."""
    found, test = [], ""
    for line in text.splitlines():
        if heading := HEADING.fullmatch(line):
            test = heading.group(1)
        elif line.startswith(WORDS):
            found.append((test, line.removeprefix(WORDS).lstrip(": ")))
    return found


def put_off(runner: str, tests: list[str]) -> None:
    """Lists tests to be run again, where that is asked for."""
    if directory := os.environ.get(AGAIN):
        Path(directory).mkdir(parents=True, exist_ok=True)
        with (Path(directory) / runner).open("a") as file:
            file.writelines(f"{test}\n" for test in tests)


def is_run_again() -> bool:
    """Whether tests that end so now are run again, alone: what they do then counts, whatever it was."""
    return bool(os.environ.get(AGAIN))


def too_many(count: int) -> bool:
    """Whether so many tests that said nothing are a failure; those that are run again are not counted before."""
    return count > BOUND and not is_run_again()


def summary(reasons: list[str]) -> list[str]:
    """The lines that tell the count and every reason, and what follows from it."""
    then = ", to be run again alone" if is_run_again() and reasons else ""
    excess = [f"more than {BOUND} tests ended so: too little was tested"] if too_many(len(reasons)) else []
    return [f"{WORDS}: {len(reasons)} tests{then}", *(f"  {reason}" for reason in reasons), *excess]
