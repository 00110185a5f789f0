"""The crates and what they see, as their manifests say."""

from __future__ import annotations

import tomllib
from pathlib import Path

from svg import Figure

CRATES = Path(__file__).parents[2] / "crates"
SAID = {
    "units": "units, seeds",
    "media": "movies, frames",
    "wire": "packet formats",
    "link": "queues, 802.11",
    "tcp": "virtual-time TCP",
    "transport": "frame queues",
    "adaptive": "rate controls",
    "scenario": "scenario files",
    "recording": "ledger, tables",
    "session": "flows, halves",
    "world": "shared by worlds",
    "sim": "virtual time",
    "sockets": "kernel sockets",
    "endpoint": "servers, clients",
    "kernel": "kernel channels",
    "bpf": "TCP algorithms",
    "emu": "this kernel",
    "real": "two machines",
    "gst": "elements",
    "python": "bindings",
}
WORLDS = {"sim", "emu", "endpoint", "sockets", "bpf", "kernel", "gst", "python", "real"}
NOT_DRAWN = {"fuzzing"}
"""Sees nearly all others."""
WIDTH, HEIGHT, LEFT, TOP, ACROSS, DOWN = 102.0, 42.0, 20.0, 56.0, 124.0, 66.0


def draw() -> Figure:
    """The picture of design.md: a crate sees those to its left that an arrow leads to, and all that these see."""
    sees = seen()
    levels = {crate: level(crate, sees) for crate in sees}
    columns = [[crate for crate in sees if levels[crate] == number] for number in range(max(levels.values()) + 1)]
    rows = max(map(len, columns))
    figure = Figure("Who sees whom: the crates", LEFT * 2 + ACROSS * len(columns) - 22, TOP + DOWN * rows + 44)
    places: dict[str, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        first = TOP + DOWN * (rows - len(column)) / 2
        places |= {crate: (LEFT + ACROSS * number, first + DOWN * place) for place, crate in enumerate(column)}
    for crate, needed in sees.items():
        for other in direct(needed, sees):
            (x, y), (right, middle) = places[crate], places[other]
            figure.arrow((x, y + HEIGHT / 2), (right + WIDTH, middle + HEIGHT / 2))
    for crate, (x, y) in places.items():
        kind = "part" if crate in WORLDS else "box"
        figure.box(x, y, WIDTH, HEIGHT, crate, [SAID[crate]], kind)
    note = "Blue: reads clocks, opens sockets or starts threads. Not drawn: fuzzing, and arrows that others imply."
    figure.text(LEFT, figure.height - 16, note, "small", "pale")
    return figure


def seen() -> dict[str, set[str]]:
    """By crate those that its manifest names."""
    manifests = {path.parent.name: tomllib.loads(path.read_text()) for path in sorted(CRATES.glob("*/Cargo.toml"))}
    return {
        crate: {name.removeprefix("framewire-") for name in manifest["dependencies"] if name.startswith("framewire-")}
        for crate, manifest in manifests.items()
        if crate not in NOT_DRAWN
    }


def level(crate: str, sees: dict[str, set[str]]) -> int:
    """How many stand below it, one on the other; one that sees nothing and has one user stands just below that."""
    users = [other for other in sees if crate in sees[other]]
    if not sees[crate] and len(users) == 1:
        return level(users[0], {**sees, users[0]: sees[users[0]] - {crate}}) - 1
    return max((1 + level(other, sees) for other in sees[crate]), default=0)


def reached(crates: set[str], sees: dict[str, set[str]]) -> set[str]:
    """These, and all that they see."""
    return crates.union(*(reached(sees[crate], sees) for crate in crates))


def direct(crates: set[str], sees: dict[str, set[str]]) -> list[str]:
    """Those that no other one of them sees."""
    return sorted(crate for crate in crates if crate not in reached(set.union(set(), *map(sees.get, crates)), sees))
