"""One row of figures per flow: what the table shows and the verdict weighs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from framewire import stats
from framewire.playout import pauses, play, replayed
from framewire.psnr import CAP_DB
from framewire.report import plot_data
from framewire.report.data import Flow, ReportRun
from framewire.report.palette import Look
from framewire.report.psnr import PsnrResult
from framewire.transports import EXTERNAL, fetches_file, may_drop


@dataclass(frozen=True)
class Metrics:
    """Figures of one flow; None is "not measured"."""

    flow: str
    transport: str
    look: Look
    frames: int
    shown: int
    late: int
    undecodable: int
    lost: int
    by_type: dict[str, tuple[int, int]]
    """I, P, B -> (lost, all)."""
    by_place: dict[str, int]
    """Frames lost at each of the five places."""
    longest_freeze_s: float
    """Of live viewing."""
    live_shown: int
    """Frames that live viewing shows in time: those of fate `shown`, or fewer where the run's player waited."""
    not_offered: int = 0
    """Frames that a partial run ended before; in no other figure."""
    causes: dict[tuple[str, str], int] = field(default_factory=dict)
    """Place and rule or event of a root cause -> the frames, lost or undecodable, that go back to it."""
    duration_s: float | None = None
    frame_throughput_bps: float | None = None
    packet_throughput_bps: float | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    unseen_latency_ms: float = 0.0
    """What an application took for its first packet, from which its latencies count: their true values are up to so
    much larger."""
    jitter_mean_ms: float | None = None
    stalls: int | None = None
    stalled_s: float | None = None
    longest_pause_s: float | None = None
    """Of a run whose player waits; None of one that shows live."""
    fills_again: bool = False
    """The player fills its buffer in a pause, rather than to go on with each frame."""
    shed_bytes: int | None = None
    wasted_bytes: int | None = None
    useless_bytes: int | None = None
    retransmissions: int | None = None
    timeouts: int | None = None
    srtt_mean_ms: float | None = None
    level_mean: float | None = None
    level_switches: int | None = None
    shown_bps: float | None = None
    """Of a stream of levels: bits of the frames shown in time, over the length of all its frames."""
    usable_bps: float | None = None
    """The same of all frames that could be decoded, in time or not."""
    sound_shown: int | None = None
    """Packets of sound that came in time; None where none was sent."""
    sound_late: int | None = None
    sound_lost: int | None = None
    sound_wait_max_ms: float | None = None
    """The longest that sound waited for what was being sent."""
    sound_p50_ms: float | None = None
    """From when packets of sound were due at the sender to their arrival, of those that came: the median, then the 95th
    percentile and the longest."""
    sound_p95_ms: float | None = None
    sound_max_ms: float | None = None
    apart_ms: float | None = None
    """How far sound and picture were apart in the second in which that was most; above zero the sound was later."""
    stuffing_percent: float | None = None
    """Of a transport stream of constant rate, how much of it was null packets."""
    startup_s: float | None = None
    """From when the receiver asks for the movie, or the sender begins, to the first picture."""
    psnr_mean_db: float | None = None
    psnr_pooled_db: float | None = None

    as_decoded_psnr_db: float | None = None
    """Mean, with damaged frames concealed instead of discarded; where `framewire score` was asked, as the next four."""
    as_decoded_ssim: float | None = None
    as_decoded_vmaf: float | None = None
    """Where there was an ffmpeg that has it, as the one without concealment."""
    ssim: float | None = None
    vmaf: float | None = None

    @property
    def never_dropped(self) -> bool:
        """It has a queue that gives frames up, and that did not have to."""
        return may_drop(self.transport) and self.frames > 0 and not self.by_place.get("sender-pipeline")

    def share(self, count: int) -> float:
        """Per cent of the movie's frames (those that were offered)."""
        return 100 * count / self.frames if self.frames else 0.0

    def sound_share(self, count: int | None) -> float | None:
        """Per cent of the packets of sound (those that were offered)."""
        offered = sum(one or 0 for one in (self.sound_shown, self.sound_late, self.sound_lost))
        return None if count is None or not offered else 100 * count / offered

    @property
    def shown_share(self) -> float:
        """Per cent of frames shown in time."""
        return self.share(self.shown)

    @property
    def live_share(self) -> float:
        """Per cent of frames shown in time by live viewing."""
        return self.share(self.live_shown)

    @property
    def decodable_share(self) -> float:
        """Per cent of frames that could be decoded, in time or not."""
        return self.share(self.shown + self.late)

    @property
    def has_levels(self) -> bool:
        """It chose among the levels of a ladder."""
        return self.shown_bps is not None

    @property
    def is_file(self) -> bool:
        """It fetched a file that was there from the beginning, ahead of the time at which its frames were due."""
        return fetches_file(self.transport)

    @property
    def causes_by_place(self) -> dict[str, dict[str, int]]:
        """The causes place by place; the place to which most frames go back, and its most frequent cause, is first."""
        places: dict[str, dict[str, int]] = {}
        for (place, cause), count in sorted(self.causes.items(), key=lambda one: (-one[1], one[0])):
            places.setdefault(place, {})[cause] = count
        return dict(sorted(places.items(), key=lambda one: -sum(one[1].values())))


