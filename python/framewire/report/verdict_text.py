"""Words of the verdict for figures of one flow: shares, times, losses, levels."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from framewire.report.metrics import Metrics
from framewire.report.palette import PLACE_NAMES

MOST_CAUSES = 2
"""Of one place that are named."""


def missing(one: Metrics) -> Markup:
    """What was lost, by type."""
    losses = [
        Markup("{} of the {} frames").format(percent(100 * lost / total), kind)
        for kind, (lost, total) in one.by_type.items()
        if total
    ]
    return Markup("lost were {}").format(listed(losses)) if one.lost else Markup("no frame was lost")


def root_cause(one: Metrics, of: str) -> str:
    """To what most frames go back that were lost or could not be decoded (`of` them), where that is known."""
    missing_frames = one.lost + one.undecodable
    if not one.causes or not missing_frames:
        return ""
    place, of_place = next(iter(one.causes_by_place.items()))
    share = percent(100 * sum(of_place.values()) / missing_frames)
    causes = " or ".join(list(of_place)[:MOST_CAUSES])
    return f"; the root cause of {share} of {of}: {PLACE_NAMES.get(place, place)} ({causes})"


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


def freeze(one: Metrics) -> str:
    """The longest freeze of live viewing."""
    return f"longest freeze {one.longest_freeze_s:.2f} s" if one.longest_freeze_s else "no freeze"


def milliseconds(value: float | None) -> str:
    """Milliseconds, or seconds where they are many."""
    if value is None:
        return "not measured"
    return f"{value / 1000:.1f} s" if value >= 10_000 else f"{value:.0f} ms"


def stood_still(one: Metrics) -> str:
    """How long a player that waits stands still, in few words."""
    return "unknown waiting" if one.stalled_s is None else f"{one.stalled_s:.1f} s of waiting"


def standing_still(one: Metrics) -> str:
    """How long the run's own player showed nothing new at the longest: frozen, or waiting."""
    if one.longest_pause_s is None:
        return freeze(one)
    return f"longest pause {one.longest_pause_s:.2f} s" if one.longest_pause_s else "no pause"


def waiting(one: Metrics) -> str:
    """How long a player that waits stands still, and how often: for single frames, or to fill its buffer again."""
    if one.stalled_s is None or one.stalls is None:
        return "waiting not measured"
    if one.stalls == 0:
        return "without waiting"
    if one.fills_again:
        return f"{one.stalled_s:.1f} s of waiting in {'1 pause' if one.stalls == 1 else f'{one.stalls:,} pauses'}"
    frames = "1 frame" if one.stalls == 1 else f"{one.stalls:,} frames, each by itself"
    return f"{one.stalled_s:.1f} s of waiting for {frames}, or a start-up delay longer by as much"


def of_offered(flows: Sequence[Metrics]) -> list[Markup]:
    """Of a run that ended early: of how many frames the shares are, which is not as many for each flow."""
    if not any(one.not_offered for one in flows):
        return []
    counts = [Markup("{} {:,} of {:,}").format(name(one), one.frames, one.frames + one.not_offered) for one in flows]
    return [Markup("Shares are of the frames that were offered before the end: {}.").format(listed(counts))]


def idle_queues(flows: Sequence[Metrics]) -> list[Markup]:
    """Says of queues that may drop frames that they never had to: what such flows show is not their doing."""
    idle = [one for one in flows if one.never_dropped]
    if not idle:
        return []
    queues = "queue" if len(idle) == 1 else "queues"
    text = f"The frame {queues} of {{}} never had to drop a frame"
    if any(one.by_place.get("intermediate-queue") for one in idle):
        text += ": a sender of datagrams cannot see the queue in the network in which frames were lost"
    return [Markup(text + ".").format(names(idle))]
