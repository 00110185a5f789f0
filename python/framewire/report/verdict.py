"""The verdict in plain words: which transport to choose, why, and what is given up.

`rules` says by what it is found. The scenario's player decides which way of viewing comes first: live, or with a pause
allowed. In a run whose player waited, picture quality does not decide live viewing: its pictures are not live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from framewire.report.metrics import Metrics
from framewire.report.palette import PLACE_NAMES
from framewire.report.rules import (
    FREEZE_S,
    LATENCY_RATIO,
    LIVE,
    PAUSE,
    PSNR_DB,
    RATE_RATIO,
    SHARE_POINTS,
    SHOWN_RATE,
    Choice,
    choose,
    latency_counts,
    latency_limit,
    rules_for,
)

FEW_SHARE = 50.0
"""A flow that brought fewer of the frames (per cent) is no measure of latency: few and quick ones would win."""
NARROW_SHARE = 0.97
"""A network that carried less than this of the movie's rate was too narrow; packet headers are not in the figure."""

UNWATCHABLE_SHARE = 50.0
"""Below this share of frames shown in time the best is called the least bad."""
ALL_GOOD_SHARE = 99.0


@dataclass(frozen=True)
class Verdict:
    """Text for the top of the report; every piece is safe HTML."""

    headline: Markup
    reasons: list[Markup]
    others: list[Markup]
    caveats: list[Markup] = field(default_factory=list)


def judge(
    flows: Sequence[Metrics],
    caveats: Sequence[Markup] = (),
    policy: str = "live",
    bitrate_bps: float | None = None,
    cross_traffic: Sequence[Markup] = (),
) -> Verdict:
    """The whole verdict; the scenario's player (`policy`) says which way of viewing comes first.

    `bitrate_bps` is the movie's: where no transport brought as much, the verdict says so first. `cross_traffic` says
    what bulk flows got of the same network.
    """
    measured = [one for one in flows if one.frames > 0]
    if not measured:
        return Verdict(Markup("Nothing was measured: no frame was offered."), [], [], list(caveats))
    if len(measured) == 1:
        opening, told = single(measured[0], bool(cross_traffic))
        return Verdict(opening, [*told, *cross_traffic], [], list(caveats))
    live = choose(measured, rules_for(measured, LIVE, policy))
    pause = choose(measured, rules_for(measured, PAUSE))
    if policy == "live":
        first, reasons = live, [*live_reasons(measured, live), pause_in_a_line(live, pause)]
        opening = headline(measured, live)
    else:
        first, reasons = pause, [*pause_reasons(pause), live_in_a_line(live, pause)]
        opening = pause_headline(pause)
    reasons = [*too_narrow(measured, bitrate_bps), *reasons, *cross_traffic]
    winners = {one.flow for one in first.best}
    others = [account(one) for one in measured if one.flow not in winners]
    return Verdict(opening, reasons, others, list(caveats))


def too_narrow(flows: Sequence[Metrics], bitrate_bps: float | None) -> list[Markup]:
    """Says that the network carried less than the movie needs, where it did."""
    carried = max((one.packet_throughput_bps or 0.0, one.flow) for one in flows)
    if bitrate_bps is None or carried[0] == 0 or carried[0] >= NARROW_SHARE * bitrate_bps:
        return []
    text = Markup("The movie needs {:.1f} Mbit/s, and the most that any transport brought is {:.1f} ({}): {}.")
    return [text.format(bitrate_bps / 1e6, carried[0] / 1e6, carried[1], "something has to give")]


def headline(flows: Sequence[Metrics], live: Choice) -> Markup:
    """The first sentence, for live viewing."""
    best = live.best[0]
    level_decided = len(live.best) < len(flows) and any(one.has_levels for one in flows)
    if all(one.live_share >= ALL_GOOD_SHARE for one in flows) and len(live.best) > 1 and not level_decided:
        return Markup("All but equal here: every transport shows at least {} of the frames in time.").format(
            percent(min(one.live_share for one in flows))
        )
    if best.live_share == 0:
        return Markup("No transport showed a single frame in time.")
    if len(live.best) > 1:
        return Markup("For live viewing it is too close to call between {}.").format(names(live.best))
    if best.live_share < UNWATCHABLE_SHARE:
        return Markup("None of them makes live viewing good here; the least bad is {}.").format(name(best))
    return Markup("For live viewing, choose {}.").format(name(best))


def pause_headline(pause: Choice) -> Markup:
    """The first sentence, for a player that waits."""
    if pause.best[0].decodable_share == 0:
        return Markup("No transport brought a single picture.")
    if len(pause.best) > 1:
        return Markup("For a player that waits it is too close to call between {}.").format(names(pause.best))
    return Markup("For a player that waits, choose {}.").format(name(pause.best[0]))


