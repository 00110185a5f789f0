//! Congestion control: one small trait, one file per algorithm, and one line of the table here.
//!
//! The hooks are those between Linux' TCP and its congestion-control modules, so that an algorithm can be held against
//! the kernel line by line. Windows are whole packets, as there.

mod bbr1;
mod bbr3;
mod compound;
mod cubic;
mod dctcp;
mod highspeed;
mod htcp;
mod hybla;
mod hystart;
mod hystart_plus_plus;
mod illinois;
mod newreno;
mod prague;
mod registry;
mod reno;
mod round;
mod scalable;
mod siad;
#[cfg(test)]
mod tests;
mod ticks;
mod vegas;
mod veno;
mod westwood;
mod windowed_filter;

pub use registry::UnknownAlgorithm;

use std::fmt::Debug;

use framewire_units::{Bitrate, Duration, Ecn, Timestamp};

registry::algorithms! {
    /// New Reno (RFC 5681, RFC 6582).
    Reno, "reno", |_| Box::new(reno::Reno);
    /// New Reno with the threshold of RFC 5681, half of what is in flight.
    NewReno, "newreno", |_| Box::new(newreno::NewReno);
    /// CUBIC (RFC 9438) with HyStart, as Linux has it: the default there.
    Cubic, "cubic", |_| Box::new(cubic::Cubic::with_hystart());
    /// CUBIC with HyStart++ (RFC 9406) in place of HyStart.
    CubicHyStartPlusPlus, "cubic-hystart++", |_| Box::new(cubic::Cubic::with_hystart_plus_plus());
    /// TCP Illinois (Liu, Basar and Srikant, 2008).
    Illinois, "illinois", |_| Box::new(illinois::Illinois::default());
    /// TCP Vegas (Brakmo and Peterson, 1995).
    Vegas, "vegas", |_| Box::new(vegas::Vegas::default());
    /// TCP Westwood+ (Grieco and Mascolo, 2004).
    Westwood, "westwood", |_| Box::new(westwood::Westwood::default());
    /// TCP Veno (Fu and Liew, 2003).
    Veno, "veno", |_| Box::new(veno::Veno::default());
    /// Scalable TCP (Kelly, 2003).
    Scalable, "scalable", |_| Box::new(scalable::Scalable);
    /// HighSpeed TCP (RFC 3649).
    HighSpeed, "highspeed", |_| Box::new(highspeed::HighSpeed::default());
    /// H-TCP (Shorten and Leith, 2004).
    Htcp, "htcp", |_| Box::new(htcp::Htcp::default());
    /// BBR, version 1, as Linux has it.
    Bbr1, "bbr", |seed| Box::new(bbr1::Bbr1::new(seed));
    /// BBR, version 3 (draft-ietf-ccwg-bbr).
    Bbr3, "bbr3", |seed| Box::new(bbr3::Bbr3::new(seed));
    /// TCP Hybla (Caini and Firrincieli, 2004).
    Hybla, "hybla", |_| Box::new(hybla::Hybla::default());
    /// Compound TCP (Tan, Song, Zhang and Sridharan, 2006).
    Compound, "compound", |_| Box::new(compound::Compound::default());
    /// TCP SIAD (Kuehlewind, 2015).
    Siad, "siad", |_| Box::new(siad::Siad::default());
    /// Data Center TCP (RFC 8257).
    Dctcp, "dctcp", |_| Box::new(dctcp::Dctcp::default());
    /// Prague (draft-briscoe-iccrg-prague-congestion-control, RFC 9331).
    Prague, "prague", |_| Box::new(prague::Prague::default());
}

/// No threshold goes below this, in packets (RFC 5681, equation 4).
const MINIMUM_THRESHOLD: u32 = 2;

/// What the endpoint and the algorithm share. Sizes in packets of `maximum_segment` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window (RFC 5681, section 2).
    pub cwnd: u32,
    /// Slow-start threshold; `u32::MAX` before the first reduction.
    pub ssthresh: u32,
    /// Packets acknowledged since the last whole step of the window.
    pub cwnd_count: u32,
    /// The window before the last reduction.
    pub prior_cwnd: u32,
    /// Packets that were sent and are not acknowledged by number when a reduction begins (RFC 5681, section 2: FlightSize).
    pub flight_size: u32,
    /// Payload bytes of a full packet.
    pub maximum_segment: u32,
}

