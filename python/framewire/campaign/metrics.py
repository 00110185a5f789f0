"""What can be asked of the cells: columns of the summary (``docs/results.md``), and shares made from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from framewire.errors import InputError
from framewire.suggestions import guess

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COLUMNS", "DEFAULT", "PERCENTAGES", "RESERVED", "bounds", "check", "more_is_better", "sends_ahead"]

_TRANSMISSIONS = ("tx_1", "tx_2", "tx_3", "tx_4", "tx_5_up")
_RUNS = ("runs_1", "runs_2", "runs_3", "runs_4", "runs_5_10", "runs_over_10")
_PLACES = ("sender_pipeline", "sender_socket", "link", "intermediate_queue", "receiver_pipeline")

COLUMNS = (
    *("movie_bitrate_bps", "frames", "shown", "late", "undecodable", "lost", "not_offered", "offered"),
    *("frames_i", "frames_p", "frames_b", "offered_i", "offered_p", "offered_b", "lost_i", "lost_p", "lost_b"),
    *(f"lost_{place}" for place in _PLACES),
    *("duration_s", "frame_throughput_bps", "packet_throughput_bps", "packets_sent", "packets_lost"),
    *_RUNS,
    *(f"frame_{run}" for run in _RUNS),
    *("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms", "jitter_mean_ms", "jitter_max_ms"),
    *("stalls", "stalled_s", "shed_bytes", "wasted_bytes", "useless_bytes"),
    *("level_mean", "level_switches"),
    *("retransmissions", "timeouts", "srtt_mean_ms"),
    *("transmissions_mean", *_TRANSMISSIONS),
    *(f"sniffed_{share}" for share in _TRANSMISSIONS),
    *("sniffed_unique", "sniffed_total"),
    *("sound_shown", "sound_late", "sound_lost", "sound_not_offered", "sound_wait_max_ms"),
)
"""Columns of the summary that are numbers."""

LATENCIES = tuple(name for name in COLUMNS if name.startswith("latency_"))
"""Those that are latencies of frames."""

_SOUND = ("sound_shown", "sound_late", "sound_lost", "sound_not_offered")

PERCENTAGES = {
    "shown_percent": ("shown", ("frames",)),
    "late_percent": ("late", ("frames",)),
    "undecodable_percent": ("undecodable", ("frames",)),
    "lost_percent": ("lost", ("frames",)),
    "not_offered_percent": ("not_offered", ("frames",)),
    "lost_i_percent": ("lost_i", ("frames_i",)),
    "lost_p_percent": ("lost_p", ("frames_p",)),
    "lost_b_percent": ("lost_b", ("frames_b",)),
    "packet_loss_percent": ("packets_lost", ("packets_sent",)),
    "sound_lost_percent": ("sound_lost", _SOUND),
    "sound_late_percent": ("sound_late", _SOUND),
}
"""Shares in percent: part, and columns that together are the whole."""

DEFAULT = ("shown_percent", "lost_percent", "duration_s", "latency_p95_ms", "frame_throughput_bps")
"""What is shown where the campaign does not say."""

RESERVED = frozenset({"cell", "repeat", "seed", "flow", "transport", "status", "cut", *COLUMNS, *PERCENTAGES})
"""Names of columns of the results, which no axis may have."""


def check(name: object) -> None:
    """Raises InputError when there is no such metric."""
    known = (*COLUMNS, *PERCENTAGES)
    if name not in known:
        meant = guess(name, known)
        hint = "" if meant is None else f"did you mean `{meant}`? "
        raise InputError(f"metrics: {name!r} is not a metric; {hint}allowed are {', '.join(known)}")


_MORE = ("shown", "offered", "frame_throughput", "packet_throughput", "level_mean", "sound_shown")
_LESS = (
    *(
        "late",
        "undecodable",
        "lost",
        "not_offered",
        "latency",
        "jitter",
        "stalls",
        "stalled",
        "shed",
        "wasted",
        "useless",
    ),
    *("packets_lost", "packet_loss", "retransmissions", "timeouts", "srtt", "level_switches"),
    *("sound_late", "sound_lost", "sound_not_offered", "sound_wait"),
)


def more_is_better(name: str) -> bool | None:
    """Which way a metric is good; None where neither is, or nothing is known of it.

    >>> more_is_better("shown_percent"), more_is_better("latency_p95_ms"), more_is_better("duration_s")
    (True, False, None)
    """
    if name.startswith(_MORE):
        return True
    return False if name.startswith(_LESS) else None


def bounds(name: str, *, sent_ahead: bool) -> tuple[float, float]:
    """What a metric is never below and never above: shares are of 0 to 100 %, and no count, size or rate is negative.

    Latencies are only where frames are `sent_ahead` of their time (:func:`sends_ahead`). Of what is made from columns
    nothing is known, unless its name says that it is a share.
    """
    if name.endswith("_percent"):
        return 0.0, 100.0
    is_bounded = name in COLUMNS and not (sent_ahead and name in LATENCIES)
    return (0.0 if is_bounded else -math.inf), math.inf


def sends_ahead(summary: pl.DataFrame) -> bool:
    """Whether frames are sent before they are due in these cells, so that latencies may be negative: one of them is.

    The median is the lowest that a summary has, and it is far below 0 where a stream runs ahead of its clock.
    """
    import polars as pl

    recorded = [pl.col(name).min() < 0 for name in LATENCIES if name in summary.columns]
    return bool(recorded) and summary.select(pl.any_horizontal(recorded)).item() is True
