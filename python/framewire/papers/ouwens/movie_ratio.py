"""How much of a difference in frame losses comes from the movies alone: theirs and ours divide their bytes differently
between I, P and B frames.

**I-Frame Delay** sheds bytes, B frames first. To shed the share *f* of all bytes takes *f / b* of the B frames, when
*b* is the share of bytes that B frames have. The thesis' *b* is not published, but follows from two of its tables: what
its TCP lacked (3.13) and how many B frames IFD shed for it (3.22), both at 6 Mbit/s without the oven, where next to no
other frame was lost. One number from five pairs that agree; it is then used for the rows with the oven, too.

**Non-blocking UDP** loses a frame when the burst of its packets does not fit into what the device queue has drained
since the burst before. A model of just that, with the frame sizes of our movie and with the same sizes scaled to the
thesis' *b*, tells what the movie does.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from framewire.papers.ouwens.measure import Measured
from framewire.papers.ouwens.published import DURATION_S, FRAMES, OVENS, RETRIES, lookup

__all__ = ["drop_tail_losses", "ifd_scale", "our_b_share", "published_b_share", "udp_explained"]

QUEUE = 100
"""Packets that the device queue holds (``udp``)."""

MEAN_PAYLOAD = 740
"""Bytes of movie in a packet of the thesis: what the throughput of table 3.7 implies (rule ``thesis``)."""

PERIOD_S = 0.04

Sizes = Sequence[tuple[str, int]]
"""Type and bytes of every frame, in the order in which they are sent."""


def published_b_share() -> float:
    """The share of bytes that B frames have in the thesis' 6 Mbit/s movie.

    >>> round(published_b_share(), 2)
    0.55
    """
    shares = []
    for retry in RETRIES:
        if retry in (1, 2):
            continue
        duration = lookup("movie_duration", "duration_s", table="3.13", bitrate_mbps=6, retry=retry, interference="no")
        lost = lookup("frame_losses", "B_pct", table="3.22", bitrate_mbps=6, retry=retry, interference="no")
        if duration is not None and lost:
            shares.append((1 - DURATION_S / duration) / (lost / 100))
    return fmean(shares)


def our_b_share(sizes: Sizes) -> float:
    """The share of bytes that B frames have in a movie of ours."""
    return sum(size for kind, size in sizes if kind == "B") / sum(size for _, size in sizes)


def ifd_scale(measured: Measured, bitrate: int) -> float | None:
    """What our loss of B frames would be multiplied with if our movie divided its bytes as the thesis' does.

    None where the thesis' division is not known: at other bitrates than 6 Mbit/s.
    """
    sizes = measured.movie_sizes.get(bitrate)
    return our_b_share(sizes) / published_b_share() if bitrate == 6 and sizes else None


def scaled(sizes: Sizes, b_share: float) -> list[tuple[str, int]]:
    """The same movie with another share of bytes in its B frames, and the same bytes in all."""
    ours = our_b_share(sizes)
    factor = {"B": b_share / ours}
    return [(kind, round(size * factor.get(kind, (1 - b_share) / (1 - ours)))) for kind, size in sizes]


def drop_tail_losses(sizes: Sizes, packets_per_period: float, queue: int = QUEUE) -> dict[str, float]:
    """Percent of frames lost by type when every frame is a burst into a queue that drains steadily.

    >>> drop_tail_losses([("I", 40 * 740), ("B", 20 * 740)] * 50, packets_per_period=25, queue=30)
    {'I': 100.0, 'P': 0.0, 'B': 0.0, 'total': 50.0}
    """
    waiting, lost = 0.0, dict.fromkeys((*FRAMES, "total"), 0)
    for kind, size in sizes:
        waiting = max(0.0, waiting - packets_per_period)
        packets = -(-size // MEAN_PAYLOAD)
        room = int(queue - waiting) + 1  # one more is being sent
        waiting += min(packets, room)
        if packets > room:
            lost[kind] += 1
            lost["total"] += 1
    counts = {kind: sum(one == kind for one, _ in sizes) for kind in FRAMES} | {"total": len(sizes)}
    return {kind: 100 * count / counts[kind] if counts[kind] else 0.0 for kind, count in lost.items()}


def udp_explained(measured: Measured) -> dict[tuple[str, str], float]:
    """Points of loss that non-blocking UDP at 6 Mbit/s would have more with the thesis' movie: by oven and column.

    The rate at which the queue drains is what our blocking UDP achieved with the same movie and oven at retry value 4;
    with the oven it is that of the whole run, a mean.
    """
    sizes = measured.movie_sizes.get(6)
    if not sizes:
        return {}
    explained: dict[tuple[str, str], float] = {}
    for oven in OVENS:
        durations = measured.samples("movies", "duration_s", bitrate=6, retry=4, oven=oven, flow="udp-blocking")
        if not durations:
            continue
        packets = sum(-(-size // MEAN_PAYLOAD) for _, size in sizes)
        drained = packets / fmean(durations) * PERIOD_S
        ours = drop_tail_losses(sizes, drained)
        theirs = drop_tail_losses(scaled(sizes, published_b_share()), drained)
        explained |= {(oven, kind): theirs[kind] - ours[kind] for kind in ours}
    return explained
