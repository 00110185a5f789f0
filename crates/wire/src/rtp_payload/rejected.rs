//! Why a datagram is no packet of the stream that is received.

use super::numbering::LARGEST_JUMP;

/// Why a datagram was ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectReason {
    /// It is not RTP.
    #[error("not an RTP packet: {0}")]
    Rtp(String),
    /// It has another payload type.
    #[error("payload type {received}: {expected} is expected")]
    PayloadType {
        /// The type received.
        received: u8,
        /// The type of the stream.
        expected: u8,
    },
    /// It has another synchronisation source.
    #[error("source {received:#010x}: {expected:#010x} is expected")]
    Source {
        /// The source received.
        received: u32,
        /// The source of the stream.
        expected: u32,
    },
    /// It is not a payload of the format.
    #[error("{0}")]
    Payload(String),
    /// It was sent before the first packet of the stream.
    #[error("the packet was sent before the first one of the stream")]
    BeforeFirst,
    /// It is there already, or was given up.
    #[error("packet {sequence} is there already, or was given up")]
    Old {
        /// Extended sequence number.
        sequence: u64,
    },
    /// It was far ahead, and no packet near it followed.
    #[error("packet {sequence} is more than {LARGEST_JUMP} ahead, and the next packet did not confirm it")]
    Unconfirmed {
        /// Extended sequence number that it seemed to have.
        sequence: u64,
    },
    /// By its time stamp, its sequence number may have wrapped since the last packet, and no packet near it followed.
    #[error(
        "{ticks} ticks after the last packet: 65,536 or more may have been sent since, and the next packet did not confirm it"
    )]
    Unnumbered {
        /// By how much the time stamp has advanced.
        ticks: u32,
    },
}
