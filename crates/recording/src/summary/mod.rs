//! One row per flow: the quantities of the thesis, and what a player would have done.

mod air;
mod connection;
mod frames;
mod levels;
mod player;
mod sound;
mod statistics;
#[cfg(test)]
mod tests;

use framewire_units::{Duration, Playout};
use serde::Serialize;

pub use air::{AirShares, Delivered, Sniffed, Transmissions};
pub use connection::Connection;
pub(crate) use connection::ConnectionTotals;
pub use levels::Levels;
pub use player::Stalls;
pub use sound::Sound;
use sound::SoundTotals;
pub use statistics::LossRuns;

use crate::ledger::{Fate, Ledger};
use crate::record::FlowLog;
use air::{DatagramCounts, Payload};
use frames::{FrameTotals, Receiving};

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
    /// Bits of complete frames over the time from the first byte's arrival to the last frame's, plus one frame interval.
    pub frame_throughput_bps: Option<f64>,
    /// Bits of UDP or TCP payload that arrived, over the same time, or up to the last byte where that came later; where null
    /// packets fill a constant rate, up to the last byte; of a bulk flow over its duration.
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
    /// What became of its sound; `None` where none was sent.
    pub sound: Option<Sound>,
    /// What its TCP connection went through.
    pub connection: Connection,
    /// Transmissions of the packets that the sender's device or the access point sent; `None` when there were none.
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
    /// Not given to the transport: the run was ended before.
    pub not_offered: u32,
}

impl FateCounts {
    /// One more of this fate.
    fn count(&mut self, fate: Fate) {
        *match fate {
            Fate::Shown => &mut self.shown,
            Fate::Late => &mut self.late,
            Fate::Undecodable => &mut self.undecodable,
            Fate::Lost => &mut self.lost,
            Fate::NotOffered => &mut self.not_offered,
        } += 1;
    }

    /// Frames that arrived whole.
    pub fn whole(&self) -> u32 {
        self.shown + self.late + self.undecodable
    }

    /// Frames that the transport was given: what shares are of.
    pub(crate) fn offered(&self) -> u32 {
        self.whole() + self.lost
    }
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
    /// I frames that the transport was given.
    pub offered_i: u32,
    /// P frames that the transport was given.
    pub offered_p: u32,
    /// B frames that the transport was given.
    pub offered_b: u32,
    /// I frames lost.
    pub lost_i: u32,
    /// P frames lost.
    pub lost_p: u32,
    /// B frames lost.
    pub lost_b: u32,
}

/// Lost frames by the place of their root cause, where it is known: they sum to the number of lost frames, or to less where
/// packets were not looked at.
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
        let mut frames = FrameTotals::new(log);
        let mut sound = SoundTotals::new(log);
        for row in &ledger.rows {
            if row.track == 0 {
                frames.take(&row);
                sound.take_frame(&row);
            } else {
                sound.take(&row);
            }
        }
        frames.latencies.ready();
        let interval = frames.interval();
        let payload = Payload::arrived(log);
        let of_bulk = log.bulk.map(|bulk| bulk.end.saturating_since(bulk.start));
        let duration = of_bulk.or_else(|| frames.duration(interval));
        let duration_s = duration.map(|duration| duration.as_secs_f64());
        let receiving = Receiving {
            first_byte: ledger.first_arrival,
            last_byte: payload.and_then(|payload| payload.last),
            fills_intervals: log.stuffing.is_some(),
        };
        let of_frames = frames.receiving(&receiving, interval);
        let of_payload = of_bulk.or_else(|| frames.receiving_payload(&receiving, interval));
        let datagrams = (!log.datagrams_sent.is_empty()).then(|| DatagramCounts::of(log));
        let has_frames = log.bulk.is_none();
        Self {
            flow: log.flow.clone(),
            transport: log.transport.clone(),
            status: log.status.name(),
            movie_bitrate_bps: frames.movie_bitrate(interval),
            frames: has_frames.then_some(frames.count),
            fates: has_frames.then_some(frames.fates),
            types: has_frames.then_some(frames.types),
            places: has_frames.then_some(frames.places),
            duration_s,
            frame_throughput_bps: of_frames.and_then(|time| rate(frames.complete_bytes, time)),
            packet_throughput_bps: payload.zip(of_payload).and_then(|(payload, time)| rate(payload.bytes, time)),
            packets_sent: datagrams.as_ref().map(|datagrams| datagrams.offered),
            packets_lost: datagrams.as_ref().map(|datagrams| datagrams.lost),
            packet_runs: datagrams.map(|datagrams| datagrams.runs),
            frame_runs: has_frames.then(|| frames.runs.runs()),
            latency_ms: frames.latency_ms(),
            jitter_ms: frames.jitters.map(|jitters| [jitters.sum / jitters.count as f64, jitters.largest]),
            shed_bytes: has_frames.then_some(frames.shed_bytes),
            wasted_bytes: has_frames.then_some(frames.wasted_bytes),
            useless_bytes: has_frames.then_some(frames.useless_bytes),
            levels: frames.levels.levels(),
            stalls: frames.player.play(ledger.first_arrival, *playout),
            sound: sound.sound(),
            connection: log.samples.connection(),
            transmissions: Transmissions::of(log),
            sniffed: Sniffed::of(log),
        }
    }
}

/// Bits per second; `None` over no time.
fn rate(bytes: u64, time: Duration) -> Option<f64> {
    Some(bytes as f64 * 8.0 / time.as_secs_f64()).filter(|_| time > Duration::ZERO)
}
