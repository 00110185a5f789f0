//! Streaming without adaptation: the top level by its own schedule, whatever the network does.

use framewire_units::{DataSize, Timestamp};

use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};

/// Sends the top level at the rate of its plan: the paper's non-adaptive streaming (section 6.5).
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedRate {
    last: Option<Decision>,
}

impl FixedRate {
    /// A controller at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Controller for FixedRate {
    fn handle_sent(&mut self, _now: Timestamp, _sequence: u32, _payload: DataSize, _ack_requested: bool) {}

    fn handle_feedback(&mut self, _now: Timestamp, _feedback: &Feedback, _plan: &PlanRates<'_>) {}

    fn handle_timeout(&mut self, _now: Timestamp, _plan: &PlanRates<'_>) {}

    fn next_timeout(&self) -> Option<Timestamp> {
        None
    }

    fn decision(&mut self, _now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        let decision = Decision { rate: plan.rate(plan.top()), level: plan.top() };
        self.last = Some(decision);
        decision
    }

    fn state(&self) -> ControllerState {
        let Some(Decision { rate, level }) = self.last else {
            return ControllerState { name: "fixed", ..ControllerState::default() };
        };
        ControllerState { name: "fixed", rate, level, ..ControllerState::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use framewire_units::{Bitrate, Duration};

    #[test]
    fn it_follows_the_plan_of_the_top_level_alone() {
        let mut fixed = FixedRate::new();
        for kbps in [450, 300, 500] {
            let rates = [Bitrate::from_kbps(125), Bitrate::from_kbps(600), Bitrate::from_kbps(kbps)];
            let plan = PlanRates { now_in_stream: Duration::ZERO, rates: &rates };
            let decision = fixed.decision(Timestamp::ZERO, &plan);
            assert_eq!(decision, Decision { rate: Bitrate::from_kbps(kbps), level: 2 });
            assert_eq!((fixed.state().rate, fixed.state().level), (decision.rate, 2));
        }
        assert_eq!(fixed.next_timeout(), None);
    }
}
