//! What a receiver does with a frame of which a packet is missing.

use framewire_transport::TransportKind;
use framewire_transport::registry::{Format, RtpContent};

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

/// What is sent in packets of RTP over UDP can have it: over a stream of bytes nothing is missing inside a frame.
pub(super) fn keys(kind: TransportKind) -> &'static [&'static str] {
    if kind.profile().parts.format == Format::Rtp(RtpContent::Frames) && !kind.is_stream() { &["damaged"] } else { &[] }
}
