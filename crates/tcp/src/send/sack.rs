//! Taking in selective acknowledgements (RFC 2018, RFC 6675) and reports of duplicates (RFC 2883). Linux:
//! `tcp_sacktag_write_queue`.

use framewire_units::Timestamp;

use super::Sender;
use super::acknowledge::Progress;
use crate::congestion::State;
use crate::segment::{SackBlock, Segment};

/// Largest degree of reordering. Linux: `tcp_max_reordering`.
const MAX_REORDERING: u64 = 300;

impl Sender {
    /// Takes in the blocks of an acknowledgement.
    pub(super) fn take_sack_blocks(&mut self, now: Timestamp, segment: &Segment, progress: &mut Progress) {
        let blocks = segment.sack.as_slice();
        if !self.settings.sack || blocks.is_empty() {
            return;
        }
        progress.lowest_reordered = self.next;
        let duplicate = self.duplicate_block(segment.acknowledgement, blocks, progress).then_some(blocks[0]);
        // In ascending order, so that what an earlier acknowledgement would have reported does not look like
        // reordering.
        let mut ascending = segment.sack;
        ascending.sort();
        for block in ascending.as_slice() {
            let is_duplicate = duplicate == Some(*block);
            if !self.is_valid_block(block, is_duplicate) || block.end <= progress.prior_unacknowledged {
                continue;
            }
            if is_duplicate {
                self.take_duplicate(now, block, progress);
            } else {
                self.take_block(now, block, progress);
            }
        }
        if self.recovery.state != State::Loss || self.undo.marker.is_some() {
            self.note_reordering(progress.lowest_reordered);
        }
    }

    /// Whether the first block reports a duplicate (RFC 2883, section 4) that may be the fault of ours. Linux:
    /// `tcp_check_dsack`, `tcp_dsack_seen`.
    fn duplicate_block(&mut self, acknowledgement: u64, blocks: &[SackBlock], progress: &mut Progress) -> bool {
        let first = blocks[0];
        let is_below = first.start < acknowledgement;
        let is_inside = blocks.get(1).is_some_and(|second| first.end <= second.end && first.start >= second.start);
        if (!is_below && !is_inside) || first.start >= first.end {
            return false;
        }
        let length = first.end - first.start;
        if length > self.largest_window {
            return false;
        }
        let mss = u64::from(self.window.maximum_segment);
        if length <= mss && self.recovery.probe.is_some_and(|probe| probe.end == first.end) {
            progress.is_duplicate_of_probe = true;
        }
        let packets = length.div_ceil(mss).max(1);
        self.recovery.duplicates += packets;
        // More duplicates than were resent are not ours: the network made them.
        if self.recovery.duplicates > self.counters.retransmissions {
            return false;
        }
        if self.recovery.reordering_seen && !progress.is_duplicate_of_probe {
            self.rack.note_duplicate();
        }
        progress.has_duplicate = true;
        progress.sack_delivered += packets as u32;
        if first.end <= progress.prior_unacknowledged {
            self.undo.settle(first.end, packets as u32);
        }
        true
    }

    /// Linux: `tcp_is_sackblock_valid`.
    fn is_valid_block(&self, block: &SackBlock, is_duplicate: bool) -> bool {
        let is_sane = block.start < block.end && block.end <= self.next;
        let is_above = block.start > self.unacknowledged;
        is_sane && (is_above || (is_duplicate && block.end <= self.unacknowledged))
    }

    /// A block of packets that the peer has: marks those that were not known.
    fn take_block(&mut self, now: Timestamp, block: &SackBlock, progress: &mut Progress) {
        let mut number = self.board.position(block.start);
        let Some(last) = self.board.last() else { return };
        loop {
            number = self.board.next_unsacked(number);
            if number > last || self.board.record(number).end > block.end {
                return;
            }
            if self.board.record(number).sequence >= block.start {
                self.take_sacked(now, number, progress);
            }
            number += 1;
        }
    }

    /// A packet is newly sacked. Linux: `tcp_sacktag_one`.
    fn take_sacked(&mut self, now: Timestamp, number: u64, progress: &mut Progress) {
        let record = *self.board.record(number);
        self.rack.advance(now, record.sent, record.end, record.ever_resent, self.rtt.min_rtt());
        if !record.ever_resent {
            // A hole was filled by a packet that was sent once: the network reorders.
            if record.sequence < self.board.highest_sacked(self.unacknowledged) {
                progress.lowest_reordered = progress.lowest_reordered.min(record.sequence);
            }
            progress.has_original |= record.end <= self.recovery.high_sequence;
            progress.first_sacked_sent = progress.first_sacked_sent.or(Some(record.sent));
            progress.last_sacked_sent = Some(record.sent);
        }
        self.board.mark_sacked(number);
        progress.has_sacked = true;
        progress.sack_delivered += 1;
        self.delivery.see(&mut progress.newest, &record.stamp, record.sent, record.end);
        self.board.forget_stamp(number);
    }

    /// A block of packets that the peer got twice, above what is acknowledged.
    fn take_duplicate(&mut self, now: Timestamp, block: &SackBlock, progress: &mut Progress) {
        let mut number = self.board.position(block.start);
        while let Some(last) = self.board.last()
            && number <= last
            && self.board.record(number).end <= block.end
        {
            let record = *self.board.record(number);
            if record.sequence >= block.start {
                if record.ever_resent {
                    self.undo.settle(record.end, 1);
                    if record.sacked {
                        progress.lowest_reordered = progress.lowest_reordered.min(record.sequence);
                    }
                }
                if record.end > self.unacknowledged {
                    if !record.sacked {
                        self.take_sacked(now, number, progress);
                    }
                    self.board.clear_resent(number);
                }
            }
            number += 1;
        }
    }

    /// A packet at `lowest` arrived after higher ones: raises the degree of reordering. Linux:
    /// `tcp_check_sack_reordering`.
    pub(super) fn note_reordering(&mut self, lowest: u64) {
        let highest = self.board.highest_sacked(self.unacknowledged);
        if lowest >= highest {
            return;
        }
        let mss = u64::from(self.window.maximum_segment);
        let distance = highest - lowest;
        if distance > u64::from(self.recovery.reordering) * mss {
            self.recovery.reordering = distance.div_ceil(mss).min(MAX_REORDERING) as u32;
        }
        self.recovery.reordering_seen = true;
    }
}
