"""The sending plans of both clips: figures 9 to 14, and what is claimed of them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from statistics import fmean, pstdev
from typing import Any

from framewire import _native
from framewire.report.figures.base import Figure, Trace
from framewire.studies.balk.clips import FRAME_RATE, PRE_SEND_S, QUANTISERS, SEGMENTS, Clip
from framewire.studies.balk.drawing import HYBRID, LEVEL_COLOURS, RIVAL, VTP, Drawn, line, plot

__all__ = ["Plan", "best", "drawn", "of", "peak_ratio", "rates_by_frame", "variation_ratio"]

TOP = len(QUANTISERS) - 1

STARTUP_S = 1.0
"""From the first byte to the first frame, of every plan (section 5.2)."""


@dataclass(frozen=True)
class Plan:
    """The plan of the top level of a clip: times in seconds, bytes in kB (1,000), rates in kbit/s."""

    document: dict[str, Any]
    clip_bytes: int

    @property
    def least_kb(self) -> float:
        """The least of U(t): below zero, what is missing."""
        return float(self.document["least_bytes"]) / 1e3

    @property
    def most_kb(self) -> float:
        """The most of U(t)."""
        return float(self.document["most_bytes"]) / 1e3

    @property
    def buffer_percent(self) -> float:
        """b_min of the clip's bytes."""
        return 100 * float(self.document["client_buffer_bytes"]) / self.clip_bytes

    @property
    def peak_kbps(self) -> float:
        """The highest rate of the plan."""
        return float(self.document["peak_bps"]) / 1e3


@lru_cache(maxsize=16)
def of(one: Clip, *, segments: int = SEGMENTS, pre_send: bool = True) -> Plan:
    """The plan of a clip's top level."""
    planned = _levels(one, segments=segments, pre_send_s=PRE_SEND_S if pre_send else None)[TOP]
    return Plan(_document(planned, one.sizes[TOP]), sum(one.sizes[TOP]))


@lru_cache(maxsize=16)
def rates_by_frame(one: Clip) -> list[list[float]]:
    """What the paper's plan of each level asks for where each frame begins, in bit/s."""
    return [_rates(planned["steps"], sizes) for planned, sizes in zip(_levels(one), one.sizes, strict=True)]


def _levels(one: Clip, **settings: Any) -> list[dict[str, Any]]:
    """Plans of all levels: with these settings, or else the paper's."""
    sizes = [list(level) for level in one.sizes]
    planned = json.loads(_native.plan_levels(sizes, FRAME_RATE, _native.PlanSettings(**settings)))
    return list(planned["levels"])


def _rates(steps: Sequence[Sequence[float]], sizes: Sequence[int]) -> list[float]:
    """Of each frame, the rate of the step in which its first byte is sent; a border within a byte is before it."""
    borders = [sent - 0.5 for _, sent, _ in steps]
    first_bytes = accumulate(sizes[:-1], initial=0)
    return [float(steps[max(bisect_right(borders, first) - 1, 0)][2]) for first in first_bytes]


STEP_S = 0.25
"""Between two points of a curve."""


def _document(planned: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, Any]:
    """V(t), C(t) and U(t) of a plan, its changes of rate and its extremes."""
    shown = [STARTUP_S + frame * FRAME_RATE[1] / FRAME_RATE[0] for frame in range(len(sizes) + 1)]
    played = list(accumulate(sizes, initial=0))
    starts = [start for start, _, _ in planned["steps"]]

    def sent_by(time: float) -> float:
        start, sent, rate = planned["steps"][max(bisect_right(starts, time) - 1, 0)]
        return float(sent) + float(rate) / 8 * (min(time, float(planned["end_s"])) - float(start))

    times = [point * STEP_S for point in range(int(max(planned["end_s"], shown[-1]) / STEP_S) + 1)]
    consumed = [float(played[bisect_right(shown[:-1], time)]) for time in times]
    sent = [sent_by(time) for time in times]
    held = planned["occupancy"]
    return {
        "t": times,
        "consumed": consumed,
        "sent": sent,
        "ahead": [here - gone for here, gone in zip(sent, consumed, strict=True)],
        "steps": [[start, rate] for start, _, rate in planned["steps"]],
        "least_bytes": held["least_bytes"],
        "most_bytes": held["most_bytes"],
        "most_at_s": held["most_at_s"],
        "client_buffer_bytes": planned["client_buffer_bytes"],
        "peak_bps": planned["peak_bps"],
    }


def peak_ratio(clip: Clip) -> float:
    """The largest of |U(t)| with ten segments over that with one."""
    ten, one = (of(clip, segments=segments, pre_send=False) for segments in (SEGMENTS, 1))
    return max(ten.most_kb, -ten.least_kb) / max(one.most_kb, -one.least_kb)


