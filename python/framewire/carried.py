"""Whether the transports carry a movie's codec, asked before anything is made, taken out of a file or started.

The rule is the sessions', in the compiled half. It is asked by simulating one picture of that codec.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from framewire._native import LoadedMovie, ScenarioError, load_movie, simulate_cell
from framewire.scenario import load

__all__ = ["refusal"]

_ONE_PICTURE = {
    "h264": "000000016764100aacbbd808800000030080000019020000000168ee0f2c8b00000165888404bffef7addf814dc32b3d",
    "hevc": (
        "0000000140010c01ffff01600000030090000003000003001e9598090000000142010101600000030090000003000003001e"
        "a0884596566abcaf016808000003000800000300c840000000014401c173d0890000012801af1d80ee238fff5e8f"
    ),
    "mpeg1video": "000001b301001013ffffe018000001b80008004000000100000ffff80000010113f87d294888",
    "mpeg2video": (
        "000001b301001013ffffe018000001b5148a00010000000001b80008004000000100000ffff8000001b58ffff34180000001"
        "0113f87d294888"
    ),
}
"""By ffmpeg's name of the codec, a black picture of 16x16 as an elementary stream."""


def refusal(codec: str, transports: Mapping[str, str]) -> str | None:
    """Why the first flow that cannot send a movie of this codec cannot; None where all can.

    ``codec`` is ffmpeg's name of it; of one that no flow carries the reader of movies tells, and nothing is said here.
    ``transports`` are the lab's own that send the movie, by flow.
    """
    if codec not in _ONE_PICTURE or not transports:
        return None
    flows = [{"name": name, "transport": transport} for name, transport in transports.items()]
    picture = _picture(codec)
    asked = load({"network": {"kind": "wired"}, "flow": flows}, movie_duration_s=picture.duration_s)
    try:
        simulate_cell(json.dumps(asked.data), picture)
    except ScenarioError as error:
        return str(error)
    return None


@cache
def _picture(codec: str) -> LoadedMovie:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "picture"
        path.write_bytes(bytes.fromhex(_ONE_PICTURE[codec]))
        return load_movie(path)
