"""How much of a difference in frame losses comes from the movies alone: theirs and ours divide their bytes differently
between I, P and B frames.

**I-Frame Delay** sheds bytes, B frames first. To shed the share *f* of all bytes takes *f / b* of the B frames, when
*b* is the share of bytes that B frames have: the *effective* share, because large B frames are shed sooner than small
ones. The thesis' movie is not known frame by frame, but its *b* follows from two of its tables: what its TCP lacked
(3.13) and how many B frames IFD shed for it (3.22), both at 6 Mbit/s without the oven and with 3 attempts and more,
where next to no other frame was lost. Ours follows in the same way from our runs. Multiplied with the ratio of the
two, our losses of B frames are what they would be with the thesis' movie. On the rows without the oven that leaves
only what the two links differ in; the rows with the oven, from which nothing was taken, are the test.

**Non-blocking UDP** loses a frame when the burst of its packets does not fit into what the device queue has drained
since the burst before. A model of just that, with the frame sizes of our movie and with the same sizes scaled by the
ratio of the two *b*, tells what the movie does. It cannot tell all of it: what counts is how many B frames are larger
than what drains in a frame interval, and *b* says nothing of how much they vary. :func:`udp_sensitivity` shows how far
that alone can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import polars as pl

from framewire.studies.ouwens.measure import Measured
from framewire.studies.ouwens.plan import HOST_TIME_MS
from framewire.studies.ouwens.published import DURATION_S, FRAMES, OVENS, RETRIES, lookup

__all__ = [
    "alike",
    "bytes_in_b",
    "drop_tail_losses",
    "ifd_scale",
    "our_b_share",
    "published_b_share",
    "ratio",
    "scaled",
    "udp_explained",
    "udp_sensitivity",
]

QUEUE = 100
"""Packets that the device queue holds (``udp``)."""

MEAN_PAYLOAD = 740
"""Bytes of movie in a packet of the thesis: what the throughput of table 3.7 implies (rule ``thesis``)."""

PERIOD_S = 0.04

HOST_TIME_S = HOST_TIME_MS / 1000

_ENOUGH = tuple(retry for retry in RETRIES if retry not in (1, 2))

Sizes = Sequence[tuple[str, int]]
"""Type and bytes of every frame, in the order in which they are sent."""


def published_b_share() -> float:
    """The effective share of bytes that B frames have in the thesis' 6 Mbit/s movie.

    >>> round(published_b_share(), 2)
    0.55
    """
    place = {"bitrate_mbps": 6, "interference": "no"}
    rows = [
        (
            lookup("movie_duration", "duration_s", table="3.13", retry=retry, **place),
            lookup("frame_losses", "B_pct", table="3.22", retry=retry, **place),
        )
        for retry in _ENOUGH
    ]
    return _effective_share([(duration, lost) for duration, lost in rows if duration is not None and lost is not None])


def our_b_share(measured: Measured) -> float | None:
    """The same of ours; None where it was not measured, or nothing was shed."""
    rows = []
    for retry in _ENOUGH:
        place = {"bitrate": 6, "retry": retry, "oven": "no"}
        durations = measured.samples("movies", "duration_s", **place, flow="tcp")
        lost = measured.samples("movies", 100 * pl.col("lost_b") / pl.col("frames_b"), **place, flow="tcp+ifd")
        if durations and lost and fmean(lost) > 0:
            rows.append((fmean(durations), fmean(lost)))
    return _effective_share(rows) if rows else None


def _effective_share(rows: Sequence[tuple[float, float]]) -> float:
    """From durations over TCP and percentages of B frames lost with IFD."""
    return fmean((1 - DURATION_S / duration) / (lost / 100) for duration, lost in rows)


def ratio(measured: Measured) -> float | None:
    """Ours over theirs: 1 where both movies divide their bytes alike."""
    ours = our_b_share(measured)
    return None if ours is None or ours <= 0 else ours / published_b_share()


def ifd_scale(measured: Measured, bitrate: int) -> float | None:
    """What our loss of B frames is multiplied with; None at other bitrates than 6 Mbit/s, where nothing is known."""
    return ratio(measured) if bitrate == 6 else None


def bytes_in_b(sizes: Sizes) -> float:
    """The share of bytes that B frames have in a movie."""
    return sum(size for kind, size in sizes if kind == "B") / sum(size for _, size in sizes)


def scaled(sizes: Sizes, b_share: float) -> list[tuple[str, int]]:
    """The same movie with another share of bytes in its B frames, and the same bytes in all."""
    ours = bytes_in_b(sizes)
    factor = {"B": b_share / ours}
    return [(kind, round(size * factor.get(kind, (1 - b_share) / (1 - ours)))) for kind, size in sizes]


def alike(sizes: Sizes) -> list[tuple[str, int]]:
    """The same movie with every frame of a type as large as the mean of its type.

    >>> alike([("I", 9), ("B", 2), ("B", 4)])
    [('I', 9), ('B', 3), ('B', 3)]
    """
    means = {kind: fmean(size for one, size in sizes if one == kind) for kind in {one for one, _ in sizes}}
    return [(kind, round(means[kind])) for kind, _ in sizes]


def drop_tail_losses(
    sizes: Sizes, packets_per_period: float, queue: int = QUEUE, host_time_s: float = HOST_TIME_S
) -> dict[str, float]:
    """Percent of frames lost by type when every frame is a burst into a queue that drains steadily, also meanwhile.

    >>> drop_tail_losses([("I", 40 * 740), ("B", 20 * 740)] * 50, packets_per_period=25, queue=30)
    {'I': 100.0, 'P': 0.0, 'B': 0.0, 'total': 50.0}
    """
    waiting, since, lost = 0.0, 1.0, dict.fromkeys((*FRAMES, "total"), 0)
    for kind, size in sizes:
        packets = -(-size // MEAN_PAYLOAD)
        burst = min(1.0, packets * host_time_s / PERIOD_S)
        waiting = max(0.0, waiting - packets_per_period * since)
        room = int(queue - waiting + packets_per_period * burst) + 1  # one more is being sent
        waiting = max(0.0, waiting + min(packets, room) - packets_per_period * burst)
        since = 1.0 - burst
        if packets > room:
            lost[kind] += 1
            lost["total"] += 1
    counts = {kind: sum(one == kind for one, _ in sizes) for kind in FRAMES} | {"total": len(sizes)}
    return {kind: 100 * count / counts[kind] if counts[kind] else 0.0 for kind, count in lost.items()}


def udp_sensitivity(measured: Measured) -> tuple[float, float, float, float] | None:
    """Percent of B frames that the same model loses at 6 Mbit/s without the oven: of our movie; of ours, but with the
    thesis' *b*; of ours with all frames of a type alike; and with both."""
    sizes, drained = measured.movie_sizes.get(6), _drained(measured, "no")
    if not sizes or drained is None:
        return None
    movies = (sizes, scaled(sizes, published_b_share()), alike(sizes), alike(scaled(sizes, published_b_share())))
    of_ours, of_share, of_alike, of_both = (drop_tail_losses(movie, drained)["B"] for movie in movies)
    return of_ours, of_share, of_alike, of_both


