//! One lane: a sender's host and a receiver's host, joined by a link model.

pub(crate) mod agenda;
mod congestion;
pub(crate) mod distribution;
pub(crate) mod headers;
pub(crate) mod in_flight;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod state;
mod stored;
pub(crate) mod tally;
pub(crate) mod topology;
pub(crate) mod window;
pub(crate) mod writer;

use std::fmt;
use std::path::PathBuf;

use framewire_link::BottleneckPlace;

use self::log::Followed;
use crate::capture::{CAPTURE_SIZE, Kept};
use crate::error::EmuError;
use crate::model::LinkModel;

/// What a lane is to be.
pub struct LaneConfig {
    /// Its name, for records.
    pub name: String,
    /// The network between the two hosts.
    pub model: Box<dyn LinkModel>,
    /// Where the bottleneck is.
    pub bottleneck: BottleneckPlace,
    /// Largest IP datagram that the hosts' devices take, in bytes: 576 to 9,000.
    pub mtu: u16,
    /// Where to write a pcapng of both ends, if at all.
    pub capture: Option<PathBuf>,
    /// What the capture keeps of each frame.
    pub kept: Kept,
    /// Bytes that the capture takes at most, about: what exceeds it is left out and counted.
    pub capture_size: u64,
    /// Where the log of packets goes, to a file without a name; `None`: the system's directory of temporary files.
    pub scratch: Option<PathBuf>,
    /// The follower of the log while the lane runs, if there is one.
    pub followed: Option<Followed>,
}

impl LaneConfig {
    /// A lane with an MTU of 1,500 bytes and without a capture.
    pub fn new(name: impl Into<String>, model: Box<dyn LinkModel>, bottleneck: BottleneckPlace) -> Self {
        Self {
            name: name.into(),
            model,
            bottleneck,
            mtu: 1_500,
            capture: None,
            kept: Kept::Frames,
            capture_size: CAPTURE_SIZE,
            scratch: None,
            followed: None,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), EmuError> {
        // RFC 791, section 3.1: every host takes 576 bytes. 9,000 is the customary limit of jumbo frames.
        if !(576..=9_000).contains(&self.mtu) {
            return Err(EmuError::Invalid {
                name: format!("mtu of lane {}", self.name),
                value: self.mtu.to_string(),
                allowed: "576 to 9000 bytes",
            });
        }
        Ok(())
    }
}

impl fmt::Debug for LaneConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneConfig")
            .field("name", &self.name)
            .field("bottleneck", &self.bottleneck)
            .field("mtu", &self.mtu)
            .field("capture", &self.capture)
            .finish_non_exhaustive()
    }
}
