//! The receiving half of a connection: what arrived, what of it can be read, and what to report to the sender.

mod arrival;

use framewire_units::{DataSize, Duration, Ecn, Timestamp};

use crate::ack_policy::{AckPolicy, AckTiming};
use crate::congestion::EcnUse;
use crate::reassembly::Reassembly;
use crate::receive_queue::ReceiveQueue;
use crate::receive_window::{ReceiveWindow, WindowSettings};
use crate::segment::{SackBlocks, Segment, TIMESTAMPS_OPTION};
use crate::send::FIRST_COUNT;

pub(crate) use crate::ack_policy::AckDecision;

/// What the receiving half is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveConfig {
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
pub(crate) struct Negotiated {
    /// Every segment carries timestamps.
    pub timestamps: bool,
    /// Selective acknowledgements are understood.
    pub sack: bool,
    /// Windows are scaled.
    pub window_scaling: bool,
    /// Congestion is notified explicitly, in this way.
    pub ecn: Option<EcnUse>,
}

/// An acknowledgement that is sent late, before the one that is due: up to where the packets were all marked, or all not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EarlierEcho {
    acknowledgement: u64,
    is_marked: bool,
}

/// The receiving half.
///
/// After the handshake, [`establish`](Self::establish). Then every segment that arrives goes to
/// [`handle_segment`](Self::handle_segment), and every segment that is sent through [`fill`](Self::fill), which
/// counts as the acknowledgement sent. [`is_ack_due`](Self::is_ack_due) asks for a segment without data; it may
/// become true in `handle_segment`, [`read`](Self::read) and [`handle_timeout`](Self::handle_timeout).
#[derive(Clone, Debug)]
pub(crate) struct ReceiveSide {
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
    /// The last packet was marked, and the number that was expected after it (RFC 8257, section 3.2: DCTCP.CE). Linux:
    /// `ce_state`, `prior_rcv_nxt`.
    last_mark: (bool, u64),
    earlier_echo: Option<EarlierEcho>,
    /// Marked packets in all (RFC 9768, section 3.2.1: r.cep), and since the last acknowledgement.
    marks: u64,
    marks_owed: u32,
    srtt: Duration,
    rto: Duration,
}

