"""``framewire send --serve``: what it says and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from framewire.commands import print_json, stderr, stdout, warn
from framewire.real import serving
from framewire.real.ends import End

__all__ = ["serve"]


def serve(as_json: bool, source: Path, at: str, **options: Any) -> End:
    """Serves until it is interrupted, says what happens, and prints what came of it."""
    end = serving.serve(source, at, listener=_shown(serving.Place.parse(at).scheme), **options)
    result = end.result
    if as_json:
        print_json({"directory": str(end.directory), **result})
        return end
    cut = f", {result['cut_short']:,} of them cut short" if result["cut_short"] else ""
    late = result["lateness_s"]["p99"]
    punctual = "" if late is None else f"; 99 % of frames left within {late * 1e3:.2f} ms of their time"
    _print(f"{result['answers']:,} answers to {result['connections']:,} connections{cut}{punctual}")
    _print(f"server   {end.directory}")
    if result["ledgers"]:
        _print(
            f"ledgers of {result['ledgers']:,} answers, for framewire report with a receiver's: {end.directory}/clients"
        )
    if result["without_ledger"]:
        _print(f"without a ledger: {result['without_ledger']:,} answers, as there was no room for more")
    if result["refused"]:
        warn(f"{result['refused']:,} connections were closed because there were too many (--clients)")
    return end


def _shown(scheme: str) -> Callable[[dict[str, Any]], None]:
    def show(event: dict[str, Any]) -> None:
        match event["event"]:
            case "step":
                _say(event["text"])
            case "left out":
                form = f" by {event['transport']}" if event["transport"] else ""
                warn(f"{event['name']}: not served{form}: {event['reason']}")
            case "sound left out":
                form = f"{event['transport']} without" if event.get("transport") else "served without"
                warn(f"{event['name']}: {form} its sound: {event['reason']}")
            case "serving":
                _say(f"serving at {scheme}://{event['address']}/ ; Ctrl-C ends it")
                for path in event["paths"]:
                    _say(f"  {quote(path)}")
            case "client":
                _say(_client(event["client"]))

    return show


SHORTEST_S = 0.1
"""What is over sooner went into the buffers of sockets: its rate would be no network's."""


def _client(entry: dict[str, Any]) -> str:
    """What one client was sent, in a line.

    >>> sent = {"peer": "[::1]:5", "what": "/", "began_s": 1.0, "bytes": 149_304, "ended": "complete", "reason": None}
    >>> _client(sent | {"ended_s": 1.00005}), _client(sent | {"ended_s": 1.2})
    ('[::1]:5 / 149,304 bytes, complete', '[::1]:5 / 149,304 bytes, 6.0 Mbit/s, complete')
    """
    time = entry["ended_s"] - entry["began_s"]
    rate = f", {8e-6 * entry['bytes'] / time:,.1f} Mbit/s" if time >= SHORTEST_S else ""
    reason = f": {entry['reason']}" if entry["reason"] else ""
    return f"{entry['peer']} {entry['what']} {entry['bytes']:,} bytes{rate}, {entry['ended']}{reason}"


def _print(text: str) -> None:
    stdout().print(text, markup=False, highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    stderr().print(text, markup=False, highlight=False, soft_wrap=True)
