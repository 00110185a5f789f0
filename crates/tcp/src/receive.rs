//! The receiving half of a connection: what arrived, what of it can be read, and what to tell the sender.

use framewire_units::{DataSize, Duration, Timestamp};

use crate::ack_policy::{AckPolicy, AckTiming};
use crate::reassembly::{Arrival, Reassembly, Run};
use crate::receive_queue::{ReceiveQueue, packed, truesize};
use crate::receive_window::{ReceiveWindow, WindowSettings};
use crate::segment::{Ecn, SackBlocks, Segment, TIMESTAMPS_OPTION};

pub use crate::ack_policy::AckDecision;

/// Time between two answers to segments without data outside the window. Linux: `tcp_invalid_ratelimit`.
const INVALID_INTERVAL: Duration = Duration::from_millis(500);
/// Packets shorter than this do not open the window. Linux: `tcp_event_data_recv`.
const GROWING_PAYLOAD: u64 = 128;
/// What the receiving half is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveConfig {
    /// The buffer as the kernel accounts it (`SO_RCVBUF` doubled); `None` for auto-tuning.
    pub buffer: Option<DataSize>,
    /// Where auto-tuning begins. Linux: `tcp_rmem[1]`.
    pub initial_buffer: DataSize,
    /// Where it ends. Linux 6.18: `tcp_rmem[2]`; 6 MiB before 6.17.
    pub maximum_buffer: DataSize,
    /// Announced payload of a segment without options (RFC 9293, section 3.7.1).
    pub maximum_segment: u32,
    /// Timestamps are offered (RFC 7323, section 3).
    pub timestamps: bool,
    /// Window scaling is offered (RFC 7323, section 2).
    pub window_scaling: bool,
    /// The side that sends the first SYN.
    pub is_client: bool,
    /// Least delay of an acknowledgement. Linux: `TCP_DELACK_MIN`.
    pub minimum_ack_delay: Duration,
    /// Largest delay of an acknowledgement, at most 500 ms (RFC 9293, section 3.8.6.3). Linux: `TCP_DELACK_MAX`.
    pub maximum_ack_delay: Duration,
    /// The clock interrupt that the timer of delayed acknowledgements waits for. Linux: `1 / CONFIG_HZ`.
    pub tick: Duration,
}

impl Default for ReceiveConfig {
    fn default() -> Self {
        Self {
            buffer: None,
            initial_buffer: DataSize::from_bytes(131_072),
            maximum_buffer: DataSize::from_bytes(32 * 1024 * 1024),
            maximum_segment: 1_460,
            timestamps: true,
            window_scaling: true,
            is_client: false,
            minimum_ack_delay: Duration::from_millis(40),
            maximum_ack_delay: Duration::from_millis(200),
            tick: Duration::from_millis(4),
        }
    }
}

/// What the two sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Every segment carries timestamps.
    pub timestamps: bool,
    /// Selective acknowledgements are understood.
    pub sack: bool,
    /// Windows are scaled.
    pub window_scaling: bool,
    /// Congestion is notified explicitly.
    pub ecn: bool,
}

/// The receiving half.
///
/// After the handshake, [`establish`](Self::establish). Then every segment that arrives goes to
/// [`handle_segment`](Self::handle_segment), and every segment that is sent through [`fill`](Self::fill), which
/// counts as the acknowledgement sent. [`is_ack_due`](Self::is_ack_due) asks for a segment without data; it may
/// become true in `handle_segment`, [`read`](Self::read) and [`handle_timeout`](Self::handle_timeout).
#[derive(Clone, Debug)]
pub struct ReceiveSide {
    reassembly: Reassembly,
    policy: AckPolicy,
    window: ReceiveWindow,
    queue: ReceiveQueue,
    /// Number of the first byte.
    start: u64,
    /// Number of the next byte to be read. Linux: `copied_seq`.
    read: u64,
    /// Number of the FIN.
    fin: Option<u64>,
    negotiated: Negotiated,
    is_ack_due: bool,
    last_arrival: Timestamp,
    last_invalid: Option<Timestamp>,
    timestamp: u64,
    last_echo: Option<u64>,
    has_seen_ecn: bool,
    demands_reduction: bool,
    srtt: Duration,
    rto: Duration,
}

