use framewire_units::{Bitrate, DataSize, Timestamp};

use super::sender::{Limit, Sender};
use super::settings::SenderSettings;
use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};

/// TFRC as a controller of a stream of levels.
///
/// - The rate is X_inst (RFC 5348, section 4.5), but no more than the [cap](PlanRates::cap) of the plan and the
///   settings' `maximum_rate` (the paper's TFRC had 400 kbit/s). It does go below the plan's floor: a congestion
///   control that did not obey itself would be none, and the client stalls instead.
/// - The level is the highest whose planned rate is at most X and the `maximum_rate`, the lowest when there is none.
///   Where X is above the level's own plan, the stream runs ahead of it; without that a data-limited sender would never
///   learn that there is room for the next level.
/// - The sender is data-limited while the plan's cap is below X_inst.
///
/// It uses [`Feedback::Tfrc`] alone, and the receiver needs [`ControllerState::round_trip`] in every data packet.
#[derive(Clone, Debug)]
pub struct TfrcController {
    sender: Sender,
    maximum: Bitrate,
    cap: Bitrate,
    level: usize,
    feedbacks: u64,
}

impl TfrcController {
    /// A controller at the start of a stream.
    pub fn new(settings: SenderSettings) -> Self {
        let maximum = settings.maximum_rate.unwrap_or(Bitrate::from_bps(u64::MAX));
        Self { sender: Sender::new(settings), maximum, cap: maximum, level: 0, feedbacks: 0 }
    }

    /// The sender that decides.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

impl Controller for TfrcController {
    fn handle_sent(&mut self, now: Timestamp, _sequence: u32, payload: DataSize, _ack_requested: bool) {
        let limit = if self.cap < self.sender.instantaneous_rate() { Limit::Data } else { Limit::Rate };
        self.sender.handle_sent(now, payload, limit);
    }

    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, _plan: &PlanRates<'_>) {
        if let Feedback::Tfrc(feedback) = feedback {
            self.feedbacks += 1;
            self.sender.handle_feedback(now, feedback);
        }
    }

    fn handle_timeout(&mut self, now: Timestamp, _plan: &PlanRates<'_>) {
        self.sender.handle_timeout(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.sender.next_timeout()
    }

    fn decision(&mut self, _now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        self.cap = plan.cap();
        self.level = plan.highest_within(self.sender.allowed_rate().min(self.maximum)).unwrap_or(0);
        Decision { rate: self.sender.instantaneous_rate().min(self.cap), level: self.level }
    }

    fn state(&self) -> ControllerState {
        let name = match (self.sender.round_trip(), self.sender.loss_event_rate()) {
            (None, _) => "start",
            (_, Some(p)) if p > 0.0 => "equation",
            _ => "slow start",
        };
        ControllerState {
            name,
            rate: self.sender.instantaneous_rate().min(self.cap),
            level: self.level,
            round_trip: self.sender.round_trip(),
            round_trip_sample: self.sender.last_sample(),
            estimate: Some(self.sender.allowed_rate()),
            sample: self.sender.receive_rate(),
            loss_event_rate: self.sender.loss_event_rate(),
            samples: self.feedbacks - self.sender.discarded(),
            discarded: self.sender.discarded(),
        }
    }
}
