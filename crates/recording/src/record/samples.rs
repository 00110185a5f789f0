//! Samples of a flow's state, and of what has come of it.

use framewire_units::{Bitrate, Duration, Timestamp};

/// A sample of a flow's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// When.
    pub at: Timestamp,
    /// Number of the connection, from 0, where a flow is several; `None` for a flow of one.
    pub connection: Option<u8>,
    /// Congestion window in packets.
    pub cwnd_packets: Option<u32>,
    /// Slow-start threshold in packets.
    pub ssthresh_packets: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Option<Duration>,
    /// Packets sent and not acknowledged.
    pub in_flight_packets: Option<u32>,
    /// Bytes in the socket that were not yet given to the network.
    pub unsent_bytes: Option<u64>,
    /// Bytes in the socket in all.
    pub queued_bytes: Option<u64>,
    /// The kernel's estimate of the delivery rate.
    pub delivery_rate: Option<Bitrate>,
    /// Retransmissions since the start.
    pub retransmissions: Option<u32>,
    /// Retransmission timeouts that expired since the start.
    pub timeouts: Option<u32>,
    /// What the receiving application of a bulk connection has got since the start.
    pub received_bytes: Option<u64>,
    /// The rate at which an adaptive stream is sent: bytes of video, without headers.
    pub sending_rate: Option<Bitrate>,
    /// What its controller holds the bandwidth for.
    pub estimate: Option<Bitrate>,
    /// The level that its packets are taken from.
    pub level: Option<u8>,
}

/// What has come of a flow, or of one of its connections, by a time, and how fast an adaptive stream is sent then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateSample {
    /// When.
    pub at: Timestamp,
    /// Number of the connection, from 0, where a flow is several; `None` for a flow of one.
    pub connection: Option<u8>,
    /// What the receiving application has got since the start: payload of a connection in order, or video and audio of an
    /// adaptive stream. `None` for a movie's transport.
    pub received_bytes: Option<u64>,
    /// Bytes of the IP packets that came to the receiver's host since the start.
    pub received_packet_bytes: u64,
    /// The rate at which an adaptive stream is sent: bytes of video, without headers.
    pub sending_rate: Option<Bitrate>,
    /// What its controller holds the bandwidth for.
    pub estimate: Option<Bitrate>,
    /// What the plan of its lowest level asks for where the stream is.
    pub lowest_plan: Option<Bitrate>,
    /// The same of its highest level.
    pub highest_plan: Option<Bitrate>,
    /// The level that its packets are taken from.
    pub level: Option<u8>,
    /// Smoothed round-trip time of its controller.
    pub round_trip: Option<Duration>,
    /// Loss event rate reported to its controller, 0 to 1.
    pub loss_event_rate: Option<f64>,
}
