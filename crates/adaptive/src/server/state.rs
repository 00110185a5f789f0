use framewire_units::{Bitrate, DataSize, Duration};

use super::repeats::RepeatCounts;
use crate::controller::{ControllerState, Decision};
use crate::datagram::Drops;

/// What a server knows, for tables.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerState {
    /// The controller's part.
    pub controller: ControllerState,
    /// The rate and the level decided; `None` before the start.
    pub decision: Option<Decision>,
    /// The plan's rates where the stream is.
    pub plan: Vec<Bitrate>,
    /// The frame that is sent next.
    pub frame: u32,
    /// Its place in the movie.
    pub media_time: Duration,
    /// The level that is sent.
    pub level: usize,
    /// Packets of video and of audio sent.
    pub packets: u64,
    /// Of them, those of audio.
    pub audio: u64,
    /// Bytes of video and of audio sent.
    pub sent: DataSize,
    /// What of that was sent again.
    pub repeats: RepeatCounts,
    /// Datagrams thrown away.
    pub drops: Drops,
}
