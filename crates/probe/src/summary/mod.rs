//! One row per flow: the quantities of the thesis, and what a player would have done.

mod air;
mod connection;
mod levels;
mod player;
mod statistics;
#[cfg(test)]
mod tests;

use framewire_units::Duration;
use serde::Serialize;

pub use air::{AirShares, Delivered, Sniffed, Transmissions};
pub use connection::Connection;
pub use levels::Levels;
pub use player::Stalls;
pub use statistics::LossRuns;

use crate::ledger::{Fate, FrameRow, Ledger};
use crate::record::{FlowLog, Place, Playout};
use statistics::{mean, nearest_rank};

/// What one flow came to. Fields are the columns of `summary.parquet` and described in `docs/results.md`. What concerns
/// frames is `None` for a bulk flow, which has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the flow.
    pub flow: String,
    /// Name of its transport.
    pub transport: String,
    /// `complete`, `partial` or `failed`.
    pub status: &'static str,
    /// Bits of the movie over its duration.
    pub movie_bitrate_bps: Option<u64>,
    /// Frames of the movie.
    pub frames: Option<u32>,
    /// Frames by fate.
    pub fates: Option<FateCounts>,
    /// Frames, and lost frames, by type.
    pub types: Option<TypeCounts>,
    /// Lost frames by the place of their root cause.
    pub places: Option<PlaceCounts>,
    /// First to last arrival of a frame, plus one frame interval, in seconds; of a bulk flow, from its start to its end.
    pub duration_s: Option<f64>,
    /// Bits of complete frames over the duration.
    pub frame_throughput_bps: Option<f64>,
    /// Bits of UDP or TCP payload that arrived, over the duration.
    pub packet_throughput_bps: Option<f64>,
    /// Datagrams that were offered to the socket; `None` on a byte stream.
    pub packets_sent: Option<u32>,
    /// Of them, those that did not arrive.
    pub packets_lost: Option<u32>,
    /// Runs of successive datagrams that did not arrive; `None` on a byte stream.
    pub packet_runs: Option<LossRuns>,
    /// Runs of successive frames (in decode order) that are lost.
    pub frame_runs: Option<LossRuns>,
    /// Latency of the frames that arrived, in milliseconds: percentiles 50, 95 and 99, and the largest.
    pub latency_ms: Option<[f64; 4]>,
    /// Jitter in milliseconds: mean and largest.
    pub jitter_ms: Option<[f64; 2]>,
    /// What a player that waits would have done.
    pub stalls: Option<Stalls>,
    /// Bytes dropped by the sending pipeline.
    pub shed_bytes: Option<u64>,
    /// Bytes that arrived but could not be decoded: of frames lost or undecodable.
    pub wasted_bytes: Option<u64>,
    /// Bytes of frames that came too late.
    pub useless_bytes: Option<u64>,
    /// From which levels of the ladder its frames came; `None` where there is none.
    pub levels: Option<Levels>,
    /// What its TCP connection went through.
    pub connection: Connection,
    /// Transmissions of the packets that the sender's device sent; `None` when there were none.
    pub transmissions: Option<Transmissions>,
    /// The same as the sniffer saw it; `None` without a sniffer.
    pub sniffed: Option<Sniffed>,
}

/// Frames by fate; they sum to the number of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FateCounts {
    /// Arrived whole, decodable and in time.
    pub shown: u32,
    /// Decodable but after the deadline.
    pub late: u32,
    /// Arrived whole, a reference is missing.
    pub undecodable: u32,
    /// Did not arrive whole.
    pub lost: u32,
}

/// Frames, and lost frames, by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TypeCounts {
    /// I frames of the movie.
    pub frames_i: u32,
    /// P frames of the movie.
    pub frames_p: u32,
    /// B frames of the movie.
    pub frames_b: u32,
    /// I frames lost.
    pub lost_i: u32,
    /// P frames lost.
    pub lost_p: u32,
    /// B frames lost.
    pub lost_b: u32,
}

/// Lost frames by the place of their root cause; they sum to the number of lost frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlaceCounts {
    /// Dropped on purpose by the sending pipeline.
    pub sender_pipeline: u32,
    /// No room in the sender's socket or device queue.
    pub sender_socket: u32,
    /// Lost on the link.
    pub link: u32,
    /// No room in the queue of a node in between.
    pub intermediate_queue: u32,
    /// Lost by the receiving pipeline.
    pub receiver_pipeline: u32,
}

