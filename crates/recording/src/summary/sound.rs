//! What became of the sound of a flow.

use std::collections::BTreeMap;

use framewire_units::Timestamp;
use serde::Serialize;

use super::FateCounts;
use super::statistics::nearest_ranks;
use crate::ledger::FrameRow;
use crate::record::FlowLog;
use crate::spool::Sorter;

/// What became of the packets of sound of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sound {
    /// By fate; none is undecodable, as packets of sound are decoded one by one.
    pub fates: FateCounts,
    /// The longest that one waited from when it was offered to its first byte in the socket, in milliseconds: as long as what
    /// was being sent kept it. `None` where none was sent.
    pub longest_wait_ms: Option<f64>,
    /// From when packets were due at the sender to their arrival, of those that came, in milliseconds: percentiles 50 and 95,
    /// and the largest.
    pub latency_ms: Option<[f64; 3]>,
    /// How far sound and picture are apart, in milliseconds, in the second in which that is most: the mean latency of the sound
    /// that was due in it less that of the picture. Above zero the sound is later. `None` where no second has both.
    pub apart_ms: Option<f64>,
}

/// The same, packet by packet, beside the frames.
pub(super) struct SoundTotals {
    sound: Option<Sound>,
    latencies: Sorter<i64, i64>,
    latencies_count: usize,
    seconds: Seconds,
    seconds_of_picture: Seconds,
}

impl SoundTotals {
    /// None yet, of this flow.
    pub(crate) fn new(log: &FlowLog) -> Self {
        Self {
            sound: None,
            latencies: Sorter::new(log.frames.beside(), |&latency| latency),
            latencies_count: 0,
            seconds: Seconds::default(),
            seconds_of_picture: Seconds::default(),
        }
    }

    /// Takes the next packet.
    pub(crate) fn take(&mut self, row: &FrameRow) {
        let sound = self.sound.get_or_insert_default();
        sound.fates.count(row.fate);
        if let (Some(offered), Some(first_byte)) = (row.offered, row.first_byte) {
            let wait = first_byte.saturating_since(offered).as_secs_f64() * 1e3;
            sound.longest_wait_ms = Some(sound.longest_wait_ms.map_or(wait, |longest| longest.max(wait)));
        }
        if let Some(latency) = row.latency_nanos {
            self.latencies.push(latency);
            self.latencies_count += 1;
            self.seconds.take(row.due, latency);
        }
    }

    /// Takes a frame that stands beside it.
    pub(crate) fn take_frame(&mut self, row: &FrameRow) {
        if let Some(latency) = row.latency_nanos {
            self.seconds_of_picture.take(row.due, latency);
        }
    }

    /// Of all that were taken; `None` where none was sent.
    pub(crate) fn sound(mut self) -> Option<Sound> {
        self.latencies.ready();
        let ranks = nearest_ranks(self.latencies.iter(), self.latencies_count, [50, 95, 100]);
        let latency_ms = ranks.map(|latencies| latencies.map(|nanos| nanos as f64 / 1e6));
        let apart_ms = self.seconds.most_apart_from(&self.seconds_of_picture).map(|nanos| nanos / 1e6);
        Some(Sound { latency_ms, apart_ms, ..self.sound? })
    }
}

/// By the second in which they were due, the sum of latencies in nanoseconds, and how many they are.
#[derive(Default)]
struct Seconds(BTreeMap<u64, (i128, u32)>);

impl Seconds {
    fn take(&mut self, due: Timestamp, latency: i64) {
        let (sum, count) = self.0.entry(due.as_nanos() / 1_000_000_000).or_default();
        *sum += i128::from(latency);
        *count += 1;
    }

    /// How much larger the mean is than that of the other in the second in which they differ most.
    fn most_apart_from(&self, other: &Self) -> Option<f64> {
        let mean = |&(sum, count): &(i128, u32)| sum as f64 / f64::from(count);
        let both = self.0.iter().filter_map(|(second, one)| Some(mean(one) - mean(other.0.get(second)?)));
        both.reduce(|most, apart| if apart.abs() > most.abs() { apart } else { most })
    }
}
