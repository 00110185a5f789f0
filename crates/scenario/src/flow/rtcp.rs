//! Which reports the ends of a stream in RTP send each other.

use framewire_transport::TransportKind;
use framewire_transport::registry::{Format, Session};

use crate::error::ScenarioError;
use crate::names::words;
use crate::section::Section;

words! {
    /// Which reports (RTCP, RFC 3550) the ends of a stream in RTP send each other.
    Rtcp {
        /// None.
        Off = "none",
        /// Sender and receiver send theirs.
        Full = "full",
        /// Only the sender does: receivers have no bandwidth for them (RFC 3556).
        NoReceiverReports = "no-receiver-reports",
    }
}

/// What is sent in RTP over UDP can have it.
pub(super) fn keys(kind: TransportKind) -> &'static [&'static str] {
    let parts = kind.profile().parts;
    if parts.format == Format::Rtp || parts.session == Session::Rtp { &["rtcp"] } else { &[] }
}

/// `none` where nothing is said: so streams are what they were before there was the key.
pub(super) fn read(section: &mut Section) -> Result<Rtcp, ScenarioError> {
    Ok(section.text("rtcp")?.unwrap_or(Rtcp::Off))
}

pub(super) fn is_off(rtcp: &Rtcp) -> bool {
    *rtcp == Rtcp::Off
}
