"""Carrying the campaigns out, and what a viewer got of every setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

import polars as pl

from framewire.campaign import Runner
from framewire.campaign.results import Campaign
from framewire.playout import COLUMNS, Player, play
from framewire.studies.dropping import pictures
from framewire.studies.dropping.plan import MAIN_STARTUP_MS, METHODS, STARTUPS_MS, Method, Plan, Setting
from framewire.studies.measured import CarriedOut, campaigns, peak_memory
from framewire.studies.study import Progress

__all__ = ["FRAME_RATE", "Key", "Measured", "Row", "Seen", "carry_out", "keys_lost", "player"]

FRAME_RATE = 25.0
"""Of the lab's movies."""

Key = tuple[str, str, int]
"""A movie, a link by name, and a start-up in milliseconds."""

Rows = Mapping[tuple[str, str, str], Sequence["Row"]]
"""By movie, link and flow."""


@dataclass(frozen=True)
class Seen:
    """What a viewer saw of a setting, draw by draw."""

    shown: tuple[float, ...]
    """Percent of frames shown in time."""
    freezes: tuple[float, ...]
    """The longest freeze, in seconds."""

    @property
    def shown_percent(self) -> float:
        """In the mean."""
        return fmean(self.shown)

    @property
    def longest_freeze_s(self) -> float:
        """In the mean."""
        return fmean(self.freezes)


@dataclass(frozen=True)
class Row:
    """Measures of one flow in one draw, for a player with the main start-up; None is "not measured"."""

    codec: str
    link: str
    repeat: int
    flow: str
    shown_percent: float
    longest_freeze_s: float
    latency_p95_ms: float | None = None
    latency_max_ms: float | None = None
    keys_lost: int = 0
    wasted_kb: float = 0.0
    psnr_db: float | None = None
    disturbed: bool = False


@dataclass(kw_only=True)
class Measured(CarriedOut):
    """What a viewer saw of every setting, and all measures of those in the full tables."""

    plan: Plan
    seen: Mapping[Key, Mapping[Setting, Seen]] = field(default_factory=dict)
    """Over all links, those on which nothing was tuned too."""
    rows: Rows = field(default_factory=dict)
    applications: Sequence[Row] = ()

    def keys(self, startup_ms: int) -> list[Key]:
        """Every movie over every link, as far as they are measured."""
        every = [(codec, link.name, startup_ms) for codec in self.plan.movies for link in self.plan.links]
        return [key for key in every if key in self.seen]

    def unseen_keys(self, startup_ms: int) -> list[Key]:
        """The same of links on which nothing was tuned."""
        every = [(codec, link.name, startup_ms) for codec in self.plan.unseen_movies for link in self.plan.unseen]
        return [key for key in every if key in self.seen]

    def best(self, key: Key, method: Method, socket: str) -> Setting:
        """The setting of a method with the most frames shown in this very case; of equals, the shortest freeze."""
        candidates = [one for one in self.seen[key] if one.method == method and one.socket == socket]
        return max(candidates, key=lambda one: self._rank(key, one))

    def _rank(self, key: Key, setting: Setting) -> tuple[float, float]:
        seen = self.seen[key][setting]
        return round(seen.shown_percent, 1), -seen.longest_freeze_s

    def shown_settings(self, codec: str, link: str) -> list[Setting]:
        """The rows of a full table: every method with its best limit, and ours with the one that is known before."""
        key = (codec, link, MAIN_STARTUP_MS)
        *others, ours = [self.best(key, method, "equal") for method in METHODS]
        return list(dict.fromkeys([*others, Setting(ours.method, MAIN_STARTUP_MS, "equal"), ours]))

    def of(self, codec: str, link: str, setting: Setting) -> Sequence[Row]:
        """Of the full tables, a row per draw."""
        return self.rows.get((codec, link, setting.flow_name), ())


