//! The sending half of an endpoint.
//!
//! The order of things is Linux': an acknowledgement is taken in ([`acknowledge`]), what it shows of losses moves the
//! state machine ([`recovery`]), the congestion control sets the window, and then packets are sent as far as window,
//! pacing, Nagle's algorithm and the device allow ([`transmit`]). The names of the kernel's functions stand beside
//! those of ours, so that the two can be read together.

mod acknowledge;
mod pacing;
mod rack;
mod rate_sample;
mod recovery;
mod reduction;
mod rtt;
mod sack;
mod scoreboard;
mod timeout;
mod transmit;
mod undo;
mod validation;

use std::collections::VecDeque;

use framewire_units::{DataSize, Duration, Timestamp};

use crate::buffers::{SendBuffer, SendBufferConfig};
use crate::config::TcpConfig;
use crate::congestion::{CongestionControl, EcnUse, State, Window};
use crate::info::TcpInfo;
use crate::timer::{Reason, Timeout};

use pacing::{Device, Pacer};
use rack::Rack;
use rate_sample::Delivery;
use recovery::Recovery;
use rtt::{RtoLimits, RttEstimator};
use scoreboard::Scoreboard;
use undo::Undo;
use validation::WindowValidation;

pub(crate) use acknowledge::{FIRST_COUNT, timestamp_value};

/// The first sequence number of the stream: the SYN has number 0.
pub(crate) const STREAM_START: u64 = 1;

/// What both sides agreed upon in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    /// Payload bytes of a full packet.
    pub maximum_segment: u32,
    /// Both sides use timestamps.
    pub timestamps: bool,
    /// Both sides use selective acknowledgements.
    pub sack: bool,
    /// How both sides use ECN, if they do.
    pub ecn: Option<EcnUse>,
    /// The window that the peer announced, and the sequence number of the segment that did.
    pub send_window: u64,
    pub window_update: u64,
    /// The round-trip time of the handshake, where it was not ambiguous.
    pub rtt: Option<Duration>,
    /// Retransmissions of the SYN.
    pub retransmissions: u32,
}

/// A segment that is decided upon. What it says of the other direction is filled in where it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// First sequence number.
    pub sequence: u64,
    /// Payload bytes.
    pub payload: u32,
    /// The stream ends after it.
    pub fin: bool,
    /// Nothing was written after it.
    pub push: bool,
    /// It was sent before.
    pub retransmission: bool,
    /// ECN: the window has been reduced.
    pub cwr: bool,
}

/// What is counted and not otherwise needed.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    sent: u64,
    retransmissions: u64,
    timeouts: u64,
    recoveries: u64,
    undone: u64,
    loss_probes: u64,
}

/// The sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Settings,
    congestion: Box<dyn CongestionControl>,
    /// The algorithm sets the window by itself. Linux: it has a `cong_control`.
    own_control: bool,
    window: Window,
    board: Scoreboard,
    delivery: Delivery,
    rtt: RttEstimator,
    rack: Rack,
    recovery: Recovery,
    undo: Undo,
    validation: WindowValidation,
    pacer: Pacer,
    device: Device,
    /// First sequence number not acknowledged (SND.UNA).
    unacknowledged: u64,
    /// Next sequence number to be sent (SND.NXT).
    next: u64,
    /// End of what the application wrote.
    written: u64,
    /// The stream ends at `written`.
    fin: Ending,
    /// The window that the peer announced (SND.WND).
    send_window: u64,
    /// Largest `send_window`.
    largest_window: u64,
    /// Sequence number of the segment that last updated the window (SND.WL1).
    window_update: u64,
    /// End of the last packet that was not full (Nagle, Minshall's variant). Linux: `snd_sml`.
    small_end: u64,
    /// When the connection was opened.
    opened: Timestamp,
    /// When a packet was last sent.
    last_sent: Option<Timestamp>,
    /// Bytes of each packet that options other than timestamps take.
    option_bytes: u32,
    buffer: SendBuffer,
    /// The application wanted to write more than the send buffer took.
    is_buffer_full: bool,
    /// One timer for everything about loss, as Linux has it.
    timer: Option<Timeout>,
    /// Timeouts in a row. Linux: `icsk_retransmits`.
    retries: u32,
    /// Window probes in a row.
    probes: u32,
    /// The next new packet reports that the window was reduced (RFC 3168, 6.1.2).
    announce_reduction: bool,
    counters: Counters,
    output: VecDeque<Outgoing>,
}

