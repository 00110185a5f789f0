"""What computes the cells: an interface, and the runner that uses the cores of this machine.

A task is pure data: it can be pickled and sent to another machine, and :func:`compute` does it there. What a cell
leaves behind is in its directory; another engine has to bring those files to the directory that the task names.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from framewire import _native

__all__ = ["Kept", "LocalRunner", "Outcome", "Runner", "Task", "compute", "cores"]

LOADED_MOVIES = 8
"""How many movies are kept in memory; cells of one movie are usually next to each other."""

TICK_S = 0.1
"""Time between two looks at signals."""

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


@dataclass(frozen=True)
class Kept:
    """What is kept of a cell beside its ledger and its summary; what is not kept is not recorded."""

    packets: bool = False
    """The table of packets."""
    flows: bool = False
    """The state of each flow over time."""
    rates_s: float | None = None
    """The table of rates, sampled so often, in seconds; None keeps none."""


@dataclass(frozen=True)
class Task:
    """A cell, with all that its computation needs."""

    id: str
    scenario: _native.Scenario
    """As it was read; it travels as its resolved form."""
    movie: str | None
    """Path of the elementary stream, where one is sent."""
    movie_digest: str
    """Says what is in it: a file that was replaced is another movie."""
    directory: str
    """Where the tables are written: made by the process that computes the cell, and owned by it alone."""
    kept: Kept = Kept()
    ladder: str | None = None
    """Path of the streaming file, where levels are sent."""
    sound: tuple[str, int] | None = None
    """Path of the elementary stream of sound, where it is sent, and when it begins, in nanoseconds."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    id: str
    error: str | None = None
    """Why it failed, and left no results."""
    disk_error: bool = False
    """Whether it failed because results cannot be written: no other cell will fare better."""
    hashes: dict[str, str] = field(default_factory=dict)
    simulated_s: float = 0.0
    wall_s: float = 0.0
    broken_flows: tuple[str, ...] = ()
    """Flows that broke, each with its reason; the results of the others are valid, and that they broke is a result."""


class Runner(Protocol):
    """Computes cells."""

    @property
    def jobs(self) -> int:
        """How many are computed at once."""

    def run(self, tasks: Sequence[Task], on_done: Callable[[Outcome], None]) -> None:
        """Compute every task, in any order, and call ``on_done`` for each, from the calling thread.

        A task that fails has an outcome like any other. When ``on_done`` raises, or the user interrupts, no further
        task is begun, and the exception is passed on when those under way have ended.
        """


class LocalRunner:
    """Threads of this process.

    The simulator holds no lock of Python's while it computes, so threads use all cores, share the movies and cost no
    memory of their own.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else jobs
        """How many cells are computed at once."""

    def run(self, tasks: Sequence[Task], on_done: Callable[[Outcome], None]) -> None:
        """As :meth:`Runner.run` says."""
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="cell")
        done: SimpleQueue[Future[Outcome]] = SimpleQueue()
        futures: list[Future[Outcome]] = []
        try:
            for task in tasks:
                futures.append(pool.submit(compute, task))
                futures[-1].add_done_callback(done.put)
            for _ in tasks:
                on_done(_next(done).result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(future.done() for future in futures):
                time.sleep(TICK_S)


def _next(done: SimpleQueue[Future[Outcome]]) -> Future[Outcome]:
    """Waits in small steps: some libraries catch Ctrl-C in a way that leaves a longer wait uninterrupted."""
    while True:
        try:
            return done.get(timeout=TICK_S)
        except Empty:
            continue


def compute(task: Task) -> Outcome:
    """Compute one cell, here and now; whatever goes wrong is in the outcome."""
    start = time.monotonic()
    try:
        Path(task.directory).mkdir()
        text = _native.simulate_cell(
            task.scenario,
            _loaded(task.movie, task.ladder, task.movie_digest, task.sound),
            task.directory,
            **asdict(task.kept),
        )
        result: dict[str, Any] = json.loads(text)
        return Outcome(
            task.id,
            hashes=dict(sorted(result["hashes"].items())),
            simulated_s=float(result["simulated_s"]),
            wall_s=time.monotonic() - start,
            broken_flows=tuple(map(str, result.get("failures", ()))),
        )
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the compiled half is no Exception, and must not stop other cells
        return Outcome(task.id, _message(error), _is_disk_error(error))


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _is_disk_error(error: BaseException) -> bool:
    """Whether the system refused to write: by its number, which the compiled half leaves in the text."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in DISK_ERRORS
    number = re.search(r"\(os error (\d+)\)", str(error))
    return number is not None and int(number[1]) in DISK_ERRORS


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=LOADED_MOVIES)
def _loaded(path: str | None, ladder: str | None, _digest: str, sound: tuple[str, int] | None) -> _native.LoadedMovie:
    return _native.load_movie(path, ladder, sound)
