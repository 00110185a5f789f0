//! A segment arrives: whether it is valid, what it adds, and when to acknowledge it. Linux: `tcp_rcv_established`,
//! `tcp_data_queue`.

use framewire_units::{Duration, Ecn, Timestamp};

use super::{AckDecision, EarlierEcho, ReceiveSide};
use crate::congestion::EcnUse;
use crate::reassembly::{Arrival, Run};
use crate::receive_queue::{packed, truesize};
use crate::segment::Segment;
use crate::send::timestamp_value;

/// Time between two answers to segments without data outside the window. Linux: `tcp_invalid_ratelimit`.
const INVALID_INTERVAL: Duration = Duration::from_millis(500);
/// Packets shorter than this do not open the window. Linux: `tcp_event_data_recv`.
const GROWING_PAYLOAD: u64 = 128;

impl ReceiveSide {
    /// Whether a segment lies in the window (RFC 9293, section 3.10.7.4). Linux: `tcp_sequence`.
    pub(super) fn is_valid(&self, segment: &Segment) -> bool {
        let next = self.reassembly.next();
        let limit = next + self.window.remaining(next);
        if segment.end() < self.window.announced_at() || segment.sequence > limit {
            return false;
        }
        // Nothing comes after the end of the stream.
        if self.fin.is_some_and(|fin| segment.end() > fin + 1) {
            return false;
        }
        // Bytes beyond the window are taken only while nothing waits to be read.
        segment.end() <= limit || self.queue.is_empty()
    }

    /// Answers what is outside the window with the state of things (RFC 9293, section 3.10.7.4). Linux:
    /// `tcp_send_dupack`, `tcp_oow_rate_limited`.
    pub(super) fn refuse(&mut self, now: Timestamp, segment: &Segment) -> AckDecision {
        if segment.payload == 0 {
            if self.last_invalid.is_some_and(|last| now.saturating_since(last) < INVALID_INTERVAL) {
                return AckDecision::Nothing;
            }
            self.last_invalid = Some(now);
        }
        let next = self.reassembly.next();
        if segment.payload > 0 && segment.sequence < next {
            self.policy.enter_quick(self.window.announced());
            self.reassembly.tell_duplicate(segment.sequence, segment.end().min(next));
        }
        self.is_ack_due = true;
        AckDecision::Now
    }

    /// Which timestamp to echo (RFC 7323, section 4.3), and what the echo of one's own shows.
    pub(super) fn note_timestamps(&mut self, now: Timestamp, segment: &Segment) {
        let Some(timestamps) = segment.timestamps.filter(|_| self.negotiated.timestamps) else { return };
        if timestamps.value >= self.timestamp && segment.sequence <= self.window.announced_at() {
            self.timestamp = timestamps.value;
        }
        if self.last_echo.replace(timestamps.echo) == Some(timestamps.echo) {
            return;
        }
        if segment.flags.ack && segment.payload >= self.policy.full_packet() {
            let elapsed = timestamp_value(now).saturating_sub(timestamps.echo);
            self.window.note_echo(elapsed, self.reassembly.next() == self.read);
        }
    }

    /// Takes in payload and FIN, as far as window and memory allow. Linux: `tcp_data_queue`.
    pub(super) fn take(&mut self, now: Timestamp, segment: &Segment) {
        let next = self.reassembly.next();
        let limit = next + self.window.remaining(next);
        if segment.end() > next && (limit == next || segment.sequence >= limit) && segment.payload > 0 {
            if segment.sequence < next {
                self.reassembly.tell_duplicate(segment.sequence, next);
            }
            self.enter_quick();
            return;
        }
        if segment.end() <= next {
            self.reassembly.insert(segment.sequence, segment.end(), 0, |_| {});
            self.enter_quick();
            return;
        }
        if !self.window.can_ingest() && !self.find_memory(segment.sequence) {
            // Dropped; the sender will try again.
            self.policy.owe_now();
            return;
        }
        if segment.flags.fin {
            self.fin.get_or_insert(segment.end() - 1);
        }
        let truesize = truesize(u64::from(segment.payload));
        let arrival = self.insert(segment, truesize);
        self.note_arrival(now, segment, truesize, arrival);
    }

    fn insert(&mut self, segment: &Segment, truesize: u64) -> Arrival {
        let Self { reassembly, queue, window, fin, .. } = self;
        let mut is_packet = true;
        let arrival = reassembly.insert(segment.sequence, segment.end(), truesize, |run| {
            // The FIN has a number and no byte.
            let end = fin.map_or(run.end, |fin| run.end.min(fin)).max(run.start);
            let run = Run { end, ..run };
            if std::mem::take(&mut is_packet) {
                window.charge(queue.push_packet(run));
            } else {
                window.release(queue.push_run(run));
            }
        });
        if matches!(arrival, Arrival::OutOfOrder { is_new: true, .. }) {
            window.charge(truesize);
        }
        arrival
    }

    fn enter_quick(&mut self) {
        self.policy.enter_quick(self.window.announced());
        self.policy.owe();
    }

