"""framewire: a laboratory for video transport.

>>> import framewire
>>> run = framewire.run("scenarios/demo.toml", set={"movie.bitrate": "3 Mbit/s"})  # doctest: +SKIP
>>> run.summary, run.frames, run.report()  # doctest: +SKIP
"""

from framewire._native import __version__
from framewire.campaign.run import campaign
from framewire.errors import FramewireError, InputError, MachineError, RunError, Stopped
from framewire.run import Run, run, start
from framewire.run_handle import RunHandle
from framewire.scenario import Scenario, load

__all__ = [
    "FramewireError",
    "InputError",
    "MachineError",
    "Run",
    "RunError",
    "RunHandle",
    "Scenario",
    "Stopped",
    "__version__",
    "campaign",
    "load",
    "run",
    "start",
]
