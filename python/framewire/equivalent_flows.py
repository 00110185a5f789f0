"""Flows of a scenario that cannot differ, whatever is measured: said beside the results, so that equal figures are not
taken for a finding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from framewire.transports import DATAGRAM

__all__ = ["note"]

IDLE_SETTINGS = frozenset({"name", "transport", "send_buffer", "device_queue"})
"""What does nothing where no send ever finds the socket or the device full."""


def note(scenario: Mapping[str, Any]) -> str | None:
    """Names the flows of a resolved scenario that do the same, and says why; None where all may differ.

    With a remote bottleneck a datagram is in the network at once (docs/transports.md): a send never waits and is never
    refused, so transports that differ in what they do then do the same.

    >>> udp, ifd = ({"name": name, "transport": name, "mtu": 1500} for name in ("udp", "udp+ifd"))
    >>> note({"network": {"bottleneck": "local-device"}, "flow": [udp, ifd]})
    >>> note({"network": {"bottleneck": "remote"}, "flow": [udp, ifd | {"mtu": 576}]})
    >>> note({"network": {"bottleneck": "remote"}, "flow": [udp, ifd]}).partition(": ")[0]
    'udp and udp+ifd do the same here'
    """
    if scenario.get("network", {}).get("bottleneck") != "remote":
        return None
    groups: dict[str, list[str]] = {}
    for flow in scenario.get("flow", []):
        if flow.get("transport") in DATAGRAM:
            acting = {key: value for key, value in flow.items() if key not in IDLE_SETTINGS}
            groups.setdefault(json.dumps(acting, sort_keys=True), []).append(str(flow["name"]))
    alike = [_listed(names) for names in groups.values() if len(names) > 1]
    if not alike:
        return None
    return (
        f"{'; '.join(f'{names} do the same here' for names in alike)}: the bottleneck is remote, so a UDP send never "
        'waits, and nothing queues in the sender that could be given up; with bottleneck = "local-device" they differ'
    )


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
