"""Flows that differ in what the scenario made alike: said beside the results, so that the network is not blamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framewire.scenario import ExternalFlow, Scenario

__all__ = ["note"]

DEFAULT = "net.ipv4.tcp_congestion_control"
"""The congestion control of sockets that choose none, as ``kernel.settings`` of ``run.json`` has it: of one host."""


def note(scenario: Scenario, info: Mapping[str, Any], protocols: Mapping[str, str]) -> str | None:
    """Says that applications had another congestion control than the resolved scenario gives them; else None.

    The kernel lets a network namespace have only a default that every user of the machine may choose. ``protocols``
    names by flow the protocol that carried it (:func:`framewire.stats.main_protocols`): what went over UDP, as SRT
    does, has no congestion control of the kernel's.

    >>> from framewire.scenario import load
    >>> ends = {"sender": {"command": ["send", "{movie}"]}, "receiver": {"command": ["receive"]}}
    >>> flows = load({"flow": [{"name": "theirs", "congestion": "cubic", **ends}]})
    >>> bbr = {"kernel": {"default_congestion": {"theirs": "bbr"}}}
    >>> note(flows, bbr, {"theirs": "tcp"}).partition(",")[0]
    "theirs had this machine's congestion control"
    >>> note(flows, bbr, {"theirs": "udp"})
    >>> note(flows, {"kernel": {"default_congestion": {"theirs": "cubic"}}}, {"theirs": "tcp"})
    >>> note(flows, {"kernel": None}, {"theirs": "tcp"})
    """
    kernel = info.get("kernel") or {}  # in virtual time there is none
    one_host = (kernel.get("settings") or {}).get(DEFAULT)  # before hosts were distinguished
    by_flow = kernel.get("default_congestion") or {}
    names_by_change: dict[tuple[str, str], list[str]] = {}
    for flow in scenario.flows:
        had = by_flow.get(flow.name, one_host)
        if isinstance(flow, ExternalFlow) and protocols.get(flow.name) == "tcp" and had is not None:
            names_by_change.setdefault((str(had), str(flow.congestion)), []).append(flow.name)
    sentences = [
        f"{', '.join(names)} had this machine's congestion control, {had}, where the sockets did not choose one, and "
        f"not {wanted} as the scenario says: this kernel allows no other. Add {wanted} to "
        f'net.ipv4.tcp_allowed_congestion_control (as root), or give the lab\'s own flows congestion = "{had}" to '
        "compare like with like"
        for (had, wanted), names in names_by_change.items()
        if had != wanted
    ]
    return ". ".join(sentences) or None
