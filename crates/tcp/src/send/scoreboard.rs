//! What is known of every packet that is sent and not acknowledged (RFC 6675, section 3).
//!
//! Packets are numbered as they are first sent. They lie in one ring buffer in the order of their numbers; those that
//! may still arrive are also linked in the order they were last sent, for time-based loss detection (RFC 8985,
//! section 6.2). Runs of selectively acknowledged packets are skipped in almost constant time, so that a report costs
//! what it newly reports, not what is in flight.

use std::collections::{BTreeSet, VecDeque};

use framewire_units::Timestamp;

use super::rate_sample::DeliveryStamp;

/// No packet.
const NONE: u64 = u64::MAX;

/// One packet in flight.
///
/// `sacked`, `lost` and `resent` are the tags of Linux' retransmission queue. A packet counts as in flight once for the
/// original unless it is sacked or lost, and once more where it is resent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// First sequence number.
    pub sequence: u64,
    /// First sequence number after it; counts a FIN.
    pub end: u64,
    /// When it was last sent.
    pub sent: Timestamp,
    /// How many packets the endpoint had sent when it was last sent: shows whether the device still holds it.
    pub serial: u64,
    /// The state of delivery when it was last sent.
    pub stamp: DeliveryStamp,
    /// The peer has it, out of order.
    pub sacked: bool,
    /// Judged lost.
    pub lost: bool,
    /// Sent again, and that packet is in flight.
    pub resent: bool,
    /// Sent more than once: its round-trip time is ambiguous (RFC 6298, section 3).
    pub ever_resent: bool,
    /// Neighbours in the order of sending.
    older: u64,
    newer: u64,
    /// The first packet from this one on that is not sacked, as far as known.
    skip: u64,
}

impl Record {
    /// A packet that is sent for the first time.
    pub(super) fn new(sequence: u64, end: u64, sent: Timestamp, serial: u64, stamp: DeliveryStamp) -> Self {
        Self {
            sequence,
            end,
            sent,
            serial,
            stamp,
            sacked: false,
            lost: false,
            resent: false,
            ever_resent: false,
            older: NONE,
            newer: NONE,
            skip: NONE,
        }
    }
}

/// The packets that are sent and not acknowledged.
#[derive(Debug)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    /// Number of the first record.
    first: u64,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// Packets that duplicate acknowledgements show to have arrived, where the peer reports none selectively.
    assumed: u32,
    /// Ends of the list in the order of sending.
    oldest: u64,
    newest: u64,
    /// Judged lost and not sent again.
    to_resend: BTreeSet<u64>,
    /// End of the highest packet that was ever sacked.
    highest_sacked: u64,
}

impl Scoreboard {
    /// Nothing in flight.
    pub(super) fn new() -> Self {
        Self {
            records: VecDeque::new(),
            first: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            assumed: 0,
            oldest: NONE,
            newest: NONE,
            to_resend: BTreeSet::new(),
            highest_sacked: 0,
        }
    }

    /// Packets sent and not acknowledged by number. Linux: `packets_out`.
    pub(super) fn outstanding(&self) -> u32 {
        self.records.len() as u32
    }

    /// Packets that the peer has out of order: as it reports, or as is assumed from duplicate acknowledgements.
    pub(super) fn sacked(&self) -> u32 {
        self.sacked + self.assumed
    }

    /// One more packet has arrived out of order, whichever. Returns whether there can be one. Linux:
    /// `tcp_add_reno_sack`.
    pub(super) fn assume_sacked(&mut self) -> bool {
        // What is missing at the receiver cannot have arrived.
        let holes = self.lost.max(1).min(self.outstanding());
        let is_possible = self.assumed + holes < self.outstanding();
        self.assumed += u32::from(is_possible);
        is_possible
    }

    /// `acked` packets were acknowledged by number: one was missing, the others had arrived before. Returns how many
    /// had not been assumed to. Linux: `tcp_remove_reno_sacks`.
    pub(super) fn settle_assumed(&mut self, acked: u32) -> u32 {
        let newly = acked.saturating_sub(self.assumed).max(1);
        self.assumed = self.assumed.saturating_sub(acked.saturating_sub(1));
        let holes = self.lost.max(1).min(self.outstanding());
        self.assumed = self.assumed.min(self.outstanding() - holes);
        newly
    }

