//! The deadlines of an endpoint.

use framewire_units::Timestamp;

/// What a timeout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing was acknowledged for a retransmission timeout (RFC 6298).
    Retransmission,
    /// The tail of a flight may be lost: probe for it (RFC 8985, section 7).
    LossProbe,
    /// A packet overtaken by later ones has had its time (RFC 8985, section 6.3).
    Reordering,
    /// The peer's window is closed: see whether it has opened (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// The pacer lets the next burst go.
    Pacing,
    /// A received segment is to be acknowledged now (RFC 9293, section 3.8.6.3).
    Acknowledgement,
}

/// When to call [`Endpoint::handle_timeout`](crate::Endpoint::handle_timeout), and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub at: Timestamp,
    /// What for.
    pub reason: Reason,
}
