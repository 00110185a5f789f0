"""Carrying out the experiments, and what is asked of their results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

from framewire import _native
from framewire.campaign import Runner
from framewire.confidence import Estimate, mean_with_confidence
from framewire.playout import Display
from framewire.studies.balk.cells import PAYLOAD, documents
from framewire.studies.balk.clips import CLIPS, FRAME_RATE, GROUP, QUANTISERS, Clip, made_up
from framewire.studies.balk.plan import Setting, changes, settings
from framewire.studies.balk.variants import Variant
from framewire.studies.measured import CarriedOut, Cost, Measurement, campaigns, peak_memory
from framewire.studies.study import Progress
from framewire.studies.traces import Recording

__all__ = ["Measured", "Ruler", "Run", "UnpairedError", "carry_out"]

Ruler = Literal["payload", "wire"]
"""Which bytes count: those that applications get (video, or what iperf reads), or those of whole IP packets."""

FRAMES_PER_SECOND = FRAME_RATE[0] / FRAME_RATE[1]


class UnpairedError(ValueError):
    """Runs that are to be compared seed by seed do not have the same seeds."""


@dataclass(frozen=True)
class Run:
    """One experiment with one seed."""

    setting: Setting
    seed: int
    document: Mapping[str, Any]
    """Its numbers (:mod:`framewire.studies.balk.cells`)."""
    clip: Clip | None = None
    """What was streamed; None for made-up sizes."""

    def rate_kbps(self, ruler: Ruler = "payload") -> float:
        """What came of the stream, from its first packet to its last."""
        return float(self.document["stream"]["video_bps" if ruler == "payload" else "throughput_bps"]) / 1e3

    @property
    def stream_kbps(self) -> float:
        """Video that came."""
        return self.rate_kbps()

    def tcp_rates_kbps(self, ruler: Ruler = "payload") -> list[float]:
        """What each connection's application read in the same time, which is what iperf counts; or its packets."""
        key = "goodput_bps" if ruler == "payload" else "throughput_bps"
        return [float(one[key]) / 1e3 for one in self.document["tcp"]]

    @property
    def tcp_kbps(self) -> list[float]:
        """What each connection's application read."""
        return self.tcp_rates_kbps()

    def steady_kbps(self, ruler: Ruler = "payload") -> list[float]:
        """Received in each of the 20 s of steady state that figure 20 shows."""
        key = "video_bps_by_second" if ruler == "payload" else "throughput_bps_by_second"
        return [float(rate) / 1e3 for rate in self.document["stream"][key][10:30]]

    def least_second_kbps(self, ruler: Ruler = "payload") -> float:
        """The least of these seconds."""
        return min(self.steady_kbps(ruler), default=0.0)

    def of_lossless(self, free: Run, ruler: Ruler = "payload") -> list[float]:
        """Received in each of these seconds, over what the same stream received in it without random loss.

        The plan rises by a quarter in this time, and the level falls where it does: that is not what loss does.
        """
        pairs = zip(self.steady_kbps(ruler), free.steady_kbps(ruler), strict=False)
        return [rate / usual for rate, usual in pairs if usual]

    def dip_percent(self, free: Run, ruler: Ruler = "payload") -> float:
        """How far the worst of these is below the mean of all."""
        parts = self.of_lossless(free, ruler)
        mean = fmean(parts or [0.0])
        return 100 * (1 - min(parts) / mean) if mean else 0.0

    @property
    def share(self) -> float:
        """Of the fair share: the normalised throughput of figures 16 to 18."""
        return self.share_by()

    def share_by(self, ruler: Ruler = "payload") -> float:
        """The same, by either ruler; by that of the wire all flows together have the link."""
        return self.rate_kbps(ruler) / self.setting.fair_share_kbps

    def tcp_share_by(self, ruler: Ruler = "payload") -> float:
        """The same of the mean connection."""
        return fmean(self.tcp_rates_kbps(ruler)) / self.setting.fair_share_kbps

    @property
    def tcp_share(self) -> float:
        """The same of the mean connection, as its application counts."""
        return self.tcp_share_by()

    @property
    def tcp_spread(self) -> float:
        """Standard deviation of the connections' shares: the bars of figure 16."""
        return float(pstdev(self.tcp_kbps)) / self.setting.fair_share_kbps

    @property
    def utilisation(self) -> float:
        """Of the link, by IP packets."""
        every = [self.document["stream"], *self.document["tcp"]]
        return sum(float(one["throughput_bps"]) for one in every) / (self.setting.link_mbps * 1e6)

    @property
    def packet_loss_percent(self) -> float:
        """Of the stream's packets."""
        packets = self.document["stream"]["packets"]
        return 100 * (1 - float(packets["delivered"]) / max(1.0, float(packets["sent"])))

    @property
    def series(self) -> Mapping[str, Any]:
        """Over time; only of the run that figures show."""
        found: Mapping[str, Any] = self.document["stream"]["series"]
        return found

    @cached_property
    def frame_rates(self) -> list[int]:
        """Frames shown intact and in time in each second of the clip."""
        fates = self.document["stream"]["fates"]
        seconds = int(len(fates) / FRAMES_PER_SECOND)
        edges = [round(second * FRAMES_PER_SECOND) for second in range(seconds + 1)]
        return [fates[first:end].count("i") for first, end in pairwise(edges)]

    @property
    def intact_percent(self) -> float:
        """Frames that came whole and in time, of all."""
        fates = self.document["stream"]["fates"]
        return 100 * float(fates.count("i")) / len(fates)

    @cached_property
    def mean_level(self) -> float:
        """Of the frames in time, 0 the lowest; 0 where there is none."""
        stream = self.document["stream"]
        shown = [int(level) for level, fate in zip(stream["levels"], stream["fates"], strict=True) if fate == "i"]
        return fmean(shown) if shown else 0.0

    @property
    def switches(self) -> float:
        """How often another level was taken."""
        return float(self.document["stream"]["switches"])

    @cached_property
    def display(self) -> Display:
        """What stands on the screen: frames that came whole and in time, each until the next."""
        return Display(_native.Display.of_shown([fate == "i" for fate in self.document["stream"]["fates"]]))

    @property
    def freezes(self) -> float:
        """How often one picture stands for half a second or longer because no other came whole and in time.

        These are no stalls: those are of a player that waits (docs/results.md), and this one does not.
        """
        return float(sum(slots >= FRAMES_PER_SECOND / 2 for slots in self.display.freezes))

    @property
    def jain(self) -> float:
        """The fairness index of Jain, Chiu and Hawe over the stream and the connections, by what applications got."""
        rates = [self.stream_kbps, *self.tcp_kbps]
        squares = sum(rate**2 for rate in rates)
        return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0

    @cached_property
    def levels(self) -> list[float]:
        """Share of the frames received at each level."""
        levels = self.document["stream"]["levels"]
        received = max(1, sum(level != "-" for level in levels))
        return [levels.count(str(level)) / received for level in range(len(QUANTISERS))]

    @cached_property
    def levels_that_came(self) -> Sequence[tuple[str, float]]:
        """The level of each frame that came, with the time of the experiment at which its last packet came; only of
        runs that are looked at over time."""
        stream = self.document["stream"]
        frames = zip(stream["levels"], stream["completed_s"], strict=True)
        return [(level, at) for level, at in frames if at is not None]

    @cached_property
    def quantiser(self) -> float:
        """Mean quantiser of the frames that were received: from the bit stream, or where sizes are made up by rule."""
        quality = None if self.clip is None else self.clip.quality
        if quality is None:
            return sum(share * quantiser for share, quantiser in zip(self.levels, QUANTISERS, strict=True))
        levels = self.document["stream"]["levels"]
        received = [quality.quantisers[int(level)][frame] for frame, level in enumerate(levels) if level != "-"]
        return fmean(received) if received else 0.0

    def shown_psnr_db(self) -> list[float]:
        """PSNR at each place of the clip: of the frame that came whole and in time, or else of the last that did,
        which stays on the screen. Frames that are whole count as decoded whole, as the paper's player shows them."""
        assert self.clip is not None
        assert self.clip.quality is not None
        levels, quality = self.document["stream"]["levels"], self.clip.quality
        return [
            quality.shown_db(*((0, 0) if shown is None else (int(levels[shown]), shown)), frame)
            for frame, shown in enumerate(self.display.source)
        ]


