"""Over what is streamed: every path with the other flows on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from framewire.studies.hybrid.movies import MILD, STRONG, Movie
from framewire.studies.traces import QUEUE_PACKETS, ROUND_TRIP_MS, Recording

__all__ = ["CONTROLS", "STREAM", "WITHOUT_REPEATS", "Path", "paths"]

STREAM = "stream"
"""Name of the flow that is looked at."""

WITHOUT_REPEATS = "without repeats"

CONTROLS = ("vtp-hybrid", "vtp", "tfrc", "fixed", WITHOUT_REPEATS)
"""What is compared, by the names of transports; and the hybrid one with nothing sent again."""

SIDE_BY_SIDE_MS = 10.0
"""The round trip of the paper's experiments."""


@dataclass(frozen=True)
class Path:
    """A path and the other flows on it."""

    name: str
    link: tuple[tuple[str, str], ...]
    """Keys of the wire."""
    bps: float
    """Mean rate."""
    round_trip_ms: float
    queue_packets: int
    rivals: int = 0
    congestion: str = "reno"
    movie: Movie = MILD
    is_held_out: bool = False
    """Whether no rule and no number of the control was chosen on it, when it was first made."""

    @classmethod
    def of(
        cls, name: str, mbps: float, *, ms: float = SIDE_BY_SIDE_MS, loss_percent: float = 0.0, queue: int = 50
    ) -> Path:
        """A link of one rate."""
        link = (("rate", f"{round(mbps * 1e6)} bit/s"), ("loss", f"{loss_percent:g} %"))
        return cls(name, link, mbps * 1e6, ms, queue)

    @classmethod
    def recorded(cls, name: str, recording: Recording) -> Path:
        """A recorded link."""
        trace = (("trace", str(recording.path.resolve())),)
        return cls(name, trace, recording.mean_bps, ROUND_TRIP_MS, QUEUE_PACKETS)

    def among(self, rivals: int, congestion: str) -> Path:
        """The same beside so many connections."""
        return replace(self, rivals=rivals, congestion=congestion)

    @property
    def fair_bps(self) -> float:
        """The rate over the number of flows, headers counted."""
        return self.bps / (self.rivals + 1)

    @property
    def is_recorded(self) -> bool:
        """Whether it is a recorded link."""
        return "trace" in dict(self.link)

    @property
    def is_drawn(self) -> bool:
        """Whether any draw enters, so that its runs differ: of losses, or of when connections begin."""
        return self.rivals > 0 or dict(self.link).get("loss", "0 %") != "0 %"

    def scenario(self, control: str, ladder: str) -> dict[str, Any]:
        """The experiment but for its seed. ``ladder`` is the movie's streaming file."""
        wire = dict(self.link) | {
            "delay": f"{round(500 * self.round_trip_ms)} us",
            "queue": f"{self.queue_packets} packets",
        }
        stream: dict[str, Any] = {"name": STREAM, "transport": control, "start": "10 s"}
        if control in ("vtp-hybrid", WITHOUT_REPEATS):
            stream |= {"transport": "vtp-hybrid", "player_buffer": f"{self.movie.player_bytes} B"}
        if control == WITHOUT_REPEATS:
            stream["repeats"] = False
        bulk = {
            "transport": "bulk",
            "connections": self.rivals,
            "congestion": self.congestion,
            "start_within": "2 s",
        }
        return {
            "layout": "together",
            "limit": "150 s",
            "movie": {"ladder": ladder},
            "network": {"kind": "wired", "wire": wire},
            "playout": {"startup": "1 s"},
            "flow": [stream, *([bulk] if self.rivals else [])],
        }


LTE = ("TMobile-LTE-short.down", "Verizon-LTE-short.down", "TMobile-LTE-short.up", "Verizon-LTE-short.up")
HELD_OUT = {"sbu": "sbu_8_1_wifi_cap60.mahi", "ucc5g": "ucc5g_driving_B_2019.12.16_12.27.05_s300-900_cap60.mahi"}
"""Recordings of Wi-Fi and of a drive with 5G, with seconds of nothing."""


def paths(recorded: Mapping[str, Recording], *, quick: bool = False) -> list[Path]:
    """All of them; recorded links as far as they are there."""
    if quick:
        return list(_quick())
    every = [*_alone_and_among(), *_few_rivals()]
    every += [path for name in LTE if name in recorded for path in _both(name, recorded[name])]
    held_out = list(_held_out())
    held_out += [path for name, file in HELD_OUT.items() if file in recorded for path in _both(name, recorded[file])]
    return [*every, *(replace(path, is_held_out=True) for path in held_out)]


