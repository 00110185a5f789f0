//! What decides how fast to send and from which level: one trait, one implementation per algorithm.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
pub use framewire_wire::tfrc::Feedback as TfrcFeedback;
use framewire_wire::vtp::ControlPacket;

/// What the sending plan asks of the sender at one place of the stream: the reference rate of every level.
///
/// Rates count bytes of video, without headers. A higher level has a higher rate as a rule, not always: plans of VBR
/// levels may touch or cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanRates<'a> {
    /// The place: media time of the next frame to send.
    pub now_in_stream: Duration,
    /// One rate per level, lowest level first; never empty.
    pub rates: &'a [Bitrate],
}

impl PlanRates<'_> {
    /// The floor: VTP sends no slower than the lowest level's plan (section 4.2).
    pub fn floor(&self) -> Bitrate {
        self.rates.first().copied().unwrap_or_default()
    }

    /// The cap: the highest rate that any level asks for.
    pub fn cap(&self) -> Bitrate {
        self.rates.iter().copied().max().unwrap_or_default()
    }

    /// The highest level.
    pub fn top(&self) -> usize {
        self.rates.len().saturating_sub(1)
    }

    /// The rate of a level; of the top one when there is no such level.
    pub fn rate(&self, level: usize) -> Bitrate {
        self.rates.get(level.min(self.top())).copied().unwrap_or_default()
    }

    /// The highest level whose rate is at most `rate`.
    pub(crate) fn highest_within(&self, rate: Bitrate) -> Option<usize> {
        self.rates.iter().rposition(|&reference| reference <= rate)
    }
}

/// How fast to send, and from which level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Bytes of video per time, without headers.
    pub rate: Bitrate,
    /// The level wanted; the server takes it over at the next I frame.
    pub level: usize,
}

/// What the receiver reported to the sender.
#[derive(Clone, Debug, PartialEq)]
pub enum Feedback {
    /// A control packet of VTP.
    Control(ControlPacket),
    /// A feedback packet of TFRC (RFC 5348, section 3.2.2).
    Tfrc(TfrcFeedback),
}

/// What a controller knows, for tables and plots; what it does not know is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControllerState {
    /// Name of the state that the algorithm is in, for instance `"Q0"`.
    pub name: &'static str,
    /// The sending rate.
    pub rate: Bitrate,
    /// The level wanted.
    pub level: usize,
    /// Smoothed round-trip time; an algorithm may reckon with another one.
    pub round_trip: Option<Duration>,
    /// The last round-trip sample.
    pub round_trip_sample: Option<Duration>,
    /// Smoothed bandwidth estimate: B_i.
    pub estimate: Option<Bitrate>,
    /// The last bandwidth sample: b_i.
    pub sample: Option<Bitrate>,
    /// Loss event rate, 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// Bandwidth samples taken.
    pub samples: u64,
    /// Feedback packets that gave no sample.
    pub discarded: u64,
}

/// A rate controller on the sender's side.
///
/// # How to drive it
/// Tell it what happens ([`handle_sent`](Self::handle_sent), [`handle_feedback`](Self::handle_feedback), and
/// [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout)), then ask for the
/// [`decision`](Self::decision). `now` may stand still or jump; a controller must survive both. Every call gets the
/// plan at the place where the stream is now. The decided rate is never outside
/// [floor](PlanRates::floor) and [cap](PlanRates::cap) of that plan, unless the algorithm documents why.
pub trait Controller: Send {
    /// A packet left. `payload` is bytes of video; `ack_requested` says that it asks for a control packet.
    fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool);

    /// The receiver reported. Feedback of another algorithm is ignored.
    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, plan: &PlanRates<'_>);

    /// The time of [`next_timeout`](Self::next_timeout) has come, or passed.
    fn handle_timeout(&mut self, now: Timestamp, plan: &PlanRates<'_>);

    /// A packet was due and there was none: a live stream has not come further. What is measured across this says how
    /// fast the stream is made, and not what the path carries.
    fn handle_idle(&mut self) {}

    /// A live stream begins to be sent, or has come further: to `made`, in the time of [`PlanRates::now_in_stream`].
    fn handle_more(&mut self, _now: Timestamp, _made: Duration) {}

    /// When the controller is to be called without anything having happened.
    fn next_timeout(&self) -> Option<Timestamp>;

    /// How fast to send now, and from which level.
    fn decision(&mut self, now: Timestamp, plan: &PlanRates<'_>) -> Decision;

    /// Whether the next frame is worth sending; without it the viewer misses the frame. Asked before the first packet of
    /// every frame but those at which a level may be entered, which are always sent.
    fn keeps_frame(&mut self, _now: Timestamp, _plan: &PlanRates<'_>) -> bool {
        true
    }

    /// What it knows.
    fn state(&self) -> ControllerState;
}
