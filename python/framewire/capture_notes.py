"""Captures and packet tables that do not hold, or did not give, what they would have: what a reader has to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framewire.scenario import Scenario

__all__ = ["notes"]


def notes(info: Mapping[str, Any], scenario: Scenario | None = None) -> list[str]:
    """A sentence for each thing missing from captures and tables of packets, with the flows whose network it is.
    `info` is run.json, `scenario` what was asked for, where that can be read.

    >>> full = {"written": 9, "left_out": 2, "error": None, "full_at": 8 << 30, "cut_short": None}
    >>> notes({"accuracy": {"a": {"capture": full}, "b": {"capture": None}}})
    ['the capture of a ended at the most that it may take, 8,590 MB: 2 packets are not in it']
    >>> cut = {"left_out": 0, "error": None, "cut_short": "it holds whole packets"}
    >>> notes({"accuracy": {"a": {"capture": cut}, "b": {"capture": cut}}})
    ['of the capture of a, b, because the run was to end at once: it holds whole packets']
    >>> notes({"accuracy": {"a": {"capture": {"left_out": 0, "error": "it stays whole: No space left on device"}}}})
    ['the capture of a: it stays whole: No space left on device']
    >>> notes({"accuracy": {"a": {"capture": {"written": 9, "left_out": 0, "error": None}}}})
    []
    >>> from framewire.scenario import load
    >>> asked = load({"captures": "full", "flow": [{"transport": "udp"}]})
    >>> notes({"world": "simulated"}, asked)[0].partition(": ")[0]
    'the simulated world, whose packets have no bytes, writes no captures (captures = "full")'
    >>> notes({"world": "emulated"}, asked) + notes({"world": "simulated"}, load({"flow": [{"transport": "udp"}]}))
    []
    >>> notes({"accuracy": {"a": {"packets_left_out": 0}, "b": {"packets_left_out": 2_500_000}}})[0][:58]
    'the tables of packets of b end early: the last 2,500,000 p'
    """
    without = []
    if info.get("world") == "simulated" and scenario is not None and scenario.data["captures"] == "full":
        without.append(
            'the simulated world, whose packets have no bytes, writes no captures (captures = "full"): packets.parquet '
            "has every packet's times and verdict, and --world emulated writes captures"
        )
    flows_by_text: dict[tuple[str, str], list[str]] = {}
    for flow, entry in (info.get("accuracy") or {}).items():
        for words in _words(entry if isinstance(entry, dict) else {}):
            flows_by_text.setdefault(words, []).append(flow)
    return without + [f"{before}{', '.join(flows)}{after}" for (before, after), flows in flows_by_text.items()]


def _words(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What stands before and after the names of flows: of their capture and of their tables."""
    capture = entry.get("capture")
    said = _of_capture(capture) if isinstance(capture, dict) else []
    return [(f"{before}the capture of ", after) for before, after in said] + _of_tables(entry)


def _of_tables(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    left_out = entry.get("packets_left_out")
    if not isinstance(left_out, int) or left_out == 0:
        return []
    packets = "packet" if left_out == 1 else f"{left_out:,} packets"
    after = (
        f" end early: the last {packets} of their network {'is' if left_out == 1 else 'are'} not in them, because the "
        "run was to end at once; what is counted of all packets is left open"
    )
    return [("the tables of packets of ", after)]


def _of_capture(capture: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What stands before and after the name of a capture."""
    said = []
    left_out = capture.get("left_out") or 0
    missing = f"{left_out:,} packet{' is' if left_out == 1 else 's are'} not in it"
    if capture.get("full_at") is not None:
        said.append(("", f" ended at the most that it may take, {capture['full_at'] / 1e6:,.0f} MB: {missing}"))
    elif capture.get("error") and not left_out:
        said.append(("", f": {capture['error']}"))
    elif capture.get("error"):
        said.append(("", f" could not be written to its end ({capture['error']}): {missing}"))
    elif left_out:
        said.append(("", f" is not whole: {missing}, because the disk was too slow"))
    if capture.get("cut_short"):
        said.append(("of ", f", because the run was to end at once: {capture['cut_short']}"))
    return said
