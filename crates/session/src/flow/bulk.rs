//! TCP connections whose application always has data.

use framewire_scenario as scenario;
use framewire_units::Timestamp;

use super::{CommonSetup, ConnectionSettings};

/// A flow of TCP connections without a movie: a world writes into them and reads.
#[derive(Clone, Debug)]
pub struct BulkSetup {
    /// What all flows have.
    pub common: CommonSetup,
    /// How many connections it is.
    pub connections: u8,
    /// When they are opened.
    pub start: Timestamp,
    /// When the application ends its streams; what stands in the sockets is still sent. `None`: at the end of the run.
    pub stop: Option<Timestamp>,
    /// What the sender's sockets are to be like.
    pub connection: ConnectionSettings,
}

impl BulkSetup {
    pub(super) fn new(common: CommonSetup, own: &scenario::BulkFlow) -> Self {
        Self {
            connections: own.connections,
            start: Timestamp::ZERO + own.start,
            stop: own.stop.map(|stop| Timestamp::ZERO + stop),
            connection: common.connection(&own.tcp),
            common,
        }
    }
}
