use framewire_units::{DataSize, Duration};
use framewire_wire::vtp::{Key, Title};

use super::player::PlayerSettings;
use crate::tfrc::ReceiverSettings;

/// What the client reports to the server of what arrives.
#[derive(Clone, Debug)]
pub enum ReportKind {
    /// A control packet for each that is asked for: VTP, and every controller that lives on control packets.
    Control,
    /// Feedback packets of TFRC; requests for control packets stay unanswered.
    Tfrc(ReceiverSettings),
}

/// Settings of the client's half of a session.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The session's name: drawn at random by the world, because who knows it can forge packets of the session where no
    /// key is shared.
    pub session: u64,
    /// The movie.
    pub title: Title,
    /// The shared key of control packets; `None` for none, as in the paper.
    pub key: Option<Key>,
    /// What is reported.
    pub reports: ReportKind,
    /// Memory for frames that are incomplete or were not fetched yet.
    pub buffer: DataSize,
    /// So many frames may begin before an incomplete one is given up; where missing packets are repeated, it is not given
    /// up before it is shown.
    pub reorder_frames: u32,
    /// The server has vanished when nothing valid came from it for so long.
    pub peer_timeout: Duration,
    /// Whether every arriving packet is an event too.
    pub packet_events: bool,
    /// The player that frames are for. Without one, nothing is sent of it, and the session is the paper's to the byte.
    pub player: Option<PlayerSettings>,
}

impl ClientSettings {
    /// Control packets, no key, 16 MB of memory, frames that may overlap by two, and a server that vanishes after 10 s.
    pub fn paper(title: Title, session: u64) -> Self {
        Self {
            session,
            title,
            key: None,
            reports: ReportKind::Control,
            buffer: DataSize::from_bytes(16_000_000),
            reorder_frames: 2,
            peer_timeout: Duration::from_secs(10),
            packet_events: false,
            player: None,
        }
    }

    /// Those for a server with the hybrid rate control: it is notified of the default player's buffer, and of missing
    /// packets.
    pub fn hybrid(title: Title, session: u64) -> Self {
        Self { player: Some(PlayerSettings::default()), ..Self::paper(title, session) }
    }
}
