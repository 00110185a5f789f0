//! What the rows of a ledger come to, row by row.

use framewire_units::{Duration, Timestamp};

use super::levels::LevelCounts;
use super::player::WaitingPlayer;
use super::statistics::{RunCounter, nearest_ranks};
use super::{FateCounts, PlaceCounts, TypeCounts};
use crate::ledger::{Fate, FrameRow};
use crate::record::{FlowLog, LossPlace};
use crate::spool::Sorter;

/// Totals of the frames of a flow.
pub(super) struct FrameTotals {
    pub count: u32,
    pub fates: FateCounts,
    pub types: TypeCounts,
    pub places: PlaceCounts,
    pub complete_bytes: u64,
    pub shed_bytes: u64,
    pub wasted_bytes: u64,
    pub useless_bytes: u64,
    pub runs: RunCounter,
    pub levels: LevelCounts,
    pub player: WaitingPlayer,
    /// Of the frames that arrived, in nanoseconds.
    pub latencies: Sorter<i64, i64>,
    /// `None` where no frame has one.
    pub jitters: Option<Jitters>,
    bytes: u64,
    /// When the first and the last frame are due.
    due: Option<(Timestamp, Timestamp)>,
    /// The first and the last arrival of a frame.
    arrivals: Option<(Timestamp, Timestamp)>,
    latencies_count: usize,
}

/// When bytes of a flow came, whatever they are.
pub(super) struct Receiving {
    pub first_byte: Option<Timestamp>,
    pub last_byte: Option<Timestamp>,
    /// Null packets fill what is left between frames.
    pub fills_intervals: bool,
}

/// Of the frames that have one, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitters {
    pub count: u64,
    pub sum: f64,
    pub largest: f64,
}

impl FrameTotals {
    /// None yet, of this flow.
    pub(crate) fn new(log: &FlowLog) -> Self {
        Self {
            count: 0,
            fates: FateCounts::default(),
            types: TypeCounts::default(),
            places: PlaceCounts::default(),
            complete_bytes: 0,
            shed_bytes: 0,
            wasted_bytes: 0,
            useless_bytes: 0,
            runs: RunCounter::default(),
            levels: LevelCounts::default(),
            player: WaitingPlayer::new(log.frames.beside()),
            latencies: Sorter::new(log.frames.beside(), |&latency| latency),
            jitters: None,
            bytes: 0,
            due: None,
            arrivals: None,
            latencies_count: 0,
        }
    }

    /// Takes the next frame in decode order.
    pub(crate) fn take(&mut self, row: &FrameRow) {
        self.count += 1;
        self.bytes += u64::from(row.size);
        self.due = Some((self.due.map_or(row.due, |(first, _)| first), row.due));
        self.shed_bytes += row.bytes_shed;
        self.take_fate(row);
        self.take_type(row);
        self.take_delays(row);
        self.runs.take(row.fate == Fate::Lost);
        self.levels.take(row);
        self.player.take(row);
    }

    fn take_fate(&mut self, row: &FrameRow) {
        self.fates.count(row.fate);
        if row.complete {
            self.complete_bytes += u64::from(row.size);
        }
        match row.fate {
            Fate::Lost | Fate::Undecodable => self.wasted_bytes += row.bytes_received,
            Fate::Late => self.useless_bytes += row.bytes_received,
            Fate::Shown | Fate::NotOffered => {}
        }
        let Some(cause) = row.root_cause.as_ref().filter(|_| row.fate == Fate::Lost) else { return };
        *match cause.place {
            LossPlace::SenderPipeline => &mut self.places.sender_pipeline,
            LossPlace::SenderSocket => &mut self.places.sender_socket,
            LossPlace::Link => &mut self.places.link,
            LossPlace::IntermediateQueue => &mut self.places.intermediate_queue,
            LossPlace::ReceiverPipeline => &mut self.places.receiver_pipeline,
        } += 1;
    }

