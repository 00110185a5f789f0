"""The proof of accuracy, in figures and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from framewire.report import facts
from framewire.report.comparison import NOT_MEASURED
from framewire.report.data import Flow, ReportRun

LATE_US = 1000.0
"""The project's bound for several streams at once: 99 % of packets released within 1 ms of their time."""

LABELS = {
    "count": "packets released",
    "p50_us": "release error p50 (us)",
    "p99_us": "release error p99 (us)",
    "max_us": "release error max (us)",
    "worst_at_s": "the worst at (s)",
    "late_over_1ms": "released over 1 ms late",
    "clamped": "arrivals seen late",
    "lost_outside_model": "lost outside the model",
    "model_rate_bps": "rate of the model (bit/s)",
    "emulated_rate_bps": "rate as emulated (bit/s)",
    "model_delay_p50_us": "delay of the model p50 (us)",
    "emulated_delay_p50_us": "delay as emulated p50 (us)",
    "sched": "scheduling",
    "disturbed": "disturbed",
}

FORMER_KEYS = {
    "device_drops": "lost_outside_model",
    "requested_rate_bps": "model_rate_bps",
    "achieved_rate_bps": "emulated_rate_bps",
    "requested_delay_p50_us": "model_delay_p50_us",
    "achieved_delay_p50_us": "emulated_delay_p50_us",
}
"""What runs of earlier versions call the same figures."""


@dataclass(frozen=True)
class Proof:
    """Sentences, and tables with one column per flow."""

    sentences: list[Markup]
    flows: list[str]
    rows: list[tuple[str, list[str]]]
    evidence: list[tuple[str, list[str]]] = field(default_factory=list)
    """Counters that back the figures of `rows`."""
    zero: list[str] = field(default_factory=list)
    """Those of them that are zero, or none, for every flow."""


def proof(run: ReportRun) -> Proof:
    """What the run says about its own emulation."""
    if run.simulated:
        return Proof(of_virtual_time(run), [], [])
    if run.real:
        return Proof(of_two_machines(run), [], [])
    found = [(flow.name, accuracy_figures(run, flow)) for flow in run.flows if run.accuracy(flow)]
    entries = [entry for _, entry in found]
    keys = ordered_keys(entries)
    counters = [key for key in keys if key not in LABELS]
    zero = [key for key in counters if not any(entry.get(key) for entry in entries)]

    def rows(keys: Sequence[str]) -> list[tuple[str, list[str]]]:
        return [(label(key), [shown(entry.get(key)) for entry in entries]) for key in keys]

    return Proof(
        sentences(run, entries),
        [name for name, _ in found],
        rows([key for key in keys if key in LABELS]),
        rows([key for key in counters if key not in zero]),
        [label(key) for key in zero],
    )


def label(key: str) -> str:
    """The name of a figure, as a reader sees it."""
    return LABELS.get(key, key.replace("_", " "))


def of_virtual_time(run: ReportRun) -> list[Markup]:
    """What there is to believe and to doubt where no machine takes part."""
    said = [
        Markup("The run was simulated, in virtual time: every packet left the network at the very moment that the "
               "model of the network gave it, and nothing was lost outside that model."),
        Markup("The hosts are models too, of Linux' sockets and TCP. How far they are from this kernel and from "
               "others' results is written in <code>docs/validation.md</code>; <code>framewire run</code> without "
               "<code>--world simulated</code> puts the same scenario through this kernel's own."),
    ]  # fmt: skip
    doubts = [Markup("<b>{}</b>: {}.").format(flow.name, doubt) for flow in run.flows if (doubt := run.disturbed(flow))]
    return said + doubts


def of_two_machines(run: ReportRun) -> list[Markup]:
    """What there is to believe and to doubt of a stream between two machines."""
    said = [
        Markup("The stream went over a real network, of which nothing is known but what left the sender and what "
               "came. Each end recorded that by itself; here both are joined, packet by packet by their numbers, or by "
               "their place in a byte stream."),
        Markup("All times are on the sender's clock; the receiver's was {}.").format(facts.clocks(run.info)),
        Markup("A datagram that did not come may have been lost anywhere behind the sender's socket, also in the "
               "socket of a receiver that was too slow."),
    ]  # fmt: skip
    said += [of_sender(run.woken_late(flow)) for flow in run.flows]
    doubts = [Markup("<b>{}</b>: {}.").format(flow.name, doubt) for flow in run.flows if (doubt := run.disturbed(flow))]
    return said + doubts


def of_sender(wakes: dict[str, Any]) -> Markup:
    """How late the sender's own clock woke it, which no network was.

    >>> print(of_sender({"count": 400, "late_over_10ms": 0, "p50_us": 60, "p99_us": 900, "max_us": 2100}))
    The sender was woken 400 times by its frame clock: half within 60 us, 99 % within 900 us, the latest 2,100 us late.
    """
    if not wakes:
        return Markup("How late the sender itself was is not known: what it was late is in the latencies.")
    return Markup(
        "The sender was woken {:,} times by its frame clock: half within {}, 99 % within {}, the latest {} late."
    ).format(wakes.get("count", 0), *(micro(wakes.get(key)) for key in ("p50_us", "p99_us", "max_us")))


def accuracy_figures(run: ReportRun, flow: Flow) -> dict[str, Any]:
    """What run.json says of one flow, under the names of today, and what its recorded releases say."""
    entry = {FORMER_KEYS.get(key, key): value for key, value in flat(run.accuracy(flow)).items()}
    return entry | lateness(run, flow)