impl Summary {
    /// Sums up a flow.
    pub fn build(ledger: &Ledger, log: &FlowLog, playout: &Playout) -> Self {
        let rows = &ledger.rows;
        let datagrams = !log.datagrams_sent.is_empty();
        let interval = frame_interval(rows);
        let duration =
            log.bulk.map_or_else(|| duration(rows, interval), |bulk| Some(bulk.end.saturating_since(bulk.start)));
        let duration_s = duration.map(|duration| duration.as_secs_f64());
        let over_duration = |bytes: u64| duration_s.filter(|&seconds| seconds > 0.0).map(|s| bytes as f64 * 8.0 / s);
        let arrived = air::datagrams_arrived(log);
        let has_frames = log.bulk.is_none();
        Self {
            flow: log.flow.clone(),
            transport: log.transport.clone(),
            status: log.status.name(),
            movie_bitrate_bps: movie_bitrate(rows, interval),
            frames: has_frames.then(|| count(rows, |_| true)),
            fates: has_frames.then(|| fate_counts(rows)),
            types: has_frames.then(|| type_counts(rows)),
            places: has_frames.then(|| place_counts(rows)),
            duration_s,
            frame_throughput_bps: over_duration(bytes(rows, |row| row.complete)).filter(|_| has_frames),
            packet_throughput_bps: air::payload_arrived(log).and_then(over_duration),
            packets_sent: datagrams.then_some(arrived.len() as u32),
            packets_lost: datagrams.then(|| arrived.iter().filter(|&&arrived| !arrived).count() as u32),
            packet_runs: datagrams.then(|| LossRuns::of(arrived.iter().map(|&arrived| !arrived))),
            frame_runs: has_frames.then(|| LossRuns::of(rows.iter().map(|row| row.fate == Fate::Lost))),
            latency_ms: latency(rows),
            jitter_ms: jitter(rows),
            stalls: player::play(ledger, &log.frames, playout.startup),
            shed_bytes: has_frames.then(|| rows.iter().map(|row| row.bytes_shed).sum()),
            wasted_bytes: has_frames.then(|| received(rows, |fate| matches!(fate, Fate::Lost | Fate::Undecodable))),
            useless_bytes: has_frames.then(|| received(rows, |fate| fate == Fate::Late)),
            levels: Levels::of(rows),
            connection: Connection::of(&log.samples),
            transmissions: Transmissions::of(log),
            sniffed: Sniffed::of(log),
        }
    }
}

fn count(rows: &[FrameRow], matches: impl Fn(&FrameRow) -> bool) -> u32 {
    rows.iter().filter(|row| matches(row)).count() as u32
}

fn bytes(rows: &[FrameRow], matches: impl Fn(&FrameRow) -> bool) -> u64 {
    rows.iter().filter(|row| matches(row)).map(|row| u64::from(row.size)).sum()
}

fn received(rows: &[FrameRow], matches: impl Fn(Fate) -> bool) -> u64 {
    rows.iter().filter(|row| matches(row.fate)).map(|row| row.bytes_received).sum()
}

fn fate_counts(rows: &[FrameRow]) -> FateCounts {
    let of = |fate| count(rows, |row| row.fate == fate);
    FateCounts {
        shown: of(Fate::Shown),
        late: of(Fate::Late),
        undecodable: of(Fate::Undecodable),
        lost: of(Fate::Lost),
    }
}

fn type_counts(rows: &[FrameRow]) -> TypeCounts {
    let all = |kind| count(rows, |row| row.kind == kind);
    let lost = |kind| count(rows, |row| row.kind == kind && row.fate == Fate::Lost);
    TypeCounts {
        frames_i: all('I'),
        frames_p: all('P'),
        frames_b: all('B'),
        lost_i: lost('I'),
        lost_p: lost('P'),
        lost_b: lost('B'),
    }
}

fn place_counts(rows: &[FrameRow]) -> PlaceCounts {
    let at = |place| {
        let caused = |row: &FrameRow| row.root_cause.as_ref().is_some_and(|cause| cause.place == place);
        count(rows, |row| row.fate == Fate::Lost && caused(row))
    };
    PlaceCounts {
        sender_pipeline: at(Place::SenderPipeline),
        sender_socket: at(Place::SenderSocket),
        link: at(Place::Link),
        intermediate_queue: at(Place::IntermediateQueue),
        receiver_pipeline: at(Place::ReceiverPipeline),
    }
}

/// Mean time from one frame to the next, from the first to the last due time; `None` for fewer than two frames.
fn frame_interval(rows: &[FrameRow]) -> Option<Duration> {
    let (first, last) = (rows.first()?, rows.last()?);
    let gaps = u32::try_from(rows.len() - 1).ok().filter(|&gaps| gaps > 0)?;
    Some(last.due.saturating_since(first.due) / gaps)
}

fn movie_bitrate(rows: &[FrameRow], interval: Option<Duration>) -> Option<u64> {
    let duration = interval?.checked_mul(u32::try_from(rows.len()).ok()?)?.as_secs_f64();
    (duration > 0.0).then(|| (bytes(rows, |_| true) as f64 * 8.0 / duration).round() as u64)
}

fn duration(rows: &[FrameRow], interval: Option<Duration>) -> Option<Duration> {
    let arrivals = || rows.iter().filter_map(|row| row.arrival);
    Some(arrivals().max()?.saturating_since(arrivals().min()?) + interval.unwrap_or_default())
}

fn milliseconds(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}

fn latency(rows: &[FrameRow]) -> Option<[f64; 4]> {
    let mut latencies: Vec<i64> = rows.iter().filter_map(|row| row.latency_nanos).collect();
    latencies.sort_unstable();
    let percentile = |percent| nearest_rank(&latencies, percent).map(milliseconds);
    Some([percentile(50)?, percentile(95)?, percentile(99)?, percentile(100)?])
}

fn jitter(rows: &[FrameRow]) -> Option<[f64; 2]> {
    let jitters: Vec<f64> = rows.iter().filter_map(|row| row.jitter_nanos).map(milliseconds).collect();
    Some([mean(jitters.iter().copied())?, jitters.iter().copied().fold(0.0, f64::max)])
}
