//! Which reports the ends of a stream in RTP send each other.

use framewire_transport::TransportKind;
use framewire_transport::registry::Session;

use crate::error::ScenarioError;
use crate::names::keywords;
use crate::section::Section;

keywords! {
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

/// What is sent in RTP over UDP or in RTSP can have it.
pub(super) fn keys(kind: TransportKind) -> &'static [&'static str] {
    let parts = kind.profile().parts;
    let has_room = parts.session == Session::Rtsp || parts.format.is_rtp() && !kind.is_stream();
    if has_room { &["rtcp"] } else { &[] }
}

/// Why a transport that has not the key has it not, in words that follow a comma.
pub(super) const REASON: &str = "which carry RTP with a channel beside it for reports: datagrams at the next port (RFC \
     3550), RTSP between its packets; RTP over a connection of its own (RFC 4571) has none";

/// Where nothing is said, `full` in RTSP, whose servers and clients have it; else `None`: no reports, but those without which a receiver
/// does not know what is presented together.
pub(super) fn read(section: &mut Section, transport: TransportKind) -> Result<Option<Rtcp>, ScenarioError> {
    let said = section.text("rtcp")?;
    Ok(match transport.profile().parts.session {
        Session::Rtsp => said.or(Some(Rtcp::Full)),
        _ => said,
    })
}