impl ReceiveSide {
    /// The state before the handshake.
    pub fn new(config: &ReceiveConfig) -> Self {
        let window = ReceiveWindow::new(&WindowSettings {
            is_fixed: config.buffer.is_some(),
            buffer: config.buffer.unwrap_or(config.initial_buffer).as_bytes(),
            maximum_buffer: config.maximum_buffer.as_bytes(),
            maximum_segment: u64::from(config.maximum_segment),
            options: if config.timestamps { TIMESTAMPS_OPTION } else { 0 },
            is_client: config.is_client,
            scaling: config.window_scaling,
        });
        let policy = AckPolicy::new(AckTiming {
            minimum_delay: config.minimum_ack_delay,
            maximum_delay: config.maximum_ack_delay,
            tick: config.tick,
        });
        let offered = config.window_scaling;
        Self {
            reassembly: Reassembly::new(0),
            policy,
            window,
            queue: ReceiveQueue::default(),
            start: 0,
            read: 0,
            fin: None,
            negotiated: Negotiated { timestamps: config.timestamps, sack: false, window_scaling: offered, ecn: false },
            is_ack_due: false,
            last_arrival: Timestamp::ZERO,
            last_invalid: None,
            timestamp: 0,
            last_echo: None,
            has_seen_ecn: false,
            demands_reduction: false,
            srtt: Duration::ZERO,
            rto: Duration::from_secs(1),
        }
    }

    /// The shift of the window field to offer (RFC 7323, section 2.2).
    pub fn window_scale(&self) -> u32 {
        self.window.scale()
    }

    /// The peer's SYN has come: the stream begins at `next`, and `timestamp` is to be echoed. Before
    /// [`establish`](Self::establish), so that a SYN-ACK can be filled.
    pub fn synchronize(&mut self, next: u64, timestamp: Option<u64>) {
        self.reassembly = Reassembly::new(next);
        self.start = next;
        self.read = next;
        self.timestamp = timestamp.unwrap_or(0);
    }

    /// The handshake is over.
    pub fn establish(&mut self, now: Timestamp, negotiated: Negotiated) {
        self.negotiated = negotiated;
        let options = if negotiated.timestamps { TIMESTAMPS_OPTION } else { 0 };
        self.window.establish(now, self.reassembly.next(), options, negotiated.window_scaling);
        self.last_arrival = now;
    }

    /// Tells the smoothed round-trip time (zero where unknown) and the retransmission timeout of the sending half,
    /// which bound the delay of acknowledgements.
    pub fn set_round_trip(&mut self, srtt: Duration, rto: Duration) {
        self.srtt = srtt;
        self.rto = rto;
    }

    /// A segment of the established connection arrives, with or without data.
    pub fn handle_segment(&mut self, now: Timestamp, segment: &Segment) -> AckDecision {
        self.last_arrival = now;
        if segment.flags.syn || !self.is_valid(segment) {
            return self.refuse(now, segment);
        }
        self.note_timestamps(now, segment);
        if segment.sequence_length() == 0 {
            return AckDecision::Nothing;
        }
        if segment.flags.cwr && self.demands_reduction {
            // The sender has reduced (RFC 3168, section 6.1.3); its window may be one packet: do not let it wait.
            self.demands_reduction = false;
            self.policy.owe_now();
        }
        self.take(now, segment);
        self.decide(now)
    }

    /// Linux: `tcp_sequence`.
    fn is_valid(&self, segment: &Segment) -> bool {
        let next = self.reassembly.next();
        let limit = next + self.window.remaining(next);
        if segment.end() < self.window.announced_at() || segment.sequence > limit {
            return false;
        }
        // Bytes beyond the window are taken only while nothing waits to be read.
        segment.end() <= limit || self.queue.is_empty()
    }

