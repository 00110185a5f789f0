"""Flows that differ in what the scenario made alike: said beside the results, lest the network be blamed for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["note"]

DEFAULT = "net.ipv4.tcp_congestion_control"
"""The congestion control of sockets that choose none, as ``kernel.settings`` of ``run.json`` has it."""


def note(scenario: Mapping[str, Any], info: Mapping[str, Any]) -> str | None:
    """Says that applications had another congestion control than the resolved scenario gives them; else None.

    The kernel lets a network namespace have only a default that every user of the machine may choose.

    >>> flows = [{"name": "theirs", "transport": "external", "congestion": "cubic"}]
    >>> note({"flow": flows}, {"kernel": {"settings": {"net.ipv4.tcp_congestion_control": "cubic"}}})
    >>> note({"flow": flows}, {"kernel": None})
    >>> note({"flow": flows}, {"kernel": {"settings": {"net.ipv4.tcp_congestion_control": "bbr"}}}).partition(",")[0]
    "theirs had this machine's congestion control"
    """
    had = (info.get("kernel") or {}).get("settings", {}).get(DEFAULT)  # in virtual time there is no kernel
    others = [
        flow
        for flow in scenario.get("flow", [])
        if flow.get("transport") == "external" and had is not None and flow.get("congestion") not in (None, had)
    ]
    if not others:
        return None
    names, wanted = ", ".join(str(flow["name"]) for flow in others), others[0]["congestion"]
    return (
        f"{names} had this machine's congestion control, {had}, where the sockets did not choose one, and not {wanted} "
        f"as the scenario says: this kernel allows no other. Add {wanted} to net.ipv4.tcp_allowed_congestion_control "
        f'(as root), or give the lab\'s own flows congestion = "{had}" to compare like with like'
    )
