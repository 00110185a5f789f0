"""The sentences of a verdict: what decided, what the best does beside the others, and what choosing it gives up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from framewire.report.metrics import Metrics
from framewire.report.verdict_rules import (
    FAR_LATENCY,
    FREEZE,
    FREEZE_S,
    LATENCY,
    LATENCY_MS,
    LATENCY_RATIO,
    LIVE,
    PSNR_DB,
    QUALITY,
    RATE_RATIO,
    SHARE_POINTS,
    SHOWN_RATE,
    Choice,
    far_apart,
    latency,
    latency_counts,
    latency_limit,
    rules_for,
    settled,
)
from framewire.report.verdict_text import (
    freeze,
    levels,
    levels_in_words,
    listed,
    milliseconds,
    missing,
    name,
    names,
    percent,
    quality,
    root_cause,
    standing_still,
    waiting,
)

FEW_SHARE = 50.0
"""A flow that brought fewer of the frames (per cent) is no measure of latency: few and quick ones would win."""

NARROW_SHARE = 0.97
"""A network that carried less than this of the movie's rate was too narrow; packet headers are not in the figure."""

UNWATCHABLE_SHARE = 50.0
"""Below this share of frames shown in time the best is called the least bad."""

ALL_GOOD_SHARE = 99.0


def in_a_sentence(
    opening: Markup, first: Choice, share: Callable[[Metrics], float], what: str, aside: Callable[[Metrics], str]
) -> Markup:
    """The headline with the figures of the best and of the runner-up, and what decided between them.

    ``aside`` has for each of the two what it costs, where that is to be stated.
    """
    best, second = first.best[0], first.runner_up
    if second is None or share(best) == 0:
        return opening
    return Markup("{}: {} of the frames {}{}, before {} with {}{}; what decided was {}.").format(
        Markup(opening[:-1]), percent(share(best)), what, aside(best),
        name(second), percent(share(second)), aside(second), first.decided_by
    )  # fmt: skip


def behind(one: Metrics, *, with_latency: bool) -> str:
    """How far a live viewer is behind, where that is to be stated."""
    return f" at {milliseconds(latency(one))}" if with_latency else ""


def too_narrow(flows: Sequence[Metrics], bitrate_bps: float | None, link_bps: float | None = None) -> list[Markup]:
    """Says that the network carried less than the movie needs, where it did, and whether its rate can be the reason."""
    carried = max((one.packet_throughput_bps or 0.0, one.flow) for one in flows)
    if bitrate_bps is None or carried[0] == 0 or carried[0] >= NARROW_SHARE * bitrate_bps:
        return []
    text = Markup(
        "The movie needs {:.1f} Mbit/s, and the most that any transport brought is {:.1f} ({}), counted in packets; "
        "the throughput of the table is that of whole frames: {}."
    )
    behind_s = 60 * (bitrate_bps / carried[0] - 1)
    why = (
        f"something has to give, a player that waits falls behind by some {behind_s:.0f} s in each minute, and encoded "
        f"for less than {carried[0] / 1e6:.1f} Mbit/s nothing would"
    )
    if link_bps is not None and link_bps > bitrate_bps:
        why = f"the link has {link_bps / 1e6:.1f} at the least, so it is not its rate that is in the way"
    return [text.format(bitrate_bps / 1e6, carried[0] / 1e6, carried[1], why)]


def headline(flows: Sequence[Metrics], live: Choice, *, final: bool = True) -> Markup:
    """The first sentence, for live viewing."""
    best = live.best[0]
    level_decided = len(live.best) < len(flows) and any(one.has_levels for one in flows)
    far_behind = any(far_apart(flows, best, one) for one in flows if one not in live.best)
    all_good = all(one.live_share >= ALL_GOOD_SHARE for one in flows)
    if all_good and len(live.best) > 1 and not level_decided and not far_behind:
        least = min(one.live_share for one in flows)
        shown = "all frames" if least == 100 else f"at least {percent(least)} of the frames"
        return Markup("All but equal here: every transport shows {} in time.").format(shown)
    if best.live_share == 0:
        return Markup("No transport showed a single frame in time.")
    if len(live.best) > 1:
        return Markup("For live viewing it is too close to call between {}.").format(names(live.best))
    if best.live_share < UNWATCHABLE_SHARE:
        return Markup("None of them makes live viewing good here; the least bad is {}.").format(name(best))
    return chosen("live viewing", best, final=final)


