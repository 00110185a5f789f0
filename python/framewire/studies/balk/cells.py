"""The numbers of each run, from the tables of the campaign's cells: the ledger, the summary and the rates."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, count, islice, takewhile
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from framewire import playout
from framewire.campaign.results import Campaign
from framewire.playout import Player
from framewire.studies.balk.clips import Clip
from framewire.studies.balk.plan import PLAYOUT_DELAY_S, STREAM
from framewire.studies.balk.sending_plans import rates_by_frame

__all__ = ["PAYLOAD", "Place", "documents", "packets_per_second"]

PAYLOAD = 1_000
"""Bytes of video in a packet: the paper's kbyte (section 6.1), taken as 1,000."""

STEADY_AFTER_S = 10.0
"""Figure 20 is of a steady state: what is reported of rates is from the tenth second of the stream on."""

Place = tuple[str, int]
"""Label of the setting, and number of the repeat from 1."""

_CELLS = 16
"""Cells whose tables are read at a time: many together are read faster than one by one."""
_PATH = "path of the table"
_PLAYED = ("display", "display_ns", "arrival_ns", "arrival_rel_ns")
_FRAMES = (*_PLAYED, "level", "deadline_ns", "first_byte_ns", "last_byte_ns", "bytes_received")
_RATES = (
    "flow", "connection", "at_ns", "received_bytes", "received_packet_bytes", "sending_rate_bps", "estimate_bps",
    "lowest_plan_bps", "highest_plan_bps", "level", "round_trip_ns", "loss_event_rate",
)  # fmt: skip


