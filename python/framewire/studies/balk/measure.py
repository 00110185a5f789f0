"""Carrying out the experiments, and what is asked of their results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, Literal

from framewire import _native
from framewire.confidence import Estimate, mean_with_confidence
from framewire.studies.balk.clips import CLIPS, FRAME_RATE, GROUP, QUANTISERS, Clip, made_up
from framewire.studies.balk.plan import Setting, changes, settings
from framewire.studies.balk.variants import Variant

__all__ = ["Measured", "Ruler", "Run", "UnpairedError", "carry_out", "ladder"]

Ruler = Literal["payload", "wire"]
"""Which bytes count: those that applications get (video, or what iperf reads), or those of whole IP packets."""

Progress = Callable[[dict[str, Any]], None]

FRAMES_PER_SECOND = FRAME_RATE[0] / FRAME_RATE[1]


class UnpairedError(ValueError):
    """Runs that are to be compared seed by seed do not have the same seeds."""


@dataclass(frozen=True)
class Run:
    """One experiment with one seed."""

    setting: Setting
    seed: int
    document: Mapping[str, Any]
    """As the simulator gave it."""
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

    @property
    def mean_level(self) -> float:
        """Of the frames in time, 0 the lowest; 0 where there is none."""
        stream = self.document["stream"]
        shown = [int(level) for level, fate in zip(stream["levels"], stream["fates"], strict=True) if fate == "i"]
        return fmean(shown) if shown else 0.0

    @property
    def switches(self) -> float:
        """How often another level was taken."""
        return float(self.document["stream"]["switches"])

    @property
    def freezes(self) -> float:
        """How often one picture stands for half a second or longer because no other came whole and in time.

        These are no stalls: those are of a player that waits (docs/results.md), and this one does not.
        """
        fates = self.document["stream"]["fates"]
        return float(sum(len(gap) >= FRAMES_PER_SECOND / 2 for gap in fates.split("i")))

    @property
    def jain(self) -> float:
        """The fairness index of Jain, Chiu and Hawe over the stream and the connections, by what applications got."""
        rates = [self.stream_kbps, *self.tcp_kbps]
        squares = sum(rate**2 for rate in rates)
        return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0

    @property
    def levels(self) -> list[float]:
        """Share of the frames received at each level."""
        levels = self.document["stream"]["levels"]
        received = max(1, sum(level != "-" for level in levels))
        return [levels.count(str(level)) / received for level in range(len(QUANTISERS))]

    @property
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
        stream = self.document["stream"]
        shown, values = (0, 0), []
        for frame, (level, fate) in enumerate(zip(stream["levels"], stream["fates"], strict=True)):
            if fate == "i":
                shown = (int(level), frame)
            values.append(self.clip.quality.shown_db(*shown, frame))
        return values


@dataclass(frozen=True)
class Measured:
    """Results by setting. Missing ones answer with nothing, so that a report can be made of a part."""

    runs: Mapping[Setting, Sequence[Run]] = field(default_factory=dict)
    failures: Sequence[str] = ()
    wall_s: float = 0.0
    simulated_s: float = 0.0
    seed: int = 1
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


def ladder(one: Clip) -> _native.StreamingLadder:
    """A clip as the simulator streams it."""
    return _native.StreamingLadder(
        frame_rate=FRAME_RATE,
        key_interval=GROUP,
        sizes=[list(sizes) for sizes in one.sizes],
    )


def carry_out(
    every: Sequence[Setting],
    movies: Mapping[str, Clip],
    *,
    seed: int = 1,
    repeats: int,
    jobs: int,
    traces: Mapping[str, _native.StreamingTrace] | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Runs every setting with so many seeds, ``jobs`` at once. One that fails is told among the failures."""
    recorded = traces or {}
    tell = progress or (lambda _event: None)
    began = time.monotonic()
    clips = {name: (movie, ladder(movie)) for name, movie in movies.items()}
    places = [(setting, repeat) for setting in every for repeat in range(setting.repeats(repeats))]
    made: dict[Setting, dict[int, Run]] = {setting: {} for setting in every}
    failures: list[str] = []
    simulated_s = 0.0

    def simulate(setting: Setting, repeat: int) -> Run:
        movie, streamed = clips[setting.clip]
        document = setting.document(
            seed + repeat, duration_s=movie.duration_s, series=repeat == 0 or setting.is_isolated
        )
        trace = None if setting.trace is None else recorded[setting.trace]
        found = json.loads(_native.simulate_streaming(streamed, json.dumps(document), trace))
        return Run(setting, seed + repeat, found, movie)

    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(simulate, setting, repeat): (setting, repeat) for setting, repeat in places}
        try:
            for number, done in enumerate(as_completed(waiting), 1):
                setting, repeat = waiting[done]
                try:
                    run = done.result()
                except _native.ScenarioError as error:
                    failures.append(f"{setting}, seed {seed + repeat}: {error}")
                else:
                    made[setting][repeat] = run
                    simulated_s += float(run.document["simulated_s"])
                tell({"event": "step", "text": "simulating", "share": number / len(places)})
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    runs = {setting: [some[repeat] for repeat in sorted(some)] for setting, some in made.items() if some}
    means = {name: trace.mean_bps / 1e6 for name, trace in recorded.items()}
    return Measured(runs, failures, time.monotonic() - began, simulated_s, seed, repeats, movies, means)
