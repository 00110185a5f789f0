"""Campaigns: a grid of scenarios with repeats, in virtual time, on all cores.

>>> result = framewire.campaign("scenarios/campaign-quick.toml")  # doctest: +SKIP
>>> result.means("duration_s", by=["network.wifi.retry", "flow"])  # doctest: +SKIP

The way through it: a file becomes a ``Spec`` (spec, axes, metrics), the spec a list of ``Cell`` (plan), which a
``Runner`` computes (runner); finished cells are kept in a ``Store`` (store), become one dataset (dataset) and are
opened as a ``Campaign`` (results). ``docs/campaign.md`` is the manual.
"""

from framewire.campaign.run import campaign
from framewire.campaign.runner import LocalRunner, Outcome, Runner, Task, compute

__all__ = ["LocalRunner", "Outcome", "Runner", "Task", "campaign", "compute"]
