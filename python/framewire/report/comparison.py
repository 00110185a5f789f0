"""The comparison table: one row per flow, the best value of each column marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framewire.psnr import CAP_DB
from framewire.report.metrics import Metrics
from framewire.report.verdict_reasons import FEW_SHARE
from framewire.report.verdict_text import percent

FAR_BEHIND = 0.5
"""A flow that shows less than this part of what the best one shows wins no column that few frames would win."""
MOST_COLUMNS = 21
"""Of one table: as many as a window of 1,280 pixels has room for."""
NOT_MEASURED = "\N{EN DASH}"
Value = Callable[[Metrics], float | None]


@dataclass(frozen=True)
class Column:
    """A figure, its unit, and which end is good (None: neither)."""

    title: str
    unit: str
    value: Value
    more_is_better: bool | None
    text: Callable[[float], str]
    meaning: str
    of_arrived: bool = False
    """Worked out from the frames that arrived, or that came so far: few and quick ones would win it."""
    of_live: bool = False
    """A file, which is fetched ahead of the time of its frames as fast as it goes, does not compete."""
    floor: float | None = None
    """Less than this is not better: a stream that is sent ahead of its time has latencies below zero."""

    def judged(self, one: Metrics) -> float | None:
        """What flows are compared by."""
        value = self.value(one)
        return value if value is None or self.floor is None else max(value, self.floor)


@dataclass(frozen=True)
class Cell:
    """One figure as shown; `value` is what the column is sorted by."""

    text: str
    value: float | None
    best: bool


def number(digits: int) -> Callable[[float], str]:
    """Fixed digits; an infinite value in words."""
    return lambda value: "undamaged" if value == float("inf") else f"{value:,.{digits}f}"


def share_text(value: float) -> str:
    """A share without its unit."""
    return percent(value).removesuffix(" %")


def lost_of(kind: str) -> Value:
    """Per cent of the frames of a type that were lost."""

    def value(one: Metrics) -> float | None:
        lost, total = one.by_type.get(kind, (0, 0))
        return 100 * lost / total if total else None

    return value


def scaled(value: float | None, divisor: float) -> float | None:
    """A figure in a larger unit."""
    return None if value is None else value / divisor


LONGEST_FREEZE = Column("longest freeze", "s", lambda m: m.longest_freeze_s, False, number(2),
                        "longest time that one picture stood in place of others (live viewing)")  # fmt: skip
LONGEST_PAUSE = Column("longest pause", "s", lambda m: m.longest_pause_s, False, number(2),
                       "longest time that the player, which waits, stood still", True)  # fmt: skip

COLUMNS: Sequence[Column] = (
    Column("shown", "%", lambda m: m.shown_share, True, share_text,
           "frames shown; of a player that does not wait, those in time"),
    Column("lost I", "%", lost_of("I"), False, share_text, "I frames that did not arrive whole"),
    Column("lost P", "%", lost_of("P"), False, share_text, "P frames that did not arrive whole"),
    Column("lost B", "%", lost_of("B"), False, share_text, "B frames that did not arrive whole"),
    Column("late", "%", lambda m: m.share(m.late), False, share_text, "frames that came after their deadline", True),
    Column("undecod.", "%", lambda m: m.share(m.undecodable), False, share_text,
           "frames that arrived whole but refer to a missing one", True),
    LONGEST_FREEZE,
    Column("PSNR mean", "dB", lambda m: m.psnr_mean_db, True, number(1),
           f"mean over all frames; a missing one is scored as the last one shown, an undamaged one as {CAP_DB:g} dB"),
    Column("PSNR pooled", "dB", lambda m: m.psnr_pooled_db, True, number(1),
           "PSNR of the mean squared error of the whole movie: no cap is involved"),
    Column("latency p50", "ms", lambda m: m.latency_p50_ms, False, number(0),
           "median latency of the frames that came; below 0 it came ahead of its time, which is no better than 0. "
           "A file that is fetched (http) has none of a live source, and is not marked",
           True, True, 0.0),
    Column("latency p95", "ms", lambda m: m.latency_p95_ms, False, number(0), "95th percentile of the same",
           True, True, 0.0),
    Column("jitter", "ms", lambda m: m.jitter_mean_ms, False, number(1), "mean of the RFC 3550 estimator", True),
    Column("start-up", "s", lambda m: m.startup_s, False, number(2),
           "from when the receiver asks for the movie, or the sender begins, to the first picture: what opens the "
           "stream, the way to the receiver and the player's start-up delay"),
    Column("pauses", "", lambda m: m.stalls, False, number(0),
           "times that a player which waits for every frame that can be decoded stands still. Where [playout] has no "
           "high_mark, it goes on with each frame that comes, so that there are hundreds a minute on a slow link; with "
           "one it fills its buffer again before it goes on, as real players do", True),
    Column("waits", "s", lambda m: m.stalled_s, False, number(1), "time that such a player stands still, in all", True),
    Column("duration", "s", lambda m: m.duration_s, None, number(1), "from the first to the last frame that arrived"),
    Column("throughput", "Mbit/s", lambda m: scaled(m.frame_throughput_bps, 1e6), True, number(2),
           "bits of complete frames over the duration. A file that is fetched (http) comes as fast as the network "
           "carries it, and is not marked", of_live=True),
    Column("wasted", "kB", lambda m: scaled(m.wasted_bytes, 1e3), False, number(0),
           "arrived, but of incomplete or undecodable frames", True),
)  # fmt: skip


CONNECTION: Sequence[Column] = (
    Column("resent", "packets", lambda m: m.retransmissions, None, number(0), "packets that TCP sent again"),
    Column("timeouts", "", lambda m: m.timeouts, None, number(0), "retransmission timeouts of TCP that expired"),
    Column("SRTT", "ms", lambda m: m.srtt_mean_ms, None, number(1), "mean of TCP's smoothed round-trip time"),
)

CONSTANT_RATE: Sequence[Column] = (
    Column("stuffing", "%", lambda m: m.stuffing_percent, None, share_text,
           "null packets, of all bytes of the transport stream that left: what a constant rate (ts_rate) has beside "
           "frames, sound, headers and clocks"),
)  # fmt: skip

LEVELS: Sequence[Column] = (
    Column("level", "", lambda m: m.level_mean, True, number(2), "mean level of the frames shown, from 0", True),
    Column("bit rate shown", "kbit/s", lambda m: scaled(m.shown_bps, 1e3), True, number(0),
           "bits of the frames shown in time, over the length of the movie"),
    Column("switches", "", lambda m: m.level_switches, False, number(0),
           "how often frames came from another level than the frame before", True),
)  # fmt: skip

AS_DECODED: Sequence[Column] = (
    Column("SSIM", "", lambda m: m.ssim, True, number(3), "structural similarity of the same pictures to those sent"),
    Column("VMAF", "", lambda m: m.vmaf, True, number(1),
           "the same by VMAF, from 0 to 100; it is there where an ffmpeg with the filter libvmaf was"),
    Column("decoded PSNR", "dB", lambda m: m.as_decoded_psnr_db, True, number(1),
           "as PSNR mean, with damaged frames handed on and concealed by FFmpeg's decoder instead of discarded"),
    Column("decoded SSIM", "", lambda m: m.as_decoded_ssim, True, number(3), "structural similarity of the same"),
    Column("decoded VMAF", "", lambda m: m.as_decoded_vmaf, True, number(1), "VMAF of the same, from 0 to 100"),
)  # fmt: skip

SOUND: Sequence[Column] = (
    Column("sound lost", "%", lambda m: m.sound_share(m.sound_lost), False, share_text,
           "packets of sound that did not arrive whole"),
    Column("sound late", "%", lambda m: m.sound_share(m.sound_late), False, share_text,
           "packets of sound that came after their deadline"),
    Column("sound waits", "ms", lambda m: m.sound_wait_max_ms, False, number(1),
           "the longest that a packet of sound waited in the lab's queue for what was being written, as a large I "
           "frame. What it waits in the socket's send buffer, in devices and in the network is not in it, so that 0 "
           "does not mean that sound was in time: the next columns have all of it", of_live=True),
    Column("sound p50", "ms", lambda m: m.sound_p50_ms, False, number(0),
           "median time from when sound was due at the sender to its arrival, all waiting included. A file that is "
           "fetched (http) has none of a live source, and is not marked", True, True, 0.0),
    Column("sound p95", "ms", lambda m: m.sound_p95_ms, False, number(0), "95th percentile of the same",
           True, True, 0.0),
    Column("sound max", "ms", lambda m: m.sound_max_ms, False, number(0), "the longest of the same",
           True, True, 0.0),
    Column("apart", "ms", lambda m: m.apart_ms, None, number(0),
           "how far the mean latencies of sound and picture were apart in the second in which that was most: below 0 "
           "the picture was later"),
)  # fmt: skip

NOT_OFFERED = Column("not offered", "frames", lambda m: m.not_offered, None, number(0),
                       "frames of the movie that the run ended before; they are in no other column")  # fmt: skip


def columns(flows: Sequence[Metrics]) -> Sequence[Column]:
    """The columns of a run: the longest pause of a player that waits in place of the longest freeze, those of TCP where
    there is a connection; what only a partial run has is the last."""
    waits = any(one.longest_pause_s is not None for one in flows)
    shown = [LONGEST_PAUSE if waits and column is LONGEST_FREEZE else column for column in COLUMNS]
    others = (*AS_DECODED, *SOUND, *CONSTANT_RATE, *LEVELS, *CONNECTION)
    measured = [column for column in others if any(column.value(one) is not None for one in flows)]
    return (*shown, *measured, *([NOT_OFFERED] if any(one.not_offered for one in flows) else ()))


def tables(flows: Sequence[Metrics]) -> list[tuple[Sequence[Column], list[tuple[Metrics, list[Cell]]]]]:
    """Columns and rows of one table, or of two where one is too wide for a window: what every run has, and the rest."""
    shown, made = columns(flows), rows(flows)
    first = len(shown) if len(shown) <= MOST_COLUMNS else len(COLUMNS)
    parts = [part for part in (slice(0, first), slice(first, None)) if shown[part]]
    return [(shown[part], [(one, cells[part]) for one, cells in made]) for part in parts]


def rows(flows: Sequence[Metrics]) -> list[tuple[Metrics, list[Cell]]]:
    """Cells of all flows; a best value is marked when not all flows share it.

    In columns that few frames would win, flows that brought less than `FEW_SHARE` of them, or showed less than
    `FAR_BEHIND` of what the best one shows, do not compete.
    """
    made: list[tuple[Metrics, list[Cell]]] = [(one, []) for one in flows]
    for column in columns(flows):
        values = [column.value(one) for one in flows]
        texts = [(NOT_MEASURED if value is None else column.text(value)) for value in values]
        marks = _best(column, flows)
        for (_, cells), value, text, best in zip(made, values, texts, marks, strict=True):
            cells.append(Cell(text, value, best))
    return made


def without_marks(flows: Sequence[Metrics]) -> list[str]:
    """Which flows do not compete in which columns, and why: a sentence for each kind, as far as a run has it."""
    known = [one for one in columns(flows) if one.more_is_better is not None]
    few = [one.flow for one in flows if not _brings_enough(one, flows)]
    fetched = [one.flow for one in flows if one.is_file]
    said = []
    if few and len(few) < len(flows):
        titles = ", ".join(one.title for one in known if one.of_arrived)
        why = "less than half of the frames came, or were shown less than half as many as of the best"
        said.append(f"Not marked in {titles}, which few and quick frames would win: {', '.join(few)} ({why}).")
    if fetched and len(fetched) < len(flows):
        titles = ", ".join(one.title for one in known if one.of_live)
        said.append(f"Not marked in {titles}, as a file that is sent ahead of its time: {', '.join(fetched)}.")
    return said


def _brings_enough(one: Metrics, flows: Sequence[Metrics]) -> bool:
    """Whether a flow competes where few frames would win."""
    most = max(other.shown_share for other in flows)
    return one.decodable_share >= FEW_SHARE and one.shown_share >= FAR_BEHIND * most


def _best(column: Column, flows: Sequence[Metrics]) -> list[bool]:
    """Which flows are marked: those that read the same as the best one, unless that is all of them."""
    judged = [column.judged(one) for one in flows]
    texts = [NOT_MEASURED if value is None else column.text(value) for value in judged]
    competes = [
        (not column.of_arrived or _brings_enough(one, flows)) and not (column.of_live and one.is_file) for one in flows
    ]
    known = [value for value, may in zip(judged, competes, strict=True) if value is not None and may]
    if column.more_is_better is None or not known or len(set(texts)) == 1:
        return [False] * len(flows)
    best = column.text((max if column.more_is_better else min)(known))
    return [may and text == best for text, may in zip(texts, competes, strict=True)]
