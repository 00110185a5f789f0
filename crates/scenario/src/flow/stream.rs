//! The movie as a stream of bytes.

use framewire_transport::TransportKind;
use framewire_transport::queue::QueueKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::pacing::{self, Pacing};
use super::tcp::Tcp;
use super::{Rtcp, queue, rtcp};
use crate::error::ScenarioError;
use crate::section::Section;

/// The movie as a stream of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamFlow {
    /// How it carries the movie.
    #[serde(skip)]
    pub transport: TransportKind,
    /// What paces the sender; present exactly for `tcp` and `udp-blocking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Which reports its ends send each other; present exactly for `rtsp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtcp: Option<Rtcp>,
    /// Its connection.
    #[serde(flatten)]
    pub tcp: Tcp,
    /// Which frame goes next, and how much may wait.
    #[serde(flatten, serialize_with = "queue::serialize")]
    #[schemars(flatten, with = "queue::Keys")]
    pub queue: QueueKind,
}

impl StreamFlow {
    pub(super) fn keys(kind: TransportKind) -> Vec<&'static str> {
        [pacing::keys(kind), rtcp::keys(kind), Tcp::KEYS, queue::keys(kind)].concat()
    }

    pub(super) fn read(section: &mut Section, transport: TransportKind) -> Result<Self, ScenarioError> {
        Ok(Self {
            transport,
            pacing: pacing::read(section, transport)?,
            rtcp: rtcp::read(section, transport)?,
            tcp: Tcp::read(section, transport.profile())?,
            queue: queue::read(section, transport)?,
        })
    }
}
