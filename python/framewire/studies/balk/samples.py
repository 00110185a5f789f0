"""What is held against each claim: a number of one value per seed, or a share of all seeds together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev

from framewire.studies.balk import climbing, sending_plans
from framewire.studies.balk.differences import seconds_below, seconds_where_fixed_falls, within_percent
from framewire.studies.balk.measure import Measured, Ruler, Run, UnpairedError
from framewire.studies.balk.plan import (
    FLOWS,
    LOSSES,
    PACKETS_PER_REQUEST,
    Setting,
    Transport,
    alone,
    isolated,
    mild,
    strong,
)

__all__ = ["OTHERS", "RATES", "Count", "Samples"]


@dataclass(frozen=True)
class Count:
    """So many of all, where single ones and not whole runs are counted."""

    of_these: int
    all: int
    runs: int
    """In how many runs: what happens within one hangs together, so that each is taken for one draw."""


Samples = Sequence[float]


def _shares(setting: Setting) -> Callable[[Measured, Ruler], Samples]:
    return lambda measured, ruler: measured.samples(setting, lambda run: run.share_by(ruler))


def _of_each(choose: Callable[[Sequence[float]], float], *settings: Setting) -> Callable[[Measured, Ruler], Samples]:
    """The least or the most of the shares in several settings, seed by seed."""
    return lambda measured, ruler: [
        choose([run.share_by(ruler) for run in some]) for some in measured.paired(*settings)
    ]


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the line of least squares.

    >>> _slope([1, 2, 3], [2.0, 4.0, 6.0])
    2.0
    """
    mean_x, mean_y = fmean(x), fmean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def _over_k(measured: Measured, ruler: Ruler) -> Samples:
    doublings = [k.bit_length() - 1 + (k / 2 ** (k.bit_length() - 1) - 1) for k in PACKETS_PER_REQUEST]
    runs = measured.paired(*(mild(8, k=k) for k in PACKETS_PER_REQUEST))
    return [_slope(doublings, [run.share_by(ruler) for run in some]) for some in runs]


def _over_loss(measured: Measured, ruler: Ruler) -> Samples:
    runs = measured.paired(*(strong(12, loss_percent=loss) for loss in LOSSES))
    return [_slope(LOSSES, [run.rate_kbps(ruler) for run in some]) for some in runs]


def _over_tcp(measured: Measured, ruler: Ruler) -> Samples:
    lossy = strong(12, loss_percent=5.0)
    return measured.samples(lossy, lambda run: run.share_by(ruler) / run.tcp_share_by(ruler))


def _kept(measured: Measured, ruler: Ruler) -> Samples:
    pairs = measured.paired(strong(12, loss_percent=1.0), strong(12))
    return [lossy.rate_kbps(ruler) / free.rate_kbps(ruler) for lossy, free in pairs]


def _least_second(loss: float) -> Callable[[Measured, Ruler], Samples]:
    return lambda measured, ruler: measured.samples(alone(loss, "tfrc"), lambda run: run.least_second_kbps(ruler))


_BOTH: Sequence[Transport] = ("vtp", "tfrc")


def _dips(loss: float) -> Callable[[Measured, Ruler], Samples]:
    """By how much VTP's deepest dip is deeper than TFRC's: the same bytes of both, against the same without loss."""

    def found(measured: Measured, ruler: Ruler) -> Samples:
        runs = measured.paired(*(alone(at, transport) for transport in _BOTH for at in (loss, 0.0)))
        return [
            vtp.dip_percent(free_vtp, ruler) - tfrc.dip_percent(free_tfrc, ruler)
            for vtp, free_vtp, tfrc, free_tfrc in runs
        ]

    return found


RATES: Mapping[str, Callable[[Measured, Ruler], Samples]] = {
    "fair-2": _shares(mild(2)),
    "fair-4": _shares(mild(4)),
    "fair-8": _shares(mild(8)),
    "fair-16": _shares(mild(16)),
    "fair-32": _shares(mild(32)),
    "k-small": _of_each(min, mild(8, k=1), mild(8, k=2)),
    "k-5": _shares(mild(8)),
    "k-20": _shares(mild(8, k=20)),
    "k-order": _over_k,
    "strong-under": _of_each(max, *(strong(flows) for flows in (2, 4, 8, 12))),
    "strong-16": _shares(strong(16)),
    "loss-rises": _over_loss,
    "loss-tcp": _over_tcp,
    "loss-1": _kept,
    "tfrc-1": _least_second(1.0),
    "tfrc-5": _least_second(5.0),
    "tfrc-vtp-1": _dips(1.0),
    "tfrc-vtp-5": _dips(5.0),
}
"""Numbers of bytes, by either ruler."""


def _floor(measured: Measured) -> Samples:
    """Of each seed, over all its runs of VTP: the least ratio of the sending rate to the lowest level's plan."""
    ratios: dict[int, list[float]] = {}
    for setting, runs in measured.runs.items():
        for run in runs if setting.transport == "vtp" else ():
            ratios.setdefault(run.seed, []).append(float(run.document["stream"]["least_over_floor"]))
    return [min(some) for some in ratios.values()]