def live_reasons(flows: Sequence[Metrics], live: Choice) -> list[Markup]:
    """What the winner does, beside the runner-up, and what it costs."""
    said = [
        Markup("{} showed {} of the frames in time; {}; its longest freeze was {}{}.").format(
            name(best), percent(best.live_share), missing(best), duration(best.longest_freeze_s), quality(best)
        )
        for best in live.best
    ]
    best, second = live.best[0], live.runner_up
    if second is not None:
        said.append(
            Markup("Runner-up: {} with {} of the frames in time{}; what decided was {}.").format(
                name(second), percent(second.live_share), quality(second), live.decided_by
            )
        )
        said.append(given_up(best, flows))
    elif len(live.best) > 1:
        said.append(
            Markup("Between them, differences are within {}: less than one run can tell. Take the simpler one, or "
                   "repeat with other seeds.").format(bounds(flows))
        )  # fmt: skip
    return said


def bounds(flows: Sequence[Metrics]) -> Markup:
    """What counts as equal, as far as it was asked about."""
    asked = rules_for(flows, LIVE)
    rate = [Markup("{:g} % of the bit rate shown").format(RATE_RATIO * 100)] if SHOWN_RATE in asked else []
    latency = [Markup("{:g} % of latency").format(LATENCY_RATIO * 100)] if latency_counts(flows) else []
    always = [f"{SHARE_POINTS:g} point of frames", f"{PSNR_DB:g} dB"]
    return listed([*map(Markup, always), *rate, Markup("{:g} s of freeze").format(FREEZE_S), *latency])


def pause_reasons(pause: Choice) -> list[Markup]:
    """The same for a player that waits."""
    said = [
        Markup("{} brought {} of the frames, {}{}; {}.").format(
            name(best), percent(best.decodable_share), waiting(best), levels(best), missing(best)
        )
        for best in pause.best
    ]
    if pause.runner_up is not None:
        second = pause.runner_up
        said.append(
            Markup("Runner-up: {} with {} of the frames, {}{}; what decided was {}.").format(
                name(second), percent(second.decodable_share), waiting(second), levels(second), pause.decided_by
            )
        )
    return said


def pause_in_a_line(live: Choice, pause: Choice) -> Markup:
    """Watching with a pause allowed, when that changes the answer."""
    if {one.flow for one in pause.best} == {one.flow for one in live.best}:
        return Markup("If the viewer may be made to wait (a player that pauses), the answer is the same.")
    told = [
        Markup("{} ({} of the frames, {})").format(name(one), percent(one.decodable_share), waiting(one))
        for one in pause.best
    ]
    verb = "is best" if len(told) == 1 else "are too close to call"
    return Markup("If the viewer may be made to wait (a player that pauses), {} {}.").format(listed(told), verb)


def live_in_a_line(live: Choice, pause: Choice) -> Markup:
    """Live viewing, when that changes the answer."""
    if {one.flow for one in pause.best} == {one.flow for one in live.best}:
        return Markup("For live viewing, where what comes late is not shown, the answer is the same.")
    told = [Markup("{} ({} of the frames in time)").format(name(one), percent(one.live_share)) for one in live.best]
    verb = "is best" if len(told) == 1 else "are too close to call"
    return Markup("For live viewing, where what comes late is not shown, {} {}.").format(listed(told), verb)


def given_up(best: Metrics, flows: Sequence[Metrics]) -> Markup:
    """Where another transport did clearly better than the chosen one."""
    costs: list[Markup] = []
    # Below zero, frames came before their time: how much before is no merit.
    serious = [one for one in flows if one.decodable_share >= FEW_SHARE and (one.latency_p95_ms or -1) >= 0]
    fastest = min(serious, key=lambda m: m.latency_p95_ms or 0, default=None)
    slower = best.latency_p95_ms is not None and latency_counts(flows)
    if fastest and slower and (best.latency_p95_ms or 0) > latency_limit(fastest.latency_p95_ms or 0):
        costs.append(
            Markup("latency ({} at the 95th percentile, {} has {})").format(
                milliseconds(best.latency_p95_ms), name(fastest), milliseconds(fastest.latency_p95_ms)
            )
        )
    fullest = max(flows, key=lambda m: (m.decodable_share, -(m.stalled_s or 0)))
    if fullest.decodable_share > best.decodable_share + SHARE_POINTS:
        costs.append(
            Markup("completeness ({} of the frames never became a picture; {} brings {} in the end, if not in time)")
            .format(percent(100 - best.decodable_share), name(fullest), percent(fullest.decodable_share))
        )  # fmt: skip
    clearest = max(flows, key=lambda m: m.psnr_mean_db or 0)
    if best.psnr_mean_db is not None and (clearest.psnr_mean_db or 0) > best.psnr_mean_db + PSNR_DB:
        costs.append(
            Markup("picture quality (mean PSNR {:.1f} dB, {} has {:.1f} dB)").format(
                best.psnr_mean_db, name(clearest), clearest.psnr_mean_db
            )
        )
    richest = max(flows, key=lambda m: m.shown_bps or 0)
    if all(one.has_levels for one in flows) and (richest.shown_bps or 0) * (1 - RATE_RATIO) > (best.shown_bps or 0):
        costs.append(
            Markup("bit rate ({}; {} has {})").format(levels_in_words(best), name(richest), levels_in_words(richest))
        )
    if not costs:
        return Markup("Nothing measured here speaks against it: no other was clearly faster, sharper or more complete.")
    return Markup("What choosing {} gives up: {}.").format(name(best), listed(costs))


