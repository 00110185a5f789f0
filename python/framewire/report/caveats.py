"""What limits the verdict: said beside it, before anything else is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from framewire import alike, unlike
from framewire.report.data import ReportRun


def caveats(run: ReportRun, problems: dict[str, str]) -> list[Markup]:
    """Reasons for caution, the gravest first."""
    said: list[Markup] = []
    status = str(run.info.get("status", "complete"))
    if status != "complete":
        ended = run.info.get("ended_by")
        said.append(
            Markup("<b>The run is {}</b>{}: it did not come to its end, and frames that were offered but had not "
                   "arrived by then count as lost. Do not choose by it.")
            .format(status, f" ({ended})" if ended else "")
        )  # fmt: skip
        said += never_offered(run)
    said += [
        Markup("<b>{}</b> ended as {}.").format(row["flow"], row["status"])
        for row in run.summary.iter_rows(named=True)
        if row.get("status") not in (None, "complete", status)
    ]
    said += [
        Markup("<b>{}</b> failed: {}.").format(entry.get("name"), entry["failure"])
        for entry in run.info.get("flows", [])
        if isinstance(entry, dict) and entry.get("failure")
    ]
    if disturbed := disturbances(run):
        told = Markup("; ").join(Markup("{}: {}").format(flows, text) for text, flows in disturbed.items())
        said.append(doubted(run, told))
    unproven = [flow.name for flow in run.flows if not run.accuracy(flow)]
    if unproven and run.info.get("world", "emulated") == "emulated":
        said.append(Markup("There is no proof of accuracy for {}.").format(", ".join(unproven)))
    if run.together and len(run.streams) > 1:
        said.append(
            Markup("The transports shared one network: each took from the others. This says who wins a competition, "
                   "not which is best alone.")
        )  # fmt: skip
    elif run.together and run.streams:
        said.append(Markup("The stream shared its network with cross traffic: what it lacks, the others may have had."))
    if alike_flows := alike.note(run.scenario):
        said.append(Markup("{}.").format(alike_flows))
    if unlike_flows := unlike.note(run.scenario, run.info):
        said.append(Markup("{}.").format(unlike_flows))
    for flow, text in problems.items():
        said.append(Markup("The pictures of {} could not be compared: {}.").format(flow, text))
    if not _draws(run.scenario):
        said.append(
            Markup("Nothing in this scenario is drawn by chance: another seed changes nothing.")
            if run.simulated
            else Markup("Nothing of the network is drawn from the seed, so another seed changes nothing. In real time "
                        "the order of packets is chance all the same: a repeat may differ.")
        )  # fmt: skip
        return said
    seed = run.scenario.get("seed")
    told_seed = Markup(" (seed {})").format(seed) if seed is not None else Markup("")
    said.append(
        Markup("One run, one seed{}: all transports met the same channel, but another seed is another channel. "
               "Differences of a few per cent need repeats.").format(told_seed)
        if len(run.flows) > 1 and not run.together
        else Markup("One run, one seed{}: repeat with others before relying on small differences.").format(told_seed)
    )  # fmt: skip
    return said


def doubted(run: ReportRun, told: Markup) -> Markup:
    """What a doubt about flows means in the world that the run was in."""
    if run.simulated:
        return Markup("<b>The result contradicts itself</b> ({}).").format(told)
    return Markup(
        "<b>The emulation was disturbed</b> by other work on the machine ({}). Times and losses of these flows may be "
        "the machine's, not the network's: repeat the run on a quiet machine."
    ).format(told)


def never_offered(run: ReportRun) -> list[Markup]:
    """How many frames the run ended before, and that they count nowhere."""
    counts = {flow.name: (run.never_offered(flow), run.ledger(flow).height) for flow in run.streams}
    if not any(left for left, _ in counts.values()):
        return []
    if len({*counts.values()}) == 1:
        left, frames = next(iter(counts.values()))
        each = Markup("{:,} of {:,}{}").format(left, frames, " by each flow" if len(counts) > 1 else "")
        differ = ""
    else:
        each = Markup(", ").join(Markup("{} {:,} of {:,}").format(name, *pair) for name, pair in counts.items())
        differ = " So these shares are of different parts of the movie."
    return [Markup("Frames that were never offered are left out of all shares: {}.{}").format(each, differ)]


def disturbances(run: ReportRun) -> dict[str, str]:
    """What disturbed the emulation, or contradicts itself, and the flows that it concerns."""
    told: dict[str, list[str]] = {}
    for flow in run.flows:
        if text := run.disturbed(flow):
            told.setdefault(text, []).append(flow.name)
    return {text: "all flows" if len(names) == len(run.flows) else ", ".join(names) for text, names in told.items()}


def provisional(run: ReportRun) -> str | None:
    """Why nothing should be decided by this run, or None."""
    reasons = ["the run did not come to its end"] if run.partial else []
    doubt = "its result contradicts itself" if run.simulated else "the emulation was disturbed"
    reasons += [doubt] if disturbances(run) else []
    return " and ".join(reasons) or None


def _draws(scenario: Mapping[str, Any]) -> bool:
    """Whether anything depends on the seed: a wireless hop, random loss or jitter; nothing said counts as drawn."""
    network = scenario.get("network", {})
    wire = network.get("wire", {})
    return network.get("kind") != "wired" or wire.get("loss") != "0 %" or wire.get("jitter") not in ("0 s", "0 ms")