impl ReceiveSide {
    /// The state before the handshake.
    pub(crate) fn new(config: &ReceiveConfig) -> Self {
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
            negotiated: Negotiated { timestamps: config.timestamps, sack: false, window_scaling: offered, ecn: None },
            is_ack_due: false,
            last_arrival: Timestamp::ZERO,
            last_invalid: None,
            timestamp: 0,
            last_echo: None,
            has_seen_ecn: false,
            demands_reduction: false,
            last_mark: (false, 0),
            earlier_echo: None,
            marks: 0,
            marks_owed: 0,
            srtt: Duration::ZERO,
            rto: Duration::from_secs(1),
        }
    }

    /// The peer's SYN has come: the stream begins at `next`, and `timestamp` is to be echoed. Before
    /// [`establish`](Self::establish), so that a SYN-ACK can be filled.
    pub(crate) fn synchronize(&mut self, next: u64, timestamp: Option<u64>) {
        self.reassembly = Reassembly::new(next);
        self.start = next;
        self.read = next;
        self.timestamp = timestamp.unwrap_or(0);
    }

    /// The handshake is over.
    pub(crate) fn establish(&mut self, now: Timestamp, negotiated: Negotiated) {
        self.negotiated = negotiated;
        let options = if negotiated.timestamps { TIMESTAMPS_OPTION } else { 0 };
        self.window.establish(now, self.reassembly.next(), options, negotiated.window_scaling);
        self.last_arrival = now;
        self.last_mark = (false, self.reassembly.next());
    }

    /// Tells the smoothed round-trip time (zero where unknown) and the retransmission timeout of the sending half,
    /// which bound the delay of acknowledgements.
    pub(crate) fn set_round_trip(&mut self, srtt: Duration, rto: Duration) {
        self.srtt = srtt;
        self.rto = rto;
    }

    /// A segment of the established connection arrives, with or without data.
    pub(crate) fn handle_segment(&mut self, now: Timestamp, segment: &Segment) -> AckDecision {
        self.last_arrival = now;
        if segment.flags.syn || !self.is_valid(segment) {
            return self.refuse(now, segment);
        }
        self.note_timestamps(now, segment);
        self.count_mark(segment);
        if segment.sequence_length() == 0 {
            return AckDecision::Nothing;
        }
        if segment.flags.cwr && self.negotiated.ecn.is_some_and(|ecn_use| ecn_use != EcnUse::Accurate) {
            // The sender has reduced (RFC 3168, section 6.1.3); its window may be one packet: do not let it wait.
            self.demands_reduction = false;
            self.policy.owe_now();
        }
        self.take(now, segment);
        self.decide(now)
    }

    /// Bytes that can be read.
    pub(crate) fn readable(&self) -> u64 {
        let next = self.reassembly.next();
        let end = if self.is_fin_in_order() { next - 1 } else { next };
        end - self.read
    }

    /// The peer's FIN and all before it has come.
    fn is_fin_in_order(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.reassembly.next())
    }

    /// Reads up to `most` bytes; returns how many. Linux: `tcp_recvmsg`, `__tcp_cleanup_rbuf`.
    pub(crate) fn read(&mut self, _now: Timestamp, most: u64) -> u64 {
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
    pub(crate) fn has_ended(&self) -> bool {
        self.is_fin_in_order() && self.readable() == 0
    }

    /// Bytes received in order.
    pub(crate) fn received(&self) -> u64 {
        self.read + self.readable() - self.start
    }

    /// The next number expected.
    #[cfg(test)]
    fn next_sequence(&self) -> u64 {
        self.reassembly.next()
    }

    /// True when a segment is to be sent for the acknowledgement alone.
    pub(crate) fn is_ack_due(&self) -> bool {
        self.is_ack_due
    }

    /// Asks for an acknowledgement at once, as the end of the handshake does.
    pub(crate) fn request_ack(&mut self) {
        self.is_ack_due = true;
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub(crate) fn next_ack_timeout(&self) -> Option<Timestamp> {
        self.policy.next_timeout().filter(|_| !self.is_ack_due)
    }

    /// The time of [`next_ack_timeout`](Self::next_ack_timeout) has come; does nothing where it has not.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        self.is_ack_due |= self.policy.handle_timeout(now, self.rto);
    }

    /// A segment with data is sent at `now`.
    pub(crate) fn data_sent(&mut self, now: Timestamp) {
        self.policy.data_sent(now);
    }

    /// Writes into a segment that is about to be sent what the receiving half has to say: acknowledgement, window,
    /// selective acknowledgements, the echo of the timestamp, the echo of a mark. A SYN gets its unscaled window and
    /// nothing selective.
    pub(crate) fn fill(&mut self, segment: &mut Segment) {
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.echo = if segment.flags.ack { self.timestamp } else { 0 };
        }
        if segment.flags.syn {
            segment.window = self.window.syn_window();
            segment.acknowledgement = if segment.flags.ack { self.reassembly.next() } else { 0 };
            return;
        }
        segment.flags.ack = true;
        self.echo_marks(segment);
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

impl ReceiveSide {
    /// Counts a marked packet, also one without data, and owes an acknowledgement for every second one with data, so that
    /// the counter of three bits does not go round unseen (RFC 9768, sections 3.2.1 and 3.2.2.5.1).
    fn count_mark(&mut self, segment: &Segment) {
        /// n of section 3.2.2.5.1, "where there is newly delivered data".
        const MOST_OWED: u32 = 2;
        if self.negotiated.ecn == Some(EcnUse::Accurate) && segment.ecn == Ecn::Ce {
            self.marks += 1;
            if segment.payload > 0 {
                self.marks_owed += 1;
                if self.marks_owed >= MOST_OWED {
                    self.policy.owe_now();
                }
            }
        }
    }

    /// The echo of marks: a flag until the sender has reduced, or the counter.
    fn echo_marks(&mut self, segment: &mut Segment) {
        if self.negotiated.ecn == Some(EcnUse::Accurate) {
            let bits = FIRST_COUNT.wrapping_add(self.marks) & 7;
            segment.flags = segment.flags.with_ace(bits as u8);
            self.marks_owed = 0;
        } else {
            segment.flags.ece = self.demands_reduction;
        }
    }

    /// The acknowledgement that is to be sent before any other segment, if there is one.
    pub(crate) fn take_earlier_echo(&mut self) -> Option<EarlierEcho> {
        self.earlier_echo.take()
    }

    /// Writes `echo` into a segment without data. It changes nothing of what is owed. Linux: `__tcp_send_ack` with an
    /// earlier number.
    pub(crate) fn fill_earlier(&self, segment: &mut Segment, echo: &EarlierEcho) {
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.echo = self.timestamp;
        }
        segment.flags.ece = echo.is_marked;
        segment.acknowledgement = echo.acknowledgement;
        segment.window = self.window.remaining(echo.acknowledgement);
    }
}

#[cfg(test)]
mod tests;
