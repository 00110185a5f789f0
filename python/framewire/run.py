"""One scenario, executed once, in the emulated or in the simulated world."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framewire import _native, emulator, files, resources, unfinished
from framewire.checksums import sealed
from framewire.errors import InputError, RunError
from framewire.lock import LockedError
from framewire.run_handle import Progress, RunHandle
from framewire.scenario import ExternalFlow, Overrides, Scenario, check_emulated, check_simulated, load, naming
from framewire.stopping import StopRequest
from framewire.suggestions import refused

if TYPE_CHECKING:
    import polars as pl

    from framewire import render
    from framewire.content import Content
    from framewire.results import RunDirectory

__all__ = ["PLAN_FORMAT", "WORLDS", "Progress", "Run", "check_out", "partial_directory", "run", "seal", "start"]

WORLDS = ("emulated", "simulated")
"""Where a scenario can run."""

PLAN_FORMAT = 1
"""Version of the plan that the emulator is given."""


@dataclass(frozen=True)
class Run:
    """A run and its results, as polars frames."""

    directory: Path
    status: str
    """``complete``, or ``partial`` after an interruption."""
    interrupted: bool = False
    """Whether it was asked to stop, also where it had then come to its end all the same."""
    failures: tuple[str, ...] = ()
    """Flows that broke, each with its reason; the results of the others are valid."""

    @property
    def ended_by(self) -> str | None:
        """``interrupted`` or ``time limit`` where that ended the run; None where it came to its end."""
        said = self.results.meta.get("ended_by")
        return None if said is None else str(said)

    @cached_property
    def results(self) -> RunDirectory:
        """All tables of the run directory."""
        from framewire.results import RunDirectory  # polars is slow to import

        return RunDirectory(self.directory)

    @property
    def frames(self) -> pl.DataFrame:
        """The ledger: one row per frame of the picture and flow."""
        return self.results.frames

    @property
    def sound(self) -> pl.DataFrame:
        """The same of the sound: one row per packet and flow."""
        return self.results.sound

    @property
    def summary(self) -> pl.DataFrame:
        """One row per flow."""
        return self.results.summary

    def report(self, out: str | os.PathLike[str] | None = None, progress: Progress | None = None) -> Path:
        """Write the report, one self-contained HTML file, and return its path."""
        from framewire import report  # it pulls in plotly and pillow

        return report.build(self.directory, out, progress)

    def render(
        self,
        out: str | os.PathLike[str] | None = None,
        options: render.Options | None = None,
        progress: Progress | None = None,
        *,
        replace: bool = False,
    ) -> Path:
        """Write a film of what each viewer saw, and return its path; see :func:`framewire.render.render`."""
        from framewire import render  # it pulls in pillow

        path, _ = render.render(self.directory, None if out is None else Path(out), options, progress, replace=replace)
        return path


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Overrides | None = None,
    out: str | os.PathLike[str] | None = None,
    world: str = "emulated",
    progress: Progress | None = None,
) -> Run:
    """Stream the scenario's movie over its network and return the results.

    ``scenario`` and ``set`` are read as :func:`framewire.load` does. ``out`` is the run directory to make; by default
    ``runs/<name>-<date>-<time>`` here. ``world`` is ``emulated`` (real time, through this kernel's sockets) or
    ``simulated`` (virtual time, the same on any machine). On Ctrl-C the streams end and what there is becomes a valid
    result with status ``partial``; on failure nothing is left behind.

    Raises InputError, MachineError or RunError with one clear message.
    """
    return start(scenario, set=set, out=out, world=world).follow(progress or (lambda _event: None))


def start(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario,
    *,
    set: Overrides | None = None,
    out: str | os.PathLike[str] | None = None,
    world: str = "emulated",
) -> RunHandle:
    """Begin what :func:`run` does, and return a handle of it: its events, ``stop()`` and ``result()``.

    Raises InputError or MachineError for what cannot be run; what goes wrong later is raised by ``result()``.
    """
    if world not in WORLDS:
        raise refused("world", world, WORLDS)
    resolved = load(scenario, set=set)
    resources.check()
    check_out(out)
    with naming(scenario):
        if world == "emulated":
            check_emulated(resolved)
            emulator.find()
            _check_files(resolved)
        else:
            check_simulated(resolved)
        _check_codec(resolved)

    def work(notify: Progress, stop: StopRequest) -> Run:
        with naming(scenario):
            sent = _prepare(resolved, notify)
            settled = resolved.lasting(sent.duration_s)
        with partial_directory(settled.name, out) as (partial, directory):
            outcome = carry_out(settled, sent, partial, notify, stop)
            seal(partial, sound_left_out=sent.sound_left_out)
            partial.rename(directory)
        return Run(directory, outcome.status, stop.count > 0, outcome.failures)

    carry_out = _emulate if world == "emulated" else _simulate
    return RunHandle(work)


def _emulate(
    scenario: Scenario, sent: Content, directory: Path, notify: Progress, stop: StopRequest
) -> emulator.Outcome:
    (directory / "scenario.toml").write_text(scenario.toml, encoding="utf-8")
    plan = directory / "plan.json"
    plan.write_text(json.dumps(_plan(scenario, sent, directory)), encoding="utf-8")
    outcome = emulator.drive(["run", "--plan", str(plan), "--parent", str(os.getpid())], notify, stop)
    plan.unlink()  # it names files of this machine
    return outcome


def _simulate(
    scenario: Scenario, sent: Content, directory: Path, notify: Progress, stop: StopRequest
) -> emulator.Outcome:
    notify({"event": "step", "text": "simulating"})
    flag = _native.StopFlag()
    try:
        movie, ladder = (path and path.resolve() for path in (sent.movie, sent.ladder))
        sound = None if sent.sound is None else (sent.sound.path.resolve(), sent.sound.start_ns)
        loaded = _native.load_movie(movie, ladder, sound)
        with stop.carried_out_by(lambda _count: flag.raise_()):
            notify(
                {
                    "event": "started",
                    "flows": [flow.name for flow in scenario.flows],
                    "frames": len(loaded),
                    "movie_s": loaded.duration_s,
                }
            )
            document = _native.simulate(
                scenario.parsed,
                loaded,
                directory,
                packets=True,
                stop=flag,
                listener=lambda text: notify(json.loads(text)),
            )
    except (_native.MovieError, _native.ScenarioError) as error:
        raise InputError(str(error)) from None
    made = json.loads(document)
    notify({"event": "finished", "directory": str(directory), "status": made["status"], "failures": made["failures"]})
    return emulator.Outcome(made["status"], tuple(made["failures"]))


def seal(directory: Path, **beside: Any) -> None:
    """Adds checksums to the description, of all that is read again, and before that what else is to stand in it."""
    file = directory / "run.json"
    read_again = [*directory.glob("*.parquet"), directory / "scenario.toml", *directory.glob("received/*")]
    names = [path.relative_to(directory).as_posix() for path in read_again if path.is_file()]
    document = files.read_json(file) | {key: value for key, value in beside.items() if value is not None}
    file.write_text(json.dumps(sealed(document, directory, names), indent=2), encoding="utf-8")


def _plan(scenario: Scenario, sent: Content, directory: Path) -> dict[str, Any]:
    files = {"movie": sent.movie, "ladder": sent.ladder}
    sound = sent.sound
    of_sound = {} if sound is None else {"sound": {"file": str(sound.path.resolve()), "start_ns": sound.start_ns}}
    return {
        "format": PLAN_FORMAT,
        "scenario": scenario.data,
        **{name: str(path.resolve()) for name, path in files.items() if path is not None},
        **of_sound,
        "directory": str(directory.resolve()),
    }


def _check_files(scenario: Scenario) -> None:
    """Raises MachineError where the emulator may not open as many files as the flows of a scenario take."""
    flows = scenario.flows
    applications = sum(isinstance(flow, ExternalFlow) for flow in flows)
    needed = resources.files_of_emulation(len(flows), applications, together=scenario.together)
    resources.check(needed, f"emulated networks of {len(flows)} flow{'s' * (len(flows) != 1)}")


def _check_codec(scenario: Scenario) -> None:
    from framewire import content  # only runs need it

    content.check_codec(scenario)


def _prepare(scenario: Scenario, notify: Progress) -> Content:
    """What is sent: made or found in the cache, or the user's own as it is."""
    from framewire import content  # only runs need it

    notify({"event": "step", "text": "preparing the movie"})
    return content.prepare(scenario, lambda text, share: notify({"event": "step", "text": text, "share": share}))


def check_out(out: str | os.PathLike[str] | None) -> None:
    """Whether a directory can be made there; None stands for the default.

    Raises InputError where it cannot.
    """
    if out is not None and Path(out).exists():
        raise InputError(f"{out}: exists already; allowed is the name of a directory to be made")
    files.check_takes_files(out or _default_directory("any"))


@contextmanager
def partial_directory(name: str, out: str | os.PathLike[str] | None) -> Iterator[tuple[Path, Path]]:
    """A directory to fill, and the name it gets when it is whole; removed when anything fails.

    What runs that were killed have left beside it is removed first.
    """
    directory = Path(out) if out is not None else _default_directory(name)
    partial = directory.with_name(f"{directory.name}.partial")
    missing = [parent for parent in directory.parents if not parent.exists()]
    with ExitStack() as stack:
        stack.callback(_remove_empty, missing)
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            unfinished.clear(directory.parent)
            stack.enter_context(unfinished.made(partial))
        except LockedError:
            raise InputError(f"{partial}: a run that is going on writes there; allowed is another name") from None
        except OSError as error:
            if partial.exists():
                raise InputError(f"{partial}: exists already, and no run that was killed made it; remove it") from None
            raise InputError(f"{directory}: cannot be made: {error.strerror}") from None
        try:
            yield partial, directory
        except OSError as error:
            raise RunError(f"{directory}: cannot write the results: {error.strerror}") from None


def _remove_empty(directories: Iterable[Path]) -> None:
    """Removes these, the innermost first, up to one that something stands in."""
    with suppress(OSError):
        for directory in directories:
            directory.rmdir()


def _default_directory(name: str) -> Path:
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    candidates = (Path("runs") / (stem if count == 1 else f"{stem}-{count}") for count in range(1, 1_000))
    free = (path for path in candidates if not path.exists() and not path.with_name(f"{path.name}.partial").exists())
    return next(free)