def carry_out(
    plan: Plan,
    directory: Path,
    *,
    jobs: int | None = None,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Runs the campaigns in ``directory``, or what is left of them, and plays what came.

    Raises what :func:`framewire.campaign.campaign` raises.
    """
    tell = progress or (lambda _event: None)
    failures: list[str] = []
    done = []
    draws: dict[Key, dict[Setting, list[tuple[float, float]]]] = {}
    rows: dict[tuple[str, str, str], list[Row]] = {}
    settings = {one.flow_name: one for one in plan.settings()}
    for one in campaigns(
        plan.measurements(), directory, jobs=jobs, runner=runner, progress=progress, failed=failures.append
    ):
        done.append(one)
        tell({"event": "step", "text": f"{one.measurement.name}: playing what came"})
        for codec, link, repeat, flow, ledger, facts in _flows(one.results):
            for startup in STARTUPS_MS:
                of_key = draws.setdefault((codec, link, startup), {})
                of_key.setdefault(settings[flow], []).append(_seen(ledger, startup))
            shown, freeze = draws[codec, link, MAIN_STARTUP_MS][settings[flow]][-1]
            rows.setdefault((codec, link, flow), []).append(
                Row(
                    codec,
                    link,
                    repeat,
                    flow,
                    shown,
                    freeze,
                    latency_p95_ms=facts["latency_p95_ms"],
                    latency_max_ms=facts["latency_max_ms"],
                    keys_lost=keys_lost(ledger),
                    wasted_kb=(facts["wasted_bytes"] or 0) / 1e3,
                )
            )
    seen = {
        key: {setting: Seen(*map(tuple, zip(*found, strict=True))) for setting, found in of_key.items()}
        for key, of_key in draws.items()
    }
    measured = Measured(
        plan=plan,
        seen=seen,
        rows=rows,
        costs=[one.cost for one in done],
        failures=failures,
        peak_memory_bytes=peak_memory(),
        seed=plan.seed,
    )
    of_tuned = [one.results for one in done if one.measurement.name.startswith("tuned")]
    return replace(measured, rows=_with_pictures(measured, of_tuned, tell))


def _flows(
    results: Campaign,
) -> Iterator[tuple[str, str, int, str, pl.DataFrame, Mapping[str, float | None]]]:
    """Movie, link, repeat, flow, ledger and summary of each flow of a campaign."""
    wanted = ["flow", "frame", "type", *COLUMNS]
    facts = ["flow", "latency_p95_ms", "latency_max_ms", "wasted_bytes"]
    for place, (frames, summary) in results.tables("frames", "summary"):
        of_flows = pl.read_parquet(summary, columns=facts).rows_by_key("flow", named=True, unique=True)
        ledgers = pl.read_parquet(frames, columns=wanted).partition_by("flow", as_dict=True)
        for (flow,), ledger in ledgers.items():
            codec, link = (str(place.labels[axis]) for axis in ("movie", "link"))
            yield codec, link, place.repeat, str(flow), ledger.sort("frame"), of_flows[flow]


def player(startup_ms: int) -> Player:
    """One that shows what it has when its time has come, and waits so long after the first packet has come."""
    return Player("live", startup_ms / 1000)


def _seen(ledger: pl.DataFrame, startup_ms: int) -> tuple[float, float]:
    """Percent of frames shown in time, and the longest freeze in seconds."""
    display = play(ledger, player(startup_ms))
    return 100 * int(display.shown.sum()) / max(ledger.height, 1), display.longest_freeze() / FRAME_RATE


def keys_lost(ledger: pl.DataFrame) -> int:
    """Key frames that did not come whole."""
    return ledger.filter((pl.col("type") == "I") & (pl.col("fate") == "lost")).height


def _with_pictures(measured: Measured, campaigns_: Sequence[Campaign], tell: Progress) -> Rows:
    """The rows of the full tables with the quality of their pictures; every movie is decoded once."""
    rows = {}
    for codec in measured.plan.movies:
        tell({"event": "step", "text": f"pictures of {codec}"})
        wanted = {
            (link, setting.flow_name)
            for _, link, _ in (key for key in measured.keys(MAIN_STARTUP_MS) if key[0] == codec)
            for setting in measured.shown_settings(codec, link)
        }
        scores = pictures.scores(codec, campaigns_, wanted, player(MAIN_STARTUP_MS), measured.plan)
        for link, flow in sorted(wanted):
            rows[codec, link, flow] = [
                replace(row, psnr_db=scores.get((link, flow, row.repeat))) for row in measured.rows[codec, link, flow]
            ]
    return {**measured.rows, **rows}