SUMMARY_FIELDS = (
    "duration_s", "frame_throughput_bps", "packet_throughput_bps", "latency_p50_ms", "latency_p95_ms",
    "jitter_mean_ms", "stalls", "stalled_s", "shed_bytes", "wasted_bytes", "useless_bytes",
    "retransmissions", "timeouts", "srtt_mean_ms", "level_mean", "level_switches",
    "sound_shown", "sound_late", "sound_lost", "sound_wait_max_ms",
)  # fmt: skip


def metrics(run: ReportRun, flow: Flow, psnr: PsnrResult) -> Metrics:
    """Figures of one flow: counts from the ledger, the rest from the summary."""
    ledger = run.offered_ledger(flow)
    rate = run.rate_of(flow)
    whole, viewer = run.ledger(flow), replace(run.player(flow), policy="live")
    live = whole if viewer == run.player(flow) else replayed(whole, viewer)
    fates = counts(ledger, "fate")
    lost = pl.col("fate") == "lost"
    lost_of, all_of = counts(ledger, "type", lost), counts(ledger, "type")
    rest = plot_data.summary_row(run, flow)
    return Metrics(
        flow=flow.name,
        transport=flow.transport,
        look=flow.look,
        frames=ledger.height,
        shown=fates.get("shown", 0),
        late=fates.get("late", 0),
        undecodable=fates.get("undecodable", 0),
        lost=fates.get("lost", 0),
        by_type={kind: (lost_of.get(kind, 0), all_of.get(kind, 0)) for kind in "IPB"},
        by_place=counts(ledger, "root_cause_place", lost & pl.col("root_cause_place").is_not_null()),
        causes=causes(ledger),
        longest_freeze_s=play(whole, viewer).longest_freeze(ledger["display"]) / rate,
        live_shown=counts(live, "fate").get("shown", 0),
        not_offered=run.not_offered(flow),
        longest_pause_s=longest_pause_s(run, flow),
        psnr_mean_db=psnr.mean_db(flow),
        psnr_pooled_db=psnr.pooled_db(flow),
        fills_again=run.high_mark_s > 0,
        startup_s=startup_s(run, flow),
        stuffing_percent=stuffing_percent(run, flow),
        apart_ms=most_apart_ms(run, flow),
        unseen_latency_ms=unseen_latency_ms(run, flow),
        shown_bps=bit_rate(live, ["shown"], ledger.height / rate) if flow.is_adaptive else None,
        usable_bps=bit_rate(ledger, ["shown", "late"], ledger.height / rate) if flow.is_adaptive else None,
        **sound_latencies(run, flow),
        **as_decoded(run, flow),
        **{field: rest.get(field) for field in SUMMARY_FIELDS},
    )


def longest_pause_s(run: ReportRun, flow: Flow) -> float | None:
    """The longest time that the run's player stood still, where it waits."""
    player = run.player(flow)
    if player.policy == "live":
        return None
    return max((one.until_s - one.from_s for one in pauses(run.offered_ledger(flow), player)), default=0.0)


