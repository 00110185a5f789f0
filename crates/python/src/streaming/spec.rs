//! What an experiment is asked for with, as JSON.

use serde::Deserialize;

/// An experiment: one stream, and TCP connections beside it, over one link.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) seed: u64,
    /// From the origin to the end.
    pub(super) duration_s: f64,
    /// Whether the stream's course over time is wanted.
    #[serde(default)]
    pub(super) series: bool,
    pub(super) link: Link,
    pub(super) tcp: Tcp,
    pub(super) stream: Stream,
}

/// The link: a rate and a drop-tail queue towards the receiver, half of the round trip each way, loss behind the queue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    /// Nothing for a recorded link.
    #[serde(default)]
    pub(super) rate_bps: Option<u64>,
    pub(super) rtt_ms: f64,
    pub(super) queue_packets: u32,
    /// Of packets towards the receiver, 0 to 1.
    pub(super) loss: f64,
    /// Ticks at which packets come out of it in either direction, in milliseconds; 0 for exact times.
    #[serde(default)]
    pub(super) tick_ms: f64,
}

/// Bulk connections.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tcp {
    pub(super) connections: usize,
    pub(super) congestion: String,
    /// They begin at random in this time.
    pub(super) start_within_s: f64,
    /// First window in packets; nothing for that of Linux now.
    #[serde(default)]
    pub(super) initial_window: Option<u32>,
    /// Selective acknowledgements and time stamps; without them as systems of 2002 often were.
    #[serde(default)]
    pub(super) no_options: bool,
    /// Receive buffer in bytes of data; nothing for that of Linux now, which grows.
    #[serde(default)]
    pub(super) receive_window: Option<u64>,
    /// Every segment is acknowledged, at once.
    #[serde(default)]
    pub(super) every_segment: bool,
    /// Least retransmission timeout in seconds; nothing for that of Linux now.
    #[serde(default)]
    pub(super) min_rto_s: Option<f64>,
}

/// The stream and how its rate is controlled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    pub(super) transport: Transport,
    pub(super) start_s: f64,
    /// It begins at random in this time from `start_s` on.
    pub(super) start_within_s: f64,
    /// Packets per request for a control packet.
    pub(super) k: u16,
    /// Of equation 2; nothing for the library's.
    pub(super) alpha: Option<f64>,
    /// How VTP reads equation 1, by its name; nothing for the library's.
    #[serde(default)]
    pub(super) estimate: Option<String>,
    /// Bytes of header that an estimate by "bytes over gaps" counts of each packet; nothing for the library's.
    #[serde(default)]
    pub(super) estimate_header_bytes: Option<u64>,
    /// Bytes per second by which the rate of VTP rises in a step; nothing for the library's.
    #[serde(default)]
    pub(super) step_bytes: Option<u64>,
    /// Ticks of the sender's timers, in milliseconds; 0 for exact ones.
    #[serde(default)]
    pub(super) sender_tick_ms: f64,
    /// Ticks at which the receiver sees packets, in milliseconds; 0 for exact times.
    #[serde(default)]
    pub(super) receiver_tick_ms: f64,
}

/// A way to control the rate.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transport {
    Vtp,
    Better,
    Fixed,
    Tfrc,
    Rap,
    Binomial,
}
