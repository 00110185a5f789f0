"""The part of the page on ns-3's results."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from comparison import Cell, percent, quantile
from ns3_reference import Case, worst

from framewire.studies.parts import Part, Section
from framewire.studies.table import of_texts

HEAD = "Against ns-3"
TEXT = """\
Mean goodput of ns-3 3.44 (its LinuxReno and Cubic, three seeds per case) and of the simulated world (eight seeds, draws
of its own) over a drop-tail queue of 100 packets. ns-3 differs from Linux where the simulated world follows Linux: it
has no RACK and no tail-loss probes, its least RTO is the round trip plus 200 ms, and its receive buffer is fixed at
4 MB. Where the two are apart, this kernel stands beside them, with the queue of 50 ms, which is the nearest to 100
packets.
"""


def absent() -> Section:
    """Where no results were given."""
    why = "no directory of ns-3 results was given (`page.py --ns3 DIR`; ns-3 is never needed otherwise)"
    return Section(HEAD, [f"Left out: {why}."])


def write(cases: Sequence[Case], kernel: Sequence[Cell]) -> Section:
    """The section; `kernel` is what this kernel did in the nearest of its own cells."""
    rows = []
    for algorithm in ("reno", "cubic"):
        for mode in ("bulk", "stream"):
            for lossy in (False, True):
                group = [c for c in cases if (c.algorithm, c.mode, c.loss > 0) == (algorithm, mode, lossy)]
                if group:
                    errors = [case.error for case in group]
                    sizes = [abs(error) for error in errors]
                    rows.append(
                        (
                            algorithm,
                            mode,
                            "lossy" if lossy else "loss-free",
                            str(len(group)),
                            percent(median(errors), sign=True),
                            percent(median(sizes)),
                            percent(quantile(sizes, 0.9)),
                            percent(max(errors, key=abs), sign=True),
                            f"{sum(case.overlaps for case in group)} of {len(group)}",
                        )
                    )
    head = ("algorithm", "load", "network", "cases", "median", "median size", "p90", "worst", "intervals overlap")
    far = [
        (
            f"{case.algorithm}, {case.rate_mbps} Mbit/s, {case.rtt_ms} ms, {100 * case.loss:g} %, {case.mode}",
            f"{case.ns3:.2f} ± {case.ns3_interval:.2f}",
            f"{case.ours:.2f} ± {case.ours_interval:.2f}",
            percent(case.error, sign=True),
            _nearest(case, kernel),
        )
        for case in worst(cases, 10)
    ]
    parts: list[Part] = [TEXT, of_texts(head, rows, align="left")]
    if not far:
        return Section(HEAD, [*parts, "All intervals touch."])
    heads = ("case", "ns-3, Mbit/s", "simulated", "difference", "this kernel")
    apart = "Furthest apart, of those whose 95 % intervals do not touch:"
    return Section(HEAD, [*parts, apart, of_texts(heads, far, align="left")])


def _nearest(case: Case, kernel: Sequence[Cell]) -> str:
    """What this kernel did under the same rate, round trip, loss and load, with its own queue."""
    wanted = (case.algorithm, case.rate_mbps, case.rtt_ms, case.loss, case.mode, "50ms")
    same = (c for c in kernel if (c.algorithm, c.rate_mbps, c.rtt_ms, c.loss, c.mode, c.queue) == wanted)
    return next((f"{cell.goodput[0]:.2f}" for cell in same), "")
