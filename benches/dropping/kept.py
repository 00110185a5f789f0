"""Names for what is kept: other code and other cases have other names, so that nothing stale is found."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import cases
import measure

from framewire import _native, content_store, playout
from framewire.files import sha256


def stamp(scenario: dict[str, Any], *files: Path) -> str:
    """Of a scenario, the recording of its link, what else is named (a movie, a plugin), and the code that runs and
    measures it.

    The native module knows the sources that it was built from; a build that does not is identified by its bytes.
    """
    sources = getattr(_native, "__sources__", "debug")
    code = sources if sources != "debug" else _content(Path(str(_native.__file__)))
    modules = (Path(str(module.__file__)) for module in (cases, measure, playout))
    return content_store.key([code, [_content(file) for file in (*modules, *files)], _by_content(scenario)], 12)


def _by_content(scenario: dict[str, Any]) -> dict[str, Any]:
    """With the digest of a recording in place of its path, which differs from machine to machine."""
    wire = scenario["network"].get("wire", {})
    if "trace" not in wire:
        return scenario
    network = {**scenario["network"], "wire": {**wire, "trace": _content(Path(wire["trace"]))}}
    return {**scenario, "network": network}


_content = cache(sha256)