@dataclass
class Measured(CarriedOut):
    """Results by setting. Missing ones answer with nothing, so that a report can be made of a part."""

    runs: Mapping[Setting, Sequence[Run]] = field(default_factory=dict)
    repeats: int = 0
    clips: Mapping[str, Clip] = field(default_factory=lambda: {name: made_up(name) for name in CLIPS})
    """What was streamed, by name."""
    traces: Mapping[str, float] = field(default_factory=dict)
    """Recorded links by name, with their mean rates in Mbit/s."""

    @cached_property
    def left_out(self) -> int:
        """How many settings of the whole were not run."""
        return sum(setting not in self.runs for setting in settings())

    @cached_property
    def most_repeats(self) -> int:
        """Seeds of the setting that has the most."""
        return max(self.repeats, *map(len, self.runs.values())) if self.runs else self.repeats

    def read_as(self, reading: Variant) -> Measured:
        """What was measured with a reading of the paper, in the place of what the library's gives."""
        own = {setting: runs for setting, runs in self.runs.items()
               if setting.variant is None and not changes(reading, setting)}  # fmt: skip
        read = {replace(setting, variant=None): runs for setting, runs in self.runs.items()
                if setting.variant == reading}  # fmt: skip
        return replace(self, runs=own | read)

    def of(self, setting: Setting) -> Sequence[Run]:
        """The runs of a setting, one per seed; none where it was not measured."""
        return self.runs.get(setting, ())

    def samples(self, setting: Setting, value: Callable[[Run], float]) -> list[float]:
        """One value per seed."""
        return [value(run) for run in self.of(setting)]

    def paired(self, *settings: Setting) -> list[tuple[Run, ...]]:
        """Runs of several settings with the same seed, as far as the shortest of them goes; none when one of them was
        not measured.

        Raises UnpairedError when one lacks a seed before that: what is left would compare other draws.
        """
        whole = [{run.seed: run for run in self.of(setting)} for setting in settings]
        if not all(whole):
            return []
        last = min(max(runs) for runs in whole)
        found = [{seed: run for seed, run in runs.items() if seed <= last} for runs in whole]
        for setting, runs in zip(settings, found, strict=True):
            if len(runs) != sum(run.seed <= last for run in self.of(setting)):
                raise UnpairedError(f"{setting}: a seed was run twice")
            if runs.keys() != found[0].keys():
                alone = sorted(runs.keys() ^ found[0].keys())
                raise UnpairedError(f"{setting} and {settings[0]} have not the same seeds: only one has {alone}")
        return [tuple(runs[seed] for runs in found) for seed in sorted(found[0])]

    def mean(self, setting: Setting, value: Callable[[Run], float]) -> Estimate | None:
        """Its mean and 95 % confidence interval over the seeds."""
        samples = self.samples(setting, value)
        return mean_with_confidence(samples) if samples else None

    def shown(self, setting: Setting) -> Run | None:
        """The run that figures over time show: that of the first seed."""
        runs = self.of(setting)
        return runs[0] if runs else None


