"""The rules of the verdict: the next one is asked only about transports that the one before leaves together.

For live viewing:

1. the largest share of the movie's frames shown in time; within `SHARE_POINTS` of the best counts as equal,
2. the higher mean PSNR with freeze; within `PSNR_DB` of the best counts as equal,
3. where all choose among levels, the higher bit rate shown; within `RATE_RATIO` of the best counts as equal,
4. the far lower latency (95th percentile); up to `FAR_RATIO` times the best, or `FAR_MS` above it, counts as equal,
5. the shorter longest freeze; within `FREEZE_S` of the best counts as equal,
6. the lower latency; within `LATENCY_RATIO` and `LATENCY_MS` of the best counts as equal.

For watching with a pause allowed the player waits, so nothing is late:

1. the largest share of frames that could be decoded at all, within `SHARE_POINTS`,
2. the least time stalled, within `STALL_S`,
3. the higher bit rate, as above, of what could be decoded,
4. the lower latency, as above.

Streams of levels and files are sent ahead of their time, and how far ahead is no merit: where there is one, latency is
asked about only if one of them is late. A file has to be there as a whole before anybody asks for it: it is no choice
for live viewing beside transports that are. What is still together after the last rule is too close to call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framewire.report.metrics import Metrics

SHARE_POINTS = 1.0
"""Percentage points: one run on one seed does not carry more."""
PSNR_DB = 1.0
RATE_RATIO = 0.1
"""Neighbouring levels are about a factor of two apart: a tenth is a tenth of the frames one level higher."""
FREEZE_S = 0.2
LATENCY_RATIO = 0.2
LATENCY_MS = 20.0
FAR_RATIO = 2.0
FAR_MS = 200.0
"""As `FREEZE_S`: what is behind by more for the whole of the movie weighs more than one freeze of that length."""
STALL_S = 0.5


@dataclass(frozen=True)
class Choice:
    """The flow to choose under one way of viewing."""

    best: list[Metrics]
    """One, or several that are too close to call."""
    runner_up: Metrics | None
    decided_by: str


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


def far_limit(best: float) -> float:
    """A latency that a live viewer does not mind beside the best, where freezes differ; above it, one is far behind."""
    return max(best * FAR_RATIO, best + FAR_MS)


def latency(one: Metrics) -> float | None:
    """What came ahead of its time is no better than what came at it."""
    return None if one.latency_p95_ms is None else max(one.latency_p95_ms, 0.0)


LATENCY = Rule("its lower latency", latency, False, latency_limit)
FAR_LATENCY = Rule("its far lower latency", latency, False, far_limit)
QUALITY = Rule("the picture quality with freezes counted", lambda m: m.psnr_mean_db, True, lambda best: best - PSNR_DB)
SHOWN_RATE = Rule("the higher bit rate shown", lambda m: m.shown_bps, True, lambda best: best * (1 - RATE_RATIO))
USABLE_RATE = Rule(
    "the higher bit rate of what can be shown", lambda m: m.usable_bps, True, lambda best: best * (1 - RATE_RATIO)
)
FREEZE = Rule("its shorter freezes", lambda m: m.longest_freeze_s, False, lambda best: best + FREEZE_S)
LIVE: Sequence[Rule] = (
    Rule("the share of frames shown in time", lambda m: m.live_share, True, lambda best: best - SHARE_POINTS),
    QUALITY,
    SHOWN_RATE,
    FAR_LATENCY,
    FREEZE,
    LATENCY,
)
PAUSE: Sequence[Rule] = (
    Rule("the share of frames that arrive usable", lambda m: m.decodable_share, True, lambda best: best - SHARE_POINTS),
    Rule("the shorter waiting", lambda m: m.stalled_s, False, lambda best: best + STALL_S),
    USABLE_RATE,
    LATENCY,
)


def rules_for(flows: Sequence[Metrics], rules: Sequence[Rule], policy: str = "live") -> list[Rule]:
    """Those of the rules that say something of these flows, in a run whose player had this policy."""
    left_out: list[Rule] = []
    # Scores of pictures belong to the player that the run had: a player that waits says nothing of live viewing.
    if policy != "live":
        left_out.append(QUALITY)
    # A level of a ladder and a movie of its own are not coded alike: their rates do not compare.
    if not all(one.has_levels for one in flows):
        left_out += [SHOWN_RATE, USABLE_RATE]
    if not latency_counts(flows):
        left_out += [FAR_LATENCY, LATENCY]
    left_out += [rule for rule in (FAR_LATENCY, LATENCY) if not settled(flows, rule)]
    return [rule for rule in rules if rule not in left_out]


def latency_counts(flows: Sequence[Metrics]) -> bool:
    """Whether latencies separate the flows: those of streams that are sent ahead do only where one of them is late."""
    ahead = [one for one in flows if one.has_levels or one.is_file]
    return not ahead or any(one.share(one.late) > SHARE_POINTS for one in ahead)


def for_live(flows: Sequence[Metrics]) -> Sequence[Metrics]:
    """Those that a live source can be sent by: not files, unless there is nothing else."""
    return [one for one in flows if not one.is_file] or flows


def settled(flows: Sequence[Metrics], rule: Rule) -> bool:
    """Whether a rule about latencies leaves the same flows together, whatever of some of them was not seen."""
    known = [(value, value + one.unseen_latency_ms) for one in flows if (value := rule.value(one)) is not None]
    if not known:
        return True
    at_least, at_most = (rule.equal(min(values)) for values in zip(*known, strict=True))
    return all((least <= at_least) == (most <= at_most) for least, most in known)


def far_apart(flows: Sequence[Metrics], one: Metrics, other: Metrics) -> bool:
    """Whether a live viewer of one of two is far behind a viewer of the other one, where latencies count."""
    both = [flow for flow in (one, other) if latency(flow) is not None]
    known = [latency(flow) or 0.0 for flow in both]
    counts = latency_counts(flows) and settled(both, FAR_LATENCY)
    return len(known) == 2 and counts and max(known) > far_limit(min(known))


def choose(flows: Sequence[Metrics], rules: Sequence[Rule]) -> Choice:
    """Applies the rules in order, then names the best of the rest the runner-up."""
    if not flows:
        raise ValueError("there is nothing to choose from")
    best, separated_by = narrow(flows, rules)
    rest = [one for one in flows if one not in best]
    runner_up = narrow(rest, rules)[0][0] if rest and len(best) == 1 else None
    decided_by = list(separated_by.values())[-1:] if runner_up is None else [separated_by[runner_up.flow]]
    return Choice(best, runner_up, "".join(decided_by))


def narrow(flows: Sequence[Metrics], rules: Sequence[Rule]) -> tuple[list[Metrics], dict[str, str]]:
    """Those that no rule can separate, and of every other flow the rule that separated it from them, the last one last.

    A rule is asked only where it knows all of them: what could not be measured is neither better nor worse.
    """
    left, separated_by = list(flows), dict[str, str]()
    for rule in rules:
        known = [(one, value) for one in left if (value := rule.value(one)) is not None]
        if len(left) == 1 or len(known) < len(left):
            continue
        extreme = (max if rule.more_is_better else min)(value for _, value in known)
        limit = rule.equal(extreme)
        kept = [one for one, value in known if (value >= limit if rule.more_is_better else value <= limit)]
        separated_by |= {one.flow: rule.name for one in left if one not in kept}
        left = kept
    return left, separated_by