impl Window {
    /// RFC 5681, section 3.1.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start by `acked` packets up to the threshold; returns the packets left over for congestion avoidance.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// Adds one packet to the window per `every` packets acknowledged (RFC 5681, section 3.1, counting bytes).
    pub(crate) fn avoid_congestion(&mut self, every: u32, acked: u32) {
        let every = every.max(1);
        // A step that came due while `every` was larger is taken first, alone.
        if self.cwnd_count >= every {
            self.cwnd_count = 0;
            self.cwnd += 1;
        }
        self.cwnd_count += acked;
        if self.cwnd_count >= every {
            let steps = self.cwnd_count / every;
            self.cwnd_count -= steps * every;
            self.cwnd += steps;
        }
    }
}

/// State of loss recovery, by Linux' names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate acknowledgements or SACKs were seen, nothing is judged lost yet.
    Disorder,
    /// The window is being reduced after an ECN echo (RFC 3168) or a local drop.
    Reduced,
    /// Fast recovery (RFC 6675, RFC 6937).
    Recovery,
    /// After a retransmission timeout (RFC 6298).
    Loss,
}

/// The delivery rate over the flight of the most recently sent packet that an acknowledgement covers
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over `interval`.
    pub delivered: u32,
    /// Packets delivered in all when the sampled packet was sent.
    pub prior_delivered: u64,
    /// When that packet's own flight began.
    pub prior_time: Timestamp,
    /// The longer of the sending and the acknowledging interval; `None` where the sample is not valid.
    pub interval: Option<Duration>,
    /// The sender had nothing to send at some time of the flight.
    pub is_app_limited: bool,
    /// Packets in flight when the sampled packet was sent.
    pub in_flight_at_send: u32,
    /// Packets judged lost in all when it was sent.
    pub lost_at_send: u64,
    /// Packets delivered with a CE mark over the sample.
    pub delivered_ce: u32,
}

/// How an algorithm uses the ECN field of its packets, and what it needs to be told of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// A mark is a loss without a loss (RFC 3168): ECT(0) on new data, where the connection has agreed on ECN.
    #[default]
    Classic,
    /// How many packets are marked counts (RFC 8257): asks for ECN by itself, ECT(0) on every packet, and the echo says
    /// of each packet whether it was marked. Both ends must have it. Linux: `TCP_CONG_NEEDS_ECN`.
    Exact,
    /// How many packets are marked counts, over the Internet (RFC 9331, section 4): ECT(1) on every packet, and each
    /// acknowledgement has a counter of marks (RFC 9768). Where the peer does not know that, the connection is a classic
    /// one.
    Accurate,
}

impl EcnUse {
    /// The algorithm does not do without ECN.
    pub fn is_needed(self) -> bool {
        self != Self::Classic
    }

    /// The field of a packet of a connection that has agreed on ECN; `is_new_data` is false of acknowledgements without
    /// data and of retransmissions, which classic ECN leaves unmarked (RFC 3168, sections 6.1.4 and 6.1.5).
    pub(crate) fn field(self, is_new_data: bool) -> Ecn {
        match self {
            Self::Classic if !is_new_data => Ecn::NotEct,
            Self::Classic | Self::Exact => Ecn::Ect0,
            Self::Accurate => Ecn::Ect1,
        }
    }
}

/// What has been delivered and marked when an acknowledgement has been taken in, before it moves the state of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deliveries {
    /// First sequence number that is not acknowledged.
    pub first_unacknowledged: u64,
    /// The next sequence number to be sent.
    pub next_sequence: u64,
    /// Packets delivered since the start.
    pub delivered: u64,
    /// Those of them that an ECN echo reported as marked.
    pub delivered_ce: u64,
}

/// Everything that an acknowledgement reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// When it came.
    pub now: Timestamp,
    /// Packets newly acknowledged by number (not selectively).
    pub acked: u32,
    /// Packets newly acknowledged either way: newly delivered.
    pub acked_or_sacked: u32,
    /// Packets newly judged lost.
    pub newly_lost: u32,
    /// Round-trip time of the newest packet that was not sent twice; `None` where there was none.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298), zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time over the endpoint's window (Linux: 300 s).
    pub min_rtt: Option<Duration>,
    /// Packets in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// Packets in flight after it.
    pub in_flight: u32,
    /// The window was the limit in the last flight (RFC 7661; Linux: `is_cwnd_limited`).
    pub is_cwnd_limited: bool,
    /// Packets delivered since the start.
    pub delivered: u64,
    /// Packets judged lost since the start.
    pub lost: u64,
    /// The next sequence number to be sent and the first not acknowledged, to count rounds.
    pub next_sequence: u64,
    /// First sequence number that is not acknowledged.
    pub first_unacknowledged: u64,
    /// The delivery rate.
    pub rate: RateSample,
    /// The acknowledgement carried an ECN echo.
    pub ecn_echo: bool,
    /// State of loss recovery after it.
    pub state: State,
}

