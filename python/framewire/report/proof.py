"""The proof of accuracy, in figures and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from framewire.report.comparison import NOT_MEASURED
from framewire.report.data import ReportRun

GOOD_P99_US = 1000.0
"""The project's bound for several streams at once: 99 % of packets released within 1 ms of their time."""

LABELS = {
    "count": "packets released",
    "p50_us": "release error p50 (us)",
    "p99_us": "release error p99 (us)",
    "max_us": "release error max (us)",
    "clamped": "arrivals seen late",
    "device_drops": "dropped by devices",
    "requested_rate_bps": "requested rate (bit/s)",
    "achieved_rate_bps": "achieved rate (bit/s)",
    "requested_delay_p50_us": "requested delay p50 (us)",
    "achieved_delay_p50_us": "achieved delay p50 (us)",
    "sched": "scheduling",
    "disturbed": "disturbed",
}


@dataclass(frozen=True)
class Proof:
    """Sentences, and a table with one column per flow."""

    sentences: list[Markup]
    flows: list[str]
    rows: list[tuple[str, list[str]]]


def proof(run: ReportRun) -> Proof:
    """What the run says about its own emulation."""
    found = [(flow.name, entry) for flow in run.flows if (entry := run.accuracy(flow))]
    entries = [flat(entry) for _, entry in found]
    rows = [
        (LABELS.get(key, key.replace("_", " ")), [shown(entry.get(key)) for entry in entries])
        for key in ordered_keys(entries)
    ]
    return Proof(sentences(run, entries), [name for name, _ in found], rows)


def sentences(run: ReportRun, entries: Sequence[dict[str, Any]]) -> list[Markup]:
    """The same in words."""
    if not entries:
        return [Markup("The run holds no proof of accuracy: what the network did beside its model is not known.")]
    told: list[Markup] = []
    p50, p99, most = (largest(entries, key) for key in ("p50_us", "p99_us", "max_us"))
    if p99 is not None:
        told.append(
            Markup("Half of the packets left the emulated network within {} of the time that the model gave them, 99 % "
                   "within {}, all within {} (each the worst flow); a frame lasts {:.0f} ms.")
            .format(micro(p50), micro(p99), micro(most), 1000 / run.frame_rate)
        )  # fmt: skip
        if p99 > GOOD_P99_US:
            told.append(Markup("<b>That is more than the 1 ms that the lab aims for: take delays with care.</b>"))
    told += kept_promises(entries)
    drops = total(entries, "device_drops")
    if drops == 0:
        told.append(Markup("The devices around the network dropped nothing: every loss here is the model's or the "
                           "transport's."))  # fmt: skip
    elif drops is not None:
        told.append(Markup("<b>Devices around the network dropped {:,} packets</b>, not the model.").format(drops))
    clamped = total(entries, "clamped")
    if clamped:
        told.append(Markup("{:,} arrivals were seen too late and moved to the model's present.").format(clamped))
    if not any(entry.get("disturbed") for entry in entries):
        told.append(Markup("The run was not disturbed by other work on the machine."))
    else:
        told.append(Markup("<b>The run was disturbed</b>; what it says of those flows may be the machine's."))
    return told


def kept_promises(entries: Sequence[dict[str, Any]]) -> list[Markup]:
    """How near what was achieved came to what was asked for, for every pair that the run names."""
    told: list[Markup] = []
    for key in ordered_keys(entries):
        if not key.startswith("requested_"):
            continue
        what = key.removeprefix("requested_")
        pairs = [(entry.get(key), entry.get(f"achieved_{what}")) for entry in entries]
        ratios = [abs(got / asked - 1) for asked, got in pairs if isinstance(asked, (int, float)) and asked
                  and isinstance(got, (int, float))]  # fmt: skip
        if ratios:
            name = what.removesuffix("_bps").removesuffix("_us").removesuffix("_p50").replace("_", " ")
            told.append(Markup("The {} that was asked for was met within {:.2g} %.").format(name, 100 * max(ratios)))
    return told


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
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 10_000 else str(value)


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
