use std::sync::Arc;

use framewire_units::Duration;

use crate::source::{PacketSource, SourceError, SourcePacket};

/// The place in a movie that is being sent: packets one after the other, the level changing at switch points only.
pub struct Cursor {
    source: Arc<dyn PacketSource>,
    frame: u32,
    index: u32,
    level: usize,
}

/// A packet in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPacket {
    /// The frame.
    pub frame: u32,
    /// Index of the packet within the frame.
    pub index: u16,
    /// The level that it is taken from.
    pub level: usize,
    /// Play-out time of the frame.
    pub media_time: Duration,
    /// The packet.
    pub packet: SourcePacket,
}

impl Cursor {
    /// At the first packet of a source, on level 0.
    pub fn new(source: Arc<dyn PacketSource>) -> Self {
        Self { source, frame: 0, index: 0, level: 0 }
    }

    /// The next packet, from the level wanted where it may be entered, and else from the level before; `None` at the
    /// end. A level that the source does not have is taken for its highest.
    ///
    /// # Errors
    /// When the source cannot give the packet, or its frame has more packets than 16 bits count.
    pub fn take(&mut self, wanted: usize) -> Result<Option<NextPacket>, SourceError> {
        if self.is_at_end() {
            return Ok(None);
        }
        if self.index == 0 && (self.frame == 0 || self.source.is_switch_point(self.frame)) {
            self.level = wanted.min(self.source.levels().saturating_sub(1));
        }
        let (frame, level, index) = (self.frame, self.level, self.index);
        let packet = self.source.packet(frame, level, index)?;
        let reason = || format!("a frame has at most {} packets", u32::from(u16::MAX) + 1);
        let short = u16::try_from(index).map_err(|_| SourceError { frame, level, index, reason: reason() })?;
        if packet.last {
            self.frame += 1;
            self.index = 0;
        } else {
            self.index += 1;
        }
        Ok(Some(NextPacket { frame, index: short, level, media_time: self.source.time_of(frame), packet }))
    }

    /// Whether the next packet begins a frame that may be left out: one at which no level may be entered.
    pub fn may_skip(&self) -> bool {
        self.index == 0 && self.frame > 0 && !self.is_at_end() && !self.source.is_switch_point(self.frame)
    }

    /// Leaves the next frame out, where that is allowed.
    pub fn skip_frame(&mut self) {
        self.frame += u32::from(self.may_skip());
    }

    /// How far the stream has come: the share of the frames before this one, of the duration.
    pub fn media_time(&self) -> Duration {
        let nanos =
            self.source.duration().as_nanos() * u128::from(self.frame) / u128::from(self.source.frames().max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The frame that the next packet belongs to.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// The level that packets are taken from.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Whether everything has been taken.
    pub fn is_at_end(&self) -> bool {
        self.frame >= self.source.frames()
    }
}
