use std::collections::BTreeMap;

use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::VideoHeader;

/// Frames whose bytes are counted separately; what is beyond waits with the last one.
const MAX_FRAMES: usize = 65_536;

/// The player behind a client, as far as the server is to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerSettings {
    /// From the first packet of video to the first frame that is shown.
    pub startup: Duration,
    /// Room for video that has come and was not shown: what is free is reported to the server.
    pub buffer: DataSize,
    /// Whether missing packets are named, so that a server that takes this up repeats what can still be in time.
    pub repeats: bool,
}

impl Default for PlayerSettings {
    /// A second until the first frame, 16 MB, and repeats.
    fn default() -> Self {
        Self { startup: Duration::from_secs(1), buffer: DataSize::from_bytes(16_000_000), repeats: true }
    }
}

/// What a player shows and holds: one that begins when it is to and never stops, unless a real one says otherwise.
#[derive(Clone, Debug)]
pub(super) struct Player {
    settings: PlayerSettings,
    /// A moment, and the media time in nanoseconds that is shown then.
    anchor: Option<(Timestamp, i64)>,
    /// Bytes by the media time at which they are shown.
    waiting: BTreeMap<i64, u64>,
    held: u64,
}

impl Player {
    pub(super) fn new(settings: PlayerSettings) -> Self {
        Self { settings, anchor: None, waiting: BTreeMap::new(), held: 0 }
    }

    /// A real player shows this now.
    pub(super) fn set_shown(&mut self, now: Timestamp, shown: Duration) {
        self.anchor = Some((now, nanos(shown)));
    }

    /// A packet came: the first one sets the time at which the player begins.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.anchor.get_or_insert((now, -nanos(self.settings.startup)));
    }

    /// The player has a packet now.
    pub(super) fn handle_video(&mut self, now: Timestamp, header: &VideoHeader) {
        self.begin(now);
        let shown = self.shown(now).unwrap_or(i64::MIN);
        let due = nanos(header.media_time);
        if due > shown {
            let full = self.waiting.len() >= MAX_FRAMES && !self.waiting.contains_key(&due);
            let place = if full { self.waiting.last_key_value().map_or(due, |(&last, _)| last) } else { due };
            *self.waiting.entry(place).or_default() += header.size.as_bytes();
            self.held = self.held.saturating_add(header.size.as_bytes());
        }
    }

    /// Media time that is shown, in nanoseconds; `None` before the first packet.
    pub(super) fn shown(&self, now: Timestamp) -> Option<i64> {
        self.anchor.map(|(at, shown)| shown.saturating_add(now.nanos_since(at)))
    }

    /// When a media time is shown; `None` before the first packet.
    pub(super) fn time_of(&self, media: i64) -> Option<Timestamp> {
        let (at, shown) = self.anchor?;
        let nanos = i128::from(at.as_nanos()) + i128::from(media) - i128::from(shown);
        Some(Timestamp::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)))
    }

    /// Room that is left, of video that came and is still to be shown.
    pub(super) fn free(&mut self, now: Timestamp) -> DataSize {
        let shown = self.shown(now).unwrap_or(i64::MIN);
        while let Some(first) = self.waiting.first_entry()
            && *first.key() <= shown
        {
            self.held -= first.remove().min(self.held);
        }
        DataSize::from_bytes(self.settings.buffer.as_bytes().saturating_sub(self.held))
    }
}

/// In 64 bits with a sign: 292 years.
pub(super) fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn video(frame: u32, size: u64) -> VideoHeader {
        VideoHeader { size: DataSize::from_bytes(size), ..testing::video(frame) }
    }

    fn player() -> Player {
        let buffer = DataSize::from_bytes(5_000);
        Player::new(PlayerSettings { startup: Duration::from_millis(100), buffer, repeats: true })
    }

    #[test]
    fn what_is_shown_leaves_the_buffer() {
        let mut player = player();
        assert_eq!((player.shown(at(5)), player.free(at(5))), (None, DataSize::from_bytes(5_000)));
        // Shown at 110, 150 and 190 ms.
        (0..3).for_each(|frame| player.handle_video(at(10 + 10 * u64::from(frame)), &video(frame, 1_000)));
        assert_eq!(player.shown(at(10)), Some(-100_000_000));
        assert_eq!(player.time_of(80_000_000), Some(at(190)));
        let mut free = |millis| player.free(at(millis)).as_bytes();
        assert_eq!([109, 110, 149, 150, 190].map(&mut free), [2_000, 3_000, 3_000, 4_000, 5_000]);
        player.handle_video(at(300), &video(3, 4_000));
        assert_eq!(player.free(at(300)).as_bytes(), 5_000, "late: it never waits");
        player.handle_video(at(300), &video(90, 9_000));
        assert_eq!(player.free(at(300)).as_bytes(), 0, "more than there is room for");
    }

    #[test]
    fn a_player_that_stands_still_says_so() {
        let mut player = player();
        player.handle_video(at(0), &video(5, 1_000));
        player.set_shown(at(500), Duration::from_millis(120));
        assert_eq!((player.shown(at(530)), player.free(at(530)).as_bytes()), (Some(150_000_000), 4_000));
        assert_eq!(player.time_of(200_000_000), Some(at(580)));
        assert_eq!(player.free(at(580)).as_bytes(), 5_000);
    }
}
