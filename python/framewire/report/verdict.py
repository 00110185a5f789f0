"""The verdict in plain words: which transport to choose, why, and what is given up.

Rules for live viewing, in order; the next one is asked only about transports that the one before leaves together:

1. the largest share of the movie's frames shown in time; within `SHARE_POINTS` of the best counts as equal,
2. the higher mean PSNR with freeze; within `PSNR_DB` of the best counts as equal,
3. the shorter longest freeze; within `FREEZE_S` of the best counts as equal,
4. the lower latency (95th percentile); within `LATENCY_RATIO` and `LATENCY_MS` of the best counts as equal.

For watching with a pause allowed the player waits, so nothing is late:

1. the largest share of frames that could be decoded at all, within `SHARE_POINTS`,
2. the least time stalled, within `STALL_S`,
3. the lower latency, as above.

What is still together after the last rule is too close to call, and said to be so. The scenario's player decides which
of the two comes first. In a run whose player waited, rule 2 of live viewing is left out: its pictures are not live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from framewire.report.metrics import Metrics
from framewire.report.palette import PLACE_NAMES

SHARE_POINTS = 1.0
"""Percentage points: one run on one seed does not carry more."""
PSNR_DB = 1.0
FREEZE_S = 0.2
LATENCY_RATIO = 0.2
LATENCY_MS = 20.0
STALL_S = 0.5
FEW_SHARE = 50.0
"""A flow that brought fewer of the frames (per cent) is no measure of latency: few and quick ones would win."""
NARROW_SHARE = 0.97
"""A network that carried less than this of the movie's rate was too narrow; packet headers are not in the figure."""

UNWATCHABLE_SHARE = 50.0
"""Below this share of frames shown in time the best is called the least bad."""
ALL_GOOD_SHARE = 99.0


@dataclass(frozen=True)
class Choice:
    """Who wins under one way of viewing."""

    best: list[Metrics]
    """One, or several that are too close to call."""
    runner_up: Metrics | None
    decided_by: str


@dataclass(frozen=True)
class Verdict:
    """Text for the top of the report; every piece is safe HTML."""

    headline: Markup
    reasons: list[Markup]
    others: list[Markup]
    caveats: list[Markup] = field(default_factory=list)


@dataclass(frozen=True)
class Rule:
    """One step: a value, whether more is better, and what counts as equal to the best value."""

    name: str
    value: Callable[[Metrics], float | None]
    more_is_better: bool
    equal: Callable[[float], float]
    """Best value -> the worst value that still counts as equal."""


def latency_limit(best: float) -> float:
    """A latency that is not worth a difference."""
    return max(best * (1 + LATENCY_RATIO), best + LATENCY_MS)


LATENCY = Rule("its lower latency", lambda m: m.latency_p95_ms, False, latency_limit)
QUALITY = Rule("the picture quality with freezes counted", lambda m: m.psnr_mean_db, True, lambda best: best - PSNR_DB)
LIVE: Sequence[Rule] = (
    Rule("the share of frames shown in time", lambda m: m.live_share, True, lambda best: best - SHARE_POINTS),
    QUALITY,
    Rule("its shorter freezes", lambda m: m.longest_freeze_s, False, lambda best: best + FREEZE_S),
    LATENCY,
)
PAUSE: Sequence[Rule] = (
    Rule("the share of frames that arrive usable", lambda m: m.decodable_share, True, lambda best: best - SHARE_POINTS),
    Rule("the shorter waiting", lambda m: m.stalled_s, False, lambda best: best + STALL_S),
    LATENCY,
)


def choose(flows: Sequence[Metrics], rules: Sequence[Rule]) -> Choice:
    """Applies the rules in order, then names the best of the rest the runner-up."""
    if not flows:
        raise ValueError("there is nothing to choose from")
    best, decided_by = narrow(flows, rules)
    rest = [one for one in flows if one not in best]
    runner_up = narrow(rest, rules)[0][0] if rest and len(best) == 1 else None
    return Choice(best, runner_up, decided_by)


