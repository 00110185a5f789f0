"""A run directory, read for the report: the description, the scenario and the tables, each of which may be missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from framewire import stats
from framewire.errors import InputError
from framewire.playout import COLUMNS, Player
from framewire.report.by_flow import ByFlow, Quantity, cut
from framewire.report.palette import Look, looks
from framewire.results import RunDirectory
from framewire.run_description import rate_number
from framewire.scenario import AdaptiveFlow, BulkFlow, Network, Scenario, Wifi, read
from framewire.scenario import Flow as ScenarioFlow
from framewire.transports import ADAPTIVE, BULK, EXTERNAL, current_name, fetches_file


@dataclass(frozen=True)
class Flow:
    """One flow of the run and how it is drawn."""

    name: str
    transport: str
    look: Look
    described: ScenarioFlow | None = None
    """What the scenario says of it, where that can be read."""

    @property
    def is_bulk(self) -> bool:
        """It has no frames: cross traffic."""
        return self.transport == BULK

    @property
    def is_adaptive(self) -> bool:
        """It sends levels of a ladder."""
        return current_name(self.transport) in ADAPTIVE

    @property
    def fetches_file(self) -> bool:
        """It fetches a file that is there from the beginning, ahead of the time at which its frames are due."""
        return fetches_file(self.transport)

    @property
    def start_s(self) -> float | None:
        """When its receiver asks for the movie, or its sender begins, by the run's clock; None where chance decides."""
        if not isinstance(self.described, AdaptiveFlow | BulkFlow):
            return 0.0
        return None if self.described.start_within_s else self.described.start_s