def _drained(measured: Measured, oven: str) -> float | None:
    """Packets that leave the queue in a frame interval: as fast as our blocking UDP sent the same movie."""
    sizes = measured.movie_sizes.get(6)
    durations = measured.samples("movies", "duration_s", bitrate=6, retry=4, oven=oven, flow="udp-blocking")
    if not sizes or not durations:
        return None
    return sum(-(-size // MEAN_PAYLOAD) for _, size in sizes) / fmean(durations) * PERIOD_S


def udp_explained(measured: Measured) -> dict[tuple[str, str], float]:
    """Points of loss that non-blocking UDP at 6 Mbit/s would have more with the thesis' movie: by oven and column.

    The rate at which the queue drains is what our blocking UDP achieved with the same movie and oven at retry value 4;
    with the oven it is that of the whole run, a mean.
    """
    sizes, ours_to_theirs = measured.movie_sizes.get(6), ratio(measured)
    if not sizes or not ours_to_theirs:
        return {}
    other = scaled(sizes, bytes_in_b(sizes) / ours_to_theirs)
    explained: dict[tuple[str, str], float] = {}
    for oven in OVENS:
        drained = _drained(measured, oven)
        if drained is None:
            continue
        ours = drop_tail_losses(sizes, drained)
        theirs = drop_tail_losses(other, drained)
        explained |= {(oven, kind): theirs[kind] - ours[kind] for kind in ours}
    return explained