def documents(
    results: Campaign, clips: Mapping[str, Clip], shown: set[Place]
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """What came of each run; of those that are ``shown`` also their course over time. ``clips`` has what was sent, by
    the label of the setting."""
    summaries = {(row["setting"], row["repeat"]): row for row in results.summary.iter_rows(named=True)
                 if row["flow"] == STREAM}  # fmt: skip
    cells = results.tables("frames", "rates")
    while some := list(islice(cells, _CELLS)):
        ledgers, rates = (
            _read([paths[which] for _, paths in some], columns) for which, columns in enumerate((_FRAMES, _RATES))
        )
        for at, (frames_path, rates_path) in some:
            place = (str(at.labels["setting"]), at.repeat)
            clip = clips[place[0]] if place in shown else None
            yield place, _document(summaries[place], ledgers[frames_path], rates[rates_path], clip)


def _read(paths: Sequence[Path], columns: Sequence[str]) -> dict[Path, pl.DataFrame]:
    """Columns of several tables; settings that come to the same scenario share a cell."""
    names = [str(path) for path in dict.fromkeys(paths)]
    table = pl.read_parquet(names, columns=[*columns, _PATH], glob=False, include_file_paths=_PATH)
    parts = table.partition_by(_PATH, maintain_order=True, include_key=False)
    return dict(zip(map(Path, table[_PATH].unique(maintain_order=True)), parts, strict=True))


def _document(
    summary: Mapping[str, Any], frames: pl.DataFrame, rates: pl.DataFrame, shown: Clip | None
) -> dict[str, Any]:
    """``shown`` is what was sent, where the course over time is wanted."""
    flows = rates.partition_by("flow", maintain_order=True, as_dict=True)
    stream = flows.pop((STREAM,)).to_dict(as_series=False)
    begin, end = _window(frames, stream)
    received, packets = (_Total(stream, column) for column in ("received_bytes", "received_packet_bytes"))
    return {
        "stream": {
            "begin_s": begin,
            "end_s": end,
            "finished": summary["status"] == "complete",
            "throughput_bps": packets.rate_bps(begin, end),
            "throughput_bps_by_second": packets.by_second_bps(begin, end),
            "video_bps": received.rate_bps(begin, end),
            "video_bps_by_second": received.by_second_bps(begin, end),
            "packets": {
                "sent": summary["packets_sent"],
                "delivered": summary["packets_sent"] - summary["packets_lost"],
            },
            "levels": _levels(frames),
            "fates": _fates(frames),
            "completed_s": None if shown is None else [None if at is None else at / 1e9 for at in frames["arrival_ns"]],
            "switches": summary["level_switches"],
            "least_over_floor": min(_ratios(stream, "lowest_plan_bps", begin), default=None),
            "rate_over_top": _mean(_ratios(stream, "highest_plan_bps", begin + STEADY_AFTER_S)),
            "tfrc_over_equation": _over_equation(stream, begin + STEADY_AFTER_S),
            "series": None if shown is None else _course(stream, frames, shown),
        },
        "tcp": [
            {
                "throughput_bps": _Total(one, "received_packet_bytes").rate_bps(begin, end),
                "goodput_bps": _Total(one, "received_bytes").rate_bps(begin, end),
            }
            for flow in flows.values()
            for one in _connections(flow)
        ],
    }


def _connections(rates: pl.DataFrame) -> Iterator[dict[str, NDArray[np.int64]]]:
    """The samples of each connection of a flow, in their order."""
    numbers = _numbers(rates, "connection")
    order = np.argsort(numbers, kind="stable")
    columns = {name: rates[name].to_numpy()[order] for name in ("at_ns", "received_bytes", "received_packet_bytes")}
    for rows in np.split(np.arange(len(order)), np.flatnonzero(np.diff(numbers[order])) + 1):
        yield {name: column[rows] for name, column in columns.items()}


def _window(frames: pl.DataFrame, stream: Mapping[str, Any]) -> tuple[float, float]:
    """From the stream's first packet of video to its last; the whole run where none left."""
    first, last = _numbers(frames, "first_byte_ns", np.inf), _numbers(frames, "last_byte_ns")
    left = first[first < np.inf]
    if not len(left):
        return 0.0, stream["at_ns"][-1] / 1e9
    return float(left.min()) / 1e9, float(max(left.max(), last.max())) / 1e9


def _levels(frames: pl.DataFrame) -> str:
    """The level of each frame of which something came, else ``-``."""
    digits = ord("0") + _numbers(frames, "level")
    return np.where(_numbers(frames, "bytes_received") > 0, digits, ord("-")).astype(np.uint8).tobytes().decode()


def _numbers(table: pl.DataFrame, column: str, null: float = -1) -> NDArray[np.float64]:
    """Whole numbers up to 2^53 and what stands for none."""
    numbers: NDArray[np.float64] = np.nan_to_num(table[column].to_numpy().astype(np.float64), nan=null)
    return numbers


def _fates(frames: pl.DataFrame) -> str:
    """Of each frame ``i`` in time, ``l`` late or ``x`` lost. The paper's player shows a frame that came whole and in
    time, whatever it refers to (section 6.5)."""
    in_time = playout.shown(frames, Player("live", PLAYOUT_DELAY_S, shows="whole")).to_numpy()
    came = _numbers(frames, "arrival_ns") >= 0
    fates = np.where(came, np.where(in_time, ord("i"), ord("l")), ord("x"))
    return fates.astype(np.uint8).tobytes().decode()


class _Total:
    """Bytes by time; between two samples they came evenly."""

    def __init__(self, samples: Mapping[str, Any], column: str) -> None:
        self._times = np.asarray(samples["at_ns"], dtype=float) / 1e9
        self._bytes = np.asarray(samples[column], dtype=float)

    def rate_bps(self, begin: float, end: float) -> float:
        """The mean rate between two times."""
        before, after = np.interp([begin, end], self._times, self._bytes)
        return float(after - before) * 8 / (end - begin) if end > begin else 0.0

    def by_second_bps(self, begin: float, end: float) -> list[float]:
        """In each whole second between two times."""
        edges = list(takewhile(lambda edge: edge <= end, (begin + second for second in count())))
        return [float(bits) for bits in np.diff(np.interp(edges, self._times, self._bytes)) * 8]


def _from(samples: Mapping[str, Any], time: float) -> slice:
    """The samples from a time on."""
    return slice(bisect_right(samples["at_ns"], time * 1e9), None)


def _ratios(samples: Mapping[str, Any], plan: str, time: float) -> list[float]:
    """The sending rate over what the plan asks for, from a time on."""
    place = _from(samples, time)
    pairs = zip(samples["sending_rate_bps"][place], samples[plan][place], strict=True)
    return [rate / planned for rate, planned in pairs if rate is not None and planned]


def _over_equation(samples: Mapping[str, Any], time: float) -> float | None:
    """The mean sending rate over that of the throughput equation at the mean loss event rate and round-trip time; None
    for a controller that knows no loss event rate."""
    place = _from(samples, time)
    losses, round_trips, rates = (
        _mean([value for value in samples[column][place] if value is not None])
        for column in ("loss_event_rate", "round_trip_ns", "sending_rate_bps")
    )
    if losses is None or round_trips is None or rates is None or losses == 0:
        return None
    return rates / (packets_per_second(round_trips / 1e9, losses) * PAYLOAD * 8)


def packets_per_second(round_trip_s: float, loss_event_rate: float) -> float:
    """The throughput equation of TFRC (RFC 5348, section 3.1) with b = 1 and t_RTO = 4 R.

    >>> round(packets_per_second(0.1, 0.01), 1)
    112.3
    """
    losses = loss_event_rate
    timeout_s = 4 * round_trip_s
    waits = timeout_s * 3 * math.sqrt(3 * losses / 8) * losses * (1 + 32 * losses**2)
    return 1 / (round_trip_s * math.sqrt(2 * losses / 3) + waits)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _course(stream: Mapping[str, Any], frames: pl.DataFrame, clip: Clip) -> dict[str, Any]:
    """Rates, levels and the client's buffer over time, while video is sent."""
    sent = [place for place, rate in enumerate(stream["sending_rate_bps"]) if rate is not None]
    times = [stream["at_ns"][place] for place in sent]
    plan = rates_by_frame(clip)
    left = [at for at in frames["first_byte_ns"] if at is not None]
    next_frame = [min(bisect_right(left, at), clip.frames - 1) for at in times]
    kbps = {
        key: [None if (rate := stream[f"{key}_bps"][place]) is None else rate / 1e3 for place in sent]
        for key in ("sending_rate", "estimate")
    }
    return {
        "t": [at / 1e9 for at in times],
        "rate_kbps": kbps["sending_rate"],
        "estimate_kbps": kbps["estimate"],
        "level": [stream["level"][place] for place in sent],
        "plan_kbps": [[level[frame] / 1e3 for level in plan] for frame in next_frame],
        "buffer_kb": _buffer_kb(frames, times),
    }


def _buffer_kb(frames: pl.DataFrame, times: Sequence[int]) -> list[float]:
    """Bytes of whole frames that have come and are not yet shown; what comes after its frame was due never waits."""
    whole = [
        (arrival, max(arrival, deadline), bytes_)
        for arrival, deadline, bytes_ in zip(
            frames["arrival_ns"], frames["deadline_ns"], frames["bytes_received"], strict=True
        )
        if arrival is not None and deadline is not None
    ]
    came, shown = (_steps([(one[edge], one[2]) for one in whole]) for edge in (0, 1))
    return [(_by(came, at) - _by(shown, at)) / 1e3 for at in times]


def _steps(changes: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Times in order, and the bytes by each."""
    ordered = sorted(changes)
    return [at for at, _ in ordered], [0, *accumulate(bytes_ for _, bytes_ in ordered)]


def _by(steps: tuple[list[int], list[int]], time: int) -> int:
    times, totals = steps
    return totals[bisect_right(times, time)]