    /// Nothing is assumed to have arrived.
    pub(super) fn reset_assumed(&mut self) {
        self.assumed = 0;
    }

    /// Packets judged lost.
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Resent packets in flight.
    pub(super) fn resent(&self) -> u32 {
        self.resent
    }

    /// Packets in flight (RFC 6675: pipe). Linux: `tcp_packets_in_flight`.
    pub(super) fn in_flight(&self) -> u32 {
        (self.outstanding() + self.resent).saturating_sub(self.sacked + self.assumed + self.lost)
    }

    /// True when all that was sent is acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Number of the first packet.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The first packet.
    pub(super) fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    /// Number of the last packet, where there is one.
    pub(super) fn last(&self) -> Option<u64> {
        (self.first + self.records.len() as u64).checked_sub(1).filter(|_| !self.records.is_empty())
    }

    /// Packet `number`, which must be outstanding.
    pub(super) fn record(&self, number: u64) -> &Record {
        &self.records[(number - self.first) as usize]
    }

    fn record_mut(&mut self, number: u64) -> &mut Record {
        &mut self.records[(number - self.first) as usize]
    }

    /// End of the highest sacked packet; `first_unacknowledged` where nothing is sacked. Linux: `tcp_highest_sack_seq`.
    pub(super) fn highest_sacked(&self, first_unacknowledged: u64) -> u64 {
        if self.sacked == 0 { first_unacknowledged } else { self.highest_sacked }
    }

    /// Takes a packet that is sent for the first time.
    pub(super) fn push(&mut self, mut record: Record) {
        let number = self.first + self.records.len() as u64;
        record.skip = number;
        self.records.push_back(record);
        self.link(number);
    }

    /// Takes off the first packet if all of it is acknowledged up to `acknowledgement`.
    pub(super) fn pop_acknowledged(&mut self, acknowledgement: u64) -> Option<Record> {
        let record = *self.records.front().filter(|record| record.end <= acknowledgement)?;
        self.unlink(self.first);
        self.sacked -= u32::from(record.sacked);
        self.resent -= u32::from(record.resent);
        if record.lost {
            self.lost -= 1;
            self.to_resend.remove(&self.first);
        }
        self.records.pop_front();
        self.first += 1;
        Some(record)
    }

    /// Number of the first packet that ends after `sequence`.
    pub(super) fn position(&self, sequence: u64) -> u64 {
        self.first + self.records.partition_point(|record| record.end <= sequence) as u64
    }

    /// The first packet from `number` on that is not sacked; may be one past the last.
    pub(super) fn next_unsacked(&mut self, number: u64) -> u64 {
        let end = self.first + self.records.len() as u64;
        let mut at = number.max(self.first);
        while at < end {
            let next = self.record(at).skip;
            if next == at {
                return at;
            }
            // Path halving: each look makes the next one shorter.
            if next < end {
                let after = self.record(next).skip;
                self.record_mut(at).skip = after;
            }
            at = next;
        }
        at
    }

    /// The peer has packet `number` out of order.
    pub(super) fn mark_sacked(&mut self, number: u64) {
        let record = self.record_mut(number);
        debug_assert!(!record.sacked, "a packet is sacked once");
        record.sacked = true;
        record.skip = number + 1;
        let (end, lost, resent) = (record.end, record.lost, record.resent);
        // A packet that was resent without being judged lost keeps its second flight.
        record.lost = false;
        record.resent = resent && !lost;
        if lost {
            self.lost -= 1;
            if resent {
                self.resent -= 1;
            } else {
                self.to_resend.remove(&number);
            }
        }
        self.highest_sacked = if self.sacked == 0 { end } else { self.highest_sacked.max(end) };
        self.sacked += 1;
        self.unlink(number);
    }

    /// Marks a packet's delivery as accounted for, so that its stamp is not used again.
    pub(super) fn forget_stamp(&mut self, number: u64) {
        self.record_mut(number).stamp.clear();
    }

