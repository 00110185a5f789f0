//! The movie between applications of the user's own.

use framewire_scenario::{ExternalFlow, Input, Receiver, Sender};
use framewire_units::Timestamp;

use super::CommonSetup;
use crate::plan::SendingPlan;

/// A flow whose two ends are applications of the user's own.
#[derive(Clone, Debug)]
pub struct ExternalSetup {
    /// What all flows have.
    pub common: CommonSetup,
    /// What is sent.
    pub plan: SendingPlan,
    /// The sending application.
    pub sender: Sender,
    /// The receiving application.
    pub receiver: Receiver,
}

impl ExternalSetup {
    pub(super) fn new(common: CommonSetup, own: &ExternalFlow, plan: SendingPlan) -> Self {
        Self { common, plan, sender: own.sender.clone(), receiver: own.receiver.clone() }
    }

    /// True where the sender is given each frame when it is due; it paces itself otherwise.
    pub fn is_fed(&self) -> bool {
        self.sender.input == Input::Frames
    }

    /// The same flow with its first frame due at `start`.
    #[must_use]
    pub fn starting_at(self, start: Timestamp) -> Self {
        Self { plan: self.plan.starting_at(start), ..self }
    }
}
