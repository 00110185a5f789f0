//! The two socket traits that transports talk to, with the kernel's real semantics.
//!
//! `sockets` implements them over the kernel; a simulated world implements them over its own TCP and queues.
//! Sending halves never read: the world reads and hands what came to a receiving half.

use framewire_units::DataSize;

/// What became of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramSend {
    /// The socket took it.
    Sent,
    /// There was no room in the send buffer; nothing was taken. Try again when the socket is writable.
    WouldBlock,
    /// It was dropped on this host, and the socket said so (ENOBUFS under IP_RECVERR).
    Dropped,
}

/// An unreliable socket that keeps message boundaries, connected to one peer.
pub trait DatagramSocket {
    /// Sends one datagram without waiting.
    ///
    /// # Errors
    /// When the socket is broken, or the peer refused (an ICMP error).
    fn send(&mut self, datagram: &[u8]) -> Result<DatagramSend, SocketError>;

    /// Bytes of kernel memory that the send buffer still admits (accounting is by buffer size, not payload).
    ///
    /// # Errors
    /// When the socket is broken.
    fn free_room(&mut self) -> Result<DataSize, SocketError>;
}

/// A reliable byte stream, connected to one peer.
pub trait StreamSocket {
    /// Writes what fits without waiting and returns how many bytes that was; 0 means that it would block.
    ///
    /// # Errors
    /// When the connection is broken or closed by the peer.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError>;

    /// Bytes written but not yet given to the network.
    ///
    /// # Errors
    /// When the socket is broken.
    fn unsent(&mut self) -> Result<DataSize, SocketError>;

    /// Ends the stream after everything written.
    ///
    /// # Errors
    /// When the socket is broken.
    fn finish(&mut self) -> Result<(), SocketError>;
}

/// A socket that can no longer be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {reason}")]
pub struct SocketError {
    /// The call that failed, for instance `"send"`.
    pub operation: &'static str,
    /// The system's own words.
    pub reason: String,
}
