"""The compiled half of the package: conversion only."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any, final

from typing_extensions import disjoint_base

__all__ = [
    "CONTROLLERS",
    "ESTIMATES",
    "FORMER_NAMES",
    "MOST_CLIENTS",
    "AdaptiveFlow",
    "BulkFlow",
    "BurstLoss",
    "Cell",
    "DatagramFlow",
    "Display",
    "EndpointFailure",
    "EndpointRefusal",
    "ExternalFlow",
    "Flow",
    "FreezeSums",
    "LadderError",
    "LoadedMovie",
    "Movie",
    "MovieError",
    "Network",
    "NotAStreamingFile",
    "PathNetwork",
    "PlanSettings",
    "Playout",
    "Scenario",
    "ScenarioError",
    "StopFlag",
    "StreamFlow",
    "Wifi",
    "Wire",
    "WiredLink",
    "__sources__",
    "__version__",
    "ask_movie",
    "canonical_transport",
    "check_toml",
    "inspect_ladder",
    "join_sides",
    "load_movie",
    "meant_quantity",
    "nearest",
    "plan_levels",
    "probe_movie",
    "read_streaming_file",
    "receive_movie",
    "resolved_scenario",
    "scenario_schema",
    "send_movie",
    "serve_movies",
    "serve_stream",
    "simulate",
    "simulate_cell",
    "squared_difference",
    "stated_frame_rate",
    "stream_codec",
    "trace_mean_rate",
    "trace_rates",
    "transports",
    "view_stream",
    "write_ladder_of_sizes",
    "write_streaming_file",
    "write_top_level",
]

__sources__: str
__version__: str

class ScenarioError(ValueError):
    """A scenario was refused; the text names key, value and what is allowed."""

CONTROLLERS: list[str]
MOST_CLIENTS: int
ESTIMATES: list[str]
FORMER_NAMES: dict[str, str]

@final
class Display:
    """What stands on a screen, slot by slot. Columns are bytes of 64-bit numbers; one below zero stands for nothing."""

    @staticmethod
    def play(
        display_ns: bytes,
        ready_ns: bytes,
        *,
        waits: bool,
        startup_ns: int,
        first_arrival_ns: int | None,
        marks_ns: tuple[int, int],
    ) -> Display: ...
    @staticmethod
    def pauses(
        display_ns: bytes, ready_ns: bytes, *, startup_ns: int, first_arrival_ns: int, marks_ns: tuple[int, int]
    ) -> list[tuple[int, int, int]]: ...
    @staticmethod
    def of_shown(shown: Sequence[bool]) -> Display: ...
    def __len__(self) -> int: ...
    def shown_ns(self) -> bytes: ...
    def sources(self) -> bytes: ...
    def frozen(self) -> bytes: ...
    def freezes(self) -> list[int]: ...

class EndpointFailure(RuntimeError):
    """A server or a client could not do its work."""

class EndpointRefusal(ValueError):
    """A file, a title, a key or an address was refused."""

@final
class FreezeSums:
    """Sums of squared differences of pairs of pictures, in one walk. Columns are bytes of 64-bit numbers; a source
    below zero is an empty screen, a sum below zero is of a pair of which a picture did not come."""

    def __new__(cls, pixels: int, empty: int, slots: bytes, sources: bytes) -> FreezeSums: ...
    def take(self, slots: bytes, pictures: bytes) -> None: ...
    def sums(self) -> bytes: ...

class LadderError(ValueError):
    """Levels, a plan or a streaming file were refused."""

class NotAStreamingFile(LadderError):
    """The first bytes of a file are those of another format."""

class MovieError(ValueError):
    """A file is not an MPEG video elementary stream."""

@disjoint_base
class Flow:
    """What every flow has."""

    @property
    def name(self) -> str: ...
    @property
    def transport(self) -> str: ...
    @property
    def station(self) -> int: ...
    @property
    def mtu(self) -> int: ...
    @property
    def device_queue(self) -> int: ...
    @property
    def congestion(self) -> str | None: ...

@final
class DatagramFlow(Flow):
    """The movie in datagrams."""

    @property
    def packets(self) -> str: ...
    @property
    def spread(self) -> str: ...
    @property
    def damaged(self) -> str: ...
    @property
    def rtcp(self) -> str | None: ...
    @property
    def send_buffer(self) -> int | None: ...
    @property
    def pacing(self) -> str | None: ...
    @property
    def ts_rate(self) -> int | None: ...

@final
class StreamFlow(Flow):
    """The movie as a stream of bytes."""

    @property
    def rtcp(self) -> str | None: ...
    @property
    def send_buffer(self) -> int | None: ...
    @property
    def unsent_limit(self) -> int | None: ...
    @property
    def pacing(self) -> str | None: ...
    @property
    def ts_rate(self) -> int | None: ...

@final
class AdaptiveFlow(Flow):
    """Levels of a ladder, in datagrams."""

    @property
    def send_buffer(self) -> int | None: ...
    @property
    def start_s(self) -> float: ...
    @property
    def start_within_s(self) -> float | None: ...
    @property
    def ack_every(self) -> int: ...

@final
class BulkFlow(Flow):
    """TCP connections that always have data."""

    @property
    def send_buffer(self) -> int | None: ...
    @property
    def unsent_limit(self) -> int | None: ...
    @property
    def start_s(self) -> float: ...
    @property
    def start_within_s(self) -> float | None: ...
    @property
    def stop_s(self) -> float | None: ...
    @property
    def connections(self) -> int: ...

@final
class ExternalFlow(Flow):
    """What applications send."""

@final
class BurstLoss:
    """Probabilities of a chain of two states."""

    @property
    def good_to_bad(self) -> float: ...
    @property
    def bad_to_good(self) -> float: ...
    @property
    def loss_good(self) -> float: ...
    @property
    def loss_bad(self) -> float: ...

@final
class Wire:
    """The wire behind the access point, or the link itself. A quantity whose name says no unit is a text for people."""

    @property
    def rate(self) -> str | None: ...
    @property
    def rate_bps(self) -> int | None: ...
    @property
    def trace(self) -> str | None: ...
    @property
    def delay(self) -> str: ...
    @property
    def jitter(self) -> str: ...
    @property
    def jitter_s(self) -> float: ...
    @property
    def queue(self) -> str: ...
    @property
    def queue_discipline(self) -> str: ...
    @property
    def outages(self) -> list[tuple[float, float]]: ...
    @property
    def loss(self) -> float | BurstLoss: ...

@final
class Wifi:
    """One hop of IEEE 802.11. A quantity whose name says no unit is a text for people."""

    @property
    def standard(self) -> str: ...
    @property
    def rate(self) -> str: ...
    @property
    def retry(self) -> int: ...
    @property
    def queue(self) -> str: ...
    @property
    def queue_discipline(self) -> str: ...
    @property
    def contenders(self) -> int: ...
    @property
    def oven(self) -> list[tuple[float, float]]: ...

@final
class PathNetwork:
    """A network between a sender and a receiver."""

    @property
    def bottleneck(self) -> str: ...
    @property
    def wifi(self) -> Wifi | None: ...
    @property
    def wire(self) -> Wire: ...

@final
class WiredLink:
    """A wired link of a graph; forward is from the first of its nodes to the second."""

    @property
    def name(self) -> str: ...
    @property
    def between(self) -> tuple[str, str]: ...
    @property
    def forward(self) -> Wire: ...
    @property
    def backward(self) -> Wire: ...

@final
class Cell:
    """A wireless cell of a graph."""

    @property
    def name(self) -> str: ...
    @property
    def access_point(self) -> str: ...
    @property
    def stations(self) -> list[str]: ...
    @property
    def wifi(self) -> Wifi: ...

@final
class Network:
    """What lies between the hosts."""

    @property
    def kind(self) -> str: ...
    @property
    def path(self) -> PathNetwork | None: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def wired(self) -> list[WiredLink]: ...
    @property
    def cells(self) -> list[Cell]: ...
    @property
    def traces(self) -> list[str]: ...

@final
class Movie:
    """What is streamed. Equal ones ask for the same files."""

    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    @property
    def source(self) -> str | None: ...
    @property
    def ladder(self) -> str | None: ...
    @property
    def codec(self) -> str | None: ...
    @property
    def bitrate_bps(self) -> int | None: ...
    @property
    def size(self) -> tuple[int, int] | None: ...
    @property
    def frame_rate(self) -> tuple[int, int] | None: ...
    @property
    def duration_s(self) -> float | None: ...
    @property
    def sound(self) -> bool: ...
    @property
    def sound_track(self) -> int | None: ...

@final
class Playout:
    """The player at the receiver."""

    @property
    def policy(self) -> str: ...
    @property
    def startup_s(self) -> float: ...
    @property
    def low_mark_s(self) -> float: ...
    @property
    def high_mark_s(self) -> float: ...

@final
class Scenario:
    """A scenario in its resolved form: read once, and then handed from one step of a run to the next."""

    @staticmethod
    def read(
        text: str,
        overrides: list[tuple[str, str]] = ...,
        *,
        json: bool = False,
        name: str | None = None,
        directory: str | PathLike[str] | None = None,
        movie_duration_s: float | None = None,
    ) -> Scenario: ...
    def toml(self) -> str: ...
    def json(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def layout(self) -> str: ...
    @property
    def limit_s(self) -> float | None: ...
    @property
    def movie(self) -> Movie: ...
    @property
    def network(self) -> Network: ...
    @property
    def playout(self) -> Playout: ...
    @property
    def flows(self) -> list[DatagramFlow | StreamFlow | AdaptiveFlow | BulkFlow | ExternalFlow]: ...
    def equivalent_flows(self) -> list[list[str]]: ...
    def codec_refusal(self, codec: str) -> str | None: ...
    def sound_refusal(self, codec: str) -> str | None: ...
    def identity(self, trace_digests: dict[str, str]) -> str: ...
    @property
    def streams_movie(self) -> bool: ...
    @property
    def needs_simulation(self) -> str | None: ...
    def lasting(self, movie_duration_s: float) -> Scenario: ...
    def seeded(self, seed: int) -> Scenario: ...
    def check_network(self) -> None: ...
    def check_simulated(self) -> None: ...

@final
class StopFlag:
    """Ends a simulation early, from any thread: raised once, for good."""

    def __new__(cls) -> StopFlag: ...
    def raise_(self) -> None: ...

@final
class LoadedMovie:
    """A movie, a ladder or both in memory, for any number of simulations on any thread."""

    @property
    def path(self) -> Path | None: ...
    @property
    def duration_s(self) -> float: ...
    def __len__(self) -> int: ...

def resolved_scenario(json: str) -> Scenario: ...
def check_toml(text: str) -> None: ...
def meant_quantity(text: str, quantity: str) -> str | None: ...
def nearest(word: str, known: list[str]) -> str | None: ...
def trace_mean_rate(path: str) -> int: ...
def trace_rates(path: str, seconds: int) -> list[int]: ...
def scenario_schema() -> str: ...
def canonical_transport(name: str) -> str | None: ...
def transports() -> list[
    tuple[
        tuple[str, str | None, str, str],
        tuple[str, str, str, str, str | None, bool] | None,
        tuple[int | None, int, int | None],
        bool,
    ]
]: ...
def probe_movie(
    path: str | PathLike[str], file: IO[bytes], frame_rate: tuple[int, int] | None = None
) -> dict[str, dict[str, Any]]: ...
def squared_difference(one: bytes, other: bytes) -> int: ...
def stated_frame_rate(path: str | PathLike[str]) -> tuple[int, int] | None: ...
def stream_codec(path: str | PathLike[str]) -> str | None: ...
def load_movie(
    path: str | PathLike[str] | None,
    ladder: str | PathLike[str] | None = None,
    sound: tuple[str | PathLike[str], int] | None = None,
) -> LoadedMovie: ...
def write_top_level(ladder: str | PathLike[str], out: str | PathLike[str]) -> None: ...
def simulate(
    scenario: Scenario,
    movie: LoadedMovie,
    directory: str | PathLike[str],
    *,
    packets: bool = False,
    received: bool = True,
    stop: StopFlag | None = None,
    listener: Callable[[str], None] | None = None,
) -> str: ...
def simulate_cell(
    scenario: Scenario,
    movie: LoadedMovie,
    directory: str | PathLike[str] | None = None,
    *,
    packets: bool = False,
    flows: bool = False,
    rates_s: float | None = None,
) -> str: ...

@final
class PlanSettings:
    """How a schedule is made: in segments with bytes sent ahead, or as smooth as a buffer allows."""

    def __new__(
        cls,
        *,
        segments: int = 10,
        pre_send_s: float | None = ...,
        exact: bool = False,
        startup_s: float = 1.0,
        buffer: int | None = None,
        fewest_changes: bool = False,
    ) -> PlanSettings: ...

def inspect_ladder(paths: list[Path]) -> str: ...
def plan_levels(sizes: list[list[int]], frame_rate: tuple[int, int], settings: PlanSettings) -> str: ...
def write_streaming_file(
    paths: list[Path],
    out: str | PathLike[str],
    payload: int,
    settings: PlanSettings,
    audio: str | PathLike[str] | None = None,
) -> str: ...
def write_ladder_of_sizes(
    sizes: list[list[int]],
    frame_rate: tuple[int, int],
    key_interval: int,
    out: str | PathLike[str],
    payload: int,
    settings: PlanSettings,
) -> None: ...
def read_streaming_file(path: str | PathLike[str]) -> str: ...
def serve_stream(
    path: str | PathLike[str],
    listener: Callable[[str, str], None],
    *,
    title: str,
    data: str,
    control: str,
    controller: str,
    ack_every: int,
    estimate: str,
    estimate_header: int | None,
    key: bytes | None,
    clients: int,
    sessions: int | None,
) -> str: ...
def view_stream(
    path: str | PathLike[str] | None,
    listener: Callable[[str, str], None],
    *,
    title: str,
    data: str,
    control: str,
    tfrc: bool,
    repeats: bool,
    key: bytes | None,
    replace: bool,
    most: str,
) -> str: ...
def send_movie(
    scenario: Scenario,
    movie: LoadedMovie,
    directory: str | PathLike[str],
    listener: Callable[[str, str], None],
    *,
    peer: str,
    patience_s: float,
    delay_s: float = 0.0,
    sdp: str | PathLike[str] | None = None,
) -> str: ...
def receive_movie(
    directory: str | PathLike[str],
    listener: Callable[[str, str], None],
    *,
    at: str,
    transport: str,
    codec: str | None,
    patience_s: float,
    silence_s: float,
    most: str,
    sdp: str | None = None,
    passes_damaged: bool = False,
    reports: bool = True,
) -> str: ...
def serve_movies(
    scenario: Scenario,
    movies: Sequence[tuple[str, str | PathLike[str], str | None, str, LoadedMovie]],
    directory: str | PathLike[str],
    listener: Callable[[str, str], None],
    *,
    scheme: str,
    at: str,
    is_paced: bool,
    ahead_s: float,
    is_endless: bool,
    clients: int,
    first_request_s: float,
    idle_s: float,
    patience_s: float,
    account: tuple[str, str] | None = None,
) -> str: ...
def ask_movie(
    directory: str | PathLike[str],
    listener: Callable[[str, str], None],
    *,
    is_rtsp: bool,
    over_udp: bool,
    at: str,
    host: str,
    path: str,
    account: tuple[str, str] | None,
    patience_s: float,
    silence_s: float,
    most: str,
) -> str: ...
def join_sides(sender: str | PathLike[str], receiver: str | PathLike[str], directory: str | PathLike[str]) -> str: ...
