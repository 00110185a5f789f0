"""Names for what is kept: whoever has other code or other cases has other names, and finds nothing stale."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import cases
import measure

from framewire import _native
from framewire.report import display


def stamp(scenario: dict[str, Any], *files: Path) -> str:
    """Of a scenario, the recording of its link, what else is named (a movie, a plugin), and the code that runs and
    measures it.

    The native module knows the sources that it was built from; a build that does not is told apart by its bytes.
    """
    digest = hashlib.sha256()
    sources = getattr(_native, "__sources__", "debug")
    digest.update(sources.encode() if sources != "debug" else _content(Path(str(_native.__file__))).encode())
    for file in (*(Path(str(module.__file__)) for module in (cases, measure, display)), *files):
        digest.update(_content(file).encode())
    digest.update(json.dumps(_by_content(scenario), sort_keys=True).encode())
    return digest.hexdigest()[:12]


def _by_content(scenario: dict[str, Any]) -> dict[str, Any]:
    """With the digest of a recording in place of its path, which differs from machine to machine."""
    wire = scenario["network"].get("wire", {})
    if "trace" not in wire:
        return scenario
    network = {**scenario["network"], "wire": {**wire, "trace": _content(Path(wire["trace"]))}}
    return {**scenario, "network": network}


@cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
