"""The verdict in plain words: which transport to choose, why, and what is given up.

`verdict_rules` says by what it is found, `verdict_reasons` how that is said. The scenario's player decides which way of
viewing comes first: live, or with a pause allowed. In a run whose player waited, picture quality does not decide live
viewing: its pictures are not live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from framewire.report.metrics import Metrics
from framewire.report.verdict_reasons import (
    account,
    behind,
    files,
    headline,
    in_a_sentence,
    live_in_a_line,
    live_reasons,
    pause_headline,
    pause_in_a_line,
    pause_reasons,
    single,
    too_narrow,
)
from framewire.report.verdict_rules import (
    LIVE,
    PAUSE,
    choose,
    far_apart,
    for_live,
    rules_for,
)
from framewire.report.verdict_text import (
    idle_queues,
    of_offered,
    stood_still,
)

TOO_FEW = 12
"""Frames of a run that was cut off; fewer are less than half a second, of which no viewer could say anything."""


@dataclass(frozen=True)
class Verdict:
    """Text for the top of the report; every piece is safe HTML."""

    headline: Markup
    reasons: list[Markup]
    others: list[Markup]
    caveats: list[Markup] = field(default_factory=list)
    summary: Markup | None = None
    """The headline with what decided, in one sentence; the headline itself where that says it all."""
    best: list[str] = field(default_factory=list)
    """Names of the flows that are chosen: one, or several that are too close to call."""
    runner_up: str | None = None
    provisional: str | None = None
    """Why nothing should be decided by this run."""
    seeded: bool = False
    """Another seed would change the result."""
    undecided: bool = False
    """The headline says why nothing is chosen."""

    @property
    def sentence(self) -> str:
        """The verdict in one sentence, as plain text."""
        said = (self.summary or self.headline).striptags()
        if self.provisional is None or self.undecided:
            return said
        begin = said[:1] if self.summary is None else said[:1].lower()
        return f"Provisional, because {self.provisional}: {begin}{said[1:]}"

    def as_json(self) -> dict[str, Any]:
        """The verdict with its reasons, as plain text."""
        texts = {
            name: [text.striptags() for text in given]
            for name, given in (("reasons", self.reasons), ("others", self.others), ("caveats", self.caveats))
        }
        return {"sentence": self.sentence, "best": self.best, "runner_up": self.runner_up,
                "provisional": self.provisional, **texts}  # fmt: skip


def judge(
    flows: Sequence[Metrics],
    caveats: Sequence[Markup] = (),
    policy: str = "live",
    bitrate_bps: float | None = None,
    cross_traffic: Sequence[Markup] = (),
    *,
    link_bps: float | None = None,
    provisional: str | None = None,
    seeded: bool = True,
    cut_off: str | None = None,
) -> Verdict:
    """The whole verdict; the scenario's player (`policy`) says which way of viewing comes first.

    `bitrate_bps` is the movie's: where no transport brought as much, the verdict says so first; `link_bps` is the
    least rate of the link where it is known and each flow had it to itself. `cross_traffic` says what bulk flows got
    of the same network. `provisional` says why nothing should be chosen by this run, `seeded` whether another seed
    would change it. `cut_off` says which flows this machine cut off, and why: then nothing is chosen.
    """
    measured = [one for one in flows if one.frames > 0]
    if cut_off is not None:
        nothing = Markup("Nothing is chosen: {}.").format(cut_off)
        said = [Markup("What is partial is no measure of its transport, and without it nothing can be compared.")]
        accounts = [account(one) for one in measured]
        said += of_offered(measured)
        return Verdict(nothing, said, accounts, list(caveats), provisional=provisional or cut_off, undecided=True)
    if not measured:
        nothing = Markup("Nothing was measured: no frame was offered.")
        return Verdict(nothing, [], [], list(caveats), provisional=provisional)
    most = max(one.frames for one in measured)
    if provisional is not None and most < TOO_FEW:
        of_frames = f"{most} frame{'s' if most > 1 else ''}"
        nothing = Markup("Nothing can be said of the transports: the run ended after {}.").format(of_frames)
        return Verdict(nothing, [], [], list(caveats), provisional=provisional)
    if len(measured) == 1:
        opening, said = single(measured[0], policy, beside=bool(cross_traffic))
        said = [*said, *of_offered(measured), *idle_queues(measured), *cross_traffic]
        return Verdict(opening, said, [], list(caveats), best=[measured[0].flow], provisional=provisional)
    sent_live = for_live(measured)
    live = choose(sent_live, rules_for(sent_live, LIVE, policy))
    pause = choose(measured, rules_for(measured, PAUSE))
    final = provisional is None
    if policy == "live":
        first, share, what = live, _live_share, "in time"
        latencies = live.runner_up is not None and far_apart(sent_live, live.best[0], live.runner_up)

        def aside(one: Metrics) -> str:
            return behind(one, with_latency=latencies)

        said = live_reasons(sent_live, live, final=final, seeded=seeded)
        left_out = files(measured)
        reasons = [*said, *left_out, pause_in_a_line(live, pause)]
        opening = headline(sent_live, live, final=final)
    else:
        first, share, what = pause, _decodable_share, "that can be decoded"
        waits = pause.runner_up is not None and (pause.best[0].stalls or pause.runner_up.stalls)
        left_out = []
        reasons = [*pause_reasons(pause), live_in_a_line(live, pause), *files(measured)]
        opening = pause_headline(pause, final=final)

        def aside(one: Metrics) -> str:
            return f" and {stood_still(one)}" if waits else ""

    narrow = too_narrow(measured, bitrate_bps, link_bps)
    reasons = [*of_offered(measured), *narrow, *reasons, *idle_queues(measured), *cross_traffic]
    winners = [one.flow for one in first.best]
    others = [account(one) for one in measured if one.flow not in winners]
    summary = Markup(" ").join([in_a_sentence(opening, first, share, what, aside), *left_out])
    return Verdict(
        opening,
        reasons,
        others,
        list(caveats),
        summary=summary,
        best=winners,
        runner_up=None if first.runner_up is None else first.runner_up.flow,
        provisional=provisional,
        seeded=seeded,
    )


def _live_share(one: Metrics) -> float:
    return one.live_share


def _decodable_share(one: Metrics) -> float:
    return one.decodable_share
