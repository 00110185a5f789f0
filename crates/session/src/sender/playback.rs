//! A session that is one of many of the same movie: it keeps no ledger, and says how punctual it is.

use bytes::Bytes;
use framewire_scenario::Pacing;
use framewire_transport::queue::FrameQueue;
use framewire_units::{Duration, Timestamp};

use super::{SenderLog, SenderSession};
use crate::flow::FlowRecording;

/// How one of many receivers is sent a movie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Playback {
    /// When it begins.
    pub(crate) start: Timestamp,
    /// By its frame clock, or as fast as it is taken.
    pub(crate) pacing: Pacing,
    /// How much of it is due at the start: what the receiver then has ahead of its player.
    pub(crate) ahead: Duration,
    /// The sequence number and the time stamp of RTP with which its video begins, and its sound.
    pub(crate) first: [(u16, u32); 2],
    /// It begins anew where it has ended, for as long as there is a receiver.
    pub(crate) is_endless: bool,
}

/// What is known of such a session.
#[derive(Debug)]
pub(super) struct PlaybackState {
    start: Timestamp,
    /// The time stamps with which its streams of RTP begin.
    first_stamps: [u32; 2],
    /// By how much frames were offered late that were not looked at yet.
    late: Vec<Duration>,
    /// Packets of RTP that were written and not looked at yet.
    packets: Vec<PacketSent>,
    /// Since when nothing is offered.
    paused: Option<Timestamp>,
    /// Its frames are not wanted, its sound is.
    is_sound_alone: bool,
    /// What happens to its frames is recorded, as long as it goes on in order.
    is_recorded: bool,
}

/// A packet of RTP that was written, for the reports about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSent {
    /// Its time stamp.
    pub timestamp: u32,
    /// Bytes of its payload.
    pub octets: u32,
    /// It has sound.
    pub is_sound: bool,
}

impl SenderSession {
    /// The same session as one of many: nothing of its frames is recorded.
    pub(crate) fn playing_as(self, playback: &Playback) -> Self {
        let programme = self.programme.starting_at(playback.start).sooner(playback.ahead);
        let programme = if playback.is_endless { programme.without_end() } else { programme };
        let state = Some(PlaybackState {
            start: playback.start,
            first_stamps: playback.first.map(|(_, timestamp)| timestamp),
            late: Vec::new(),
            packets: Vec::new(),
            paused: None,
            is_sound_alone: false,
            is_recorded: false,
        });
        Self { programme, pacing: playback.pacing, playback: state, ..self }
    }

    /// The same of a file, whose sound stands where its index says, behind so many frames and packets of sound.
    pub(crate) fn of_file(self, [frames, sounds]: [u32; 2]) -> Self {
        let plan = self.programme.plan();
        let first = frames.min(plan.len() - 1);
        let passed = plan.due(first).saturating_since(plan.start());
        Self { programme: self.programme.sooner(passed), next: frames, next_sound: sounds, is_file: true, ..self }
    }

    /// The same of whose frames none is sent.
    pub(crate) fn of_sound_alone(mut self) -> Self {
        self.playback.iter_mut().for_each(|playback| playback.is_sound_alone = true);
        self
    }

    /// True of one that does not begin anew where it has ended.
    pub(crate) fn has_end(&self) -> bool {
        self.programme.len() == self.programme.plan().len()
    }

    /// Records what happens to its frames, from its beginning on.
    pub(crate) fn record_into(&mut self, recording: &FlowRecording) {
        self.playback.iter_mut().for_each(|playback| playback.is_recorded = true);
        self.log = SenderLog::new(recording);
    }

    /// Whether what happens to its frames is recorded.
    pub(super) fn is_recorded(&self) -> bool {
        self.playback.as_ref().is_none_or(|playback| playback.is_recorded)
    }

    pub(super) fn is_sound_alone(&self) -> bool {
        self.playback.as_ref().is_some_and(|playback| playback.is_sound_alone)
    }

    /// Nothing more is offered for now; what was is still sent.
    pub(crate) fn pause(&mut self, now: Timestamp) {
        if let Some(playback) = &mut self.playback {
            playback.paused.get_or_insert(now);
        }
    }

