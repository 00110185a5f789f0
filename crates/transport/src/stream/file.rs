//! The samples of an MP4 file, and what reads one, in fragments or not.

use std::sync::Arc;

use bytes::Bytes;
use framewire_units::Timestamp;
use framewire_wire::mp4::{self, Coding, Demultiplexer};

use super::format::{Piece, StreamFormat, StreamReader};
use crate::event::ReceiverEvent;
use crate::frame::OutgoingFrame;
use crate::sound::OutgoingSound;

/// Which track of the file is the video.
const VIDEO: u8 = 0;

/// Which is the sound.
const SOUND: u8 = 1;

/// What turns frames and packets of sound into samples of a file, in the order in which its index says that they stand. The index
/// itself is no frame: it goes before them as a message.
#[derive(Clone, Debug)]
pub struct FileSamples {
    /// How the tracks are coded: the video, and the sound where there is any.
    codings: Vec<Coding>,
    /// Of each sample, its track.
    order: Arc<[u8]>,
    next: usize,
}

impl FileSamples {
    /// The samples of a file: how its video is coded, and its sound where there is any; and for each sample in the order in which
    /// they stand, whether it is sound.
    pub fn new(video: Coding, sound: Option<Coding>, order: impl Iterator<Item = bool>) -> Self {
        let order = order.map(|is_sound| if is_sound { SOUND } else { VIDEO }).collect();
        Self { codings: [video].into_iter().chain(sound).collect(), order, next: 0 }
    }

    /// The same from one of the samples on, and how many of those before it are video and sound.
    #[must_use]
    pub fn starting_at(&self, sample: usize) -> (Self, [usize; 2]) {
        let next = sample.min(self.order.len());
        let video = self.order[..next].iter().filter(|&&track| track == VIDEO).count();
        (Self { next, ..self.clone() }, [video, next - video])
    }

    fn sample(&mut self, track: u8, unit: &Bytes) -> Option<Bytes> {
        self.order.get(self.next).filter(|&&next| next == track)?;
        let sample = mp4::sample(*self.codings.get(usize::from(track))?, unit).ok()?;
        self.next += 1;
        Some(sample)
    }
}

impl StreamFormat for FileSamples {
    /// The sample that a frame is; `None` where another one stands there, or it is none.
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece> {
        self.sample(VIDEO, &frame.bytes).map(Piece::whole)
    }

    fn of_sound(&mut self, sound: &OutgoingSound) -> Option<Piece> {
        self.sample(SOUND, &sound.bytes).map(Piece::whole)
    }
}

impl StreamReader for Demultiplexer {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.handle_bytes(now, bytes);
    }

    fn handle_end(&mut self, now: Timestamp) {
        self.finish(now);
    }

    fn poll_event(&mut self, now: Timestamp) -> Option<ReceiverEvent> {
        if let Some(fault) = self.poll_fault() {
            return Some(ReceiverEvent::Rejected { at: now, reason: fault.to_string() });
        }
        let unit = self.poll_unit()?;
        let is_video = self.tracks()[unit.track].coding.is_video();
        Some(ReceiverEvent::Frame {
            track: u8::from(!is_video),
            rtp_timestamp: None,
            at: unit.arrival,
            complete: unit.complete,
            discarded: None,
            handed_on: None,
            bytes: unit.bytes,
        })
    }
}
