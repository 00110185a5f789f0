//! What the viewer got: frames, when they were whole, and how much of them waited to be shown.

use framewire_units::{DataSize, Duration, Timestamp};

/// A frame as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewedFrame {
    /// The level it was sent from; `None` when nothing of it came.
    pub level: Option<u8>,
    /// When its last missing packet came; `None` when it was never whole.
    pub complete: Option<Timestamp>,
    /// Bytes of it that came.
    pub received: DataSize,
}

/// What became of a frame. The paper's player shows a frame that came whole, whatever it refers to (section 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Whole by the time at which it is shown.
    Intact,
    /// Whole, but later.
    Late,
    /// Never whole.
    Lost,
}

/// The frames of a movie at the client, and when they are due.
#[derive(Clone, Debug)]
pub struct Viewing {
    frames: Vec<ViewedFrame>,
    /// Media time of each frame.
    times: Vec<Duration>,
    /// From the first packet of video to the first frame's due time.
    delay: Duration,
    first: Option<Timestamp>,
    /// When how many bytes came, and of which frame.
    arrivals: Vec<(Timestamp, u64, usize)>,
}

impl Viewing {
    /// Frames with these media times, none of which has come; the first is due at `delay` after the first packet.
    pub(super) fn new(times: Vec<Duration>, delay: Duration) -> Self {
        let frames = vec![ViewedFrame::default(); times.len()];
        Self { frames, times, delay, first: None, arrivals: Vec::new() }
    }

    /// A packet of video came.
    pub(super) fn handle_packet(&mut self, now: Timestamp, frame: u32, level: usize, size: DataSize) {
        self.first.get_or_insert(now);
        let number = frame as usize;
        if let Some(frame) = self.frames.get_mut(number) {
            frame.level = u8::try_from(level).ok();
            frame.received += size;
            self.arrivals.push((now, size.as_bytes(), number));
        }
    }

    /// A frame is whole.
    pub(super) fn handle_complete(&mut self, now: Timestamp, frame: u32) {
        if let Some(frame) = self.frames.get_mut(frame as usize) {
            frame.complete.get_or_insert(now);
        }
    }

    /// The frames, in the order in which they are sent.
    pub fn frames(&self) -> &[ViewedFrame] {
        &self.frames
    }

    /// When a frame is to be shown; `None` before the first packet of all.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn due(&self, frame: usize) -> Option<Timestamp> {
        self.first.map(|first| first + self.delay + self.times[frame])
    }

    /// What became of a frame.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn fate(&self, frame: usize) -> Fate {
        match (self.frames[frame].complete, self.due(frame)) {
            (Some(complete), Some(due)) if complete <= due => Fate::Intact,
            (Some(_), _) => Fate::Late,
            (None, _) => Fate::Lost,
        }
    }

    /// Bytes that have come and are not yet shown, at each of these times, which ascend. What comes after its frame was
    /// due never waits.
    pub fn buffer_levels(&self, times: &[Timestamp]) -> Vec<DataSize> {
        let leaves = |&(came, bytes, frame): &(Timestamp, u64, usize)| Some((self.due(frame)?.max(came), bytes));
        let mut shown: Vec<(Timestamp, u64)> = self.arrivals.iter().filter_map(leaves).collect();
        shown.sort_unstable();
        let mut came = self.arrivals.iter().peekable();
        let mut shown = shown.iter().peekable();
        let (mut bytes_in, mut bytes_out) = (0, 0);
        let mut level_at = |at: Timestamp| {
            while let Some((_, bytes, _)) = came.next_if(|event| event.0 <= at) {
                bytes_in += bytes;
            }
            while let Some((_, bytes)) = shown.next_if(|event| event.0 <= at) {
                bytes_out += bytes;
            }
            DataSize::from_bytes(bytes_in - bytes_out)
        };
        times.iter().map(|&at| level_at(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Three frames, 40 ms apart, shown 100 ms after the first packet.
    fn viewing() -> Viewing {
        let mut viewing =
            Viewing::new((0..3).map(|frame| Duration::from_millis(40 * frame)).collect(), Duration::from_millis(100));
        let size = DataSize::from_bytes(1_000);
        viewing.handle_packet(ms(10), 0, 1, size);
        viewing.handle_complete(ms(10), 0);
        viewing.handle_packet(ms(50), 1, 1, size);
        viewing.handle_packet(ms(160), 2, 0, size);
        viewing.handle_packet(ms(191), 2, 0, size);
        viewing.handle_complete(ms(191), 2);
        viewing
    }

    #[test]
    fn a_frame_is_intact_late_or_lost() {
        let viewing = viewing();
        assert_eq!((0..3).map(|frame| viewing.fate(frame)).collect::<Vec<_>>(), [Fate::Intact, Fate::Lost, Fate::Late]);
        assert_eq!(viewing.due(2), Some(ms(190)));
        assert_eq!(viewing.frames()[2].level, Some(0));
    }

    #[test]
    fn what_came_waits_until_it_is_shown() {
        let times = [ms(9), ms(10), ms(109), ms(110), ms(149), ms(150), ms(160), ms(190), ms(500)];
        let levels: Vec<u64> = viewing().buffer_levels(&times).iter().map(|level| level.as_bytes()).collect();
        // The frame of two packets is due before its second one comes.
        assert_eq!(levels, [0, 1_000, 2_000, 1_000, 1_000, 0, 1_000, 0, 0]);
    }

    #[test]
    fn nothing_that_came_is_nothing_to_show() {
        let viewing = Viewing::new(vec![Duration::ZERO], Duration::ZERO);
        assert_eq!((viewing.due(0), viewing.fate(0)), (None, Fate::Lost));
        assert_eq!(viewing.buffer_levels(&[ms(1)]), [DataSize::ZERO]);
    }
}
