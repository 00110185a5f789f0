//! What a sending half says after it was given its socket.

/// Why a sending half stopped writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteProgress {
    /// Nothing is left to write: wait for the next frame.
    Idle,
    /// The socket takes no more: wait until it is writable.
    Blocked,
    /// The next packet is not due yet ([`Spread`](crate::Spread)): wait until
    /// [`next_timeout`](crate::DatagramSender::next_timeout).
    Early,
}
