"""Numbers that the thesis states in its text, beside ours."""

from __future__ import annotations

from statistics import fmean

import polars as pl

from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.published import DURATION_S, OVENS, RETRIES
from framewire.studies.verdicts import Claim, Finding, Verdict

__all__ = ["claims"]

_RUNS = pl.sum_horizontal("runs_1", "runs_2", "runs_3", "runs_4", "runs_5_10", "runs_over_10")
_HIGH = tuple(retry for retry in RETRIES if retry not in (1, 2))


def claims(measured: Measured) -> list[Finding]:
    """Those that can be held against what was measured."""
    if not measured.has("movies"):
        return []
    made = [
        _enough(measured),
        *_jitter(measured),
        *_margins(measured),
        _useful(measured),
        _bursts(measured),
        _single(measured),
        _sniffer(measured),
    ]
    return [claim for claim in made if claim.finds]


def _finding(source: str, says: str, finds: str, agrees: bool | None) -> Finding:
    """What was found of a statement; agrees is None where it cannot be said so simply."""
    return Finding(Claim(source, says), finds, Verdict.of(agrees))


def _mean(measured: Measured, column: str | pl.Expr, flow: str, bitrate: int, retry: int, oven: str) -> float | None:
    samples = measured.samples("movies", column, bitrate=bitrate, retry=retry, oven=oven, flow=flow)
    return fmean(samples) if samples else None


def _enough(measured: Measured) -> Finding:
    two, three, many = (_mean(measured, "duration_s", "tcp", 6, retry, "yes") for retry in (2, 3, 16))
    finds = (
        ""
        if None in (two, three, many)
        else f"TCP, 6 Mbit/s, oven: {two:.1f} s at 2, {three:.1f} s at 3, {many:.1f} s at 16."
    )
    agrees = None if not finds else bool(three and many and abs(three / many - 1) < 0.05)
    return _finding("chapter 4, 4", "A retry value of 3 is enough; more gives next to nothing.", finds, agrees)


def _jitter(measured: Measured) -> list[Finding]:
    means: dict[str, float] = {}
    for flow in ("udp-blocking", "udp", "tcp", "tcp+ifd"):
        values = [
            value
            for bitrate in (3, 4)
            for retry in _HIGH
            for oven in OVENS
            if (value := _mean(measured, "jitter_mean_ms", flow, bitrate, retry, oven)) is not None
        ]
        if values:
            means[flow] = fmean(values)
    if len(means) < 4:
        return []
    tcp, udp = max(means["tcp"], means["tcp+ifd"]), min(means["udp-blocking"], means["udp"])
    worst = [
        _mean(measured, "jitter_mean_ms", "tcp", bitrate, retry, oven)
        for bitrate in (3, 4, 5, 6)
        for retry in _HIGH
        for oven in OVENS
    ]
    known = [value for value in worst if value is not None]
    return [
        _finding(
            "3.10",
            "Jitter is of the order of 1 ms over TCP (with and without IFD).",
            f"Means over 3 and 4 Mbit/s at retry values of 3 and more: TCP {means['tcp']:.2f} ms, TCP with IFD "
            f"{means['tcp+ifd']:.2f} ms.",
            tcp < 10,
        ),
        _finding(
            "3.10",
            "Jitter is 10 ms or more over UDP.",
            f"Blocking {means['udp-blocking']:.2f} ms, non-blocking {means['udp']:.2f} ms.",
            udp >= 10,
        ),
        _finding(
            "3.10, 4",
            "UDP has more jitter than TCP.",
            f"The least of UDP is {udp:.2f} ms, the most of TCP {tcp:.2f} ms.",
            udp > tcp,
        ),
        _finding(
            "3.7, 6",
            "Jitter over TCP exceeds 10 ms only rarely, at low retry values with the oven.",
            f"Mean jitter is over 10 ms in {sum(value > 10 for value in known)} of {len(known)} settings of 3 attempts "
            "and more.",
            sum(value > 10 for value in known) <= len(known) / 4,
        ),
    ]


def _margins(measured: Measured) -> list[Finding]:
    made = []
    for flow, bitrate, name in (
        ("tcp", 4, "4 Mbit/s on a 5 Mbit/s TCP link"),
        ("udp-blocking", 3, "3 Mbit/s on a 4 Mbit/s UDP link"),
    ):
        values = [_mean(measured, "duration_s", flow, bitrate, retry, "yes") for retry in _HIGH]
        known = [value for value in values if value is not None]
        finds = f"With the oven it takes at most {max(known):.1f} s." if known else ""
        made.append(
            _finding(
                "chapter 4, 7",
                f"A margin of 1 Mbit/s survives the oven: {name}.",
                finds,
                bool(known) and max(known) < 61,
            )
        )
    return made


def _useful(measured: Measured) -> Finding:
    """Of whole frames, as the thesis' receiver counted."""
    came = {}
    for bitrate in (3, 4, 5, 6):
        frames = measured.ledger("udp", bitrate=bitrate, retry=4, oven="no")
        if not frames.is_empty():
            came[bitrate] = int(frames.filter("complete")["size"].sum()) * 8e-6 / DURATION_S
    finds = f"{', '.join(f'{value:.2f} of {bitrate}' for bitrate, value in came.items())} Mbit/s." if came else ""
    agrees = None
    if len(came) == 4:
        agrees = came[3] > 2.9 and came[4] > 3.9 and abs(came[5] - 1.5) < 0.25 and came[6] < came[5]
    return _finding(
        "3.8",
        "At retry value 4 without the oven non-blocking UDP brings 3 and 4 Mbit/s as sent, of 5 about 1.5 Mbit/s in "
        "whole frames, of 6 still less.",
        finds,
        agrees,
    )


def _bursts(measured: Measured) -> Finding:
    values = [
        measured.samples("movies", pl.col("runs_over_10"), bitrate=bitrate, retry=retry, oven=oven, flow="udp")
        for bitrate in (3, 6)
        for retry in (1, 2, 3, 4)
        for oven in OVENS
    ]
    long = sum(sum(one) for one in values)
    finds = (
        f"{long:,.0f} sequences of more than 10 in its 3 and 6 Mbit/s runs at retry values 1 to 4. "
        "By its own durations the thesis lost more than it counted: see table 3.18."
        if any(values)
        else ""
    )
    return _finding(
        "3.8", "Non-blocking UDP never loses more than 10 packets in a row.", finds, long == 0 if finds else None
    )


def _single(measured: Measured) -> Finding:
    values = [
        value
        for bitrate in (3, 6)
        for oven in OVENS
        if (
            value := _mean(
                measured, pl.when(_RUNS > 0).then(100 * pl.col("runs_1") / _RUNS), "udp-blocking", bitrate, 1, oven
            )
        )
        is not None
    ]
    finds = (
        f"At retry value 1, {min(values):.0f} to {max(values):.0f} % of the sequences are of one packet."
        if values
        else ""
    )
    return _finding(
        "3.6, 7", "On the air packets are lost one at a time, not in batches.", finds, bool(values) and min(values) > 90
    )


def _sniffer(measured: Measured) -> Finding:
    shares = [
        value
        for retry in (1, 2, 3, 4, 5)
        for oven in OVENS
        for value in measured.samples(
            "link-layer",
            100 * pl.col("sniffed_unique") / pl.col("packets_sent"),
            rate="auto",
            retry=retry,
            oven=oven,
            flow="udp",
        )
    ]
    finds = f"{fmean(shares):.0f} % of the packets in the mean." if shares else ""
    return _finding("3.5", "The sniffer saw 65 % of the packets (set so here).", finds, None)