def chosen(viewing: str, best: Metrics, *, final: bool) -> Markup:
    """What to choose, or which flow is ahead in a run by which nothing should be chosen."""
    text = "For {}, choose {}." if final else "For {}, {} is ahead."
    return Markup(text).format(viewing, name(best))


def pause_headline(pause: Choice, *, final: bool = True) -> Markup:
    """The first sentence, for a player that waits."""
    if pause.best[0].decodable_share == 0:
        return Markup("No transport brought a single picture.")
    if len(pause.best) > 1:
        return Markup("For a player that waits it is too close to call between {}.").format(names(pause.best))
    return chosen("a player that waits", pause.best[0], final=final)


def live_reasons(flows: Sequence[Metrics], live: Choice, *, final: bool, seeded: bool) -> list[Markup]:
    """What the winner does, beside the runner-up, and what it costs."""
    said = [
        Markup("{} showed {} of the frames in time; {}; {}{}.").format(
            name(best), percent(best.live_share), missing(best), freeze(best), quality(best)
        )
        for best in live.best
    ]
    best, second = live.best[0], live.runner_up
    if second is not None:
        trade = Markup("")
        if far_apart(flows, best, second):
            trade = Markup("; {} shows {}{}, {} {}{}").format(
                name(best), percent(best.live_share), behind(best, with_latency=True),
                name(second), percent(second.live_share), behind(second, with_latency=True),
            )  # fmt: skip
        said.append(
            Markup("Runner-up: {} with {} of the frames in time{}; what decided was {}{}.").format(
                name(second), percent(second.live_share), quality(second), live.decided_by, trade
            )
        )
        said.append(given_up(best, flows, final=final))
    elif len(live.best) > 1:
        repeat = "Take the simpler one, or repeat with other seeds." if seeded else "Take the simpler one."
        advice = repeat if final else "Repeat the run."
        said.append(
            Markup("Between them, differences are within {}: less than one run can tell. {}").format(
                bounds(flows, live.best), advice
            )
        )
    return said


def bounds(flows: Sequence[Metrics], best: Sequence[Metrics]) -> Markup:
    """What counts as equal, as far as it was asked about and known of all that are called so."""
    names_of_rules = {
        QUALITY: f"{PSNR_DB:g} dB",
        SHOWN_RATE: f"{RATE_RATIO * 100:g} % of the bit rate shown",
        FREEZE: f"{FREEZE_S:g} s of freeze",
        LATENCY: f"{LATENCY_RATIO * 100:g} % or {LATENCY_MS:g} ms of latency",
    }
    asked = [rule for rule in rules_for(flows, LIVE) if all(rule.value(one) is not None for one in best)]
    asked = [rule for rule in asked if rule is not FAR_LATENCY]  # the nearer bound is asked of the same
    said = [names_of_rules.get(rule, f"{SHARE_POINTS:g} point of frames") for rule in asked]
    return listed([Markup(text) for text in said])


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
    said = [
        Markup("{} ({} of the frames, {})").format(name(one), percent(one.decodable_share), waiting(one))
        for one in pause.best
    ]
    verb = "is best" if len(said) == 1 else "are too close to call"
    return Markup("If the viewer may be made to wait (a player that pauses), {} {}.").format(listed(said), verb)


def files(flows: Sequence[Metrics]) -> list[Markup]:
    """Says of files beside transports for live sources that they are none."""
    names_of = [name(one) for one in flows if one.is_file]
    if not names_of or len(names_of) == len(flows):
        return []
    verb = "sends a file that has" if len(names_of) == 1 else "send files that have"
    text = "{} {} to be there as a whole before it is asked for: no choice for live viewing."
    return [Markup(text).format(listed(names_of), verb)]


