//! The fragments of an MP4 file.

use bytes::Bytes;
use framewire_wire::mp4::{Fragmenter, SampleTime};
use framewire_wire::rtp_payload::CLOCK_RATE;

use super::format::{Piece, StreamFormat};
use crate::frame::OutgoingFrame;
use crate::sound::OutgoingSound;

/// Which track of the file is the video, with times of 90 kHz ([`CLOCK_RATE`]).
const VIDEO: usize = 0;

/// Which is the sound.
const SOUND: usize = 1;

/// What turns frames and packets of sound into fragments of a file, each by itself, so that any can be given up. What stands before
/// the first fragment is no frame: it goes before them as a message.
#[derive(Clone, Debug)]
pub struct FileFragments {
    fragmenter: Fragmenter,
    /// By how much frames are presented later than given, so that none is presented before it is decoded.
    reordering: u32,
    sound: Option<SoundTimes>,
    /// Of the last frame, in ticks that do not wrap.
    decode: i64,
}

/// The times of a track of sound, in ticks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoundTimes {
    /// Ticks of a second.
    pub timescale: u32,
    /// When its first packet begins to play, from the first frame shown.
    pub start: i64,
    /// How long a packet plays.
    pub duration: u32,
}

impl FileFragments {
    /// The fragments of a file of video, and of sound where it has any. `reordering` is the most that a frame is decoded later than it
    /// is presented, in ticks of 90 kHz.
    pub fn new(fragmenter: Fragmenter, reordering: u32, sound: Option<SoundTimes>) -> Self {
        Self { fragmenter, reordering, sound, decode: 0 }
    }

    /// The fragment that a frame is; `None` where it is none.
    fn fragment_of_frame(&mut self, frame: &OutgoingFrame) -> Option<Bytes> {
        self.decode = unwrapped(self.decode, frame.decode_timestamp);
        let later = frame.rtp_timestamp.wrapping_sub(frame.decode_timestamp);
        let time = SampleTime {
            decode: self.decode.try_into().ok()?,
            composition: later.wrapping_add(self.reordering),
            duration: u32::try_from(frame.duration.as_nanos() * u128::from(CLOCK_RATE) / 1_000_000_000).ok()?,
        };
        self.fragmenter.fragment(VIDEO, &frame.bytes, time, frame.dependencies.key.is_some()).ok()
    }

    /// The same of a packet of sound.
    fn fragment_of_sound(&mut self, packet: &OutgoingSound) -> Option<Bytes> {
        let SoundTimes { timescale, start, duration } = self.sound?;
        let nanos = i128::from(packet.at) * i128::from(timescale);
        let ticks = (nanos + 500_000_000).div_euclid(1_000_000_000) - i128::from(start);
        let time = SampleTime { decode: ticks.try_into().ok()?, composition: 0, duration };
        self.fragmenter.fragment(SOUND, &packet.bytes, time, true).ok()
    }
}

impl StreamFormat for FileFragments {
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece> {
        self.fragment_of_frame(frame).map(Piece::whole)
    }

    fn of_sound(&mut self, sound: &OutgoingSound) -> Option<Piece> {
        self.fragment_of_sound(sound).map(Piece::whole)
    }
}

/// A time of 32 bits, next to one that does not wrap.
fn unwrapped(near: i64, time: u32) -> i64 {
    near + i64::from(time.wrapping_sub(near as u32) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_on_beyond_their_wrap() {
        assert_eq!(unwrapped(0, 3_600), 3_600);
        assert_eq!(unwrapped(0xFFFF_F000, 0x10), 0x1_0000_0010);
        assert_eq!(unwrapped(0x1_0000_0010, 0xFFFF_FFF0), 0xFFFF_FFF0, "a frame that is a little earlier");
    }
}