def peak_over_source(clip: Clip) -> float:
    """The plan's highest rate over that of the clip itself, in windows of a second."""
    return of(clip).peak_kbps / max(clip.rates_kbps(TOP))


def variation_ratio(*clips: Clip) -> float:
    """Variation of the first clip's rate, as a share of its mean, over that of the second one's."""
    mild, strong = (clip.rates_kbps(TOP) for clip in clips)
    return (pstdev(mild) / fmean(mild)) / (pstdev(strong) / fmean(strong))


def drawn(mild: Clip, strong: Clip) -> list[Drawn]:
    """Figures 9, 10, 12, 13 and 14; figure 11 is a sketch."""
    return [
        Drawn("9", "Strong clip at its mean rate", _three("9", of(strong, segments=1, pre_send=False))),
        Drawn("10", "Strong clip in ten segments", _three("10", of(strong, pre_send=False))),
        Drawn("12", "Strong clip in ten segments, 5 s of bytes sent ahead", _three("12", of(strong))),
        Drawn("13", "Strong clip: source and plan", _profiles("13", strong)),
        Drawn("14", "Mild clip: source and plan", _profiles("14", mild)),
    ]


def _three(number: str, plan: Plan) -> tuple[Figure, ...]:
    """C(t) and V(t), and below them U(t)."""
    curves = plan.document
    mega = {key: [value / 1e6 for value in curves[key]] for key in ("consumed", "sent", "ahead")}
    both = [
        line("C(t), sent", curves["t"], mega["sent"], VTP),
        line("V(t), played", curves["t"], mega["consumed"], RIVAL),
    ]
    ahead = [line("U(t)", curves["t"], mega["ahead"], VTP)]
    hint = f"U(t) from {plan.least_kb:,.0f} to {plan.most_kb:,.0f} kB; b_min {plan.buffer_percent:.1f} % of the clip."
    return (
        plot(f"figure-{number}", "C(t) and V(t)", "", both, "time (s)", "MB"),
        plot(f"figure-{number}-u", "U(t)", hint, ahead, "time (s)", "MB", yaxis={"rangemode": "normal"}),
    )


def _profiles(number: str, one: Clip) -> tuple[Figure, ...]:
    plans: list[Trace] = []
    source: list[Trace] = []
    for level in reversed(range(len(QUANTISERS))):
        steps = _levels(one)[level]["steps"]
        x = [start for start, _, _ in steps] + [one.duration_s]
        rates = [bps / 1e3 for _, _, bps in steps]
        plans.append(line(f"level {level}", x, [*rates, rates[-1]], LEVEL_COLOURS[level], line={"shape": "hv"}))
        by_second = one.rates_kbps(level)
        source.append(line(f"level {level}", range(len(by_second)), by_second, LEVEL_COLOURS[level]))
    return (
        plot(f"figure-{number}", "Rate of the video, by second", "", source, "time (s)", "kbit/s"),
        plot(f"figure-{number}-plan", "Sending plan", "", plans, "time (s)", "kbit/s"),
        _best(number, one),
    )


def best(one: Clip, *, fewest_changes: bool) -> Plan:
    """The best plan of a clip's top level with the buffer that the paper's plan needs."""
    buffer = of(one).document["client_buffer_bytes"]
    sizes = [list(one.sizes[TOP])]
    settings = _native.PlanSettings(buffer=buffer, fewest_changes=fewest_changes)
    [planned] = json.loads(_native.plan_levels(sizes, FRAME_RATE, settings))["levels"]
    return Plan(_document(planned, one.sizes[TOP]), sum(one.sizes[TOP]))


def _best(number: str, one: Clip) -> Figure:
    """Not in the paper: what the same buffer could do."""
    every = (
        ("the paper's", of(one), VTP),
        ("smoothest", best(one, fewest_changes=False), RIVAL),
        ("fewest changes", best(one, fewest_changes=True), HYBRID),
    )
    traces, rates_text = [], []
    for name, plan, colour in every:
        steps = plan.document["steps"]
        x = [start for start, _ in steps] + [one.duration_s]
        rates = [bps / 1e3 for _, bps in steps]
        traces.append(line(name, x, [*rates, rates[-1]], colour, line={"shape": "hv"}))
        rates_text.append(f"{name} {len(steps)} rates of at most {plan.peak_kbps:,.0f} kbit/s")
    buffer = of(one).document["client_buffer_bytes"] / 1e3
    hint = f"Top level, with the {buffer:,.0f} kB that the paper's plan needs: {'; '.join(rates_text)}."
    title = "The plan and the best ones with its buffer (not in the paper)"
    return plot(f"figure-{number}-best", title, hint, traces, "time (s)", "kbit/s")