def _of_equation(measured: Measured) -> Samples:
    """The mean sending rate of TFRC over that of its equation, at a round trip at which the movie is not the limit."""
    rates = measured.samples(alone(1.0, "tfrc", 400), lambda run: run.document["stream"]["tfrc_over_equation"])
    return [float(rate) for rate in rates if rate is not None]


def _psnr_steps(measured: Measured) -> Samples:
    """The least difference of the mean PSNR of neighbouring levels."""
    quality = measured.clips["mild"].quality
    if quality is None:
        return []
    means = [fmean(level[0]) for level in quality.psnr_db]
    return [min(after - before for before, after in pairwise(means))]


def _where_fixed_falls(transport: Transport) -> Callable[[Measured], Count | Samples]:
    """The seconds of all seeds together in which fixed-rate streaming falls below 15."""

    def found(measured: Measured) -> Count | Samples:
        pairs = measured.paired(mild(16, transport=transport), mild(16, transport="fixed"))
        seconds = seconds_where_fixed_falls(pairs)
        runs = sum(seconds_below(fixed) > 0 for _, fixed in pairs)
        return Count(sum(seconds), len(seconds), runs) if seconds else []

    return found


def _runs_where_fixed_falls(measured: Measured) -> Samples:
    pairs = measured.paired(mild(16), mild(16, transport="fixed"))
    return [within_percent(run) for run, other in pairs if seconds_below(other) > 0]


def _spread_of_frames(measured: Measured) -> Samples:
    pairs = measured.paired(strong(12), strong(12, transport="fixed"))
    return [pstdev(vtp.frame_rates) / max(1e-9, pstdev(fixed.frame_rates)) for vtp, fixed in pairs]


def _later_spread(run: Run) -> float:
    half = len(run.frame_rates) // 2
    return pstdev(run.frame_rates[half:]) / max(1e-9, pstdev(run.frame_rates[:half]))


def _mostly_top(measured: Measured) -> Samples:
    return [min(100 * run.levels[-1] for run in some) for some in measured.paired(mild(2), mild(4))]


def _quantiser_steps(measured: Measured) -> Samples:
    made = []
    for some in measured.paired(*(mild(flows) for flows in FLOWS)):
        values = [run.quantiser for run in some]
        made.append(min(after - before for before, after in pairwise(values)))
    return made


def _quantiser_gain(measured: Measured) -> Samples:
    """Of 3 instead of 2 Mbit/s, with 8, 16 and 32 flows, each held against its own."""
    gains = [
        {three.seed: two.quantiser - three.quantiser
         for two, three in measured.paired(mild(flows, link_mbps=2), mild(flows))}
        for flows in FLOWS[2:]
    ]  # fmt: skip
    if not all(gains):
        return []
    if any(some.keys() != gains[0].keys() for some in gains):
        raise UnpairedError("8, 16 and 32 flows at 2 and 3 Mbit/s have not the same seeds")
    return [fmean(some[seed] for some in gains) for seed in gains[0]]


OTHERS: Mapping[str, Callable[[Measured], Samples | Count]] = {
    "plan-cbr": lambda m: [sending_plans.of(m.clips["strong"], segments=1, pre_send=False).least_kb],
    "plan-ten": lambda m: [sending_plans.peak_ratio(m.clips["strong"])],
    "plan-ten-underrun": lambda m: [sending_plans.of(m.clips["strong"], pre_send=False).least_kb],
    "plan-presend": lambda m: [sending_plans.of(m.clips["strong"]).least_kb],
    "plan-bmin": lambda m: [sending_plans.of(m.clips["strong"]).buffer_percent],
    "plan-peak": lambda m: [sending_plans.peak_over_source(m.clips["strong"])],
    "plan-mild": lambda m: [sending_plans.variation_ratio(m.clips["mild"], m.clips["strong"])],
    "climb": lambda m: m.samples(isolated(), climbing.first_at_top_s),
    "climb-stays": lambda m: m.samples(isolated(), climbing.valleys),
    "climb-valleys": lambda m: m.samples(isolated(), climbing.mean_valley_s) if climbing.any_valley(m) else [],
    "floor": _floor,
    "tfrc-equation": _of_equation,
    "psnr-levels": _psnr_steps,
    "frames-vtp": lambda m: m.samples(mild(16), within_percent),
    "frames-fixed": lambda m: m.samples(mild(16, transport="fixed"), seconds_below),
    "frames-seconds": _where_fixed_falls("vtp"),
    "frames-hybrid": _where_fixed_falls("vtp-hybrid"),
    "frames-runs": _runs_where_fixed_falls,
    "frames-strong": _spread_of_frames,
    "frames-strong-fixed": lambda m: m.samples(strong(12, transport="fixed"), _later_spread),
    "quality-low": _mostly_top,
    "quality-grows": _quantiser_steps,
    "quality-3": _quantiser_gain,
}
"""What has nothing to do with whose bytes are counted."""