def lateness(run: ReportRun, flow: Flow) -> dict[str, Any]:
    """How many packets were released late, and the worst with its time; empty without recorded releases."""
    if "intended_ns" not in run.releases.columns:
        return {}
    own = run.releases.filter(pl.col("flow") == flow.name)
    late = own.select("intended_ns", late_us=(pl.col("actual_ns") - pl.col("intended_ns")) / 1000)
    if late.is_empty():
        return {}
    intended_ns, worst_us = late.row(int(late["late_us"].arg_max() or 0))
    return {
        "count": late.height,
        "max_us": worst_us,
        "worst_at_s": intended_ns / 1e9,
        "late_over_1ms": late.filter(pl.col("late_us") > LATE_US).height,
    }


def sentences(run: ReportRun, entries: Sequence[dict[str, Any]]) -> list[Markup]:
    """The same in words."""
    if not entries:
        return [Markup("The run holds no proof of accuracy: what the network did beside its model is not known.")]
    said: list[Markup] = []
    p50, p99 = (largest(entries, key) for key in ("p50_us", "p99_us"))
    if p99 is not None:
        said.append(
            Markup("Half of the packets left the emulated network within {} of the time that the model gave them, 99 % "
                   "within {} (each the worst flow); a frame lasts {:.0f} ms.")
            .format(micro(p50), micro(p99), 1000 / run.frame_rate)
        )  # fmt: skip
        if p99 > LATE_US:
            said.append(Markup("<b>That is more than the 1 ms that the lab aims for: take delays with care.</b>"))
    said += late_releases(entries, 1000 / run.frame_rate)
    said += kept_promises(entries)
    lost = total(entries, "lost_outside_model")
    if lost == 0:
        said.append(Markup("No packet was lost outside the model: every loss here is the model's or the transport's."))
    elif lost is not None:
        said.append(Markup("<b>{:,} packets were lost outside the model</b>, in the devices around it.").format(lost))
    clamped = total(entries, "clamped")
    if clamped:
        said.append(Markup("{:,} arrivals were seen too late and moved to the model's present.").format(clamped))
    if any(entry.get("disturbed") for entry in entries):
        said.append(Markup("<b>The run was disturbed</b>; what it says of those flows may be the machine's."))
    return said


def late_releases(entries: Sequence[dict[str, Any]], frame_ms: float) -> list[Markup]:
    """How many packets were released late over all flows, and the worst: stalls that percentiles do not show."""
    known = [entry for entry in entries if isinstance(entry.get("max_us"), (int, float))]
    if not known:
        return []
    worst = max(known, key=lambda entry: float(entry["max_us"]))
    when = f" at {worst['worst_at_s']:.1f} s" if isinstance(worst.get("worst_at_s"), (int, float)) else ""
    worst_text = Markup("the worst {}{}").format(micro(worst["max_us"]), when)
    if worst["max_us"] > 1000 * frame_ms:
        worst_text += Markup(", <b>longer than a frame lasts</b>")
    late, count = total(entries, "late_over_1ms"), total(entries, "count")
    if late is None or count is None:
        return [Markup("How many packets were released late is not known; {}.").format(worst_text)]
    number = f"{late:,}" if late else "None"
    return [Markup("{} of {:,} packets were released more than 1 ms late, {}.").format(number, count, worst_text)]


def kept_promises(entries: Sequence[dict[str, Any]]) -> list[Markup]:
    """How near the emulated network came to its own model: the same packets, as computed and as handed over."""
    said: list[Markup] = []
    for key, sentence in (
        ("rate_bps", "The emulated network delivered at the rate of its model within {}."),
        ("delay_p50_us", "Its median delay was that of its model within {}."),
    ):
        pairs = [(entry.get(f"model_{key}"), entry.get(f"emulated_{key}")) for entry in entries]
        ratios = [abs(emulated / model - 1) for model, emulated in pairs if isinstance(model, (int, float)) and model
                  and isinstance(emulated, (int, float))]  # fmt: skip
        if ratios:
            said.append(Markup(sentence).format(f"{100 * max(ratios):.2g} %" if max(ratios) >= 1e-4 else "0.01 %"))
    return said


def ordered_keys(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The known figures first, then whatever else there is."""
    there = [key for entry in entries for key in entry]
    return [key for key in LABELS if key in there] + sorted({*there} - {*LABELS} - {"flow"})


def flat(entry: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one."""
    made: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            made |= flat(value, f"{prefix}{key} ")
        else:
            made[prefix + key] = value
    return made


def shown(value: Any) -> str:
    """A value of the proof."""
    if value is None:
        return NOT_MEASURED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return str(value)


def largest(entries: Sequence[dict[str, Any]], key: str) -> float | None:
    """The worst flow's value."""
    return max((float(entry[key]) for entry in entries if isinstance(entry.get(key), (int, float))), default=None)


def total(entries: Sequence[dict[str, Any]], key: str) -> int | None:
    """Sum over flows, or None when none has it."""
    known = [int(entry[key]) for entry in entries if isinstance(entry.get(key), (int, float))]
    return sum(known) if known else None


def micro(value: float | None) -> str:
    """Microseconds, or milliseconds where they are many."""
    if value is None:
        return "an unknown time"
    return f"{value / 1000:,.1f} ms" if value >= 10_000 else f"{value:,.0f} us"
