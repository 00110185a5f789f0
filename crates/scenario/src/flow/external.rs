//! Applications of the user's own at both ends.

use schemars::JsonSchema;
use serde::Serialize;

use super::tcp::{congestion, ecn};
use crate::application::{Receiver, Sender};
use crate::error::ScenarioError;
use crate::section::Section;

/// Applications of the user's own at both ends.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExternalFlow {
    /// TCP congestion control that their hosts have by default, by the kernel's name.
    pub congestion: String,
    /// Their hosts ask for explicit congestion notification (RFC 3168); present where they do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// The application that sends; present exactly for `external`.
    pub sender: Sender,
    /// The application that receives; present exactly for `external`.
    pub receiver: Receiver,
}

impl ExternalFlow {
    pub(super) const KEYS: &'static [&'static str] = &["congestion", "ecn", "sender", "receiver"];

    pub(super) fn read(section: &mut Section) -> Result<Self, ScenarioError> {
        let missing =
            |key: String| ScenarioError::missing(&key, "sender and receiver, each with a pipeline or a command");
        let (sender_key, receiver_key) = (section.key("sender"), section.key("receiver"));
        let (sender, receiver) = (Sender::read(section)?, Receiver::read(section)?);
        let congestion = congestion(section)?;
        Ok(Self {
            ecn: ecn(section, &congestion)?,
            congestion,
            sender: sender.ok_or_else(|| missing(sender_key))?,
            receiver: receiver.ok_or_else(|| missing(receiver_key))?,
        })
    }
}