/// Parameters that do not change once the connection is open.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Payload bytes of a full packet, as agreed.
    maximum_segment: u32,
    initial_window: u32,
    no_delay: bool,
    timestamps: bool,
    sack: bool,
    ecn: Option<EcnUse>,
    limits: RtoLimits,
    max_retries: u32,
    restart_after_idle: bool,
    /// Windows that the send buffer is to hold.
    buffer_windows: u32,
    /// Packets of a burst at most.
    offload_packets: u32,
}

/// The end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The application has not ended it.
    Open,
    /// A FIN is to be sent.
    Queued,
    /// A FIN is sent.
    Sent,
}

impl Sender {
    /// Ready to send on a connection that was opened at `now`. Linux: `tcp_init_transfer`, `tcp_init_metrics`.
    pub(crate) fn new(config: &TcpConfig, agreed: &Agreement, now: Timestamp) -> Self {
        let limits = RtoLimits {
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto,
            tick: config.timer_tick,
        };
        let buffer = SendBufferConfig {
            fixed: config.send_buffer,
            unsent_limit: config.unsent_limit,
            offload_packets: config.offload_packets,
            ..SendBufferConfig::default()
        };
        // RFC 5681, section 3.1: a lost SYN means a window of one packet; Linux allows for one spurious timeout.
        let cwnd = if agreed.retransmissions > 1 { 1 } else { config.initial_window.max(1) };
        let mut sender = Self {
            settings: Settings {
                maximum_segment: agreed.maximum_segment,
                initial_window: config.initial_window.max(1),
                no_delay: config.no_delay,
                timestamps: agreed.timestamps,
                sack: agreed.sack,
                ecn: agreed.ecn,
                limits,
                max_retries: config.max_retries,
                restart_after_idle: config.restart_after_idle,
                offload_packets: config.offload_packets.max(1),
                buffer_windows: 2,
            },
            congestion: config.congestion.build(config.seed),
            own_control: false,
            window: Window {
                cwnd,
                ssthresh: u32::MAX,
                cwnd_count: 0,
                prior_cwnd: 0,
                flight_size: 0,
                maximum_segment: agreed.maximum_segment,
            },
            board: Scoreboard::new(),
            delivery: Delivery::new(),
            rtt: RttEstimator::new(limits),
            rack: Rack::new(),
            recovery: Recovery::new(),
            undo: Undo::default(),
            validation: WindowValidation::new(),
            pacer: Pacer::new(),
            device: Device::new(config.packet_overhead, config.device_limit),
            unacknowledged: STREAM_START,
            next: STREAM_START,
            written: STREAM_START,
            fin: Ending::Open,
            send_window: agreed.send_window,
            largest_window: agreed.send_window,
            window_update: agreed.window_update,
            small_end: STREAM_START,
            opened: now,
            last_sent: None,
            option_bytes: 0,
            buffer: SendBuffer::new(&buffer, agreed.maximum_segment),
            is_buffer_full: false,
            timer: None,
            retries: 0,
            probes: 0,
            announce_reduction: false,
            counters: Counters::default(),
            output: VecDeque::new(),
        };
        // The handshake counts as one packet delivered.
        sender.delivery.count(1, false);
        sender.validation.note_change(now);
        match agreed.rtt {
            Some(rtt) => {
                sender.rtt.sample_minimum(rtt, now);
                sender.rtt.sample(rtt, STREAM_START, STREAM_START);
            }
            None => sender.rtt.restart(FALLBACK_RTO),
        }
        sender.fit_segments_to_window();
        sender.congestion.agree(agreed.ecn);
        sender.congestion.start(&mut sender.window, sender.rtt.srtt(), now);
        sender.settings.buffer_windows = sender.congestion.send_buffer_windows();
        sender.update_pacing();
        sender.expand_buffer(true);
        sender
    }