def startup_s(run: ReportRun, flow: Flow) -> float | None:
    """How long a viewer waits for the first picture; None where none was shown, or the beginning is not known."""
    if not run.ledger(flow)["fate"].eq("shown").any():
        return None
    first = run.ledger(flow).select((pl.col("arrival_ns") - pl.col("arrival_rel_ns")).min()).item()
    if first is None or flow.start_s is None or flow.transport == EXTERNAL:
        return None
    return float(first) / 1e9 - flow.start_s + run.player(flow).startup_s


def stuffing_percent(run: ReportRun, flow: Flow) -> float | None:
    """How much of what the sender's socket took of a transport stream of constant rate was null packets."""
    entry = run.entry(flow)
    stuffing, of = entry.get("stuffing_bytes"), entry.get("transport_stream_bytes")
    return 100 * stuffing / of if isinstance(stuffing, int) and isinstance(of, int) and of > 0 else None


def as_decoded(run: ReportRun, flow: Flow) -> dict[str, Any]:
    """What `framewire score` found."""
    if not {"flow", "as_decoded", "psnr_db", "ssim"} <= {*run.as_decoded.columns}:
        return {}
    rows = run.as_decoded.filter(pl.col("flow") == flow.name)
    discarded, concealed = rows.filter(~pl.col("as_decoded")), rows.filter(pl.col("as_decoded"))
    mean_vmaf = pl.col("vmaf").mean() if "vmaf" in rows.columns else pl.lit(None)
    return {
        "as_decoded_vmaf": concealed.select(mean_vmaf).item(),
        "vmaf": discarded.select(mean_vmaf).item(),
        "as_decoded_psnr_db": concealed.select(pl.col("psnr_db").clip(upper_bound=CAP_DB).mean()).item(),
        "as_decoded_ssim": concealed.select(pl.col("ssim").mean()).item(),
        "ssim": discarded.select(pl.col("ssim").mean()).item(),
    }


def sound_latencies(run: ReportRun, flow: Flow) -> dict[str, Any]:
    """How late sound arrived: percentiles by nearest rank, as of the summary (docs/results.md)."""
    if "latency_ns" not in run.sound.columns:
        return {}
    came = run.sound.filter(pl.col("flow") == flow.name)["latency_ns"].drop_nulls() / 1e6
    percents = {"p50": 50, "p95": 95, "max": 100}
    return {f"sound_{name}_ms": stats.percentile(came.to_list(), share) for name, share in percents.items()}


def counts(ledger: pl.DataFrame, column: str, of: pl.Expr | None = None) -> dict[str, int]:
    """How many frames there are with each value of a column, of all or of some."""
    asked = ledger.lazy() if of is None else ledger.lazy().filter(of)
    return dict(asked.group_by(column, maintain_order=True).len().collect().iter_rows())


def causes(ledger: pl.DataFrame) -> dict[tuple[str, str], int]:
    """How many lost and undecodable frames go back to each root cause; of some it may not be known."""
    root = ["root_cause_place", "root_cause"]
    known = ledger.filter(pl.col("fate").is_in(["lost", "undecodable"]) & pl.all_horizontal(pl.col(root).is_not_null()))
    rows = known.group_by(root, maintain_order=True).len().iter_rows()
    return {(place, cause): count for place, cause, count in rows}


def bit_rate(ledger: pl.DataFrame, fates: list[str], seconds: float) -> float:
    """Bits of the frames of these fates per second of the movie."""
    size = ledger.filter(pl.col("fate").is_in(fates))["size"].cast(pl.Int64).sum()
    return 8 * float(size) / seconds if seconds else 0.0


def unseen_latency_ms(run: ReportRun, flow: Flow) -> float:
    """When the first frame of an application was due that paces itself: with its first packet."""
    ledger = run.ledger(flow)
    if flow.transport != EXTERNAL or "due_ns" not in ledger.columns:
        return 0.0
    first = ledger["due_ns"].min()
    return max(0.0, first / 1e6) if isinstance(first, int) else 0.0


def most_apart_ms(run: ReportRun, flow: Flow) -> float | None:
    """How far sound and picture are apart in the second in which that is most; None where there is no sound."""
    rows = plot_data.apart(run, flow)
    return max(rows["apart_ms"].to_list(), key=abs) if rows.height else None