    fn take_type(&mut self, row: &FrameRow) {
        let types = &mut self.types;
        let (all, offered, lost) = match row.kind {
            'I' => (&mut types.frames_i, &mut types.offered_i, &mut types.lost_i),
            'P' => (&mut types.frames_p, &mut types.offered_p, &mut types.lost_p),
            'B' => (&mut types.frames_b, &mut types.offered_b, &mut types.lost_b),
            _ => return,
        };
        *all += 1;
        *offered += u32::from(row.fate != Fate::NotOffered);
        *lost += u32::from(row.fate == Fate::Lost);
    }

    fn take_delays(&mut self, row: &FrameRow) {
        if let Some(at) = row.arrival {
            let (first, last) = self.arrivals.unwrap_or((at, at));
            self.arrivals = Some((first.min(at), last.max(at)));
        }
        if let Some(latency) = row.latency_nanos {
            self.latencies.push(latency);
            self.latencies_count += 1;
        }
        if let Some(jitter) = row.jitter_nanos.map(milliseconds) {
            let Jitters { count, sum, largest } = self.jitters.unwrap_or(Jitters { count: 0, sum: 0.0, largest: 0.0 });
            self.jitters = Some(Jitters { count: count + 1, sum: sum + jitter, largest: largest.max(jitter) });
        }
    }

    /// Mean time from one frame to the next, from the first to the last due time; `None` for fewer than two frames.
    pub(crate) fn interval(&self) -> Option<Duration> {
        let (first, last) = self.due?;
        let gaps = Some(self.count - 1).filter(|&gaps| gaps > 0)?;
        Some(last.saturating_since(first) / gaps)
    }

    /// Bits over the duration of the movie.
    pub(crate) fn movie_bitrate(&self, interval: Option<Duration>) -> Option<u64> {
        let duration = interval?.checked_mul(self.count)?.as_secs_f64();
        (duration > 0.0).then(|| (self.bytes as f64 * 8.0 / duration).round() as u64)
    }

    /// From the first to the last arrival of a frame, and one interval more.
    pub(crate) fn duration(&self, interval: Option<Duration>) -> Option<Duration> {
        let (first, last) = self.arrivals?;
        Some(last.saturating_since(first) + interval.unwrap_or_default())
    }

    /// The interval over which frames are counted: from the first byte, which came before the first frame was whole, to the
    /// last arrival of a frame, and one interval more. A rate is the bits received in an interval over its length (RFC 5136,
    /// 2.3.4), so that the time of what is counted is in it.
    pub(crate) fn receiving(&self, of_bytes: &Receiving, interval: Option<Duration>) -> Option<Duration> {
        let (first, _) = self.arrivals?;
        let waited = of_bytes.first_byte.map_or(Duration::ZERO, |at| first.saturating_since(at));
        Some(self.duration(interval)? + waited)
    }

    /// The interval over which payload is counted: that of frames, and on to the last byte where that came later. Where null
    /// packets fill the interval behind the last frame it ends with that byte.
    pub(crate) fn receiving_payload(&self, of_bytes: &Receiving, interval: Option<Duration>) -> Option<Duration> {
        let of_frames = self.receiving(of_bytes, interval)?;
        let Some((last, first)) = of_bytes.last_byte.zip(of_bytes.first_byte) else { return Some(of_frames) };
        let whole = last.saturating_since(first);
        Some(if of_bytes.fills_intervals { whole } else { of_frames.max(whole) })
    }

    /// Percentiles 50, 95 and 99, and the largest, when all rows were taken.
    pub(crate) fn latency_ms(&self) -> Option<[f64; 4]> {
        let ranks = nearest_ranks(self.latencies.iter(), self.latencies_count, [50, 95, 99, 100]);
        ranks.map(|latencies| latencies.map(milliseconds))
    }
}

fn milliseconds(nanos: i64) -> f64 {
    nanos as f64 / 1e6
}
