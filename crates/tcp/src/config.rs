//! What a connection is opened with.

use framewire_units::{DataSize, Duration, Seed};

use crate::congestion::Algorithm;

/// The parameters of one endpoint. The default is a Linux 6 socket on an Ethernet of 1,500 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Payload of the largest segment without options, announced to the peer (RFC 9293, section 3.7.1). Options are
    /// taken off it: 1,460 bytes leave 1,448 beside timestamps.
    pub maximum_segment: u32,
    /// Offer timestamps (RFC 7323, section 3). Linux: `tcp_timestamps`.
    pub timestamps: bool,
    /// Offer selective acknowledgements (RFC 2018). Linux: `tcp_sack`.
    pub sack: bool,
    /// Offer window scaling (RFC 7323, section 2). Linux: `tcp_window_scaling`.
    pub window_scaling: bool,
    /// Ask for explicit congestion notification (RFC 3168). A server without it still grants it, as Linux does
    /// (`tcp_ecn = 2`). An algorithm that needs it asks by itself ([`EcnUse`](crate::congestion::EcnUse)).
    pub ecn: bool,
    /// The congestion-control algorithm. Linux: `TCP_CONGESTION`.
    pub congestion: Algorithm,
    /// What a congestion control draws random numbers from.
    pub seed: Seed,
    /// First congestion window, in packets (RFC 6928, section 2).
    pub initial_window: u32,
    /// `SO_SNDBUF` as the kernel accounts it (twice what is asked for); `None` for Linux' auto-tuning by `tcp_wmem`.
    pub send_buffer: Option<DataSize>,
    /// `SO_RCVBUF` as the kernel accounts it (twice what is asked for); `None` for Linux' auto-tuning by `tcp_rmem`.
    pub receive_buffer: Option<DataSize>,
    /// `TCP_NOTSENT_LOWAT`: unsent bytes from which the socket is no longer writable; `None` for no limit.
    pub unsent_limit: Option<DataSize>,
    /// `TCP_NODELAY`: switches Nagle's algorithm off (RFC 9293, section 3.7.4).
    pub no_delay: bool,
    /// Retransmission timeout before the first RTT sample (RFC 6298, section 2).
    pub initial_rto: Duration,
    /// Least retransmission timeout. Linux, below the 1 s of RFC 6298: `TCP_RTO_MIN`.
    pub min_rto: Duration,
    /// Largest retransmission timeout (RFC 6298, section 2.5). Linux: `TCP_RTO_MAX`.
    pub max_rto: Duration,
    /// Consecutive retransmission timeouts after which the connection is given up. Linux: `tcp_retries2`.
    pub max_retries: u32,
    /// Timers expire on multiples of this; zero for exact timers. Linux: a jiffy of 4 ms (`CONFIG_HZ=250`).
    pub timer_tick: Duration,
    /// Least delay of an acknowledgement. Linux: `TCP_DELACK_MIN`.
    pub min_ack_delay: Duration,
    /// Largest delay of an acknowledgement, at most 500 ms (RFC 9293, section 3.8.6.3). Linux: `TCP_DELACK_MAX`.
    pub max_ack_delay: Duration,
    /// What the kernel charges a socket for a packet in a device's queue beside the packet's payload: `struct sk_buff`,
    /// shared info and head room.
    pub packet_overhead: DataSize,
    /// Packets that are handed to the device as one at most: 1 without segmentation offload, as on the emulated world's
    /// hosts. Linux: `gso_max_segs`.
    pub offload_packets: u32,
    /// Most that a socket leaves in its device's queue. Linux: `tcp_limit_output_bytes`.
    pub device_limit: DataSize,
    /// Restart from the initial window after idling (RFC 5681, section 4.1). Linux: `tcp_slow_start_after_idle`.
    pub restart_after_idle: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            maximum_segment: 1460,
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: false,
            congestion: Algorithm::default(),
            seed: Seed::default(),
            initial_window: 10,
            send_buffer: None,
            receive_buffer: None,
            unsent_limit: None,
            no_delay: false,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            max_retries: 15,
            timer_tick: Duration::from_millis(4),
            min_ack_delay: Duration::from_millis(40),
            max_ack_delay: Duration::from_millis(200),
            // `struct sk_buff` and the small head with its shared info; measured on Linux 6.18.
            packet_overhead: DataSize::from_bytes(832),
            offload_packets: 1,
            device_limit: DataSize::from_bytes(4 * 1024 * 1024),
            restart_after_idle: true,
        }
    }
}