    /// Judges packet `number` lost. Returns whether that is a new loss, of the packet or of its retransmission. Linux:
    /// `tcp_mark_skb_lost`.
    pub(super) fn mark_lost(&mut self, number: u64) -> bool {
        let record = self.record_mut(number);
        match (record.sacked, record.lost, record.resent) {
            (true, ..) | (false, true, false) => false,
            (false, true, true) => {
                record.resent = false;
                self.resent -= 1;
                self.await_resending(number);
                true
            }
            (false, false, resent) => {
                record.lost = true;
                self.lost += 1;
                if !resent {
                    self.await_resending(number);
                }
                true
            }
        }
    }

    fn await_resending(&mut self, number: u64) {
        self.to_resend.insert(number);
        self.unlink(number);
    }

    /// The first packet that is judged lost and not sent again.
    pub(super) fn next_to_resend(&self) -> Option<u64> {
        self.to_resend.first().copied()
    }

    /// Packet `number` is sent again, as one that was lost (Linux: `tcp_retransmit_skb`) or, where not `counted`, as a
    /// probe that does not count as in flight.
    pub(super) fn mark_resent(
        &mut self,
        number: u64,
        sent: Timestamp,
        serial: u64,
        stamp: DeliveryStamp,
        counted: bool,
    ) {
        let record = self.record_mut(number);
        let newly = counted && !record.resent;
        record.ever_resent = true;
        record.resent |= counted;
        (record.sent, record.serial, record.stamp) = (sent, serial, stamp);
        self.resent += u32::from(newly);
        if counted {
            self.to_resend.remove(&number);
        }
        if !self.record(number).sacked && !self.to_resend.contains(&number) {
            self.unlink(number);
            self.link(number);
        }
    }

    /// A duplicate report of packet `number`: its retransmission has arrived too.
    pub(super) fn clear_resent(&mut self, number: u64) {
        let record = self.record_mut(number);
        if !record.resent {
            return;
        }
        record.resent = false;
        let lost = record.lost;
        self.resent -= 1;
        if lost {
            self.await_resending(number);
        }
    }

    /// Takes every judgement of loss back.
    pub(super) fn clear_lost(&mut self) {
        for record in &mut self.records {
            record.lost = false;
        }
        self.lost = 0;
        self.to_resend.clear();
        self.relink();
    }

    /// The receiver has dropped what it had reported: forgets all that was sacked (RFC 2018, section 8).
    pub(super) fn clear_sacked(&mut self) {
        for (index, record) in self.records.iter_mut().enumerate() {
            record.sacked = false;
            record.skip = self.first + index as u64;
        }
        self.sacked = 0;
        self.relink();
    }

    /// The packet that was sent the longest ago of those that may still arrive.
    pub(super) fn oldest(&self) -> Option<u64> {
        Some(self.oldest).filter(|&number| number != NONE)
    }

    /// The packet sent after `number`.
    pub(super) fn newer(&self, number: u64) -> Option<u64> {
        Some(self.record(number).newer).filter(|&newer| newer != NONE)
    }

    fn link(&mut self, number: u64) {
        let newest = self.newest;
        let record = self.record_mut(number);
        (record.older, record.newer) = (newest, NONE);
        if newest == NONE {
            self.oldest = number;
        } else {
            self.record_mut(newest).newer = number;
        }
        self.newest = number;
    }

    /// Takes a packet out of the list; one that is not in it stays so.
    fn unlink(&mut self, number: u64) {
        let (older, newer) = (self.record(number).older, self.record(number).newer);
        if older != NONE {
            self.record_mut(older).newer = newer;
        } else if self.oldest == number {
            self.oldest = newer;
        } else {
            return;
        }
        if newer != NONE {
            self.record_mut(newer).older = older;
        } else {
            self.newest = older;
        }
        let record = self.record_mut(number);
        (record.older, record.newer) = (NONE, NONE);
    }

    /// Builds the list anew.
    fn relink(&mut self) {
        let awaited = |record: &Record| !record.sacked && (!record.lost || record.resent);
        let mut numbers: Vec<u64> =
            (self.first..).zip(&self.records).filter(|(_, r)| awaited(r)).map(|(n, _)| n).collect();
        numbers.sort_by_key(|&number| (self.record(number).sent, number));
        for record in &mut self.records {
            (record.older, record.newer) = (NONE, NONE);
        }
        (self.oldest, self.newest) = (NONE, NONE);
        for number in numbers {
            self.link(number);
        }
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
