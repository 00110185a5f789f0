//! What a writer is to do, fixed while it runs.

use std::time::Duration;

use framewire_transport::QueueKind;
use framewire_units::DataSize;

/// Everything that a writer must know.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name or address of the receiver.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What carries the frames.
    pub protocol: Protocol,
    /// The decision queue.
    pub queue: QueueKind,
    /// `TCP_NOTSENT_LOWAT`; `None`: what the send buffer takes.
    pub unsent_limit: Option<DataSize>,
    /// `TCP_CONGESTION`; `None`: the kernel's default.
    pub congestion: Option<String>,
    /// How long one attempt to connect may take, looking up the name included.
    pub connect_timeout: Duration,
    /// How long a receiver may answer or take nothing; `None`: as long as the kernel tries.
    pub receiver_timeout: Option<Duration>,
    /// How long it may take nothing at the end of the stream; `None`: for ever.
    pub drain_timeout: Option<Duration>,
    /// Attempts after one that failed or a connection that broke.
    pub reconnect_attempts: u32,
    /// Before each of them.
    pub reconnect_delay: Duration,
    /// Of RTP packets.
    pub rtp: Rtp,
}

/// What carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The elementary stream over TCP.
    Tcp,
    /// RTP packets of MPEG-1 or MPEG-2 video (RFC 2250) over UDP.
    Udp,
}

/// The fields of RTP packets that do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtp {
    /// Largest IP packet.
    pub mtu: DataSize,
    /// Synchronisation source (RFC 3550, 5.1).
    pub ssrc: u32,
    /// Sequence number of the first packet.
    pub initial_sequence: u16,
    /// What time stamps begin with.
    pub initial_timestamp: u32,
    /// Payload type.
    pub payload_type: u8,
}