    /// Answers what is outside the window with the state of things (RFC 9293, section 3.10.7.4). Linux:
    /// `tcp_send_dupack`, `tcp_oow_rate_limited`.
    fn refuse(&mut self, now: Timestamp, segment: &Segment) -> AckDecision {
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

    /// Which timestamp to echo (RFC 7323, section 4.3), and what the echo of one's own tells.
    fn note_timestamps(&mut self, now: Timestamp, segment: &Segment) {
        let Some(timestamps) = segment.timestamps.filter(|_| self.negotiated.timestamps) else { return };
        if timestamps.value >= self.timestamp && segment.sequence <= self.window.announced_at() {
            self.timestamp = timestamps.value;
        }
        if self.last_echo.replace(timestamps.echo) == Some(timestamps.echo) {
            return;
        }
        if segment.flags.ack && segment.payload >= self.policy.full_packet() {
            let elapsed = (now.as_nanos() / 1_000_000).saturating_sub(timestamps.echo);
            self.window.note_echo(elapsed, self.reassembly.next() == self.read);
        }
    }

    /// Linux: `tcp_data_queue`.
    fn take(&mut self, now: Timestamp, segment: &Segment) {
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
        if !self.negotiated.ecn {
            return;
        }
        match segment.ecn {
            Ecn::NotCapable => {
                // Probably sent again, where the sender had marked before: its window may be small.
                if self.has_seen_ecn {
                    self.policy.enter_quick_for_mark(self.window.announced());
                }
            }
            Ecn::CongestionExperienced => {
                if !self.demands_reduction {
                    self.policy.enter_quick_for_mark(self.window.announced());
                    self.demands_reduction = true;
                }
                self.has_seen_ecn = true;
            }
            Ecn::Capable => self.has_seen_ecn = true,
        }
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

    /// Linux: `__tcp_ack_snd_check`.
    fn decide(&mut self, now: Timestamp) -> AckDecision {
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

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        let next = self.reassembly.next();
        let end = if self.is_fin_in_order() { next - 1 } else { next };
        end - self.read
    }

    fn is_fin_in_order(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.reassembly.next())
    }

    /// Reads up to `most` bytes; returns how many. Linux: `tcp_recvmsg`, `__tcp_cleanup_rbuf`.
    pub fn read(&mut self, _now: Timestamp, most: u64) -> u64 {
        let bytes = most.min(self.readable());
        if bytes == 0 {
            return 0;
        }
        self.read += bytes;
        let released = self.queue.release(self.read);
        self.window.release(released);
        let next = self.reassembly.next();
        self.window.adjust(self.last_arrival, self.read, next, self.reassembly.highest() - next);
        self.is_ack_due |= self.is_ack_due_after_read(next);
        bytes
    }

    fn is_ack_due_after_read(&self, next: u64) -> bool {
        let full_packet = u64::from(self.policy.full_packet());
        let has_two = self.policy.is_owed() && next.saturating_sub(self.window.announced_at()) > full_packet;
        if has_two || (self.queue.is_empty() && self.policy.is_due_when_drained()) {
            return true;
        }
        !self.is_fin_in_order() && self.window.is_update_due(next, full_packet)
    }

    /// True when the peer's FIN and all before it has come, and all was read.
    pub fn has_ended(&self) -> bool {
        self.is_fin_in_order() && self.readable() == 0
    }

    /// True when the peer's FIN and all before it has come.
    pub fn is_fin_reached(&self) -> bool {
        self.is_fin_in_order()
    }

    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.read + self.readable() - self.start
    }

    /// The next number expected.
    pub fn next_sequence(&self) -> u64 {
        self.reassembly.next()
    }

    /// True when a segment is to be sent for the acknowledgement alone.
    pub fn is_ack_due(&self) -> bool {
        self.is_ack_due
    }

    /// Asks for an acknowledgement at once, as the end of the handshake does.
    pub fn request_ack(&mut self) {
        self.is_ack_due = true;
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub fn next_ack_timeout(&self) -> Option<Timestamp> {
        self.policy.next_timeout().filter(|_| !self.is_ack_due)
    }

    /// The time of [`next_ack_timeout`](Self::next_ack_timeout) has come; does nothing where it has not.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.is_ack_due |= self.policy.handle_timeout(now, self.rto);
    }

    /// A segment with data is sent at `now`.
    pub fn data_sent(&mut self, now: Timestamp) {
        self.policy.data_sent(now);
    }

    /// Writes into a segment that is about to be sent what the receiving half has to say: acknowledgement, window,
    /// selective acknowledgements, the echo of the timestamp, the echo of a mark. A SYN gets its unscaled window and
    /// nothing selective.
    pub fn fill(&mut self, segment: &mut Segment) {
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.echo = if segment.flags.ack { self.timestamp } else { 0 };
        }
        if segment.flags.syn {
            segment.window = self.window.syn_window();
            segment.acknowledgement = if segment.flags.ack { self.reassembly.next() } else { 0 };
            return;
        }
        segment.flags.ack = true;
        segment.flags.ece = self.demands_reduction;
        segment.acknowledgement = self.reassembly.next();
        let (window, is_short) = self.window.announce(segment.acknowledgement, u64::from(self.policy.full_packet()));
        segment.window = window;
        if is_short {
            self.policy.end_quick();
        }
        segment.sack = SackBlocks::default();
        if self.negotiated.sack {
            self.reassembly.take_blocks().for_each(|block| segment.sack.push(block));
        }
        self.policy.ack_sent();
        self.is_ack_due = false;
    }
}

#[cfg(test)]
mod tests;
