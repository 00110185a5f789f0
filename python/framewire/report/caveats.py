"""What limits the verdict: said beside it, before anything else is read."""

from __future__ import annotations

from markupsafe import Markup

from framewire import (
    application_congestion,
    burst_losses,
    capture_notes,
    equivalent_flows,
    stats,
    unexplained_losses,
)
from framewire.report import endings, facts
from framewire.report.data import ReportRun
from framewire.report.metrics import unseen_latency_ms
from framewire.scenario import BurstLoss, Wire


def caveats(run: ReportRun, problems: dict[str, str], unscored: str | None = None) -> list[Markup]:
    """Reasons for caution, the gravest first.

    `problems` says by flow why its pictures could not be compared, `unscored` why none was.
    """
    said = endings.notes(run)
    if disturbed := disturbances(run):
        reasons = Markup("; ").join(Markup("{}: {}").format(flows, text) for text, flows in disturbed.items())
        said.append(doubted(run, reasons))
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
    said += [Markup("{}.").format(note) for note in of_flows(run) if note is not None]
    said += later_origins(run)
    if run.real and facts.clocks(run.info) == facts.NOT_ALIGNED:
        said.append(
            Markup(
                "The clocks of the two machines are not aligned: latencies, and what is late, count from the fastest "
                "packet as if it had taken no time."
            )
        )
    if unscored and run.policy == "live" and len(run.streams) > 1:
        said.append(Markup("Picture quality took no part in the verdict: {}.").format(unscored))
    for note in of_losses(run) + capture_notes.notes(run.info, run.scenario):
        said.append(Markup("{}{}.").format(note[0].upper(), note[1:]))
    for flow, text in problems.items():
        said.append(Markup("The pictures of {} could not be compared: {}.").format(flow, text))
    said.append(of_chance(run))
    return said


def of_flows(run: ReportRun) -> list[str | None]:
    """What makes flows equal that seem to differ, and unlike that seem to be equal."""
    if run.scenario is None:
        return []
    protocols = stats.main_protocols(run.packets)
    return [equivalent_flows.note(run.scenario), application_congestion.note(run.scenario, run.info, protocols)]


def of_losses(run: ReportRun) -> list[str]:
    """What may explain losses."""
    if run.scenario is None:
        return []
    explained = burst_losses.notes(run.scenario, run.frames)
    return explained + unexplained_losses.notes(run.scenario, run.frames, run.packets)


def later_origins(run: ReportRun) -> list[Markup]:
    """Applications that pace themselves: their first frame is due when its first packet leaves."""
    unseen = [(flow.name, unseen_latency_ms(run, flow)) for flow in run.streams]
    return [
        Markup(
            "The latencies of {} count from its first packet, {:,.0f} ms after the beginning: what its application "
            "took for that packet is not in them, as it is in those of the lab's own flows."
        ).format(flow, milliseconds)
        for flow, milliseconds in unseen
        if milliseconds > 0
    ]


def of_chance(run: ReportRun) -> Markup:
    """What another seed would change."""
    if run.real:
        return Markup("One run over a network that is what it is at that time: a repeat meets another one.")
    hosts = hosts_draw(run)
    if not network_draws(run) and not run.simulated:
        return Markup(
            "Nothing of the network is drawn from the seed, so another seed changes nothing. In real time the order of "
            "packets is chance all the same: a repeat may differ."
        )
    if not network_draws(run) and hosts:
        return Markup(
            "Nothing of the network is drawn from the seed; {} is: another seed may give another result."
        ).format(hosts)
    if not network_draws(run):
        return Markup("Nothing in this scenario is drawn by chance: another seed changes nothing.")
    seed_text = Markup(" (seed {})").format(run.scenario.parsed.seed) if run.scenario is not None else Markup("")
    if len(run.streams) > 1 and not run.together:
        return Markup(
            "One run, one seed{}: all transports met the same channel, but another seed is another channel. "
            "What gives frames up may show tens of points more or fewer with another seed: small differences need "
            "repeats (framewire campaign)."
        ).format(seed_text)
    return Markup("One run, one seed{}: repeat with others before relying on small differences.").format(seed_text)


def doubted(run: ReportRun, reasons: Markup) -> Markup:
    """What a doubt about flows means in the world that the run was in."""
    if run.sender_was_late:
        return Markup(
            "<b>The sender was disturbed</b> by other work on its machine ({}). What is late or lost may be that "
            "machine's, not the network's: send it again from a quiet machine."
        ).format(reasons)
    if run.simulated or run.real:
        return Markup("<b>The result contradicts itself</b> ({}).").format(reasons)
    return Markup(
        "<b>The emulation was disturbed</b> by other work on the machine ({}). Times and losses of these flows may be "
        "the machine's, not the network's: repeat the run on a quiet machine."
    ).format(reasons)


def disturbances(run: ReportRun) -> dict[str, str]:
    """What disturbed the emulation, or contradicts itself, and the flows that it concerns."""
    flows_by_text: dict[str, list[str]] = {}
    for flow in run.flows:
        if text := run.disturbed(flow):
            flows_by_text.setdefault(text, []).append(flow.name)
    return {
        text: "all flows" if len(names) == len(run.flows) else ", ".join(names) for text, names in flows_by_text.items()
    }


def provisional(run: ReportRun) -> str | None:
    """Why nothing should be decided by this run, or None."""
    early = endings.stopped(run)
    reasons = [early] if early is not None else []
    reasons += [doubt_in_a_word(run)] if disturbances(run) else []
    return " and ".join(reasons) or None


def doubt_in_a_word(run: ReportRun) -> str:
    """The same in short."""
    if run.sender_was_late:
        return "the sender was disturbed"
    return "its result contradicts itself" if run.simulated or run.real else "the emulation was disturbed"


def drawn_by_chance(run: ReportRun) -> bool:
    """Whether another seed may change the result."""
    return not run.real and (network_draws(run) or hosts_draw(run) is not None)


def network_draws(run: ReportRun) -> bool:
    """Whether the network depends on the seed: a wireless hop, random loss or jitter; nothing said counts as drawn."""
    if run.network is None:
        return True
    path = run.network.path
    if run.network.cells or (path is not None and path.wifi is not None):
        return True
    wires = [wire for link in run.network.wired for wire in (link.forward, link.backward)]
    return any(_wire_draws(wire) for wire in (wires if path is None else [path.wire]))


def _wire_draws(wire: Wire) -> bool:
    loss = wire.loss
    most = max(loss.loss_good, loss.loss_bad) if isinstance(loss, BurstLoss) else loss
    return most > 0 or wire.jitter_s > 0


def hosts_draw(run: ReportRun) -> str | None:
    """What the hosts of the simulated world draw from the seed; those of a kernel draw nothing from it."""
    if not run.simulated:
        return None
    if run.together:
        return "the order in which flows begin at one moment"
    congestion = [] if run.scenario is None else [str(flow.congestion) for flow in run.scenario.flows]
    return "when BBR probes" if any(name.startswith("bbr") for name in congestion) else None