@dataclass
class ReportRun:
    """What the report needs of a run directory."""

    directory: Path
    info: dict[str, Any]
    scenario: Scenario | None
    """None where it is lost, or cannot be read."""
    scenario_text: str
    flows: list[Flow]
    frames: pl.DataFrame
    packets: pl.DataFrame
    states: pl.DataFrame
    releases: pl.DataFrame
    summary: pl.DataFrame
    as_decoded: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What `framewire score` kept; empty where it was not asked."""
    sound: pl.DataFrame = field(default_factory=pl.DataFrame)
    """The rows of the ledger that are of sound; none where none was sent."""
    notes: list[str] = field(default_factory=list)
    reports: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What the ends of flows reported to each other by RTCP; empty where none did."""
    players: dict[str, Player] = field(default_factory=dict)
    """By flow, players that are others than the scenario's."""
    check: Callable[[Path], str | None] = lambda _file: None
    """Raises InputError for a file of the run that is not what was written."""
    _by_flow: ByFlow = field(default_factory=ByFlow, repr=False, compare=False)

    @property
    def streams(self) -> list[Flow]:
        """The flows that a viewer watches: all but cross traffic."""
        return [flow for flow in self.flows if not flow.is_bulk]

    def named(self, chosen: Sequence[str]) -> list[str]:
        """The names of the streams, or those chosen; raises InputError for one that is none."""
        names = [flow.name for flow in self.streams]
        if unknown := [name for name in chosen if name not in names]:
            raise InputError(f"{unknown[0]}: the run has no such flow; it has {', '.join(names)}")
        return [name for name in names if name in chosen] if chosen else names

    @property
    def of_movie(self) -> list[Flow]:
        """The flows that sent the movie, and not levels of a ladder."""
        return [flow for flow in self.streams if not flow.is_adaptive]

    @property
    def has_levels(self) -> bool:
        """Some flow chose among levels."""
        return any(flow.is_adaptive for flow in self.flows)

    @property
    def movie(self) -> dict[str, Any]:
        """What run.json says of the movie; empty where none was sent."""
        given = self.info.get("movie")
        return given if isinstance(given, dict) else {}

    @property
    def ladder(self) -> dict[str, Any]:
        """What run.json says of the ladder; empty where none was sent."""
        given = self.info.get("ladder")
        return given if isinstance(given, dict) else {}

    @property
    def frame_rate(self) -> float:
        """Frames per second of the movie; of the ladder where no movie was sent."""
        return rate_number((self.movie or self.ladder).get("frame_rate")) or 25.0

    def rate_of(self, flow: Flow) -> float:
        """Frames per second of what a flow sent."""
        return (rate_number(self.ladder.get("frame_rate")) if flow.is_adaptive else None) or self.frame_rate

    @property
    def movie_seconds(self) -> float:
        """Length of the movie; of the ladder where that is longer."""
        lengths = dict(self.frames.group_by("flow").len().iter_rows())
        return max((lengths.get(flow.name, 0) / self.rate_of(flow) for flow in self.flows), default=0.0)

    @property
    def frame_count(self) -> int:
        """Frames of the movie (every flow has a row for each)."""
        if self.frames.is_empty():
            return 0
        return int(self.frames.group_by("flow").len()["len"].max() or 0)  # type: ignore[arg-type]

    @property
    def interference(self) -> list[tuple[float, float]]:
        """When something disturbed the link, in seconds of the run."""
        given = self.info.get("interference")
        if given is None:
            given = [span for wifi in self.wireless for span in wifi.oven]
        return [(float(span[0]), float(span[1])) for span in given if len(span) == 2]

    @property
    def policy(self) -> str:
        """`live` or `stall`."""
        return "live" if self.scenario is None else self.scenario.playout.policy

    @property
    def startup_s(self) -> float:
        """Start-up delay of the player."""
        return 1.0 if self.scenario is None else self.scenario.playout.startup_s

    @property
    def high_mark_s(self) -> float:
        """Up to where a player that waits fills its buffer in a pause; 0: it goes on with the next frame."""
        return 0.0 if self.scenario is None else self.scenario.playout.high_mark_s

    def player(self, flow: Flow) -> Player:
        """The player of a flow's receiver."""
        return self.players.get(flow.name) or Player(
            "stall" if self.policy == "stall" else "live",
            self.startup_s,
            low_mark_s=0.0 if self.scenario is None else self.scenario.playout.low_mark_s,
            high_mark_s=self.high_mark_s,
        )

    @property
    def together(self) -> bool:
        """All flows shared one network."""
        return self.scenario is not None and self.scenario.together and len(self.flows) > 1

    @property
    def status(self) -> str:
        """`complete`, or `partial` when a flow did not come to its end."""
        return str(self.info.get("status", "complete"))

    @property
    def ended_by(self) -> str | None:
        """What ended the run: `interrupted` or `time limit`; None where its streams came to their end or failed."""
        given = self.info.get("ended_by")
        return None if given is None else str(given)

    def entry(self, flow: Flow) -> dict[str, Any]:
        """What run.json says of a flow; empty where it says nothing."""
        given = [entry for entry in self.info.get("flows") or [] if isinstance(entry, dict)]
        return next((entry for entry in given if entry.get("name") == flow.name), {})

    @property
    def partial(self) -> bool:
        """The run ended before its end: more than a flow that failed while the others came to theirs."""
        failed = any(isinstance(entry, dict) and entry.get("failure") for entry in self.info.get("flows") or [])
        return self.status != "complete" and (self.ended_by is not None or not failed)

    @property
    def has_air(self) -> bool:
        """Packets may have been sent over the air of a link that was made."""
        return not self.real and (self.network is None or bool(self.wireless))

    @property
    def wireless(self) -> list[Wifi]:
        """The wireless hops of its network."""
        if self.network is None:
            return []
        path = self.network.path
        own = None if path is None else path.wifi
        return [*([] if own is None else [own]), *(cell.wifi for cell in self.network.cells)]

    @property
    def network(self) -> Network | None:
        """What the scenario says of it; None where that took no part, or is not known."""
        return None if self.real or self.scenario is None else self.scenario.network

    @property
    def samples_sockets(self) -> bool:
        """Some flow has a connection whose state is recorded, or the table of them is missing."""
        columns = [name for name in ("cwnd_packets", "unsent_bytes") if name in self.states.columns]
        return not columns or any(self.states[name].null_count() < self.states.height for name in columns)

    @property
    def simulated(self) -> bool:
        """It ran in virtual time."""
        return self.info.get("world") == "simulated"

    @property
    def real(self) -> bool:
        """It went from one machine to another, over a network of which nothing is known but what came."""
        return self.info.get("world") == "real"

    @property
    def offered(self) -> pl.DataFrame:
        """The ledger without the frames that the run ended before."""
        return self.frames.filter(stats.offered())

    @property
    def offered_seconds(self) -> float:
        """Length of the movie up to the last frame that any flow was given."""
        last = self.offered.select(pl.col("display").max() + 1).item() if self.offered.height else 0
        return float(last) / self.frame_rate

    def of_flow(self, flow: Flow, table: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
        """Rows of one flow of what is worked out of one of the run's tables: once, for all flows."""
        return self._by_flow.of(flow.name, table, quantity)

    def ledger(self, flow: Flow) -> pl.DataFrame:
        """Rows of one flow in decode order, of all frames of the movie."""
        return self.of_flow(flow, self.frames, _in_decode_order)

    def offered_ledger(self, flow: Flow) -> pl.DataFrame:
        """The same, of the frames that were offered to the transport: what shares are counted over."""
        return self.of_flow(flow, self.frames, _offered_in_decode_order)

    def not_offered(self, flow: Flow) -> int:
        """Frames of the movie that the run ended before."""
        return self.ledger(flow).height - self.offered_ledger(flow).height

    @property
    def counted(self) -> str:
        """What shares are counted over, in a word."""
        return "offered" if any(self.not_offered(flow) for flow in self.flows) else "all"

    def accuracy(self, flow: Flow) -> dict[str, Any]:
        """The proof of accuracy of one flow's network; empty when there is none."""
        given = self.info.get("accuracy") or {}
        if isinstance(given, list):
            given = {entry.get("flow", entry.get("name")): entry for entry in given if isinstance(entry, dict)}
        found = given.get(flow.name)
        return found if isinstance(found, dict) else {}

    def woken_late(self, flow: Flow) -> dict[str, Any]:
        """How late the timers of a flow's sender woke it, in microseconds; empty where that was not recorded."""
        wakes = self.accuracy(flow).get("wakes")
        of_sender = wakes.get("sender") if isinstance(wakes, dict) else None
        return of_sender if isinstance(of_sender, dict) else {}

    @property
    def sender_was_late(self) -> bool:
        """In the real world: the sender's machine woke it too late to tell what the network did."""
        return self.real and any(self.accuracy(flow).get("late") for flow in self.flows)

    def disturbed(self, flow: Flow) -> str | None:
        """Why what the run says of this flow cannot be trusted fully, or None."""
        text = self.accuracy(flow).get("disturbed")
        return str(text) if text else None


JUDGED = (*COLUMNS, "root_cause_place", "root_cause")
"""Columns of the ledger that a verdict asks for, beside those that every ledger has."""


def _in_decode_order(frames: pl.DataFrame) -> pl.DataFrame:
    # Ledgers are written in this order: a sort would only copy them.
    if all(rows["frame"].is_sorted() for rows in cut(frames).values()):
        return frames
    return frames.sort("frame", maintain_order=True)


def _offered_in_decode_order(frames: pl.DataFrame) -> pl.DataFrame:
    in_order = _in_decode_order(frames)
    return in_order if (in_order["fate"] != "not offered").all() else in_order.filter(stats.offered())


def load(directory: Path, *, drawn: bool = True) -> ReportRun:
    """Reads a run directory; without ``drawn`` only what a verdict asks for: of the ledger some columns, and no tables
    of packets and samples but where an application's losses are explained by them.

    Raises InputError when it is none: without `run.json` and `frames.parquet` there is nothing to report.
    """
    results = RunDirectory(directory)
    frames = results.table("frames", None if drawn else JUDGED)
    if "fate" not in frames.columns:
        raise InputError(f"{directory / 'frames.parquet'} is not a frame ledger: it has no column fate")
    notes: list[str] = []
    scenario_text = scenario_of(results, notes)
    scenario = read_scenario(scenario_text, notes)
    flows = flows_of(results.meta, frames, scenario)
    applications = any(flow.transport == EXTERNAL for flow in flows)
    nothing = pl.DataFrame()
    return ReportRun(
        directory=directory,
        info=results.meta,
        scenario=scenario,
        scenario_text=scenario_text,
        flows=flows,
        frames=frames,
        sound=results.sound if drawn else nothing,
        packets=table(results, "packets", notes) if drawn or applications else nothing,
        states=table(results, "flows", notes) if drawn else nothing,
        releases=table(results, "accuracy", notes) if drawn else nothing,
        summary=table(results, "summary", notes),
        as_decoded=table(results, "as_decoded", notes) if (directory / "as_decoded.parquet").is_file() else nothing,
        notes=notes,
        reports=reports(results, notes) if drawn else nothing,
        check=results.check,
    )


def flows_of(info: dict[str, Any], frames: pl.DataFrame, scenario: Scenario | None = None) -> list[Flow]:
    """The flows in the order of the scenario."""
    named = [entry for entry in info.get("flows") or [] if isinstance(entry, dict) and "name" in entry]
    known = [str(entry["name"]) for entry in named]
    named += [{"name": name} for name in frames["flow"].unique(maintain_order=True) if name not in known]
    transports = [str(entry.get("transport", entry["name"])) for entry in named]
    described = {} if scenario is None else {flow.name: flow for flow in scenario.flows}
    names = [str(entry["name"]) for entry in named]
    every = zip(names, transports, looks(transports), strict=True)
    return [Flow(name, transport, look, described.get(name)) for name, transport, look in every]


def table(results: RunDirectory, name: str, notes: list[str]) -> pl.DataFrame:
    """One of the run's tables; empty, with a note, when it is missing or damaged."""
    try:
        return results.table(name)
    except InputError as error:
        notes.append(f"{error}: what is drawn from it is left out")
        return pl.DataFrame()


def reports(results: RunDirectory, notes: list[str]) -> pl.DataFrame:
    """What was reported by RTCP; empty where nothing was, and with a note where it cannot be read."""
    try:
        return results.rtcp
    except InputError as error:
        notes.append(f"{error}: what is drawn from it is left out")
        return pl.DataFrame()


def scenario_of(results: RunDirectory, notes: list[str]) -> str:
    """The scenario's text, or nothing, with a note."""
    try:
        return results.scenario
    except InputError as error:
        notes.append(str(error))
        return ""


def read_scenario(text: str, notes: list[str]) -> Scenario | None:
    """The scenario; None, with a note where there is a text that cannot be read."""
    try:
        return read(text) if text else None
    except InputError as error:
        notes.append(f"scenario.toml cannot be read: {error}")
        return None
