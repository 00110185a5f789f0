use std::sync::Arc;

use framewire_units::Duration;

use crate::source::{Availability, ENDLESS, PacketSource, SourceError, SourcePacket};

/// The place in a movie that is being sent: packets one after the other, the level changing at switch points only.
///
/// Frames and times are numbered as the client knows them: from the [beginning](PacketSource::beginning) on.
pub(crate) struct Cursor {
    source: Arc<dyn PacketSource>,
    /// The frame of the source that the client calls 0, and its play-out time; of a movie, its own times count.
    origin: u32,
    origin_time: Option<Duration>,
    /// As the source counts.
    frame: u32,
    index: u32,
    level: usize,
    /// The packet of audio that is next.
    heard: u32,
}

/// A packet in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextPacket {
    /// The frame, as the client counts.
    pub frame: u32,
    /// Index of the packet within the frame.
    pub index: u16,
    /// The level that it is taken from.
    pub level: usize,
    /// Play-out time of the frame, as the client counts.
    pub media_time: Duration,
    /// The packet.
    pub packet: SourcePacket,
}

impl Cursor {
    /// At the first packet of a source, on level 0.
    pub(crate) fn new(source: Arc<dyn PacketSource>) -> Self {
        let origin = source.beginning();
        Self { source, origin, origin_time: None, frame: origin, index: 0, level: 0, heard: 0 }
    }

    /// Begins where the source begins now, if nothing was taken yet.
    pub(crate) fn begin(&mut self) {
        if self.origin_time.is_none() {
            self.origin = self.source.beginning();
            (self.frame, self.index) = (self.origin, 0);
        }
    }

    /// The next packet, from the level wanted where it may be entered, and else from the level before; `None` at the
    /// end, and where a live stream has not come further. A level that the source does not have is taken for its highest.
    ///
    /// # Errors
    /// When the source cannot give the packet, or its frame has more packets than 16 bits count.
    pub(crate) fn take(&mut self, wanted: usize) -> Result<Option<NextPacket>, SourceError> {
        loop {
            match self.source.availability(self.frame) {
                Availability::End | Availability::NotYet => return Ok(None),
                Availability::Gone { next } => self.jump(next),
                Availability::Ready => match self.take_ready(wanted) {
                    Err(_) if matches!(self.source.availability(self.frame), Availability::Gone { .. }) => {}
                    taken => return taken.map(Some),
                },
            }
        }
    }

    fn take_ready(&mut self, wanted: usize) -> Result<NextPacket, SourceError> {
        if self.index == 0 && (self.frame == self.origin || self.source.is_switch_point(self.frame)) {
            self.level = wanted.min(self.source.levels().saturating_sub(1));
        }
        let (frame, level, index) = (self.frame, self.level, self.index);
        // Before the packet: a frame of which there is one still has its time.
        let time = self.source.time_of(frame);
        let packet = self.source.packet(frame, level, index)?;
        let reason = || format!("a frame has at most {} packets", u32::from(u16::MAX) + 1);
        let short = u16::try_from(index).map_err(|_| SourceError::Video { frame, level, index, reason: reason() })?;
        let origin_time = *self.origin_time.get_or_insert(if frame == 0 { Duration::ZERO } else { time });
        if packet.last {
            self.frame += 1;
            self.index = 0;
        } else {
            self.index += 1;
        }
        let media_time = time.saturating_sub(origin_time);
        Ok(NextPacket { frame: frame - self.origin, index: short, level, media_time, packet })
    }

    /// A packet that was taken before, by its frame as the client counts; `None` when it is no longer kept.
    ///
    /// # Errors
    /// When the source cannot give it.
    pub(crate) fn again(&self, frame: u32, level: usize, index: u16) -> Result<Option<NextPacket>, SourceError> {
        let of_source = self.origin.saturating_add(frame);
        let is_ready = || self.source.availability(of_source) == Availability::Ready;
        if !is_ready() {
            return Ok(None);
        }
        let media_time = self.source.time_of(of_source).saturating_sub(self.origin_time.unwrap_or_default());
        match self.source.packet(of_source, level, u32::from(index)) {
            Ok(packet) => Ok(Some(NextPacket { frame, index, level, media_time, packet })),
            Err(_) if !is_ready() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The packet of audio that goes before the next packet of video; `None` when that one goes first.
    ///
    /// # Errors
    /// When the source cannot give it.
    pub(crate) fn take_audio(&mut self) -> Result<Option<NextPacket>, SourceError> {
        if !self.owes_audio() {
            return Ok(None);
        }
        let next = self.audio_again(self.heard)?;
        self.heard += 1;
        Ok(Some(next))
    }

    /// Whether there is audio to be sent before the next packet of video, or at the end.
    pub(crate) fn owes_audio(&self) -> bool {
        self.index == 0 && self.heard < self.source.audio_before(self.frame)
    }

    /// A packet of audio by its number, which stands for the frame.
    ///
    /// # Errors
    /// When the source cannot give it.
    pub(crate) fn audio_again(&self, number: u32) -> Result<NextPacket, SourceError> {
        let audio = self.source.audio_packet(number)?;
        let packet = SourcePacket { bytes: audio.bytes, last: true, key: false };
        Ok(NextPacket { frame: number, index: 0, level: 0, media_time: audio.time, packet })
    }

    /// Goes on with a later frame, as the one that was next is gone.
    fn jump(&mut self, next: u32) {
        self.frame = next.max(self.frame.saturating_add(1));
        self.index = 0;
        if self.origin_time.is_none() {
            self.origin = self.frame;
        }
    }

    /// Whether the next packet begins a frame that may be left out: one at which no level may be entered.
    pub(crate) fn may_skip(&self) -> bool {
        self.index == 0
            && self.frame > self.origin
            && self.source.availability(self.frame) == Availability::Ready
            && !self.source.is_switch_point(self.frame)
    }

    /// Leaves the next frame out, where that is allowed.
    pub(crate) fn skip_frame(&mut self) {
        self.frame += u32::from(self.may_skip());
    }

    /// How far the session has come: the share of the frames before this one, of the duration.
    pub(crate) fn media_time(&self) -> Duration {
        self.time_before(self.frame())
    }

    /// The same, from the beginning of the source: where the plan is looked up.
    pub(crate) fn place(&self) -> Duration {
        self.time_before(self.frame)
    }

    /// How far a live stream is made, as [`media_time`](Self::media_time) counts; `None` of a movie.
    pub(crate) fn made(&self) -> Option<Duration> {
        let mut frame = self.frame;
        loop {
            frame = match self.source.availability(frame) {
                _ if self.source.frames() < ENDLESS => return None,
                Availability::Ready => frame + 1,
                Availability::Gone { next } => next.max(frame + 1),
                Availability::NotYet | Availability::End => return Some(self.time_before(frame - self.origin)),
            }
        }
    }

    fn time_before(&self, frame: u32) -> Duration {
        let nanos = self.source.duration().as_nanos() * u128::from(frame) / u128::from(self.source.frames().max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The frame that the next packet belongs to, as the client counts.
    pub(crate) fn frame(&self) -> u32 {
        self.frame - self.origin
    }

    /// The level that packets are taken from.
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Whether all video has been taken.
    pub(crate) fn is_at_end(&self) -> bool {
        self.source.availability(self.frame) == Availability::End
    }
}
