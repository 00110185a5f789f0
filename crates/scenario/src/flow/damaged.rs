//! What a receiver does with a frame of which a packet is missing.

use framewire_transport::TransportKind;

use crate::names::keywords;

keywords! {
    /// What a receiver does with a frame of which a packet is missing.
    Damaged {
        /// It discards the frame.
        Discard = "discard",
        /// It hands on what came up to the first gap, as many players do.
        Pass = "pass",
    }
}

/// What is sent in datagrams can have it: RTP and transport streams. Over a stream of bytes nothing is missing inside a frame.
pub(super) fn keys(kind: TransportKind) -> &'static [&'static str] {
    if kind.is_stream() { &[] } else { &["damaged"] }
}

/// Why a transport that has not the key has it not, in words that follow a comma.
pub(super) const REASON: &str =
    "where packets can be missing inside a frame: a reliable stream brings all of it or ends";
