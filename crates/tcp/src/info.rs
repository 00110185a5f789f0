//! What an endpoint reports about itself.

use framewire_units::{Bitrate, DataSize, Duration};

use crate::congestion::State;

/// A look into an endpoint; by and large the kernel's `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of loss recovery.
    pub state: State,
    /// Payload bytes of a full packet.
    pub maximum_segment: u32,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow-start threshold in packets; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Variation of the round-trip time (RFC 6298).
    pub rttvar: Duration,
    /// Retransmission timeout, without backoff.
    pub rto: Duration,
    /// Least round-trip time of the last 300 s.
    pub min_rtt: Option<Duration>,
    /// Packets in flight.
    pub in_flight: u32,
    /// Packets delivered in all.
    pub delivered: u64,
    /// Packets delivered that an ECN echo reported as marked.
    pub delivered_ce: u64,
    /// Packets judged lost in all.
    pub lost: u64,
    /// Packets sent in all, with retransmissions.
    pub sent: u64,
    /// Packets sent again in all.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Times that fast recovery began.
    pub recoveries: u64,
    /// Reductions that were taken back as wrong.
    pub undone: u64,
    /// Tail-loss probes sent.
    pub loss_probes: u64,
    /// Rate that packets are paced at, or would be (Linux: `sk_pacing_rate`).
    pub pacing_rate: Bitrate,
    /// The most recent delivery-rate sample; `None` before the first.
    pub delivery_rate: Option<Bitrate>,
    /// The delivery rate was limited by the application.
    pub is_app_limited: bool,
    /// Window that the peer announced.
    pub send_window: DataSize,
    /// Memory that the send buffer may take. Linux: `SK_MEMINFO_SNDBUF`.
    pub send_buffer: DataSize,
    /// Memory that it takes: payload and what the kernel charges beside it. Linux: `SK_MEMINFO_WMEM_QUEUED`.
    pub send_buffer_used: DataSize,
    /// Bytes that the peer's kernel has acknowledged.
    pub acknowledged: DataSize,
    /// Bytes received in order.
    pub received: DataSize,
}
