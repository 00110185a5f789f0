"""Every claim of the paper beside ours: a number of one value per seed, held against the claim's bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Literal

from framewire.confidence import Estimate, mean_with_confidence
from framewire.papers.balk import climbing, plans, why
from framewire.papers.balk.differences import below_percent, seconds_where_fixed_falls, within_percent
from framewire.papers.balk.measure import Measured, Run
from framewire.papers.balk.plan import FLOWS, LOSSES, PACKETS_PER_REQUEST, alone, isolated, mild, strong
from framewire.papers.balk.published import Published, published

__all__ = ["Finding", "Verdict", "findings"]

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]

Samples = Sequence[float]


@dataclass(frozen=True)
class Finding:
    """A claim and what was found."""

    published: Published
    ours: Estimate | None
    why: str

    @property
    def verdict(self) -> Verdict:
        """``undecided`` where the interval reaches over a bound: more seeds would tell."""
        if self.ours is None:
            return "not measured"
        reach = self.ours.half_width or 0.0
        low, high = self.published.low, self.published.high
        inside = (low is None or self.ours.mean >= low) and (high is None or self.ours.mean <= high)
        edges = [edge for edge in (low, high) if edge is not None]
        near = any(abs(self.ours.mean - edge) < reach for edge in edges)
        return "undecided" if near else "holds" if inside else "does not hold"


def findings(measured: Measured) -> list[Finding]:
    """All claims, in the order of the figures."""
    made = []
    for key, claim in published().items():
        samples = _SAMPLES[key](measured)
        ours = mean_with_confidence(samples) if samples else None
        made.append(Finding(claim, ours, why.reason(key, ours, measured)))
    return made


def _share(run: Run) -> float:
    return run.share


def _each(measured: Measured, *settings: object) -> Iterator[tuple[Run, ...]]:
    """Runs of several settings with the same seed; nothing when one was not measured."""
    found = [measured.of(setting) for setting in settings]  # type: ignore[arg-type]
    if all(found):
        yield from zip(*found, strict=False)


def _floor(measured: Measured) -> Samples:
    """Over all runs of VTP: the least ratio of the sending rate to the lowest level's plan."""
    ratios = [
        float(run.document["stream"]["least_over_floor"])
        for setting, runs in measured.runs.items()
        if setting.transport == "vtp"
        for run in runs
    ]
    return [min(ratios)] if ratios else []


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the line of least squares.

    >>> _slope([1, 2, 3], [2.0, 4.0, 6.0])
    2.0
    """
    mean_x, mean_y = fmean(x), fmean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def _over_k(measured: Measured) -> Samples:
    doublings = [k.bit_length() - 1 + (k / 2 ** (k.bit_length() - 1) - 1) for k in PACKETS_PER_REQUEST]
    runs = _each(measured, *(mild(8, k=k) for k in PACKETS_PER_REQUEST))
    return [_slope(doublings, [run.share for run in some]) for some in runs]


def _over_loss(measured: Measured) -> Samples:
    runs = _each(measured, *(strong(12, loss_percent=loss) for loss in LOSSES))
    return [_slope(LOSSES, [run.stream_kbps for run in some]) for some in runs]


def _of_plan(run: Run) -> float:
    """Mean sending rate over the plan of the top level, from second 10 on."""
    return float(run.document["stream"]["rate_over_top"])


def _of_equation(measured: Measured) -> Samples:
    return [
        float(run.document["stream"]["tfrc_over_equation"])
        for run in measured.of(alone(1.0, "tfrc", 400))
        if run.document["stream"]["tfrc_over_equation"] is not None
    ]


def _where_fixed_falls(measured: Measured) -> Samples:
    """Percent of the seconds of all seeds together in which fixed-rate streaming falls below 15."""
    seconds = seconds_where_fixed_falls(list(_each(measured, mild(16), mild(16, transport="fixed"))))
    return [100 * sum(seconds) / len(seconds)] if seconds else []


def _runs_where_fixed_falls(measured: Measured) -> Samples:
    pairs = _each(measured, mild(16), mild(16, transport="fixed"))
    return [within_percent(run) for run, other in pairs if below_percent(other) > 0]


def _psnr_steps(measured: Measured) -> Samples:
    """The least difference of the mean PSNR of neighbouring levels."""
    quality = measured.clips["mild"].quality
    if quality is None:
        return []
    means = [fmean(level[0]) for level in quality.psnr_db]
    return [min(after - before for before, after in pairwise(means))]


def _spread_of_frames(measured: Measured) -> Samples:
    pairs = _each(measured, strong(12), strong(12, transport="fixed"))
    return [pstdev(vtp.frame_rates) / max(1e-9, pstdev(fixed.frame_rates)) for vtp, fixed in pairs]


def _later_spread(run: Run) -> float:
    half = len(run.frame_rates) // 2
    return pstdev(run.frame_rates[half:]) / max(1e-9, pstdev(run.frame_rates[:half]))


def _quantiser_steps(measured: Measured) -> Samples:
    made = []
    for some in _each(measured, *(mild(flows) for flows in FLOWS)):
        values = [run.quantiser for run in some]
        made.append(min(after - before for before, after in pairwise(values)))
    return made


def _quantiser_gain(measured: Measured) -> Samples:
    two = (mild(flows, link_mbps=2) for flows in FLOWS[2:])
    three = (mild(flows) for flows in FLOWS[2:])
    runs = _each(measured, *two, *three)
    return [fmean(a.quantiser - b.quantiser for a, b in zip(some[:3], some[3:], strict=True)) for some in runs]


def _least(measured: Measured, value: Callable[[Run], float], *settings: object) -> Samples:
    return [min(map(value, some)) for some in _each(measured, *settings)]


def _most(measured: Measured, value: Callable[[Run], float], *settings: object) -> Samples:
    return [max(map(value, some)) for some in _each(measured, *settings)]


_SAMPLES: Mapping[str, Callable[[Measured], Samples]] = {
    "plan-cbr": lambda m: [plans.of(m.clips["strong"], segments=1, pre_send=False).least_kb],
    "plan-ten": lambda m: [plans.peak_ratio(m.clips["strong"])],
    "plan-ten-underrun": lambda m: [plans.of(m.clips["strong"], pre_send=False).least_kb],
    "plan-presend": lambda m: [plans.of(m.clips["strong"]).least_kb],
    "plan-bmin": lambda m: [plans.of(m.clips["strong"]).buffer_percent],
    "plan-peak": lambda m: [plans.peak_over_source(m.clips["strong"])],
    "plan-mild": lambda m: [plans.variation_ratio(m.clips["mild"], m.clips["strong"])],
    "climb": lambda m: m.samples(isolated(), climbing.first_at_top_s),
    "climb-stays": lambda m: m.samples(isolated(), climbing.valleys),
    "climb-valleys": lambda m: m.samples(isolated(), climbing.mean_valley_s) if climbing.any_valley(m) else [],
    "fair-2": lambda m: m.samples(mild(2), _share),
    "fair-4": lambda m: m.samples(mild(4), _share),
    "fair-8": lambda m: m.samples(mild(8), _share),
    "fair-16": lambda m: m.samples(mild(16), _share),
    "fair-32": lambda m: m.samples(mild(32), _share),
    "floor": _floor,
    "k-small": lambda m: _least(m, _share, mild(8, k=1), mild(8, k=2)),
    "k-5": lambda m: m.samples(mild(8), _share),
    "k-20": lambda m: m.samples(mild(8, k=20), _share),
    "k-order": _over_k,
    "strong-under": lambda m: _most(m, _share, *(strong(flows) for flows in (2, 4, 8, 12))),
    "strong-16": lambda m: m.samples(strong(16), _share),
    "loss-rises": _over_loss,
    "loss-tcp": lambda m: m.samples(strong(12, loss_percent=5.0), lambda run: run.share / run.tcp_share),
    "loss-1": lambda m: [
        lossy.stream_kbps / free.stream_kbps for lossy, free in _each(m, strong(12, loss_percent=1.0), strong(12))
    ],
    "tfrc-1": lambda m: m.samples(alone(1.0, "tfrc"), lambda run: run.least_second_kbps),
    "tfrc-5": lambda m: m.samples(alone(5.0, "tfrc"), lambda run: run.least_second_kbps),
    "tfrc-vtp-1": lambda m: m.samples(alone(1.0, "vtp"), _of_plan),
    "tfrc-vtp-5": lambda m: m.samples(alone(5.0, "vtp"), _of_plan),
    "tfrc-equation": _of_equation,
    "psnr-levels": _psnr_steps,
    "frames-vtp": lambda m: m.samples(mild(16), within_percent),
    "frames-fixed": lambda m: m.samples(mild(16, transport="fixed"), below_percent),
    "frames-seconds": _where_fixed_falls,
    "frames-runs": _runs_where_fixed_falls,
    "frames-strong": _spread_of_frames,
    "frames-strong-fixed": lambda m: m.samples(strong(12, transport="fixed"), _later_spread),
    "quality-low": lambda m: _least(m, lambda run: 100 * run.levels[-1], mild(2), mild(4)),
    "quality-grows": _quantiser_steps,
    "quality-3": _quantiser_gain,
}