/// Something that happened beside acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet after nothing was in flight is sent. Linux: CA_EVENT_TX_START.
    TransmitStart {
        /// When.
        now: Timestamp,
        /// When the last packet before it was sent; `None` for the first of all.
        last_sent: Option<Timestamp>,
        /// The sender had run out of data before.
        was_app_limited: bool,
    },
    /// The window was restarted after idling (RFC 5681, section 4.1).
    WindowRestart,
    /// A reduction is complete: the window is at the threshold. Linux: CA_EVENT_COMPLETE_CWR.
    ReductionComplete {
        /// When.
        now: Timestamp,
    },
    /// A retransmission timeout is about to be handled. Linux: CA_EVENT_LOSS.
    Timeout {
        /// When.
        now: Timestamp,
    },
}

/// A congestion-control algorithm.
///
/// The endpoint calls, for each acknowledgement, [`handle_acknowledgement`](Self::handle_acknowledgement) always, then
/// [`control`](Self::control); where that says [`Control::Standard`], proportional rate reduction (RFC 6937) sets the
/// window in recovery, and [`grow`](Self::grow) is called where the window may grow. Before a reduction it asks for
/// the new threshold with [`reduced_threshold`](Self::reduced_threshold).
pub trait CongestionControl: Debug + Send {
    /// Its name, as `TCP_CONGESTION` takes it.
    fn name(&self) -> &'static str;

    /// How it uses the ECN field. Linux: `flags`.
    fn ecn_use(&self) -> EcnUse {
        EcnUse::Classic
    }

    /// What the two ends have agreed on, before [`start`](Self::start); `None`: no ECN.
    fn agree(&mut self, _ecn: Option<EcnUse>) {}

    /// Takes note of what was delivered and marked, before the acknowledgement may begin a reduction; only called where
    /// the connection has agreed on ECN. Linux: `in_ack_event`.
    fn handle_deliveries(&mut self, _window: &Window, _deliveries: &Deliveries) {}

    /// Takes note of an acknowledgement: RTT samples, rounds, marks. Linux: `pkts_acked`, `in_ack_event`.
    fn handle_acknowledgement(&mut self, _window: &mut Window, _ack: &Acknowledgement) {}

    /// An algorithm that sets window and pacing itself does it here and says [`Control::Own`]. Linux: `cong_control`.
    fn control(&mut self, _window: &mut Window, _ack: &Acknowledgement) -> Control {
        Control::Standard
    }

    /// Opens the window after `ack`, which may raise it. Linux: `cong_avoid`.
    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement);

    /// The threshold after a loss or a mark at `now`, in packets, at least 2. Linux: `ssthresh`.
    fn reduced_threshold(&mut self, window: &Window, now: Timestamp) -> u32;

    /// The window to go back to when a reduction proves wrong. Linux: `undo_cwnd`.
    fn undo(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }

    /// The state of loss recovery changes from what it was to `state`. Linux: `set_state`.
    fn handle_state(&mut self, _window: &mut Window, _state: State, _now: Timestamp) {}

    /// Something beside acknowledgements. Linux: `cwnd_event`.
    fn handle_event(&mut self, _window: &mut Window, _event: Event) {}

    /// The rate to pace at; `None` for no pacing.
    fn pacing_rate(&self) -> Option<Bitrate> {
        None
    }

    /// Packets that one release of the pacer may send; the endpoint's own choice where `None`.
    fn send_quantum(&self) -> Option<u32> {
        None
    }

    /// The connection is open; `srtt` is the handshake's, or zero. Linux: `init`.
    fn start(&mut self, _window: &mut Window, _srtt: Duration, _now: Timestamp) {}

    /// The pacer lets the next packet go at `next`. Linux: `tcp_wstamp_ns`.
    fn handle_departure(&mut self, _next: Timestamp) {}

    /// Windows that the send buffer is to hold. Linux: `sndbuf_expand`.
    fn send_buffer_windows(&self) -> u32 {
        2
    }

    /// True while it sends less than it could on purpose: delivery rates are then to be marked as limited by the
    /// application after each acknowledgement.
    fn is_holding_back(&self) -> bool {
        false
    }
}

/// Who sets the window after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The endpoint: `grow` outside recovery, proportional rate reduction inside.
    Standard,
    /// The algorithm has done so.
    Own,
}
