//! Opening a connection: who may say what when, and what both sides agree upon (RFC 9293, section 3.5).

use framewire_units::{Duration, Ecn, Timestamp};

use crate::config::TcpConfig;
use crate::congestion::EcnUse;
use crate::segment::{Flags, Segment, TIMESTAMPS_OPTION, TimestampsOption};
use crate::send::{Agreement, timestamp_value};
use crate::timer::{Reason, Timeout, expiry};

/// Payload where a SYN announces none (RFC 9293, section 3.7.1).
const DEFAULT_SEGMENT: u32 = 536;
/// Times that a SYN is sent again before the connection is given up. Linux: `tcp_syn_retries`.
const SYN_RETRIES: u32 = 6;
/// Timeouts of a client's SYN before they double. Linux: `tcp_syn_linear_timeouts`.
const LINEAR_TIMEOUTS: u32 = 4;

/// The bits of a SYN that asks for ECN (RFC 3168, section 6.1.1), of its grant, and of a SYN that asks for accurate ECN
/// (RFC 9768, section 3.1.1).
const ASKS_CLASSIC: u8 = 0b011;
const GRANTS_CLASSIC: u8 = 0b001;
const ASKS_ACCURATE: u8 = 0b111;

/// The bits that grant accurate ECN to a SYN that came with this field (RFC 9768, section 3.1.1, table 2).
fn grant_of(field: Ecn) -> u8 {
    match field {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// What a SYN-ACK with these bits grants to who asked for `asked`.
fn granted(asked: EcnUse, bits: u8) -> Option<EcnUse> {
    match (asked, bits) {
        (EcnUse::Accurate, 0b010 | 0b011 | 0b100 | 0b110) => Some(EcnUse::Accurate),
        // A peer of RFC 3168.
        (EcnUse::Accurate, GRANTS_CLASSIC) => Some(EcnUse::Classic),
        (EcnUse::Accurate, _) => None,
        (classic, bits) => (bits & ASKS_CLASSIC == GRANTS_CLASSIC).then_some(classic),
    }
}

/// Where the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A SYN is out (SYN-SENT).
    Opening,
    /// No SYN has come (LISTEN).
    Listening,
    /// A SYN has come and is answered (SYN-RECEIVED).
    Answering(Offer),
}

/// What a peer's SYN offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    maximum_segment: u32,
    timestamps: bool,
    sack: bool,
    window_scaling: bool,
    /// Of a peer's: what is agreed on.
    ecn: Option<EcnUse>,
    /// The ECN field of the peer's SYN.
    field: Ecn,
}

/// What is agreed upon of the receiving half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    /// For the sending half.
    pub agreement: Agreement,
    /// Both sides scale their windows.
    pub window_scaling: bool,
}

/// What a segment does to the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Nothing.
    Nothing,
    /// The peer's SYN has come; its first data has this number, its timestamp this value.
    Synchronized(u64, Option<u64>),
    /// The connection is open. A client has only now seen the peer's SYN.
    Opened(Opened, Option<(u64, Option<u64>)>),
}

/// One side's handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    phase: Phase,
    offer: Offer,
    ecn_use: EcnUse,
    initial_rto: Duration,
    tick: Duration,
    is_due: bool,
    retransmissions: u32,
    /// When the SYN was first sent.
    sent: Timestamp,
    timer: Option<Timestamp>,
}

impl Handshake {
    fn new(config: &TcpConfig, ecn_use: EcnUse, phase: Phase) -> Self {
        Self {
            phase,
            offer: Offer {
                maximum_segment: config.maximum_segment,
                timestamps: config.timestamps,
                sack: config.sack,
                window_scaling: config.window_scaling,
                ecn: (config.ecn || ecn_use.is_needed()).then_some(ecn_use),
                field: Ecn::NotEct,
            },
            ecn_use,
            initial_rto: config.initial_rto,
            tick: config.timer_tick,
            is_due: false,
            retransmissions: 0,
            sent: Timestamp::ZERO,
            timer: None,
        }
    }

    /// A client: its SYN is to be sent at `now`.
    pub(crate) fn open(config: &TcpConfig, ecn_use: EcnUse, now: Timestamp) -> Self {
        let mut handshake = Self::new(config, ecn_use, Phase::Opening);
        handshake.send_first(now);
        handshake
    }

    /// A server.
    pub(crate) fn listen(config: &TcpConfig, ecn_use: EcnUse) -> Self {
        Self::new(config, ecn_use, Phase::Listening)
    }

    fn send_first(&mut self, now: Timestamp) {
        self.sent = now;
        self.is_due = true;
        self.timer = Some(expiry(now, self.initial_rto, self.tick));
    }

    /// The peer did not answer for too long.
    pub(crate) fn has_failed(&self) -> bool {
        self.retransmissions > SYN_RETRIES
    }

    /// The next deadline.
    pub(crate) fn next_timeout(&self) -> Option<Timeout> {
        self.timer.map(|at| Timeout { at, reason: Reason::Retransmission })
    }