def single(one: Metrics, beside: bool = False) -> tuple[Markup, list[Markup]]:
    """One flow: nothing to choose, so a description."""
    run = "beside cross traffic" if beside else "alone was run"
    text = Markup("{} {}: {} of the frames were shown in time.").format(name(one), run, percent(one.shown_share))
    lost = missing(one)
    told = Markup("{}; the longest freeze was {}{}. There is no other stream to compare it with in this run.").format(
        lost[:1].upper() + lost[1:], duration(one.longest_freeze_s), quality(one)
    )
    return text, [told]


def account(one: Metrics) -> Markup:
    """One line on a transport that was not chosen."""
    where = ""
    if one.main_place is not None and one.lost > 0:
        where = f", mostly: {PLACE_NAMES.get(one.main_place, one.main_place)}"
    return Markup("{}: {} shown, {} late, {} undecodable, {} lost{}; longest freeze {}{}.").format(
        name(one),
        percent(one.shown_share),
        percent(one.share(one.late)),
        percent(one.share(one.undecodable)),
        percent(one.share(one.lost)),
        where,
        duration(one.longest_freeze_s),
        levels(one),
    )


def missing(one: Metrics) -> Markup:
    """What was lost, by type."""
    told = [
        Markup("{} of the {} frames").format(percent(100 * lost / total), kind)
        for kind, (lost, total) in one.by_type.items()
        if total
    ]
    return Markup("lost were {}").format(listed(told)) if one.lost else Markup("no frame was lost")


def quality(one: Metrics) -> str:
    """The picture quality, when it was measured, and the levels that were shown."""
    psnr = "" if one.psnr_mean_db is None else f", mean PSNR {one.psnr_mean_db:.1f} dB"
    return psnr + levels(one)


def levels(one: Metrics) -> str:
    """The levels that were shown, where there are some."""
    return f", {levels_in_words(one)}" if one.has_levels else ""


def levels_in_words(one: Metrics) -> str:
    """The mean level and the bit rate, of what was shown in time."""
    rate = "" if one.shown_bps is None else f" ({one.shown_bps / 1e3:,.0f} kbit/s shown)"
    return f"mean level {'-' if one.level_mean is None else f'{one.level_mean:.2f}'}{rate}"


def name(one: Metrics) -> Markup:
    """The flow's name."""
    return Markup("<b>{}</b>").format(one.flow)


def names(flows: Sequence[Metrics]) -> Markup:
    """Their names as a list."""
    return listed([name(one) for one in flows])


def listed(parts: Sequence[Markup]) -> Markup:
    """a, b and c."""
    if len(parts) < 2:
        return Markup("").join(parts)
    return Markup("{} and {}").format(Markup(", ").join(parts[:-1]), parts[-1])


def percent(value: float) -> str:
    """A share; near the ends it is never rounded to all or nothing."""
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    return f"{value:.0f} %" if value in (0, 100) else f"{value:.1f} %"


def duration(value: float | None) -> str:
    """Seconds."""
    return "not measured" if value is None else "none" if value == 0 else f"{value:.2f} s"


def milliseconds(value: float | None) -> str:
    """Milliseconds, or seconds where they are many."""
    if value is None:
        return "not measured"
    return f"{value / 1000:.1f} s" if value >= 10_000 else f"{value:.0f} ms"


def waiting(one: Metrics) -> str:
    """How long and how often a player that waits stands still."""
    if one.stalled_s is None or one.stalls is None:
        return "waiting not measured"
    if one.stalls == 0:
        return "without a pause"
    pauses = "1 pause" if one.stalls == 1 else f"{one.stalls:,} pauses"
    return f"{one.stalled_s:.1f} s of waiting in {pauses}, or a start-up delay longer by as much"
