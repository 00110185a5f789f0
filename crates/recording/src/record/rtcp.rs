//! Records of the reports of RTCP.

use framewire_units::{Duration, Timestamp};

/// A report of one end of a flow to the other (RTCP, RFC 3550, section 6.4), and what was so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RtcpRecord {
    /// The track whose packets it is about: 0 for video.
    pub track: u8,
    /// True from sender to receiver.
    pub from_sender: bool,
    /// When it was sent; `None` where the other end alone knows.
    pub sent: Option<Timestamp>,
    /// When it came to the other end; `None`: never, or the other end alone knows.
    pub arrived: Option<Timestamp>,
    /// UDP payload in bytes.
    pub size: u32,
    /// It sends BYE.
    pub bye: bool,
    /// Of a sender: packets that it has sent.
    pub packets: Option<u32>,
    /// Bytes of payload in them.
    pub octets: Option<u32>,
    /// Of a receiver: the share of packets lost since its report before, as it says it.
    pub fraction_lost: Option<f64>,
    /// Packets lost so far, as it says it.
    pub lost: Option<i32>,
    /// The highest sequence number that came.
    pub highest_sequence: Option<u32>,
    /// The interarrival jitter, as it says it.
    pub jitter: Option<Duration>,
    /// The round trip that the sender takes from it when it comes.
    pub round_trip: Option<Duration>,
    /// Of the numbers since the report before, the share that had not come when it was sent.
    pub true_fraction_lost: Option<f64>,
    /// Of the numbers from the stream's first to the highest, those that had not come when it was sent.
    pub true_lost: Option<u64>,
    /// How long the sender's report that it answers, and it itself, were under way.
    pub true_round_trip: Option<Duration>,
}