def _quick() -> Iterator[Path]:
    """A part that shows every kind of claim."""
    names = ("5 % lost, 10 Mbit/s", "7 reno, 3 Mbit/s", "1 s of queue, 300 kbit/s", "1 cubic, 3 Mbit/s")
    return (path for path in _alone_and_among() if path.name in names)


def _both(name: str, recording: Recording) -> Iterator[Path]:
    """A recorded link, alone and beside a connection."""
    yield Path.recorded(name, recording)
    yield Path.recorded(f"{name}, 1 cubic", recording).among(1, "cubic")


def _alone_and_among() -> Iterator[Path]:
    yield Path.of("alone, 10 Mbit/s", 10)
    yield from (Path.of(f"{rivals} reno, 3 Mbit/s", 3).among(rivals, "reno") for rivals in (1, 3, 7, 11, 15, 23, 31))
    yield Path.of("1 reno, 10 Mbit/s", 10).among(1, "reno")
    for rivals, congestion in ((1, "bbr"), (7, "bbr"), (1, "cubic"), (7, "cubic")):
        yield Path.of(f"{rivals} {congestion}, 3 Mbit/s", 3).among(rivals, congestion)
    yield from (Path.of(f"{loss} % lost, 10 Mbit/s", 10, loss_percent=loss) for loss in (1, 5))
    yield Path.of("1 % lost and 7 reno", 3, loss_percent=1).among(7, "reno")
    # A second of queue, in packets of about 850 bytes with headers, and of 1,500.
    yield Path.of("1 s of queue, 300 kbit/s", 0.3, queue=44)
    yield Path.of("1 s of queue, 1 Mbit/s, 1 cubic", 1, queue=83).among(1, "cubic")
    yield Path.of("below the floor, 100 kbit/s", 0.1)


def _few_rivals() -> Iterator[Path]:
    """A few rivals, and a movie whose highest level asks for twice the fair share."""
    kinds = (
        (1, 40, 50, 3), (2, 40, 100, 2), (2, 10, 50, 3), (5, 40, 100, 1), (5, 20, 250, 3), (10, 40, 200, 3),
        (20, 40, 250, 1), (20, 40, 250, 3),
    )  # fmt: skip
    for congestion in ("reno", "cubic"):
        for mbps, ms, queue, rivals in kinds:
            name = f"{rivals} {congestion}, {mbps} Mbit/s, {ms} ms, {queue} packets"
            top = 2e3 * mbps / (rivals + 1)
            path = Path.of(name, mbps, ms=ms, queue=queue).among(rivals, congestion)
            yield replace(path, movie=Movie((top / 4, top / 2, top)))
    yield replace(Path.of("strong, 11 reno, 5 Mbit/s", 5).among(11, "reno"), movie=STRONG)
    for mbps, ms, queue in ((3, 150, 35), (2, 100, 15)):
        yield Path.of(f"3 bbr, {mbps} Mbit/s, {ms} ms, {queue} packets", mbps, ms=ms, queue=queue).among(3, "bbr")


def _held_out() -> Iterator[Path]:
    yield Path.of("5 reno, 2 Mbit/s, 50 ms, 30 packets", 2, ms=50, queue=30).among(5, "reno")
    yield Path.of("9 cubic, 5 Mbit/s, 80 ms, 120 packets", 5, ms=80, queue=120).among(9, "cubic")
    yield Path.of("2 bbr, 2 Mbit/s, 60 ms, 100 packets", 2, ms=60, queue=100).among(2, "bbr")
    yield Path.of("3 % lost, 6 Mbit/s, 120 ms", 6, ms=120, loss_percent=3)
    yield Path.of("2 % lost and 4 reno, 4 Mbit/s, 40 ms", 4, ms=40, loss_percent=2, queue=80).among(4, "reno")
    # 0.7 s and 1.6 s of queue.
    yield Path.of("45 packets, 500 kbit/s, 30 ms", 0.5, ms=30, queue=45)
    yield Path.of("200 packets, 1.5 Mbit/s, 30 ms, 1 cubic", 1.5, ms=30, queue=200).among(1, "cubic")
    yield Path.of("80 kbit/s, 30 ms", 0.08, ms=30, queue=40)