    pub(super) fn is_paused(&self) -> bool {
        self.playback.as_ref().is_some_and(|playback| playback.paused.is_some())
    }

    /// It goes on where it was paused.
    pub(crate) fn resume(&mut self, now: Timestamp) {
        if let Some(paused) = self.playback.as_mut().and_then(|playback| playback.paused.take()) {
            self.end_ledger();
            self.programme = self.programme.later(now.saturating_since(paused));
        }
    }

    /// It goes on from another place in the movie, up to one: with the last frame at or before it with which decoding can begin, by a
    /// queue that knows nothing of what was before. What waits is given up.
    pub(crate) fn seek(
        &mut self,
        now: Timestamp,
        [from, ahead]: [Duration; 2],
        until: Option<Duration>,
        queue: FrameQueue,
    ) {
        self.end_ledger();
        let frame = self.programme.random_access(from);
        self.programme = self.programme.beginning_at(frame, now, ahead, until, self.next);
        let at = self.programme.plan().movie().index.frames[frame as usize].display_time;
        (self.next, self.next_sound) = (frame, self.programme.sound_from(at));
        if let Some(playback) = &mut self.playback {
            (playback.start, playback.paused) = (now, None);
        }
        self.half.handle_seek(now, queue);
        if let Some(sound) = &mut self.sound {
            sound.handle_seek(now, FrameQueue::direct());
        }
        self.drain_events();
    }

    /// It no longer goes on in order: frames have other times from now on, or come again.
    fn end_ledger(&mut self) {
        self.playback.iter_mut().for_each(|playback| playback.is_recorded = false);
    }

    /// Where in the movie it is: when the frame is shown that is due next. `None` at its end.
    pub(crate) fn position(&self) -> Option<Duration> {
        let frames = &self.programme.plan().movie().index.frames;
        frames
            .get(self.next as usize % frames.len())
            .filter(|_| self.next < self.programme.len())
            .map(|frame| frame.display_time)
    }

    /// Of each of its streams, whose clocks have so many hertz, the sequence number of the next packet, and the time stamp of a place in
    /// the movie.
    pub(crate) fn next_packets(&self, at: Duration, clock_rates: [u32; 2]) -> [Option<(u16, u32)>; 2] {
        let [video, sound] = self.half.next_numbers();
        let sound = sound.or_else(|| self.sound.as_ref()?.next_number());
        let [first_of_video, first_of_sound] = self.playback.as_ref().map_or([0; 2], |playback| playback.first_stamps);
        let [of_video, of_sound] = clock_rates.map(|rate| self.programme.timestamp(at, rate));
        let of_video = of_video.wrapping_add(first_of_video);
        let of_sound = of_sound.wrapping_add(first_of_sound);
        [video.map(|number| (number, of_video)), sound.map(|number| (number, of_sound))]
    }

    /// By how much frames were offered late since it was asked last, of those that were due after the start.
    pub(crate) fn take_lateness(&mut self) -> Vec<Duration> {
        self.playback.as_mut().map(|playback| std::mem::take(&mut playback.late)).unwrap_or_default()
    }

    /// Packets of RTP that were written since it was asked last, where they go between messages of a session.
    pub(crate) fn take_packets(&mut self) -> Vec<PacketSent> {
        self.playback.as_mut().map(|playback| std::mem::take(&mut playback.packets)).unwrap_or_default()
    }

    /// Writes a message of the session behind the packet that was begun.
    pub(crate) fn handle_message(&mut self, message: Vec<u8>) {
        self.half.handle_message(message);
    }

    /// What has to be written of a packet and of messages, before the stream goes on in another way.
    pub(crate) fn take_begun(&mut self) -> Vec<Bytes> {
        self.half.take_begun()
    }

    /// A packet of RTP was sent.
    pub(crate) fn note_packet(&mut self, packet: PacketSent) {
        if let Some(playback) = &mut self.playback {
            playback.packets.push(packet);
        }
    }

    pub(super) fn note_lateness(&mut self, now: Timestamp, due: Timestamp) {
        let has_clock = self.pacing == Pacing::Sender;
        if let Some(playback) = self.playback.as_mut().filter(|playback| has_clock && due > playback.start) {
            playback.late.push(now.saturating_since(due));
        }
    }
}
