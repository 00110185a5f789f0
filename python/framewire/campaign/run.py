"""Running a campaign: plan, find what was computed before, compute the rest, write the dataset."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framewire import files, resources
from framewire.campaign import index
from framewire.campaign.description import describe, tally
from framewire.campaign.plan import Cell, plan, program_fingerprint
from framewire.campaign.runner import LocalRunner, Outcome, Runner, Task, cores
from framewire.campaign.spec import Source, Spec, read
from framewire.campaign.store import Store
from framewire.errors import InputError, RunError
from framewire.scenario import Overrides

if TYPE_CHECKING:
    from framewire.campaign.results import Campaign
    from framewire.movie.sound import Sound

__all__ = ["Counts", "Event", "Progress", "campaign"]

Event = dict[str, Any]
Progress = Callable[[Event], None]
"""Called with ``step`` (a text and a share) while a campaign is prepared, with ``damaged`` (a cell and a reason) for
every finished cell that is computed again, then with ``cells`` (see Counts), and with ``damaged`` and None for the cell
where what was made of all cells is made again."""


def campaign(
    source: Source,
    *,
    set: Overrides | None = None,
    repeats: int | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> Campaign:
    """Run a campaign in the simulated world, or what is left of it, and return its results.

    ``source`` is the path of a campaign file or the same document as a dict; ``set`` is laid over its scenario. ``out``
    is the directory, by default ``campaigns/<name>``: cells that it holds already are not computed again, so that the
    same call continues a campaign that was killed. ``jobs`` is the number of cells computed at once, by default one per
    core; ``runner`` computes them elsewhere.

    A cell that fails does not stop the others: it is listed in ``failures``. Raises InputError before anything runs
    when the campaign is not what it has to be, and RunError when results cannot be written.
    """
    from framewire.campaign.results import Campaign  # polars is slow to import

    if jobs is not None and jobs < 1:
        raise InputError(f"jobs: {jobs} is not allowed; allowed is a whole number from 1")
    spec = read(source, set=set, repeats=repeats)
    resources.check()
    directory = Path(out) if out is not None else Path("campaigns") / spec.name
    files.check_takes_files(directory)
    notify = progress or (lambda _event: None)
    chosen = runner or LocalRunner(jobs)
    cells = plan(
        spec, jobs=chosen.jobs, progress=lambda text, share: notify({"event": "step", "text": text, "share": share})
    )
    work = _Work(Store(directory), cells, spec, notify)
    try:
        with work.store.locked():
            work.write_index()
            work.compute(chosen)
            notify({"event": "step", "text": "putting the tables together"})
            work.write_dataset()
    except OSError as error:
        raise work.disk_error(error.strerror or str(error)) from None
    return Campaign(directory)


@dataclass
class Counts:
    """How far a campaign is."""

    cells: int
    """In all."""
    found: int = 0
    """Computed before."""
    computed: int = 0
    failed: int = 0
    simulated_s: float = 0.0
    """Of those computed now."""
    started: float = field(default_factory=time.monotonic)

    def event(self) -> Event:
        """As a progress event."""
        facts = {"cells": self.cells, "found": self.found, "computed": self.computed, "failed": self.failed}
        elapsed_s = time.monotonic() - self.started
        return {"event": "cells", **facts, "simulated_s": self.simulated_s, "elapsed_s": elapsed_s}


class _Work:
    """One execution of a campaign."""

    def __init__(self, store: Store, cells: Sequence[Cell], spec: Spec, notify: Progress) -> None:
        self.store = store
        self._spec = spec
        self._notify = notify
        # Points that come to the same scenario are one cell.
        self._distinct = {cell.id: cell for cell in cells}
        self._places = [cell.place for cell in cells]
        self._digest = index.digest_of(self._places)
        self._counts = Counts(len(self._distinct))

    def write_index(self) -> None:
        """Writes what is going to be computed, so that the campaign can be read before it has finished."""
        index.write(self.store, describe(**self._head()), self._places)

    def compute(self, runner: Runner) -> None:
        with ThreadPoolExecutor(cores()) as pool:
            damages = list(pool.map(self._damage, self._distinct))
        missing = []
        for cell, (is_found, damage) in zip(self._distinct.values(), damages, strict=True):
            if damage is not None:
                self._tell_damage(str(cell), damage)
            if damage is not None or not is_found:
                missing.append(cell)
        self._counts.found = len(self._distinct) - len(missing)
        self._counts.started = time.monotonic()
        self._notify(self._counts.event())
        if missing:
            # All settings once, then again: of a campaign that is stopped, each has about as many repeats.
            missing.sort(key=lambda cell: cell.repeat)
            runner.run([self._task(cell) for cell in missing], self._on_done)

    def _damage(self, cell_id: str) -> tuple[bool, str | None]:
        """Whether a cell was computed before, and what is wrong with it."""
        finished = self.store.finished(cell_id)
        if finished is not None:
            return True, finished.damage()
        is_there = self.store.is_there(cell_id)
        return is_there, "its description cannot be read, or is not what was written" if is_there else None

    def write_dataset(self) -> None:
        from framewire.campaign import dataset  # polars is slow to import

        cells = index.states(self.store, self._places)
        description = describe(**self._head(), **tally(self.store, cells, self._counts.computed))
        axes = {axis.name: [value.label for value in axis.values] for axis in self._spec.axes}
        rows = [dataset.Row(cell.place, cell.finished) for cell in cells if cell.finished is not None]
        dataset.write(self.store.directory, axes, rows, description, lambda reason: self._tell_damage(None, reason))

    def _tell_damage(self, cell: str | None, reason: str) -> None:
        """Of a cell; None: of what was put together from the cells."""
        self._notify({"event": "damaged", "cell": cell, "reason": reason})

    def _head(self) -> dict[str, Any]:
        """What index and dataset say first."""
        return {"fingerprint": program_fingerprint(), "campaign": self._spec.document(), "plan": self._digest}

    def disk_error(self, reason: str) -> RunError:
        """Results cannot be written: why, and what there is."""
        counts = self._counts
        return RunError(
            f"{self.store.directory}: cannot write the results: {reason}; {counts.found + counts.computed} of "
            f"{counts.cells} cells are finished and kept, and the same command continues when there is room"
        )

    def _task(self, cell: Cell) -> Task:
        directory = self.store.unfinished(cell.id)
        return Task(
            id=cell.id,
            scenario=cell.scenario.parsed,
            movie=_resolved(cell.movie.path),
            ladder=_resolved(cell.movie.ladder),
            movie_digest=cell.movie.digest,
            sound=_resolved_sound(cell.movie.sound),
            directory=str(directory.resolve()),
            kept=self._spec.kept,
        )

    def _on_done(self, outcome: Outcome) -> None:
        cell = self._distinct[outcome.id]
        if outcome.disk_error:
            raise self.disk_error(str(outcome.error))
        if outcome.error is None:
            self.store.commit(outcome, cell.scenario.toml)
            self._counts.computed += 1
            self._counts.simulated_s += outcome.simulated_s
        else:
            self.store.fail(outcome.id, str(cell), cell.scenario.toml, outcome.error)
            self._counts.failed += 1
        self._notify(self._counts.event())


def _resolved_sound(sound: Sound | None) -> tuple[str, int] | None:
    return None if sound is None else (str(sound.path.resolve()), sound.start_ns)


def _resolved(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())
