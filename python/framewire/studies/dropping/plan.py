"""What is compared: movies, links, and transports with their limits and sockets; and the campaigns of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from framewire.studies.measured import Measurement
from framewire.studies.traces import Recording

__all__ = [
    "BITRATE",
    "DEFAULT",
    "HEIGHT",
    "LIMITS_MS",
    "MAIN_STARTUP_MS",
    "METHODS",
    "MOVIES",
    "NARROW",
    "OPTIMISED",
    "RIVALS",
    "SOCKETS",
    "STARTUPS_MS",
    "TRACES",
    "UNSEEN",
    "UNSEEN_MOVIES",
    "WIDTH",
    "WIFI",
    "Link",
    "Method",
    "Plan",
    "Setting",
    "plan",
]

BITRATE = "5 Mbit/s"
WIDTH, HEIGHT = 720, 576
"""Of the lab's movies."""

MOVIES = {
    "mpeg2": "MPEG-2, IBBP",
    "h264": "H.264, no pyramid",
    "h264-pyramid": "H.264, pyramid",
    "h265": "H.265, pyramid",
}
"""Names of codecs, and what the page calls them: a pyramid has B frames that others refer to."""


@dataclass(frozen=True)
class Link:
    """A network."""

    name: str
    text: str
    network: Mapping[str, Any]
    is_drawn: bool = False
    """Whether any draw enters, so that its repeats differ."""
    seed: int = 0
    """What is added to that of the study."""


WIFI = Link(
    "wifi",
    "the thesis' Wi-Fi: 802.11b, four transmissions, a microwave oven from 20 to 40 s",
    {"kind": "wifi", "wifi": {"retry": 4, "oven": {"on": [["20 s", "40 s"]]}}},
    is_drawn=True,
)
NARROW = Link(
    "narrow",
    "a wire of 4 Mbit/s, 20 % below the bitrate, 20 ms each way, a queue of 100 ms",
    {"kind": "wired", "wire": {"rate": "4 Mbit/s", "delay": "20 ms", "queue": "100 ms"}},
)
UNSEEN = (
    replace(WIFI, name="wifi-redrawn", text=f"{WIFI.text}, with other draws of chance", seed=10),
    Link(
        "slow",
        "a wire of 3 Mbit/s, 40 ms each way, a queue of 100 ms",
        {"kind": "wired", "wire": {"rate": "3 Mbit/s", "delay": "40 ms", "queue": "100 ms"}},
    ),
    Link(
        "lossy",
        "a wire of 4.6 Mbit/s that loses 0.5 % of the packets, 20 ms each way, a queue of 100 ms",
        {"kind": "wired", "wire": {"rate": "4.6 Mbit/s", "delay": "20 ms", "queue": "100 ms", "loss": "0.5 %"}},
        is_drawn=True,
        seed=4,
    ),
)
"""Links on which nothing was tuned."""

UNSEEN_MOVIES = ("mpeg2", "h264-pyramid")
"""The movies that are sent over them."""

TRACES = {
    "verizon": ("Verizon-LTE-short.down", "an LTE link, recorded (Verizon, downlink)"),
    "t-mobile": ("TMobile-LTE-short.up", "an LTE link, recorded (T-Mobile, uplink)"),
}
"""Recordings of Mahimahi's that a directory of recorded links may hold."""


def _recorded(recorded: Mapping[str, Recording]) -> Iterator[Link]:
    for name, (file, text) in TRACES.items():
        if file in recorded:
            one = recorded[file]
            wire = {"trace": str(one.path.resolve()), "delay": "20 ms", "queue": "64 KiB"}
            mean = f"mean {one.mean_bps / 1e6:.1f} Mbit/s"
            yield Link(name, f"{text}, {mean}, 20 ms each way, a queue of 64 KiB", {"kind": "wired", "wire": wire})


STARTUPS_MS = (300, 1000, 3000)
"""How long players wait before they show the first frame."""

MAIN_STARTUP_MS = 1000
"""The one of the full tables."""

LIMITS_MS = (150, 250, 300, 500, 700, 900, 1000, 1150, 2000, 3000, 3150)
"""How much may wait, for every method that has a limit in time."""

SOCKETS = {"equal": "32 KiB", "own": None}
"""Most that may be unsent in the kernel: the same for all, or as the program has it."""


@dataclass(frozen=True)
class Method:
    """A transport of the lab, and what the page calls it."""

    name: str
    label: str
    limited: bool = True
    ours: bool = False


METHODS = (
    Method("tcp", "plain TCP", limited=False),
    Method("tcp+leaky", "queue leaky=downstream"),
    Method("tcp+keyframe", "recover-policy=keyframe"),
    Method("tcp+obs", "OBS Studio's rule"),
    Method("tcp+ifd", "ifd", limited=False, ours=True),
    Method("tcp+ifd-optimised", "ifd-optimised", limited=False, ours=True),
    Method("tcp+dependency", "dependency", ours=True),
)
DEFAULT = METHODS[-1]
RIVALS = tuple(method for method in METHODS if not method.ours)


@dataclass(frozen=True)
class Setting:
    """A method with a limit, if it has any, and a socket."""

    method: Method
    limit_ms: int | None
    socket: str

    @property
    def flow_name(self) -> str:
        """Of the flow in a scenario."""
        return f"{self.method.name}-{self.socket}-{self.limit_ms or 0}"

    def flow(self) -> dict[str, Any]:
        """The flow of a scenario."""
        flow: dict[str, Any] = {"name": self.flow_name, "transport": self.method.name}
        if self.limit_ms is not None:
            flow["queue_time"] = f"{self.limit_ms} ms"
        unsent = SOCKETS[self.socket]
        if unsent is not None:
            flow["unsent_limit"] = unsent
        elif self.method.ours:
            flow["unsent_limit"] = "1024 MiB"  # more than any send buffer: no limit
        return flow