    /// Bytes that were written and never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.buffer.unsent()
    }

    /// Whether the send buffer takes more. Linux: `sk_stream_is_writeable`.
    pub(crate) fn is_writable(&self) -> bool {
        self.fin == Ending::Open && self.buffer.is_writable()
    }

    /// Bytes that were written and are not acknowledged.
    pub(crate) fn queued(&self) -> u64 {
        self.buffer.queued()
    }

    /// The next sequence number to be sent.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Retransmission timeout.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// The stream's end was sent and acknowledged.
    pub(crate) fn is_done(&self) -> bool {
        self.fin == Ending::Sent && self.unacknowledged > self.written
    }

    /// The peer did not answer for too long.
    pub(crate) fn has_failed(&self) -> bool {
        self.retries.max(self.probes) > self.settings.max_retries
    }

    /// The next segment that is decided upon.
    pub(crate) fn pop_output(&mut self) -> Option<Outgoing> {
        self.output.pop_front()
    }

    /// The next deadline.
    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        let pacing = self.pacer.blocked_until().map(|at| Timeout { at, reason: Reason::Pacing });
        Timeout::earlier(self.timer, pacing)
    }

    /// Fills in what concerns sending.
    pub(crate) fn describe(&self, info: &mut TcpInfo) {
        let (rate, is_app_limited) = self.delivery.latest(self.window.maximum_segment).unzip();
        info.state = self.recovery.state;
        info.maximum_segment = self.window.maximum_segment;
        info.cwnd = self.window.cwnd;
        info.ssthresh = Some(self.window.ssthresh).filter(|&ssthresh| ssthresh != u32::MAX);
        info.srtt = self.rtt.srtt();
        info.rttvar = self.rtt.deviation();
        info.rto = self.rtt.rto();
        info.min_rtt = self.rtt.min_rtt();
        info.in_flight = self.board.in_flight();
        info.delivered = self.delivery.delivered;
        info.delivered_ce = self.delivery.delivered_ce;
        info.lost = self.delivery.lost;
        info.sent = self.counters.sent;
        info.retransmissions = self.counters.retransmissions;
        info.timeouts = self.counters.timeouts;
        info.recoveries = self.counters.recoveries;
        info.undone = self.counters.undone;
        info.loss_probes = self.counters.loss_probes;
        info.pacing_rate = self.pacer.rate();
        info.delivery_rate = rate;
        info.is_app_limited = is_app_limited.unwrap_or(false);
        info.send_window = DataSize::from_bytes(self.send_window);
        info.send_buffer = self.buffer.limit();
        info.send_buffer_used = self.buffer.charged();
        info.acknowledged = DataSize::from_bytes(self.unacknowledged.min(self.written) - STREAM_START);
    }

    /// Recounts what is counted.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.board.check();
        assert!(self.unacknowledged <= self.next && self.next <= self.written + 1);
        assert!(self.window.cwnd >= 1);
        assert_eq!(self.queued(), self.written.saturating_sub(self.unacknowledged));
        assert_eq!(self.unsent(), self.written.saturating_sub(self.next));
        let waits = !self.board.is_empty() && self.timer.is_none() && self.retries <= self.settings.max_retries;
        assert!(!waits, "what is outstanding has a timer");
    }

    /// The window is reduced for a mark, which the peer is to be told (RFC 3168, 6.1.2). A counter of marks needs no such
    /// word (RFC 9768).
    fn tells_reductions(&self) -> bool {
        self.settings.ecn.is_some_and(|ecn_use| ecn_use != EcnUse::Accurate)
    }

    fn in_reduction(&self) -> bool {
        matches!(self.recovery.state, State::Reduced | State::Recovery)
    }

    /// The end of the peer's window.
    fn window_end(&self) -> u64 {
        self.unacknowledged.saturating_add(self.send_window)
    }
}

/// The timeout of a connection whose SYN was lost (RFC 6298, 5.7). Linux: `TCP_TIMEOUT_FALLBACK`.
const FALLBACK_RTO: Duration = Duration::from_secs(3);
