"""Why a claim comes out as it does, with the numbers of this run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, pstdev

from framewire.papers.balk import differences, plans
from framewire.papers.balk.measure import Measured, Run
from framewire.papers.balk.plan import (
    FLOWS,
    TFRC_ROUND_TRIPS_MS,
    Setting,
    Transport,
    alone,
    isolated,
    mild,
    strong,
)

__all__ = ["reason"]


def reason(key: str, measured: Measured) -> str:
    """A sentence or two; empty where the number says it all."""
    found = _REASONS.get(key)
    return found(measured) if found else ""


def _mean(measured: Measured, setting: Setting, value: Callable[[Run], float]) -> float | None:
    estimate = measured.mean(setting, value)
    return None if estimate is None else estimate.mean


def _lost(setting: Setting) -> Callable[[Measured], str]:
    """Equation 1 sees less than is lost."""

    def told(measured: Measured) -> str:
        lost = _mean(measured, setting, lambda run: run.packet_loss_percent)
        unbiased = _mean(measured, _without_bias(setting), lambda run: run.share)
        if lost is None:
            return ""
        text = (
            f"Equation 1 counts k packets over k - 1 gaps, {setting.k / (setting.k - 1):.2f} of what arrives, and so "
            f"does not see a loss of {100 / setting.k:.0f} %; here {lost:.1f} % of the packets are lost."
        )
        return text if unbiased is None else f"{text} Read without that bias the share is {unbiased:.2f}."

    return told


def _what_else(column: str) -> Callable[[Measured], str]:
    """With which other decisions the claim is within its bounds."""

    def told(measured: Measured) -> str:
        tried = differences.table(measured).rows[1:]
        if not tried:
            return ""
        found = differences.with_which_it_holds(measured, column)
        return f" Of {len(tried)} other decisions it is within the bounds with {'; '.join(found) if found else 'none'}."

    return told


def _together(*parts: Callable[[Measured], str]) -> Callable[[Measured], str]:
    return lambda measured: "".join(part(measured) for part in parts).strip()


def _seconds(transport: Transport) -> Callable[[Measured], str]:
    """How many seconds, and runs, of fixed-rate streaming below 15 there are."""

    def told(measured: Measured) -> str:
        pairs = measured.paired(mild(16, transport=transport), mild(16, transport="fixed"))
        if not pairs:
            return ""
        seconds = len(differences.seconds_where_fixed_falls(pairs))
        runs = sum(differences.below_percent(fixed) > 0 for _, fixed in pairs)
        every = sum(len(fixed.frame_rates) for _, fixed in pairs)
        return (
            f"Of {every:,} seconds, {seconds:,} {'is' if seconds == 1 else 'are'} such, in {runs:,} of "
            f"{len(pairs):,} runs. The table of frames per second has the same where fixed-rate streaming fails more "
            "often."
        )

    return told


def _without_bias(setting: Setting) -> Setting:
    return Setting(setting.clip, setting.link_mbps, setting.tcp, k=setting.k, unbiased=True)


def _few_gaps(measured: Measured) -> str:
    five, ten = (_mean(measured, mild(8, k=k), lambda run: run.share) for k in (5, 10))
    if five is None or ten is None:
        return ""
    return (
        "The bias of equation 1 falls from a quarter at k = 5 to a twentieth at k = 20, below what the queue drops; "
        f"the share goes from {five:.2f} at k = 5 to {ten:.2f} at k = 10."
    )


def _top_rate(measured: Measured) -> str:
    top = max(plans.of(measured.clips["mild"]).document["steps"], key=lambda step: float(step[1]))[1] / 1e3
    return f"The top level's plan, 450 kbit/s in the mean and {top:.0f} at most, is all that it ever asks for."


def _round_trip(loss: float, limit_kbps: float) -> Callable[[Measured], str]:
    """At which round-trip time figure 20 comes about."""

    def told(measured: Measured) -> str:
        least = [(rtt, measured.mean(alone(loss, "tfrc", rtt), _least)) for rtt in TFRC_ROUND_TRIPS_MS]
        below = [rtt for rtt, mean in least if mean is not None and mean.mean < limit_kbps]
        if not any(mean for _, mean in least):
            return ""
        where = f"from a round trip of {below[0]} ms on" if below else "at no round trip that was tried"
        return (
            "At 10 ms its equation allows far more than the movie's rate at this loss, so that the movie is the limit. "
            f"The worst second is below {limit_kbps:.0f} kbit/s {where}."
        )

    return told


def _steadier(loss: float) -> Callable[[Measured], str]:
    """Both by the same ruler."""

    def told(measured: Measured) -> str:
        ways: Sequence[tuple[str, Transport]] = (("VTP", "vtp"), ("TFRC", "tfrc"))
        numbers, kept_by = [], []
        for name, transport in ways:
            pairs = measured.paired(alone(loss, transport), alone(0.0, transport))
            if not pairs:
                return ""
            dip = fmean(run.dip_percent(free) for run, free in pairs)
            kept = fmean(fmean(run.of_lossless(free)) for run, free in pairs)
            kept_by.append(kept)
            numbers.append(f"{name} receives {100 * kept:.1f} % and in its worst second {dip:.1f} % less than that")
        text = f"Of what each receives in the same second without loss, {'; '.join(numbers)}."
        # More than that is missing where a rate was reduced.
        if min(kept_by) >= 1 - 1.2 * loss / 100:
            text += " Loss limits neither of them: what they miss is what was lost."
        return text

    return told


def _least(run: Run) -> float:
    return run.least_second_kbps()


def _buffer(measured: Measured) -> str:
    peak = plans.of(measured.clips["strong"]).document["most_at_s"]
    return (
        "b_min is a number of the clip: how far its rate strays within segments. The stand-in's "
        f"scenes last seconds; its peak is at {peak:.0f} s, where TRON's was at 17 s."
    )


def _fixed_frames(measured: Measured) -> str:
    lost = _mean(measured, mild(16, transport="fixed"), lambda run: run.packet_loss_percent)
    frames = _mean(measured, mild(16, transport="fixed"), lambda run: min(run.frame_rates))
    if lost is None or frames is None:
        return ""
    return (
        f"{lost:.1f} % of its packets are lost, at two to three packets a frame; its worst second has {frames:.1f} "
        "frames in the mean of the runs."
    )


def _rises(measured: Measured) -> str:
    tcp = [_mean(measured, strong(12, loss_percent=loss), lambda run: run.tcp_share) for loss in (0.1, 5.0)]
    if None in tcp:
        return ""
    return (
        f"TCP's share falls from {tcp[0]:.2f} to {tcp[1]:.2f}, but the stream has its top level's rate already and no "
        "use for the room; what is lost at random is missing from what arrives."
    )


def _keeps_top(measured: Measured) -> str:
    levels = [_mean(measured, mild(8, k=k), lambda run: run.mean_level) for k in (1, 2)]
    lost = [_mean(measured, mild(8, k=k), lambda run: run.packet_loss_percent) for k in (1, 2)]
    if None in levels or None in lost:
        return ""
    return (
        f"It stays near its top level, whose plan is 1.2 of the fair share: mean levels {levels[0]:.2f} and "
        f"{levels[1]:.2f} of 2, with {lost[0]:.1f} and {lost[1]:.1f} % of its packets lost."
    )


def _without_loss(measured: Measured) -> str:
    ratio = _mean(measured, strong(12), lambda run: run.share / run.tcp_share)
    if ratio is None:
        return ""
    return f"It has {ratio:.2f} times TCP's without random loss, too: random loss is not what it owes that to."


def _unseen(measured: Measured) -> str:
    return (
        "Equation 1 does not see a loss of less than 20 % with k = 5, so that the rate stays; what is lost is missing."
    )


def _halves(measured: Measured) -> str:
    setting = strong(12, transport="fixed")
    spreads = [
        _mean(measured, setting, lambda run, half=half: pstdev(_half(run.frame_rates, half)))  # type: ignore[misc]
        for half in (0, 1)
    ]
    if None in spreads:
        return ""
    return (
        f"Standard deviations of {spreads[0]:.2f} and {spreads[1]:.2f} frames per second in its halves: TCP begins "
        "before the stream, and the highest rate of the stream's plan is in its first half."
    )


def _half(rates: Sequence[int], half: int) -> Sequence[int]:
    middle = len(rates) // 2
    return rates[middle:] if half else rates[:middle]


def _spreads(measured: Measured) -> str:
    ways: Sequence[tuple[str, Transport]] = (("VTP", "vtp"), ("fixed rate", "fixed"))
    told = []
    for name, transport in ways:
        setting = strong(12, transport=transport)
        spread = _mean(measured, setting, lambda run: pstdev(run.frame_rates))
        lost = _mean(measured, setting, lambda run: run.packet_loss_percent)
        if spread is None or lost is None:
            return ""
        told.append(f"{name}: {spread:.2f} frames per second, {lost:.1f} % of the packets lost")
    halves = [
        _mean(measured, strong(12), lambda run, half=half: pstdev(_half(run.frame_rates, half)))  # type: ignore[misc]
        for half in (0, 1)
    ]
    return (
        f"Standard deviations, {'; '.join(told)}. VTP's is {halves[0]:.2f} in the first half and {halves[1]:.2f} in "
        "the second."
    )


def _top_frames(measured: Measured) -> str:
    places = (mild(2), mild(4), isolated())
    parts = [_mean(measured, setting, lambda run: 100 * run.levels[-1]) for setting in places]
    if None in parts:
        return ""
    return f"{parts[0]:.0f} and {parts[1]:.0f} % of the frames; alone on 10 Mbit/s it is {parts[2]:.0f} %."


def _levels_kept(measured: Measured) -> str:
    means = {
        link: [_mean(measured, mild(flows, link_mbps=link), lambda run: run.mean_level) for flows in FLOWS[2:]]
        for link in (3, 2)
    }
    lost = max((three - two for three, two in zip(*means.values(), strict=True) if three and two), default=None)
    if lost is None:
        return ""
    told = [f"{', '.join('-' if mean is None else f'{mean:.2f}' for mean in some)} at {link} Mbit/s"
            for link, some in means.items()]  # fmt: skip
    return (
        f"With 8, 16 and 32 flows the mean level is {' and '.join(told)}: a third less of the link takes {lost:.2f} of "
        "a level at most, for the reason of figure 16."
    )


def _ten(measured: Measured) -> str:
    strong_clip = measured.clips["strong"]
    ten, one = (plans.of(strong_clip, segments=segments, pre_send=False) for segments in (10, 1))
    return (
        f"From {ten.least_kb:,.0f} to {ten.most_kb:,.0f} kB with ten segments, from {one.least_kb:,.0f} to "
        f"{one.most_kb:,.0f} with one: where scenes of a segment differ much, its mean rate is as far from them as the "
        "mean of all."
    )


_REASONS: Mapping[str, Callable[[Measured], str]] = {
    "plan-ten": _ten,
    "plan-bmin": _buffer,
    "fair-2": _top_rate,
    "fair-4": _top_rate,
    "fair-8": _top_rate,
    "fair-16": _together(_lost(mild(16)), _what_else("16 flows")),
    "fair-32": _together(_lost(mild(32)), _what_else("32 flows")),
    "k-small": _keeps_top,
    "k-20": _together(_few_gaps, _what_else("k = 20")),
    "k-order": _few_gaps,
    "strong-under": _together(_lost(strong(12)), _what_else("strong, 12 flows")),
    "strong-16": _lost(strong(16)),
    "loss-rises": _rises,
    "loss-tcp": _without_loss,
    "loss-1": _unseen,
    "tfrc-1": _round_trip(1.0, 200),
    "tfrc-5": _round_trip(5.0, 100),
    "tfrc-vtp-1": _steadier(1.0),
    "tfrc-vtp-5": _steadier(5.0),
    "frames-vtp": _together(_lost(mild(16)), _what_else("18 to 24 frames (% of s)")),
    "frames-fixed": _together(_fixed_frames, _what_else("fixed rate below 15 (s of a run)")),
    "frames-seconds": _seconds("vtp"),
    "frames-better": _seconds("better"),
    "frames-runs": _seconds("vtp"),
    "frames-strong": _spreads,
    "frames-strong-fixed": _halves,
    "quality-low": _top_frames,
    "quality-grows": _levels_kept,
    "quality-3": _levels_kept,
}
