"""Why a claim comes out as it does, with the numbers of this run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev

from framewire.studies.balk import differences, sending_plans
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import (
    FLOWS,
    TFRC_ROUND_TRIPS_MS,
    Setting,
    Transport,
    alone,
    isolated,
    mild,
    strong,
)
from framewire.studies.balk.variants import K_OVER_K_MINUS_1

__all__ = ["reason"]


def reason(key: str, measured: Measured) -> str:
    """A sentence or two; empty where the number says it all."""
    found = _REASONS.get(key)
    return found(measured) if found else ""


def _mean(measured: Measured, setting: Setting, value: Callable[[Run], float]) -> float | None:
    estimate = measured.mean(setting, value)
    return None if estimate is None else estimate.mean


_COUNTED = 36 + 24
"""Bytes of a packet that SIZE counts beside its video: VTP's header, and the fields of video (docs/vtp.md)."""

_HEADERS = _COUNTED + 8 + 20
"""Bytes that a packet carries beside its video: those, UDP's (RFC 768) and IPv4's without options (RFC 791, 3.1)."""


def _unseen_percent(run: Run) -> float:
    """A loss of less leaves the estimate above the rate: it makes up for the headers that SIZE counts."""
    counted = _COUNTED / _HEADERS * (run.rate_kbps("wire") - run.rate_kbps())
    return 100 * counted / max(1e-9, run.rate_kbps() + counted)


def _lost(setting: Setting) -> Callable[[Measured], str]:
    """The estimate sees less than is lost."""

    def explained(measured: Measured) -> str:
        lost = _mean(measured, setting, lambda run: run.packet_loss_percent)
        unseen = _mean(measured, setting, _unseen_percent)
        level = _mean(measured, setting, lambda run: run.mean_level)
        if lost is None or unseen is None or level is None:
            return ""
        other = _mean(measured, replace(setting, variant=K_OVER_K_MINUS_1), lambda run: run.share)
        text = (
            f"SIZE counts the packets' headers, so that a loss of less than about {unseen:.0f} % does not lower the "
            f"rate; here {lost:.1f} % of the packets are lost, and the mean level is {level:.2f} of 2."
        )
        return text if other is None else f"{text} With k packets over k - 1 gaps the share is {other:.2f}."

    return explained


def _what_else(column: str) -> Callable[[Measured], str]:
    """With which other decisions the claim is within its bounds."""

    def explained(measured: Measured) -> str:
        tried = differences.table(measured).rows[1:]
        if not tried:
            return ""
        found = differences.with_which_it_holds(measured, column)
        most = len(found) > len(tried) / 2
        named = [row.labels[0] for row in tried if row.labels[0] not in found] if most else found
        which = f"{'all' if most else 'none'}{' but ' if named else ''}" if most or not found else ""
        return f" Of {len(tried)} other decisions it is within the bounds with {which}{'; '.join(named)}."

    return explained


def _together(*parts: Callable[[Measured], str]) -> Callable[[Measured], str]:
    return lambda measured: "".join(part(measured) for part in parts).strip()


def _seconds(transport: Transport) -> Callable[[Measured], str]:
    """How many seconds, and runs, of fixed-rate streaming below 15 there are."""

    def explained(measured: Measured) -> str:
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

    return explained


def _fewer_estimates(measured: Measured) -> str:
    shares = [_mean(measured, mild(8, k=k), lambda run: run.share) for k in (5, 10, 20)]
    if None in shares:
        return ""
    return (
        "An estimate comes with every k-th packet, and each raises the rate by one packet per second at the most: with "
        "k = 20 the rate regains what it lost a quarter as fast as with k = 5. The share goes from "
        f"{shares[0]:.2f} at k = 5 over {shares[1]:.2f} at k = 10 to {shares[2]:.2f} at k = 20."
    )


def _top_rate(measured: Measured) -> str:
    top = max(sending_plans.of(measured.clips["mild"]).document["steps"], key=lambda step: float(step[1]))[1] / 1e3
    return f"The top level's plan, 450 kbit/s in the mean and {top:.0f} at most, is all that it ever asks for."


def _round_trip(loss: float, limit_kbps: float) -> Callable[[Measured], str]:
    """At which round-trip time figure 20 comes about."""

    def explained(measured: Measured) -> str:
        least = [(rtt, measured.mean(alone(loss, "tfrc", rtt), _least)) for rtt in TFRC_ROUND_TRIPS_MS]
        below = [rtt for rtt, mean in least if mean is not None and mean.mean < limit_kbps]
        if not any(mean for _, mean in least):
            return ""
        where = f"from a round trip of {below[0]} ms on" if below else "at no round trip that was tried"
        return (
            "At 10 ms its equation allows far more than the movie's rate at this loss, so that the movie is the limit. "
            f"The worst second is below {limit_kbps:.0f} kbit/s {where}."
        )

    return explained


