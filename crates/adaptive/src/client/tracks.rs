use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::{Description, VideoHeader};

use super::assembly::{Assembly, Output};
use super::player::nanos;
use super::settings::ClientSettings;
use crate::datagram::DropReason;

/// Memory for audio, beside that for video: more than ten seconds at the highest rates of the codecs.
const AUDIO_BUFFER: DataSize = DataSize::from_bytes(1 << 20);

/// Packets of audio that may overtake one before it is given up, where it is not repeated.
const AUDIO_REORDER: u32 = 8;

/// A frame that is not whole so long before it is shown is given up: a player needs a moment to show it.
const HAND_OVER: Duration = Duration::from_millis(40);

/// What arrives, put together: video, and audio where the movie has some, of which a packet counts as a frame.
#[derive(Debug)]
pub(super) struct Tracks {
    video: Assembly,
    audio: Option<Assembly>,
    /// Frame and place in it of the packet that is furthest in the movie, of video and of audio.
    furthest: [Option<(u32, u16)>; 2],
}

impl Tracks {
    /// Nothing yet of what was described.
    pub(super) fn new(description: &Description, settings: &ClientSettings) -> Self {
        let period = |of: u32| description.duration / of.max(1);
        let frames = description.frames;
        let audio = description.audio.map(|audio| {
            let memory = AUDIO_BUFFER.min(settings.buffer);
            Assembly::new(audio.packets, period(audio.packets), AUDIO_REORDER, memory)
        });
        let video = Assembly::new(frames, period(frames), settings.reorder_frames, settings.buffer);
        Self { video, audio, furthest: [None; 2] }
    }

    /// Takes a packet of a frame that there is.
    pub(super) fn insert(&mut self, now: Timestamp, header: &VideoHeader, video: &[u8]) -> Result<(), DropReason> {
        let track = self.audio.as_mut().filter(|_| header.audio).unwrap_or(&mut self.video);
        track.insert(now, header, video)
    }

    /// Whether a packet is of a later part of the movie than every one before it, kept or not: a server that sends
    /// again what it has sent can do so without end.
    pub(super) fn is_further(&mut self, header: &VideoHeader) -> bool {
        let (place, furthest) = ((header.frame, header.index), &mut self.furthest[usize::from(header.audio)]);
        let is_further = furthest.is_none_or(|furthest| place > furthest);
        if is_further {
            *furthest = Some(place);
        }
        is_further
    }

    /// The next audio that came or was given up.
    pub(super) fn poll_audio(&mut self) -> Option<Output> {
        self.audio.as_mut().and_then(Assembly::poll)
    }

    /// The next video that came or was given up.
    pub(super) fn poll_video(&mut self) -> Option<Output> {
        self.video.poll()
    }

    /// Missing packets are repeated, and the player shows this media time, in nanoseconds: what is soon shown is waited
    /// for no longer.
    pub(super) fn wait_for_repeats(&mut self, shown: i64) {
        let over = shown.saturating_add(nanos(HAND_OVER));
        self.all_mut().for_each(|track| track.wait_for_repeats(over));
    }

    /// Gives up what is too late.
    pub(super) fn give_up_late(&mut self) {
        self.all_mut().for_each(Assembly::give_up_late);
    }

    /// The media time in nanoseconds at which the next frame is given up that others wait behind.
    pub(super) fn next_give_up(&self) -> Option<i64> {
        let next = self.all().filter_map(Assembly::next_give_up).min()?;
        Some(next.saturating_sub(nanos(HAND_OVER)))
    }

    /// No packet comes any more.
    pub(super) fn flush(&mut self) {
        self.all_mut().for_each(Assembly::flush);
    }

    /// Whether nothing is waited for any more.
    pub(super) fn is_whole(&self) -> bool {
        self.all().all(Assembly::is_done)
    }

    /// Packets of so many bytes that every track has room for.
    pub(super) fn room(&self, payload: u16) -> usize {
        self.all().map(|track| track.room(payload)).min().unwrap_or(0)
    }

    /// Memory in use.
    pub(super) fn used(&self) -> DataSize {
        self.all().map(Assembly::used).fold(DataSize::ZERO, |sum, used| sum + used)
    }

    fn all(&self) -> impl Iterator<Item = &Assembly> {
        [&self.video].into_iter().chain(&self.audio)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Assembly> {
        [&mut self.video].into_iter().chain(&mut self.audio)
    }
}

#[cfg(test)]
mod tests {
    use framewire_wire::vtp::Cookie;

    use super::*;
    use crate::testing::{FRAME_TIME, title, video};

    /// Frame 10, which is shown at 400 ms, does not come: the player has to know at 360 ms.
    #[test]
    fn a_frame_that_is_waited_for_is_given_up_when_it_has_to_be_handed_over() {
        let description = Description {
            session: 1,
            cookie: Cookie([0; 16]),
            frames: 100,
            duration: FRAME_TIME * 100,
            buffer: DataSize::ZERO,
            payload: 1_000,
            ack_every: 5,
            rates: vec![],
            audio: None,
        };
        let mut tracks = Tracks::new(&description, &ClientSettings::paper(title(), 1));
        tracks.wait_for_repeats(i64::MIN);
        for frame in (0..20).filter(|&frame| frame != 10) {
            tracks.insert(Timestamp::ZERO, &video(frame), &[]).unwrap();
        }
        let mut out_at = |shown: i64| {
            tracks.wait_for_repeats(shown);
            tracks.give_up_late();
            let out: Vec<_> = std::iter::from_fn(|| tracks.poll_video())
                .map(|output| match output {
                    Output::Whole(frame) => frame.frame,
                    Output::Lost { first, count } => 1_000 * count + first,
                })
                .collect();
            (out, tracks.next_give_up())
        };
        assert_eq!(out_at(0), ((0..10).collect(), Some(360_000_000)));
        assert_eq!(out_at(359_999_999), (vec![], Some(360_000_000)));
        assert_eq!(out_at(360_000_000), ([1_010].into_iter().chain(11..20).collect(), None));
    }
}