def narrow(flows: Sequence[Metrics], rules: Sequence[Rule]) -> tuple[list[Metrics], str]:
    """Those that no rule can separate, and the rule that separated the last one from them."""
    left, decided_by = list(flows), ""
    for rule in rules:
        known = [(one, value) for one in left if (value := rule.value(one)) is not None]
        if len(left) == 1 or not known:
            continue
        extreme = (max if rule.more_is_better else min)(value for _, value in known)
        limit = rule.equal(extreme)
        kept = [one for one, value in known if (value >= limit if rule.more_is_better else value <= limit)]
        if len(kept) < len(left):
            left, decided_by = kept, rule.name
    return left, decided_by


def judge(
    flows: Sequence[Metrics], caveats: Sequence[Markup] = (), policy: str = "live", bitrate_bps: float | None = None
) -> Verdict:
    """The whole verdict; the scenario's player (`policy`) says which way of viewing comes first.

    `bitrate_bps` is the movie's: where no transport brought as much, the verdict says so first.
    """
    measured = [one for one in flows if one.frames > 0]
    if not measured:
        return Verdict(Markup("Nothing was measured: no frame was offered."), [], [], list(caveats))
    if len(measured) == 1:
        return Verdict(*single(measured[0]), [], list(caveats))
    # Scores of pictures belong to the player that the run had: a player that waits says nothing of live viewing.
    live = choose(measured, LIVE if policy == "live" else [rule for rule in LIVE if rule is not QUALITY])
    pause = choose(measured, PAUSE)
    if policy == "live":
        first, reasons = live, [*live_reasons(measured, live), pause_in_a_line(live, pause)]
        opening = headline(measured, live)
    else:
        first, reasons = pause, [*pause_reasons(pause), live_in_a_line(live, pause)]
        opening = pause_headline(pause)
    reasons = [*too_narrow(measured, bitrate_bps), *reasons]
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
    if all(one.live_share >= ALL_GOOD_SHARE for one in flows) and len(live.best) > 1:
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
            Markup("Between them, differences are within {:g} point of frames, {:g} dB, {:g} s of freeze and {:g} % of "
                   "latency: less than one run can tell. Take the simpler one, or repeat with other seeds.")
            .format(SHARE_POINTS, PSNR_DB, FREEZE_S, LATENCY_RATIO * 100)
        )  # fmt: skip
    return said


def pause_reasons(pause: Choice) -> list[Markup]:
    """The same for a player that waits."""
    said = [
        Markup("{} brought {} of the frames, {}; {}.").format(
            name(best), percent(best.decodable_share), waiting(best), missing(best)
        )
        for best in pause.best
    ]
    if pause.runner_up is not None:
        second = pause.runner_up
        said.append(
            Markup("Runner-up: {} with {} of the frames, {}; what decided was {}.").format(
                name(second), percent(second.decodable_share), waiting(second), pause.decided_by
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
    if fastest and best.latency_p95_ms is not None and best.latency_p95_ms > latency_limit(fastest.latency_p95_ms or 0):
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
    if not costs:
        return Markup("Nothing measured here speaks against it: no other was clearly faster or more complete.")
    return Markup("What choosing {} gives up: {}.").format(name(best), listed(costs))


def single(one: Metrics) -> tuple[Markup, list[Markup]]:
    """One flow: nothing to choose, so a description."""
    text = Markup("{} alone was run: {} of the frames were shown in time.").format(name(one), percent(one.shown_share))
    told = Markup("{}; the longest freeze was {}{}. There is nothing to compare it with in this run.").format(
        missing(one).capitalize(), duration(one.longest_freeze_s), quality(one)
    )
    return text, [told]


def account(one: Metrics) -> Markup:
    """One line on a transport that was not chosen."""
    where = ""
    if one.main_place is not None and one.lost > 0:
        where = f", mostly: {PLACE_NAMES.get(one.main_place, one.main_place)}"
    return Markup("{}: {} shown, {} late, {} undecodable, {} lost{}; longest freeze {}.").format(
        name(one),
        percent(one.shown_share),
        percent(one.share(one.late)),
        percent(one.share(one.undecodable)),
        percent(one.share(one.lost)),
        where,
        duration(one.longest_freeze_s),
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
    """The picture quality, when it was measured."""
    return "" if one.psnr_mean_db is None else f", mean PSNR {one.psnr_mean_db:.1f} dB"


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
