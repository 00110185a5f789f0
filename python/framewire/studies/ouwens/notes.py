"""What stands under tables 3.17 and 3.18: how far the movie, and the thesis' own counts, can explain a difference."""

from __future__ import annotations

from framewire.studies.ouwens import movie_ratio
from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.published import DURATION_S, lookup
from framewire.studies.table import shown

__all__ = ["LONGEST_COUNTED", "counted_packets", "of_counts", "of_frame_sizes"]

LONGEST_COUNTED = 5
"""What a loss of 5 to 10 packets in a row adds to the packets that table 3.18 counts as lost."""


def of_frame_sizes(measured: Measured) -> str:
    """That the sizes of B frames decide how many are lost of a movie that is faster than the link."""
    losses = movie_ratio.udp_sensitivity(measured)
    if losses is None:
        return ""
    ours, share, alike, both = losses
    return (
        "How many B frames are lost depends on how many are larger than what drains in a frame interval. A model of "
        f"the bursts alone loses {ours:.0f} % of ours at 6 Mbit/s without the oven; {share:.0f} % if they had the "
        f"thesis' effective share of bytes ({100 * movie_ratio.published_b_share():.0f} %), {alike:.0f} % if all "
        f"frames of a type were equally large, and {both:.0f} % with both. Of the thesis' frames only the number is "
        "known."
    )


def of_counts() -> str:
    """That table 3.18 cannot have counted long losses, by the thesis' own durations."""
    link = {retry: _least_lost(retry) for retry in (3, 1)}
    counted = {retry: _count(retry, "lost_packets") for retry in (3, 1)}
    return (
        "The thesis' counts leave long losses out. By table 3.7 its link leaves at least "
        f"{link[3]:.0f} % of the 6 Mbit/s movie unsent in the movie's time at retry value 3 and {link[1]:.0f} % at 1; "
        "it counts "
        f"{shown(counted[3], 0)} and {shown(counted[1], 0)} packets lost. In every row its packets are what its "
        f"sequences add up to when one of 5 to 10 counts as {LONGEST_COUNTED}, and at 3 Mbit/s, retry value 1 and with "
        "the oven, where by its text nothing arrived for a while, no sequence is longer than 10."
    )


def counted_packets(shares: tuple[float, ...], sequences: float) -> float:
    """Packets by shares (percent) of sequences of 1, 2, 3, 4 and 5 to 10, counted as table 3.18 did.

    >>> round(counted_packets((50.0, 0.0, 0.0, 0.0, 50.0), 10))
    30
    """
    return sequences * sum(length * share / 100 for length, share in enumerate(shares[:LONGEST_COUNTED], 1))


def _least_lost(retry: int) -> float:
    there = {"table": "3.7", "bitrate_mbps": 6, "retry": retry, "interference": "no"}
    duration = lookup("movie_duration", "duration_s", **there)
    assert duration is not None
    return 100 * (1 - DURATION_S / duration)


def _count(retry: int, column: str) -> float:
    there = {"table": "3.18", "bitrate_mbps": 6, "retry": retry, "interference": "no"}
    count = lookup("consecutive_losses", column, **there)
    assert count is not None
    return count