def _steadier(loss: float) -> Callable[[Measured], str]:
    """Both by the same ruler."""

    def explained(measured: Measured) -> str:
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
        elif kept_by[0] < kept_by[1]:
            unseen = fmean(_unseen_percent(run) for run in measured.of(alone(loss, "vtp")))
            text += (
                f" Where more than about {unseen:.0f} % of the packets between control packets are lost, VTP's "
                "estimate falls below its rate, which follows."
            )
        return text

    return explained


def _least(run: Run) -> float:
    return run.least_second_kbps()


def _buffer(measured: Measured) -> str:
    peak = sending_plans.of(measured.clips["strong"]).document["most_at_s"]
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
    few, many = strong(12, loss_percent=0.1), strong(12, loss_percent=5.0)
    tcp, lost, levels = (
        [_mean(measured, setting, value) for setting in (few, many)]
        for value in (lambda run: run.tcp_share, lambda run: run.packet_loss_percent, lambda run: run.mean_level)
    )
    unseen = _mean(measured, many, _unseen_percent)
    if None in (*tcp, *lost, *levels, unseen):
        return ""
    return (
        f"TCP's share goes from {tcp[0]:.2f} to {tcp[1]:.2f}. Of the stream's packets {lost[0]:.1f} and {lost[1]:.1f} "
        f"% are lost, and less than about {unseen:.0f} % does not lower the rate; mean levels are {levels[0]:.2f} and "
        f"{levels[1]:.2f} of 2."
    )


def _keeps_top(measured: Measured) -> str:
    levels = [_mean(measured, mild(8, k=k), lambda run: run.mean_level) for k in (1, 2)]
    lost = [_mean(measured, mild(8, k=k), lambda run: run.packet_loss_percent) for k in (1, 2)]
    unseen = _mean(measured, mild(8, k=2), _unseen_percent)
    if None in (*levels, *lost, unseen):
        return ""
    return (
        f"Its top level's plan is 1.2 of the fair share. It sends mean levels of {levels[0]:.2f} and {levels[1]:.2f} "
        f"of 2, with {lost[0]:.1f} and {lost[1]:.1f} % of its packets lost; a loss of less than about {unseen:.0f} "
        "% does not lower the rate."
    )


def _without_loss(measured: Measured) -> str:
    ratio = _mean(measured, strong(12), lambda run: run.share / run.tcp_share)
    if ratio is None:
        return ""
    return f"It has {ratio:.2f} times TCP's without random loss, too: random loss is not what it owes that to."


def _unseen(measured: Measured) -> str:
    lost = [_mean(measured, strong(12, loss_percent=loss), lambda run: run.packet_loss_percent) for loss in (0.0, 1.0)]
    unseen = _mean(measured, strong(12, loss_percent=1.0), _unseen_percent)
    if None in (*lost, unseen):
        return ""
    return (
        f"With 1 % lost at random {lost[1]:.1f} % of its packets are lost, without {lost[0]:.1f} %; less than about "
        f"{unseen:.0f} % does not lower the rate."
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
    spreads = []
    for name, transport in ways:
        setting = strong(12, transport=transport)
        spread = _mean(measured, setting, lambda run: pstdev(run.frame_rates))
        lost = _mean(measured, setting, lambda run: run.packet_loss_percent)
        if spread is None or lost is None:
            return ""
        spreads.append(f"{name}: {spread:.2f} frames per second, {lost:.1f} % of the packets lost")
    halves = [
        _mean(measured, strong(12), lambda run, half=half: pstdev(_half(run.frame_rates, half)))  # type: ignore[misc]
        for half in (0, 1)
    ]
    return (
        f"Standard deviations, {'; '.join(spreads)}. VTP's is {halves[0]:.2f} in the first half and {halves[1]:.2f} in "
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
    levels = [f"{', '.join('-' if mean is None else f'{mean:.2f}' for mean in some)} at {link} Mbit/s"
            for link, some in means.items()]  # fmt: skip
    return (
        f"With 8, 16 and 32 flows the mean level is {' and '.join(levels)}: a third less of the link takes {lost:.2f} "
        "of a level at most, for the reason of figure 16."
    )


def _ten(measured: Measured) -> str:
    strong_clip = measured.clips["strong"]
    ten, one = (sending_plans.of(strong_clip, segments=segments, pre_send=False) for segments in (10, 1))
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
    "k-20": _together(_fewer_estimates, _what_else("k = 20")),
    "k-order": _fewer_estimates,
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
    "frames-hybrid": _seconds("vtp-hybrid"),
    "frames-runs": _seconds("vtp"),
    "frames-strong": _spreads,
    "frames-strong-fixed": _halves,
    "quality-low": _top_frames,
    "quality-grows": _levels_kept,
    "quality-3": _levels_kept,
}
