"""The outcome of a run: the figures of its flows and the verdict on them, for the report and the terminal alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from framewire.report import endings, plot_data
from framewire.report.capacity import of_link
from framewire.report.caveats import caveats, drawn_by_chance, provisional
from framewire.report.data import ReportRun
from framewire.report.metrics import Metrics, metrics
from framewire.report.psnr import PsnrResult
from framewire.report.verdict import Verdict, judge
from framewire.report.verdict_rules import PSNR_DB, SHARE_POINTS
from framewire.report.verdict_text import listed, percent
from framewire.transports import parts_of


@dataclass(frozen=True)
class Outcome:
    """What the streams of a run brought, and what follows from it."""

    flows: list[Metrics]
    verdict: Verdict


def outcome(run: ReportRun, scores: PsnrResult) -> Outcome:
    """Figures and verdict; `scores` may be empty, then picture quality takes no part."""
    flows = [metrics(run, flow, scores) for flow in run.streams]
    link = of_link(run)
    limits = caveats(run, scores.problems, scores.failure)
    verdict = judge(
        flows,
        limits,
        run.policy,
        plot_data.movie_bitrate(run),
        competition(run),
        link_bps=None if link is None or run.together else link.least_bps,
        provisional=provisional(run),
        seeded=drawn_by_chance(run),
        cut_off=endings.cut_off(run),
    )
    return Outcome(flows, replace(verdict, caveats=[*of_sound(flows), *as_decoded(flows, verdict), *verdict.caveats]))


def of_sound(flows: Sequence[Metrics]) -> list[Markup]:
    """Says that the verdict is of the picture, where sound of a flow was lost or late."""
    lacking = [
        Markup("of {} {} was lost and {} late").format(one.flow, percent(lost), percent(late))
        for one in flows
        if (lost := one.sound_share(one.sound_lost)) is not None
        and (late := one.sound_share(one.sound_late)) is not None
        and lost + late > SHARE_POINTS
    ]
    return [Markup("The verdict is of the picture. Of the sound, {}.").format(listed(lacking))] if lacking else []


def as_decoded(flows: Sequence[Metrics], verdict: Verdict) -> list[Markup]:
    """Says of what kind of receiver the verdict is, what another kind would show, and where that is not known."""
    known = [one for one in flows if one.as_decoded_psnr_db is not None]
    if not known:
        return [DISCARDED] if any(_may_be_damaged(one) for one in flows) else []
    chosen = max((one.as_decoded_psnr_db or 0.0 for one in known if one.flow in verdict.best), default=None)
    best = max(known, key=lambda one: one.as_decoded_psnr_db or 0.0, default=None)
    if best is None or chosen is None or (best.as_decoded_psnr_db or 0.0) <= chosen + PSNR_DB:
        return _of_another_receiver(known)
    return [
        Markup(
            "The verdict is of a receiver that discards damaged frames. One that conceals them would show {} with "
            "{:.1f} dB, what is chosen with {:.1f} dB."
        ).format(best.flow, best.as_decoded_psnr_db, chosen)
    ]


def _of_another_receiver(known: Sequence[Metrics]) -> list[Markup]:
    """What one that conceals damage would show of each flow, where that is clearly something else."""
    both = [
        (one.flow, one.as_decoded_psnr_db, one.psnr_mean_db)
        for one in known
        if one.as_decoded_psnr_db is not None and one.psnr_mean_db is not None
    ]
    if not both:
        return []
    others = [
        Markup("{} with {:.1f} dB in place of {:.1f}").format(flow, concealed, discarded)
        for flow, concealed, discarded in both
        if abs(concealed - discarded) > PSNR_DB
    ]
    shown = listed(others) if others else Markup("the same to within {:g} dB").format(PSNR_DB)
    text = Markup("The verdict is of a receiver that discards damaged frames. One that conceals them would show {}.")
    return [text.format(shown)]


DISCARDED = Markup(
    "Picture quality is that of a receiver that discards damaged frames; <code>framewire score</code> with the run's "
    "directory measures what one shows that conceals them, too."
)


def _may_be_damaged(one: Metrics) -> bool:
    """Pictures were compared, and frames lost in datagrams, of which a part may have come."""
    parts = parts_of(one.transport)
    return one.psnr_mean_db is not None and one.lost > 0 and parts is not None and parts.socket == "datagram"


def competition(run: ReportRun) -> list[Markup]:
    """What cross traffic and the streams beside it got of the network that they shared."""
    bulk = [flow for flow in run.flows if flow.is_bulk]
    if not run.together or not bulk:
        return []
    got = []
    for flow in [*run.streams, *bulk]:
        rate = plot_data.summary_row(run, flow).get("packet_throughput_bps")
        brought = "nothing" if not rate else f"{rate / 1e6:.2f} Mbit/s"
        got.append(Markup("<b>{}</b> {}").format(flow.name, brought))
    link = of_link(run)
    of = Markup("") if link is None else Markup(", of a link of {}").format(link.in_words)
    return [Markup("What each got while it was there{}: {}.").format(of, Markup(", ").join(got))]