def carry_out(
    every: Sequence[Setting],
    movies: Mapping[str, Clip],
    directory: Path,
    *,
    seed: int = 1,
    repeats: int,
    jobs: int | None = None,
    runner: Runner | None = None,
    traces: Mapping[str, Recording] | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Runs every setting with so many seeds, as campaigns in ``directory``, or what is left of them. A cell that fails
    is listed among the failures.

    Raises what :func:`framewire.campaign.campaign` raises.
    """
    recorded = traces or {}
    tell = progress or (lambda _event: None)
    ladders = {name: _streaming_file(movie, directory) for name, movie in movies.items()}
    files = {name: str(trace.path.resolve()) for name, trace in recorded.items()}
    made: dict[Setting, dict[int, Run]] = {setting: {} for setting in every}
    failures: list[str] = []
    costs: list[Cost] = []
    groups = {_name(*kind): (kind, settings_) for kind, settings_ in _groups(every, repeats).items()}
    measurements = [
        _measurement(name, *kind, _scenarios(settings_, ladders, movies, files), seed=seed)
        for name, (kind, settings_) in groups.items()
    ]
    for done in campaigns(measurements, directory, jobs=jobs, runner=runner, progress=progress, failed=failures.append):
        name = done.measurement.name
        costs.append(done.cost)
        tell({"event": "step", "text": f"{name}: reading"})
        (times, _), settings_ = groups[name]
        labels = {setting.label: setting for setting in settings_}
        shown = {(label, repeat) for label, setting in labels.items()
                 for repeat in (range(1, times + 1) if setting.is_isolated else (1,))}  # fmt: skip
        clips = {label: movies[setting.clip] for label, setting in labels.items()}
        found = documents(done.results, clips, shown) if done.results.meta["cells"]["done"] else ()
        for (label, repeat), document in found:
            setting = labels[label]
            made[setting][repeat] = Run(setting, seed + repeat - 1, document, movies[setting.clip])
    return Measured(
        runs={setting: [some[repeat] for repeat in sorted(some)] for setting, some in made.items() if some},
        repeats=repeats,
        clips=movies,
        traces={name: trace.mean_bps / 1e6 for name, trace in recorded.items()},
        costs=costs,
        failures=failures,
        peak_memory_bytes=peak_memory(),
        seed=seed,
    )


ALONE_S, AMONG_S = 0.1, 1.0
"""How often what came is looked at, of a stream that is alone and of one among connections: what is told second by
second, and over time, is of the former."""


def _groups(every: Sequence[Setting], repeats: int) -> dict[tuple[int, bool], list[Setting]]:
    """The settings that one campaign runs: of as many repeats, alone or not."""
    groups: dict[tuple[int, bool], list[Setting]] = {}
    for setting in every:
        groups.setdefault((setting.repeats(repeats), setting.tcp == 0), []).append(setting)
    return groups


def _name(repeats: int, is_alone: bool) -> str:
    return f"{'alone' if is_alone else 'among'}-{repeats}"


def _scenarios(
    some: Sequence[Setting], ladders: Mapping[str, Path], movies: Mapping[str, Clip], traces: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """By label."""
    return {one.label: one.scenario(str(ladders[one.clip]), movies[one.clip].duration_s, traces) for one in some}


def _measurement(
    name: str, repeats: int, is_alone: bool, scenarios: Mapping[str, Mapping[str, Any]], *, seed: int
) -> Measurement:
    """A campaign whose only axis is the setting. A connection that broke is a result."""
    values = [{"label": label, "set": _flat(scenario)} for label, scenario in scenarios.items()]
    document = {
        "name": f"balk-{name}",
        "scenario": {"seed": seed, "captures": "none", **next(iter(scenarios.values()))},
        "axis": [{"name": "setting", "values": values}],
        "repeats": repeats,
        "rates": f"{ALONE_S if is_alone else AMONG_S:g} s",
        # Each cell is looked at once, by itself.
        "parts": False,
    }
    return Measurement(name, document, is_result_where_broken=True)


def _flat(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that an axis sets: the wire as a whole, so that nothing of another setting is left in it."""
    keys = {key: scenario[key] for key in ("limit", "flow")}
    wire = scenario["network"]["wire"]
    return {**keys, "movie.ladder": scenario["movie"]["ladder"], "network.wire": wire}


def _streaming_file(one: Clip, directory: Path) -> Path:
    """A clip as it is streamed: sizes of frames, with the paper's plan. Written once."""
    text = json.dumps([one.sizes, FRAME_RATE, GROUP, PAYLOAD])
    path = (directory / f"{one.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.vtp").resolve()
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        sizes = [list(sizes) for sizes in one.sizes]
        _native.write_ladder_of_sizes(sizes, FRAME_RATE, GROUP, part, PAYLOAD, _native.PlanSettings())
        part.replace(path)
    return path