    /// The deadline has come; does nothing before it.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        self.retransmissions += 1;
        if self.has_failed() {
            return;
        }
        self.is_due = true;
        let doublings = match self.phase {
            Phase::Opening => self.retransmissions.saturating_sub(LINEAR_TIMEOUTS),
            _ => self.retransmissions,
        };
        self.timer = Some(expiry(now, self.initial_rto * (1 << doublings), self.tick));
    }

    /// The SYN or SYN-ACK, if one is to be sent. What it acknowledges is filled in by the receiving half.
    pub(crate) fn poll_transmit(&mut self, now: Timestamp) -> Option<Segment> {
        if !std::mem::take(&mut self.is_due) {
            return None;
        }
        let (offer, ack) = match self.phase {
            Phase::Answering(agreed) => (agreed, true),
            _ => (self.offer, false),
        };
        // RFC 3168, section 6.1.1.1: what does not let a SYN with these flags pass lets the second one. Linux:
        // `tcp_ecn_clear_syn`.
        let ecn = offer.ecn.filter(|_| ack || self.retransmissions == 0);
        let bits = match (ecn, ack) {
            (None, _) => 0,
            // RFC 3168, section 6.1.1: both flags ask, one grants.
            (Some(EcnUse::Classic | EcnUse::Exact), false) => ASKS_CLASSIC,
            (Some(EcnUse::Classic | EcnUse::Exact), true) => GRANTS_CLASSIC,
            (Some(EcnUse::Accurate), false) => ASKS_ACCURATE,
            (Some(EcnUse::Accurate), true) => grant_of(offer.field),
        };
        Some(Segment {
            flags: Flags {
                syn: true,
                ack,
                sack_permitted: offer.sack,
                window_scale: offer.window_scaling,
                ..Flags::default()
            }
            .with_ace(bits),
            maximum_segment: Some(self.offer.maximum_segment),
            timestamps: offer.timestamps.then(|| TimestampsOption { value: timestamp_value(now), echo: 0 }),
            ecn: offer.ecn.map_or(Ecn::NotEct, |ecn_use| ecn_use.field(false)),
            retransmission: self.retransmissions > 0,
            sent: now,
            ..Segment::default()
        })
    }

    /// A segment arrives before the connection is open.
    pub(crate) fn handle_segment(&mut self, now: Timestamp, segment: &Segment) -> Step {
        let Flags { syn, ack, .. } = segment.flags;
        let first = segment.sequence.saturating_add(1);
        let timestamp = segment.timestamps.map(|timestamps| timestamps.value);
        match self.phase {
            Phase::Opening if syn && ack && segment.acknowledgement == 1 => {
                let agreed = self.agree(segment, self.offer.ecn.and_then(|asked| granted(asked, segment.flags.ace())));
                Step::Opened(self.finish(now, segment, &agreed), Some((first, timestamp)))
            }
            Phase::Listening if syn && !ack => {
                // Linux grants ECN to every peer that asks (`tcp_ecn = 2`), but to one whose SYN is ECN-capable itself only
                // with an algorithm that needs that here, too (`tcp_ecn_create_request`).
                let bits = segment.flags.ace();
                let is_understood = !segment.ecn.is_capable() || self.ecn_use.is_needed() || bits == ASKS_ACCURATE;
                let asks = bits & ASKS_CLASSIC == ASKS_CLASSIC && is_understood;
                let agreed = self.agree(segment, asks.then_some(self.grants(bits)));
                self.phase = Phase::Answering(agreed);
                self.send_first(now);
                Step::Synchronized(first, timestamp)
            }
            Phase::Answering(_) if syn && !ack => {
                self.is_due = true;
                Step::Nothing
            }
            Phase::Answering(agreed) if ack && !syn && segment.acknowledgement >= 1 => {
                Step::Opened(self.finish(now, segment, &agreed), None)
            }
            _ => Step::Nothing,
        }
    }

    /// What is granted to who asks with these bits.
    fn grants(&self, bits: u8) -> EcnUse {
        match self.ecn_use {
            EcnUse::Accurate if bits != ASKS_ACCURATE => EcnUse::Classic,
            own => own,
        }
    }

    /// What this side wants and the peer's SYN offers.
    fn agree(&self, segment: &Segment, ecn: Option<EcnUse>) -> Offer {
        let peer = segment.maximum_segment.unwrap_or(DEFAULT_SEGMENT).max(1);
        Offer {
            maximum_segment: self.offer.maximum_segment.min(peer),
            timestamps: self.offer.timestamps && segment.timestamps.is_some(),
            sack: self.offer.sack && segment.flags.sack_permitted,
            window_scaling: self.offer.window_scaling && segment.flags.window_scale,
            ecn,
            field: segment.ecn,
        }
    }

    fn finish(&mut self, now: Timestamp, segment: &Segment, agreed: &Offer) -> Opened {
        self.timer = None;
        self.is_due = false;
        let echo = segment.timestamps.map(|timestamps| timestamps.echo).filter(|&echo| agreed.timestamps && echo > 0);
        let rtt = match echo {
            _ if self.retransmissions == 0 => Some(now.saturating_since(self.sent)),
            Some(echo) => Some(Duration::from_millis(timestamp_value(now).saturating_sub(echo).max(1))),
            None => None,
        };
        let options = if agreed.timestamps { TIMESTAMPS_OPTION as u32 } else { 0 };
        Opened {
            agreement: Agreement {
                maximum_segment: agreed.maximum_segment.saturating_sub(options).max(1),
                timestamps: agreed.timestamps,
                sack: agreed.sack,
                ecn: agreed.ecn,
                send_window: segment.window,
                window_update: segment.sequence,
                rtt,
                retransmissions: self.retransmissions,
            },
            window_scaling: agreed.window_scaling,
        }
    }
}
