"""The table: what comes of every stream, and of those that do not come whole what a third program has of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .codecs import CODECS, FRAMES, Codec, movie
from .link import SENT, SERVED
from .outcome import Outcome
from .programs import Unable
from .streams import PEERS, WAYS, between

THIRDS = ("FFmpeg", "GStreamer")
"""Who takes framewire's place where not all of a stream comes."""


@dataclass(frozen=True, order=True)
class Case:
    """One stream."""

    transport: str
    way: str
    peer: str
    codec: str


@dataclass(frozen=True)
class Result:
    """What came of it: an outcome, or what the peer lacks; and what others had in framewire's place."""

    outcome: Outcome | None
    lacks: str = ""
    thirds: dict[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`whole`, `differs` or `lacks`."""
        if self.outcome is None:
            return "lacks"
        return "whole" if self.outcome.is_whole else "differs"

    def words(self) -> str:
        """What is in the cell about a stream that does not come whole."""
        if self.outcome is None:
            return self.lacks
        others = "; ".join(f"{name} in framewire's place: {frames}" for name, frames in self.thirds.items())
        return f"{self.outcome.frames} of {self.outcome.of} frames" + (f" ({others})" if others else "")


class Kept:
    """What came of streams, a line of JSON for each, so that some can be carried anew."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.results: dict[Case, Result] = {}
        for line in path.read_text().splitlines() if path is not None and path.exists() else []:
            case, outcome, lacks, thirds = json.loads(line)
            self.results[Case(**case)] = Result(outcome and Outcome(**outcome), lacks, thirds)

    def keep(self, case: Case, result: Result) -> None:
        """Adds a line."""
        if self.path is not None:
            line = [asdict(case), result.outcome and asdict(result.outcome), result.lacks, result.thirds]
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def cases(peers: Sequence[str], transports: Sequence[str], codecs: Sequence[Codec]) -> list[Case]:
    """All streams that framewire has."""
    return [
        Case(transport, way, peer, codec.name)
        for transport in transports
        for peer in peers
        for way in WAYS
        for codec in codecs
        if codec.in_ts or "ts" not in transport.split("+")
    ]


def carried_out(case: Case, movies: Path) -> Result:
    """Carries a stream, and where frames are missing of it, the same without framewire."""
    codec = next(codec for codec in CODECS if codec.name == case.codec)
    try:
        outcome = WAYS[case.way](case.peer, case.transport, codec, movies)
    except Unable as unable:
        return Result(None, str(unable))
    except (RuntimeError, subprocess.TimeoutExpired) as error:  # which is told, and others go on
        outcome = Outcome(0, FRAMES, str(error))
    thirds = {}
    if not outcome.is_whole:
        for third in (name for name in THIRDS if name != case.peer and PEERS[name].is_there()):
            pair = (case.peer, third) if case.way == "from" else (third, case.peer)
            try:
                thirds[third] = between(*pair, case.transport, codec, movies).frames
            except (Unable, RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{case}: {pair}: {error}", file=sys.stderr, flush=True)
    return Result(outcome, thirds=thirds)


def all_of(todo: Iterable[Case], movies: Path, at_once: int, kept: Kept) -> dict[Case, Result]:
    """Carries so many streams at once, but those of which it is kept what came of them."""
    for codec in CODECS:
        movie(codec, movies)

    def one(case: Case) -> tuple[Case, Result]:
        if (known := kept.results.get(case)) is not None:
            return case, known
        result = carried_out(case, movies)
        kept.keep(case, result)
        print(f"{case.way:4} {case.peer:9} {case.transport:9} {case.codec:13} {result}", file=sys.stderr, flush=True)
        return case, result

    with ThreadPoolExecutor(at_once) as pool:
        return dict(pool.map(one, todo))


def rows(results: dict[Case, Result], peers: Sequence[str], transports: Sequence[str]) -> list[str]:
    """The table, what it comes to, and what has no peer."""
    heads = [(way, peer) for peer in peers for way in WAYS]
    lines = [
        "| transport | " + " | ".join(f"{way} {peer}" for way, peer in heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for transport in transports:
        cells = [
            cell({case.codec: result for case, result in results.items() if _is(case, transport, *head)})
            for head in heads
        ]
        lines.append(f"| `{transport}` | " + " | ".join(cells) + " |")
    return [*lines, "", *summary(results)]


def _is(case: Case, transport: str, way: str, peer: str) -> bool:
    return (case.transport, case.way, case.peer) == (transport, way, peer)


def cell(results: dict[str, Result]) -> str:
    """The codecs that come whole, and of the others what comes instead; what they have in common is said once."""
    whole = ", ".join(codec for codec, result in results.items() if result.kind == "whole")
    other: dict[str, list[str]] = {}
    for codec, result in results.items():
        if result.kind != "whole":
            other.setdefault(result.words(), []).append(codec)
    said = [
        words if len(codecs) == len(results) else f"{', '.join(codecs)}: {words}" for words, codecs in other.items()
    ]
    return "; ".join(part for part in [whole, *said] if part).replace("|", "\\|")


def summary(results: dict[Case, Result]) -> list[str]:
    """Counts, and what is experimental."""
    kinds = Counter(result.kind for result in results.values())
    lines = [
        f"Of {len(results)} streams {kinds['whole']} come whole, of {kinds['differs']} frames are missing, and "
        f"{kinds['lacks']} there cannot be, as the peer lacks something."
    ]
    if without := experimental(results):
        lines += ["", f"Experimental, as no peer is there that works: {', '.join(without)}."]
    return lines


def experimental(results: dict[Case, Result]) -> list[str]:
    """Transports and codecs that came whole with no peer, one way or both."""
    ways: dict[tuple[str, str], set[str]] = {}
    for case, result in results.items():
        found = ways.setdefault((case.transport, case.codec), set())
        found |= {case.way} if result.kind == "whole" else set()
    names = {frozenset(): "both ways", frozenset({"to"}): "received", frozenset({"from"}): "sent"}
    return [
        f"{codec} by `{transport}` ({names[frozenset(found)]})"
        for (transport, codec), found in ways.items()
        if frozenset(found) in names
    ]


TRANSPORTS = (*SENT, *SERVED)