OPTIMISED = Setting(METHODS[5], None, "equal")

CARRIER_SENSE = ("0 us", "20 us")
"""None, and the default of scenarios, at which all else is measured."""

FLOWS = 50
"""In a cell; a scenario has 64 at most."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured."""

    movies: Sequence[str]
    links: Sequence[Link]
    unseen: Sequence[Link] = ()
    limits_ms: Sequence[int] = LIMITS_MS
    seconds: int = 60
    repeats: int = 3
    """Draws of each link on which there are any."""
    seed: int = 1
    carrier_sense: Sequence[str] = ()

    def settings(self) -> list[Setting]:
        """Everything that is tried."""
        limits = {True: self.limits_ms, False: (None,)}
        return [
            Setting(method, limit, socket)
            for method in METHODS
            for limit in limits[method.limited]
            for socket in SOCKETS
        ]

    @property
    def unseen_movies(self) -> list[str]:
        """What is sent over the links on which nothing was tuned."""
        return [codec for codec in UNSEEN_MOVIES if codec in self.movies]

    def draws(self, link: Link) -> int:
        """How often it is measured."""
        return self.repeats if link.is_drawn else 1

    def link(self, name: str) -> Link:
        """One of its links."""
        return next(one for one in (*self.links, *self.unseen) if one.name == name)

    def with_carrier_sense(self) -> list[tuple[str, Link]]:
        """The Wi-Fi at other times of carrier sense, by these."""
        return [(time, _at(time)) for time in self.carrier_sense if WIFI in self.links]

    def limited_to_startup(self) -> list[Setting]:
        """Every method with the limit that is known before, for the main start-up, with equal sockets."""
        return [one for one in self.settings() if one.socket == "equal" and one.limit_ms in (None, MAIN_STARTUP_MS)]

    def measurements(self) -> list[Measurement]:
        """The campaigns: links with draws and without apart, as only the former are repeated."""
        made = []
        for name, links, movies in (
            ("tuned", self.links, list(self.movies)),
            ("unseen", self.unseen, self.unseen_movies),
        ):
            for is_drawn, kind in ((True, "drawn"), (False, "exact")):
                some = [link for link in links if link.is_drawn == is_drawn]
                if some and movies:
                    made.append(self._measurement(f"{name}-{kind}", some, movies, self.settings()))
        if sensed := [link for _, link in self.with_carrier_sense()]:
            made.append(self._measurement("carrier-sense", sensed, list(self.movies), self.limited_to_startup()))
        return made

    def _measurement(
        self, name: str, links: Sequence[Link], movies: Sequence[str], settings: Sequence[Setting]
    ) -> Measurement:
        chunks = [settings[start : start + FLOWS] for start in range(0, len(settings), FLOWS)]
        axes = [
            {"name": "movie", "key": "movie.codec", "values": list(movies)},
            {"name": "link", "values": [{"label": one.name, "set": self._network(one)} for one in links]},
            {
                "name": "flows",
                "values": [
                    {"label": number + 1, "set": {"flow": [one.flow() for one in some]}}
                    for number, some in enumerate(chunks)
                ],
            },
        ]
        document = {
            "name": name,
            "scenario": self.scenario(movies[0], _bare(links[0]), [one.flow() for one in settings[:1]]),
            "axis": axes,
            "repeats": self.draws(links[0]),
            "parts": False,
        }
        return Measurement(name, document, streams=len(settings) / len(chunks))

    def _network(self, link: Link) -> dict[str, Any]:
        """The keys that an axis sets: tables as a whole, so that nothing of another link is left in them."""
        keys = {f"network.{name}": value for name, value in link.network.items()}
        return keys | {"seed": self.seed + link.seed}

    def scenario(self, codec: str, link: Link, flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """All flows, each over its own copy of the link."""
        return {
            "seed": self.seed + link.seed,
            "captures": "none",
            "movie": {"codec": codec, "bitrate": BITRATE, "duration": f"{self.seconds} s"},
            "network": dict(link.network),
            "flow": [dict(flow) for flow in flows],
        }


def _bare(link: Link) -> Link:
    """Without its own numbers, for those of every link to be laid over it."""
    return replace(link, network={"kind": link.network["kind"]})


def _at(time: str) -> Link:
    wifi = {**WIFI.network["wifi"], "carrier_sense": time}
    return replace(WIFI, name=f"wifi, carrier sense {time}", network={**WIFI.network, "wifi": wifi})


def plan(recorded: Mapping[str, Recording], *, quick: bool, seed: int, repeats: int | None) -> Plan:
    """Everything, recorded links as far as they are there; or one movie over two links."""
    if quick:
        return Plan(
            movies=["mpeg2"],
            links=[WIFI, NARROW],
            unseen=UNSEEN[1:2],
            limits_ms=STARTUPS_MS,
            seconds=30,
            repeats=repeats or 1,
            seed=seed,
        )
    return Plan(
        movies=list(MOVIES),
        links=[WIFI, NARROW, *_recorded(recorded)],
        unseen=UNSEEN,
        repeats=repeats or 3,
        seed=seed,
        carrier_sense=CARRIER_SENSE,
    )
