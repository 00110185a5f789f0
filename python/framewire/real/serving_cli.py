"""``framewire send --serve``: what it says and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from framewire.commands import print_json, stderr, stdout, warn
from framewire.real import serving
from framewire.real.answers import answers_of, listed
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
    refused = f", {result['refused_requests']:,} requests refused" if result["refused_requests"] else ""
    punctual = "" if late is None else f"; 99 % of frames left within {late * 1e3:.2f} ms of their time"
    _print(f"{result['answers']:,} answers to {result['connections']:,} connections{cut}{refused}{punctual}")
    _print(f"server   {end.directory}")
    if result["ledgers"]:
        _print(f"ledgers of {result['ledgers']:,} answers, for framewire report {end.directory} RECEIVER_DIR:")
        for line in listed(answers_of(end.directory)):
            _print(f"  {line}")
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

    >>> sent = {"peer": "[::1]:5", "method": "GET", "what": "/", "began_s": 1.0, "ended_s": 1.00005, "bytes": 149_304}
    >>> sent |= {"ended": "complete", "reason": None, "frames": 0, "given_up": 0}
    >>> _client(sent), _client(sent | {"ended_s": 1.2})
    ('[::1]:5 / 149,304 bytes, complete', '[::1]:5 / 149,304 bytes, 6.0 Mbit/s, complete')
    >>> _client(sent | {"frames": 750, "given_up": 258})
    '[::1]:5 / 149,304 bytes, complete, but 258 of 750 frames given up: the client was too slow'
    >>> _client(sent | {"method": "HEAD", "bytes": 0})
    '[::1]:5 HEAD / complete'
    >>> _client(sent | {"ended": "refused", "reason": "404 Not Found"})
    '[::1]:5 GET / refused: 404 Not Found'
    >>> _client(sent | {"method": None, "what": None, "ended": "refused", "reason": "400 Bad Request"})
    '[::1]:5 refused: 400 Bad Request'
    >>> _client(sent | {"ended": "looked at"})
    '[::1]:5 / 149,304 bytes, looked at: what framewire receive does first'
    """
    reason = f": {entry['reason']}" if entry["reason"] else ""
    if entry["ended"] == "refused" or entry["method"] == "HEAD":
        asked = filter(None, (entry["peer"], entry["method"], entry["what"]))
        return f"{' '.join(asked)} {entry['ended']}{reason}"
    if entry["ended"] == "looked at":
        reason = ": what framewire receive does first"
    elif entry["given_up"]:
        reason += f", but {entry['given_up']:,} of {entry['frames']:,} frames given up: the client was too slow"
    time = entry["ended_s"] - entry["began_s"]
    rate = f", {8e-6 * entry['bytes'] / time:,.1f} Mbit/s" if time >= SHORTEST_S else ""
    return f"{entry['peer']} {entry['what']} {entry['bytes']:,} bytes{rate}, {entry['ended']}{reason}"


def _print(text: str) -> None:
    stdout().print(text, markup=False, highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    stderr().print(text, markup=False, highlight=False, soft_wrap=True)
