use std::net::SocketAddr;

use framewire_wire::vtp::Reason;

use crate::source::SourceError;

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// Both of the client's addresses are proved, and video flows.
    Started {
        /// The client's name for the session.
        session: u64,
        /// Where video goes.
        data: SocketAddr,
        /// Where control packets come from.
        control: SocketAddr,
    },
    /// From this frame on, another level is sent.
    LevelChanged {
        /// The first frame of the new level.
        frame: u32,
        /// The level before.
        from: usize,
        /// The level now.
        to: usize,
    },
    /// The movie cannot be read any further.
    SourceFailed(SourceError),
    /// The session is over.
    Ended(Reason),
}
