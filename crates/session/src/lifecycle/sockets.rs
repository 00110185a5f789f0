//! What the two ends of a flow need of their host's sockets.

use framewire_recording::record::FlowSample;
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};

use crate::half::{Arrival, ChannelId, Channels};

/// What came to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came<'a> {
    /// On which channel.
    pub channel: ChannelId,
    /// When it reached the host.
    pub at: Timestamp,
    /// What it is.
    pub arrival: Arrival<'a>,
}

/// The sockets of one end of a flow, as its host has them: one for each of its [channels](crate::ChannelSetup).
pub trait HostSockets: Channels {
    /// Takes the next of what came on channels that are `wanted`; `None` when nothing is there. What is not wanted stays.
    ///
    /// # Errors
    /// When a socket is broken.
    fn take(&mut self, now: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError>;

    /// What of the stream has not left this host, or is not acknowledged (SIOCOUTQ).
    ///
    /// # Errors
    /// When a socket is broken.
    fn queued(&mut self) -> Result<DataSize, SocketError>;

    /// The state of the sockets of the stream; `None` where the system does not report it.
    fn sample(&mut self, at: Timestamp) -> Option<FlowSample>;
}
