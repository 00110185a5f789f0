//! What paces a sender of the movie.

use framewire_transport::TransportKind;
use framewire_transport::registry::Format;

use crate::error::ScenarioError;
use crate::names::keywords;
use crate::section::Section;

keywords! {
    /// What paces a sender that waits for room.
    Pacing {
        /// The frame clock.
        Sender = "sender",
        /// The receiver's playout, through the window; only for `tcp`.
        Receiver = "receiver",
        /// Nothing: the time stamps of the frames are ignored, and the next is offered as soon as the transport takes it.
        Unpaced = "none",
    }
}

/// The frame clock can be left out where the transport waits for room and gives no frame up.
pub(super) const fn keys(kind: TransportKind) -> &'static [&'static str] {
    if kind.waits_for_room() { &["pacing"] } else { &[] }
}

/// Present exactly where the transport has the key. Datagrams have no window through which a receiver could pace them, and a
/// receiver of packets takes them as they come.
pub(super) fn read(section: &mut Section, transport: TransportKind) -> Result<Option<Pacing>, ScenarioError> {
    let path = section.key("pacing");
    match section.text("pacing")? {
        Some(pacing @ (Pacing::Sender | Pacing::Receiver)) if transport.is_file() => Err(ScenarioError::value(
            &path,
            format!("{:?}", pacing.to_string()),
            format!(
                "\"none\" for transport {transport}: the file is there from the beginning, and is sent as it is taken"
            ),
        )),
        None if transport.is_file() => Ok(Some(Pacing::Unpaced)),
        Some(Pacing::Receiver) if transport.profile().parts.format != Format::ElementaryStream => {
            Err(ScenarioError::value(&path, "\"receiver\"", format!("one of sender, none for transport {transport}")))
        }
        pacing => Ok(pacing.or(transport.waits_for_room().then_some(Pacing::Sender))),
    }
}
