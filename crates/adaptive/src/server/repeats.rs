use std::collections::{BTreeMap, VecDeque};

use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{MISSING_WINDOW, Missing};

use crate::datagram::DropReason;

/// Packets that are remembered: all that can be named.
const REMEMBERED: usize = MISSING_WINDOW as usize;

/// The same while the client may still ask for repeats: what is sent until its offer comes.
const REMEMBERED_AT_FIRST: usize = 64;

/// Time that a repeat has to be early, for what the round trip varies by.
const SPARE: Duration = Duration::from_millis(20);

/// Lists that may come at once, and the time in which another one is allowed: the client's own are 10 ms apart.
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_millis(8);

/// What came of the packets that the client named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatCounts {
    /// Packets named for the first time.
    pub named: u64,
    /// Sent again.
    pub repeated: u64,
    /// Their bytes of video.
    pub bytes: DataSize,
    /// Not sent again, as they would have come too late.
    pub too_late: u64,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) sequence: u32,
    pub(super) frame: u32,
    pub(super) index: u16,
    pub(super) level: u8,
    pub(super) rank: Rank,
    pub(super) media_time: Duration,
    pub(super) sent: Timestamp,
}

/// How many other frames need a frame: the order in which frames are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Packets of audio, which are small and missed most.
    Audio,
    /// All to the next key frame.
    Key,
    /// Those behind it in its group: the more, the earlier it is shown.
    Other,
}

/// What was sent lately, what of it is to be sent again, and in which order.
///
/// Every packet is repeated once at the most. A repeat has a number of its own and is remembered as any other packet, so
/// that its loss is named too; nothing is repeated that was not lost as far as the client knows, and nothing leaves but
/// at the pace of the stream.
#[derive(Debug)]
pub(super) struct Repeats {
    /// With consecutive numbers, oldest first, and whether each was named.
    sent: VecDeque<(Remembered, bool)>,
    /// Packets that left in all, those that are forgotten included.
    total: u64,
    /// What is to be sent again: audio and key frames first, then what is shown first.
    wanted: BTreeMap<(Rank, Duration, u32, u16), Remembered>,
    /// A moment, and the media time in nanoseconds that the client's player shows then.
    shown: Option<(Timestamp, i64)>,
    /// When how many lists were left.
    lists: (Timestamp, u32),
    counts: RepeatCounts,
    /// The client asked for repeats.
    agreed: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            total: 0,
            wanted: BTreeMap::new(),
            shown: None,
            lists: (Timestamp::ZERO, BURST),
            counts: RepeatCounts::default(),
            agreed: false,
        }
    }
}

impl Repeats {
    /// The client may name packets from now on.
    pub(super) fn agree(&mut self) {
        self.agreed = true;
    }

    /// A packet left, the one after the last that was remembered.
    pub(super) fn remember(&mut self, packet: Remembered) {
        if self.sent.len() == if self.agreed { REMEMBERED } else { REMEMBERED_AT_FIRST } {
            self.sent.pop_front();
        }
        self.sent.push_back((packet, false));
        self.total += 1;
    }

    /// The client named packets. With `is_over`, what was sent after the newest that arrived, more than a round trip ago,
    /// is named too: nothing came behind it that could have shown that it is missing.
    pub(super) fn handle_missing(
        &mut self,
        now: Timestamp,
        missing: &Missing,
        round_trip: Duration,
        is_over: bool,
    ) -> Result<(), DropReason> {
        if !self.agreed {
            return Err(DropReason::Unexpected);
        }
        let Some(&(newest, _)) = self.sent.back() else { return Err(DropReason::Inconsistent) };
        // Modulo 2^32: how far what came lags behind what was sent, and how far back the list reaches.
        let lag = newest.sequence.wrapping_add(1).wrapping_sub(missing.next);
        let reach = u64::from(lag) + missing.ranges.first().map_or(0, |oldest| u64::from(oldest.back));
        if (lag as i32) < 0 || reach > self.total {
            return Err(DropReason::Inconsistent);
        }
        if !self.admit(now) {
            return Err(DropReason::TooMany);
        }
        self.shown = Some((now, missing.shown));
        for sequence in missing.sequences() {
            self.want(sequence);
        }
        if is_over {
            let behind = newest.sequence.wrapping_add(1).wrapping_sub(missing.next).min(REMEMBERED as u32);
            for sequence in (0..behind).map(|number| newest.sequence.wrapping_sub(number)) {
                let is_old = |packet: &Remembered| packet.sent + round_trip.saturating_add(SPARE) <= now;
                if self.place(sequence).is_some_and(|place| is_old(&self.sent[place].0)) {
                    self.want(sequence);
                }
            }
        }
        Ok(())
    }

    /// The packet to repeat next, one that can still be shown in time; it is forgotten here.
    pub(super) fn next(&mut self, now: Timestamp, round_trip: Duration) -> Option<Remembered> {
        while let Some((_, packet)) = self.wanted.pop_first() {
            if self.is_in_time(now, &packet, round_trip) {
                return Some(packet);
            }
            self.counts.too_late += 1;
        }
        None
    }

    /// Whether there may be something to repeat.
    pub(super) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// A repeat left.
    pub(super) fn count(&mut self, size: DataSize) {
        self.counts.repeated += 1;
        self.counts.bytes += size;
    }

    pub(super) fn counts(&self) -> RepeatCounts {
        self.counts
    }

    fn want(&mut self, sequence: u32) {
        let Some(place) = self.place(sequence) else { return };
        let (packet, named) = &mut self.sent[place];
        if !std::mem::replace(named, true) {
            self.counts.named += 1;
            self.wanted.insert((packet.rank, packet.media_time, packet.frame, packet.index), *packet);
        }
    }

    fn place(&self, sequence: u32) -> Option<usize> {
        let (first, _) = self.sent.front()?;
        let place = sequence.wrapping_sub(first.sequence) as usize;
        (place < self.sent.len()).then_some(place)
    }

    /// The client's player goes on while the list comes here and the repeat goes there: for a round trip.
    fn is_in_time(&self, now: Timestamp, packet: &Remembered, round_trip: Duration) -> bool {
        let shown = self.shown.map(|(at, shown)| shown.saturating_add(now.nanos_since(at)));
        let due = i64::try_from(packet.media_time.as_nanos()).unwrap_or(i64::MAX);
        let takes = i64::try_from(round_trip.saturating_add(SPARE).as_nanos()).unwrap_or(i64::MAX);
        shown.is_none_or(|shown| shown.saturating_add(takes) <= due)
    }

    /// A bucket of tokens: floods cost no more than the look at their header.
    fn admit(&mut self, now: Timestamp) -> bool {
        let (since, left) = self.lists;
        let passed = now.saturating_since(since.min(now));
        let refilled = u32::try_from(passed.as_nanos() / REFILL.as_nanos()).unwrap_or(u32::MAX);
        if refilled > 0 || since > now {
            self.lists = (now, left.saturating_add(refilled).min(BURST));
        }
        let (_, left) = &mut self.lists;
        let admitted = *left > 0;
        *left -= u32::from(admitted);
        admitted
    }
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
