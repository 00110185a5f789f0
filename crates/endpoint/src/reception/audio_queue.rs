//! Packets of audio that wait for their reader.

use std::collections::VecDeque;

use framewire_adaptive::client::AudioPacket;

/// What a packet costs beside its bytes.
const PACKET_COST: u64 = 64;

/// What the thread that pushes audio gets, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum AudioItem {
    /// To be played.
    Packet(AudioPacket),
    /// Packets that did not come, or did not fit.
    Lost {
        /// The number of the first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Nothing more will come.
    Ended,
    /// The thread is to stop waiting.
    Flushing,
}

/// What waits: bounded, because there may be no reader.
#[derive(Debug, Default)]
pub struct AudioQueue {
    items: VecDeque<AudioItem>,
    bytes: u64,
    /// Packets that did not fit.
    refused: u64,
    /// There is no reader any more.
    drops_all: bool,
    flushing: bool,
    ended: bool,
}

impl AudioQueue {
    /// A packet came; one for which there is no room is lost.
    pub fn push(&mut self, packet: AudioPacket, limit: u64) {
        if self.drops_all {
            return;
        }
        let cost = cost(&packet);
        if self.bytes + cost > limit {
            self.refused += 1;
            return self.lose(packet.number, 1);
        }
        self.bytes += cost;
        self.items.push_back(AudioItem::Packet(packet));
    }

    /// Packets did not come. Those that are lost together are reported together.
    pub fn lose(&mut self, first: u32, count: u32) {
        if self.drops_all {
            return;
        }
        match self.items.back_mut() {
            Some(AudioItem::Lost { first: before, count: already }) if before.checked_add(*already) == Some(first) => {
                *already = already.saturating_add(count);
            }
            _ => self.items.push_back(AudioItem::Lost { first, count }),
        }
    }

    /// Nothing more will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether nothing more will come.
    pub fn ends(&self) -> bool {
        self.ended
    }

    /// There will be no reader any more: the stream of audio is over.
    pub fn drop_all(&mut self) {
        self.drops_all = true;
        self.ended = true;
        self.items = VecDeque::new();
        self.bytes = 0;
    }

    /// Makes [`take`](Self::take) return at once, or wait again.
    pub fn set_flushing(&mut self, flushing: bool) {
        self.flushing = flushing;
    }

    /// What is next; packets when they may go on, and the end when nothing more can come; `None` when there is nothing.
    pub fn take(&mut self, may_go_on: bool, is_over: bool) -> Option<AudioItem> {
        if self.flushing {
            return Some(AudioItem::Flushing);
        }
        if self.items.is_empty() {
            return (self.ended || is_over).then_some(AudioItem::Ended);
        }
        let item = if may_go_on { self.items.pop_front() } else { None };
        if let Some(AudioItem::Packet(packet)) = &item {
            self.bytes -= cost(packet);
        }
        item
    }

    /// Memory in use.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets that did not fit.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

fn cost(packet: &AudioPacket) -> u64 {
    packet.bytes.len() as u64 + PACKET_COST
}

#[cfg(test)]
mod tests {
    use framewire_units::{Duration, Timestamp};

    use super::*;

    fn packet(number: u32) -> AudioPacket {
        let (media_time, arrived) = (Duration::from_millis(number.into()), Timestamp::ZERO);
        AudioPacket { number, media_time, arrived, bytes: vec![7; 36].into() }
    }

    #[test]
    fn memory_is_bounded_and_what_does_not_fit_is_told_in_its_place() {
        let mut queue = AudioQueue::default();
        (0..5).for_each(|number| queue.push(packet(number), 200));
        assert_eq!((queue.bytes(), queue.refused()), (200, 3));
        assert_eq!(queue.take(false, false), None);
        assert_eq!(queue.take(true, false), Some(AudioItem::Packet(packet(0))));
        queue.lose(5, 2);
        queue.push(packet(7), 200);
        assert_eq!(queue.take(true, false), Some(AudioItem::Packet(packet(1))));
        assert_eq!(queue.take(true, false), Some(AudioItem::Lost { first: 2, count: 5 }));
        assert_eq!(queue.take(true, false), Some(AudioItem::Packet(packet(7))));
        assert_eq!((queue.bytes(), queue.take(true, false)), (0, None));
        queue.end();
        assert_eq!(queue.take(false, false), Some(AudioItem::Ended));
    }

    #[test]
    fn what_nobody_hears_is_not_kept() {
        let mut queue = AudioQueue::default();
        queue.push(packet(0), 200);
        queue.set_flushing(true);
        assert_eq!(queue.take(true, true), Some(AudioItem::Flushing));
        queue.set_flushing(false);
        queue.drop_all();
        queue.push(packet(1), 200);
        queue.lose(2, 1);
        assert_eq!((queue.bytes(), queue.refused(), queue.take(true, false)), (0, 0, Some(AudioItem::Ended)));
    }
}