    fn note_arrival(&mut self, now: Timestamp, segment: &Segment, truesize: u64, arrival: Arrival) {
        let payload = u64::from(segment.payload);
        match arrival {
            Arrival::Duplicate => self.enter_quick(),
            Arrival::InOrder { filled_last_hole } => {
                self.policy.owe();
                if payload > 0 {
                    self.measure(segment, truesize);
                    self.window.measure_round_trip(now, self.reassembly.next());
                    self.policy.data_received(now, self.window.announced(), self.rto);
                    self.note_mark(segment);
                    if payload >= GROWING_PAYLOAD {
                        self.grow(payload, truesize);
                    }
                }
                if filled_last_hole || segment.flags.fin {
                    // RFC 5681, section 4.2.
                    self.policy.owe_now();
                }
            }
            Arrival::OutOfOrder { is_new, blocks_before } => {
                self.note_mark(segment);
                if payload > 0 {
                    self.measure(segment, truesize);
                }
                self.policy.owe();
                if is_new {
                    if self.negotiated.sack {
                        self.grow(payload, truesize);
                    }
                    self.window.cover_hole(self.reassembly.highest() - self.reassembly.next());
                }
                if blocks_before >= 2 && self.policy.is_merging() {
                    // Told any later, a block might be pushed out of the option.
                    self.policy.owe_now();
                }
            }
        }
    }

    fn measure(&mut self, segment: &Segment, truesize: u64) {
        let segment_size = u32::try_from(self.window.segment()).unwrap_or(u32::MAX);
        if self.policy.measure(segment.payload, segment.flags.push, segment_size) {
            self.window.set_ratio(u64::from(segment.payload), truesize);
        }
    }

    fn grow(&mut self, payload: u64, truesize: u64) {
        if self.window.grow(payload, truesize, u64::from(self.policy.full_packet())) {
            self.policy.quicken_one();
        }
    }

    /// Marks of congestion (RFC 3168, section 6.1.3). Linux: `tcp_data_ecn_check`.
    fn note_mark(&mut self, segment: &Segment) {
        let Some(ecn_use) = self.negotiated.ecn.filter(|&ecn_use| ecn_use != EcnUse::Accurate) else { return };
        if ecn_use == EcnUse::Exact && segment.ecn.is_capable() {
            self.echo_exactly(segment.ecn == Ecn::Ce);
        }
        match segment.ecn {
            Ecn::NotEct => {
                // Probably sent again, where the sender had marked before: its window may be small.
                if self.has_seen_ecn {
                    self.policy.enter_quick_for_mark(self.window.announced());
                }
            }
            Ecn::Ce => {
                if !self.demands_reduction {
                    self.policy.enter_quick_for_mark(self.window.announced());
                    self.demands_reduction = true;
                }
                self.has_seen_ecn = true;
            }
            Ecn::Ect0 | Ecn::Ect1 => self.has_seen_ecn = true,
        }
    }

    /// Says of each packet whether it was marked, though acknowledgements are delayed: one is sent at once when that
    /// changes, after one for the packets before (RFC 8257, section 3.2). Linux: `dctcp_ece_ack_update`.
    fn echo_exactly(&mut self, is_marked: bool) {
        let (was_marked, prior_next) = self.last_mark;
        if is_marked != was_marked {
            if self.policy.is_delaying() {
                self.earlier_echo = Some(EarlierEcho { acknowledgement: prior_next, is_marked: was_marked });
            }
            self.policy.owe_now();
        }
        self.last_mark = (is_marked, self.reassembly.next());
        self.demands_reduction = is_marked;
    }

    /// Linux: `tcp_prune_queue`: a larger buffer, then denser packing, then giving up what is furthest out.
    fn find_memory(&mut self, sequence: u64) -> bool {
        self.policy.end_quick();
        self.window.make_room();
        if self.window.can_ingest() {
            return true;
        }
        self.pack();
        while !self.window.can_ingest() && self.reassembly.highest() > sequence {
            let Some(run) = self.reassembly.drop_last() else { break };
            self.window.release(run.truesize);
        }
        self.window.can_ingest()
    }

    fn pack(&mut self) {
        let mut saved = self.queue.pack();
        for run in self.reassembly.runs_mut() {
            let truesize = packed(run.end - run.start).min(run.truesize);
            saved += run.truesize - truesize;
            run.truesize = truesize;
        }
        self.window.release(saved);
    }

    /// Whether to acknowledge now, later, or not at all. Linux: `__tcp_ack_snd_check`.
    pub(super) fn decide(&mut self, now: Timestamp) -> AckDecision {
        if !self.policy.is_owed() {
            return AckDecision::Nothing;
        }
        let next = self.reassembly.next();
        let full_packet = u64::from(self.policy.full_packet());
        let mut decision = AckDecision::Delayed;
        if next.saturating_sub(self.window.announced_at()) > full_packet {
            let (window, is_short) = self.window.select(full_packet);
            if is_short {
                self.policy.end_quick();
            }
            // Where the window cannot move on, reading will send the acknowledgement.
            if window >= self.window.announced() || next == self.read {
                decision = AckDecision::Now;
            }
        }
        if decision == AckDecision::Delayed && self.policy.is_prompt() {
            decision = AckDecision::Now;
        }
        if decision == AckDecision::Delayed {
            decision = if self.reassembly.is_contiguous() {
                self.policy.delay(now, self.srtt)
            } else if self.negotiated.sack {
                let round_trip = self.window.round_trip();
                let is_shorter = !self.srtt.is_zero() && self.srtt < round_trip;
                self.policy.merge(now, next, if is_shorter { self.srtt } else { round_trip })
            } else {
                AckDecision::Now
            };
        }
        self.is_ack_due |= decision == AckDecision::Now;
        decision
    }
}
