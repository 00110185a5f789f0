"""Flows of a scenario that cannot differ, whatever is measured: said beside the results, so that equal figures are not
taken for a finding."""

from __future__ import annotations

from framewire.scenario import Scenario

__all__ = ["note"]


def note(scenario: Scenario) -> str | None:
    """Names the flows of a resolved scenario that do the same, and says why; None where all may differ.

    >>> from framewire.scenario import load
    >>> udp, ifd = ({"transport": name} for name in ("udp", "udp+ifd"))
    >>> note(load({"network": {"bottleneck": "local-device"}, "flow": [udp, ifd]}))
    >>> note(load({"network": {"bottleneck": "remote"}, "flow": [udp, ifd | {"mtu": 576}]}))
    >>> note(load({"network": {"bottleneck": "remote"}, "flow": [udp, ifd]})).partition(": ")[0]
    'udp and udp+ifd do the same here'
    """
    groups = [_listed(names) for names in scenario.parsed.equivalent_flows()]
    if not groups:
        return None
    return (
        f"{'; '.join(f'{names} do the same here' for names in groups)}: the bottleneck is remote, so a UDP send never "
        'waits, and nothing queues in the sender that could be given up; with bottleneck = "local-device" they differ'
    )


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