def live_in_a_line(live: Choice, pause: Choice) -> Markup:
    """Live viewing, when that changes the answer."""
    if {one.flow for one in pause.best} == {one.flow for one in live.best}:
        return Markup("For live viewing, where what comes late is not shown, the answer is the same.")
    said = [Markup("{} ({} of the frames in time)").format(name(one), percent(one.live_share)) for one in live.best]
    verb = "is best" if len(said) == 1 else "are too close to call"
    return Markup("For live viewing, where what comes late is not shown, {} {}.").format(listed(said), verb)


def given_up(best: Metrics, flows: Sequence[Metrics], *, final: bool = True) -> Markup:
    """Where another transport did clearly better than the chosen one."""
    costs: list[Markup] = []
    asks_latency = best.latency_p95_ms is not None and latency_counts(flows)
    faster = [one for one in flows if asks_latency and clearly_faster(one, best)]
    few = [one for one in faster if one.decodable_share < FEW_SHARE]
    serious = [one for one in faster if one not in few]
    if fastest := min(serious, key=lambda m: m.latency_p95_ms or 0, default=None):
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
        asked = ["faster"] if asks_latency and not few else []
        asked += ["sharper"] if best.psnr_mean_db is not None else []
        said = " or ".join([", ".join(asked), "more complete"] if asked else ["more complete"])
        fast = "none that brought half of the frames was clearly faster, and " if few else ""
        opening = Markup("Nothing measured here speaks against it: {}no other was clearly {}.").format(fast, said)
        return Markup("{}{}").format(opening, sooner(few))
    opening = Markup("What choosing {} gives up").format(name(best)) if final else Markup("Where others did better")
    return Markup("{}: {}.{}").format(opening, listed(costs), sooner(few))


def clearly_faster(one: Metrics, best: Metrics) -> bool:
    """Whether one has a latency that is worth a difference, whatever of the two was not seen. Below zero, frames came
    before their time: how much before is no merit."""
    its, of_best = one.latency_p95_ms, best.latency_p95_ms
    if its is None or of_best is None or not settled([best, one], LATENCY):
        return False
    return its >= 0 and latency_limit(its) < of_best


def sooner(few: Sequence[Metrics]) -> Markup:
    """Says of flows that were faster with few frames why that is no reason to choose them."""
    if not few:
        return Markup("")
    said = [
        Markup("{} ({} at the 95th percentile, {} of the frames)").format(
            name(one), milliseconds(one.latency_p95_ms), percent(one.decodable_share)
        )
        for one in few
    ]
    text = " Not counted as faster, since with less than half of the frames few and quick ones would win: {}."
    return Markup(text).format(listed(said))


def single(one: Metrics, policy: str = "live", *, beside: bool = False) -> tuple[Markup, list[Markup]]:
    """One flow: nothing to choose, so a description."""
    run = "beside cross traffic" if beside else "alone was run"
    waits = policy == "stall"
    share = percent(one.decodable_share if waits else one.live_share)
    shown = Markup("shown, {}").format(waiting(one)) if waits else Markup("shown in time")
    text = Markup("{} {}: {} of the frames were {}.").format(name(one), run, share, shown)
    lost = missing(one)
    said = Markup("{}{}{}{}. There is no other stream to compare it with in this run.").format(
        lost[:1].upper() + lost[1:], root_cause(one, "what was lost or undecodable"),
        "" if waits else f"; {freeze(one)}", quality(one)
    )  # fmt: skip
    return text, [said]


def account(one: Metrics) -> Markup:
    """One line on a transport that was not chosen."""
    return Markup("{}: {} shown, {} late, {} undecodable, {} lost{}; {}{}.").format(
        name(one),
        percent(one.shown_share),
        percent(one.share(one.late)),
        percent(one.share(one.undecodable)),
        percent(one.share(one.lost)),
        root_cause(one, "these"),
        standing_still(one),
        levels(one),
    )
