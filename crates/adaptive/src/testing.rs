//! What the tests of both halves stream: a movie of sizes only, a plan of constant rates, and one client's addresses.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::vtp::{Secret, Title, VideoHeader};

use crate::datagram::Channel;
use crate::server::ServerSettings;
use crate::source::{PacketSource, Plan, SourceError, SourcePacket};

/// Frames of 40 ms with a switch point each 12 frames; level l has frames of (l + 1) packets of `payload` bytes.
pub(crate) struct Steps {
    pub(crate) levels: usize,
    pub(crate) frames: u32,
    pub(crate) payload: usize,
}

pub(crate) const FRAME_TIME: Duration = Duration::from_millis(40);

impl PacketSource for Steps {
    fn levels(&self) -> usize {
        self.levels
    }

    fn frames(&self) -> u32 {
        self.frames
    }

    fn time_of(&self, frame: u32) -> Duration {
        FRAME_TIME * frame
    }

    fn duration(&self) -> Duration {
        FRAME_TIME * self.frames
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        frame.is_multiple_of(12)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        assert!(frame < self.frames && level < self.levels && index <= level as u32);
        let bytes = Bytes::from(vec![frame as u8; self.payload]);
        Ok(SourcePacket { bytes, last: index == level as u32, key: self.is_switch_point(frame) })
    }
}

/// Every level at the rate of its frames.
impl Plan for Steps {
    fn levels(&self) -> usize {
        self.levels
    }

    fn rate_at(&self, level: usize, _at: Duration) -> Bitrate {
        Bitrate::from_bps((self.payload * (level + 1) * 8 * 25) as u64)
    }
}

pub(crate) fn title() -> Title {
    Title::new("movie").unwrap()
}

pub(crate) fn server_settings() -> ServerSettings {
    ServerSettings::paper(title(), Secret::new([7; 32]))
}

/// The client's address on a channel.
pub(crate) fn client_address(channel: Channel) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 5_000 + channel as u16))
}

/// The first and last packet of a frame at level 0, of no session and no bytes.
pub(crate) fn video(frame: u32) -> VideoHeader {
    VideoHeader {
        ack_request: false,
        session: 0,
        sequence: 0,
        sender_time: Timestamp::ZERO,
        size: DataSize::ZERO,
        frame,
        index: 0,
        level: 0,
        last: true,
        key: false,
        media_time: FRAME_TIME * frame,
        round_trip: Duration::ZERO,
        repeats: None,
        audio: false,
    }
}
