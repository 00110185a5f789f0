//! One record: the thirty bytes of figure 7, and bytes of video.
//!
//! | at | bytes | field of figure 7 | here |
//! |---|---|---|---|
//! | 0 | 4 | timestamp | when the frame is shown, in milliseconds from the first one shown, to the nearest |
//! | 4 | 4 | sequence # | number of the packet within the frame, from 0 |
//! | 8 | 4 | frame # | number of the frame in decode order, from 0 |
//! | 12 | 4 | size | bytes of video behind this header, at least 1 |
//! | 16 | 4 | video level | number of the level, from 0, the lowest |
//! | 20 | 4 | rate | the plan's rate for the frame, bit/s; 0 where there is no plan |
//! | 24 | 1 | frame_done | 1 in the last packet of the frame, else 0 |
//! | 25 | 4 | video level | the same number again |
//! | 29 | 1 | I_frame | 1 when decoding can begin at the frame, else 0 |
//!
//! The figure lists the level twice, which its text does not explain. Both fields are kept, so that a record is as
//! long as the paper's, and they have to agree.

use std::time::Duration;

use crate::streaming_file::header::Header;

/// Bytes before the video.
pub(crate) const RECORD_HEADER: usize = 30;

/// What stands before the bytes of video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// When the frame is shown, in milliseconds.
    pub timestamp: u32,
    /// Number of the packet within the frame.
    pub sequence: u32,
    /// Number of the frame in decode order.
    pub frame: u32,
    /// Bytes of video.
    pub size: u32,
    /// Number of the level.
    pub level: u32,
    /// The plan's rate for the frame in bit/s.
    pub rate: u32,
    /// 1 in the last packet of the frame.
    pub frame_done: u8,
    /// The level again.
    pub level_again: u32,
    /// 1 when decoding can begin at the frame.
    pub i_frame: u8,
}

impl RecordHeader {
    /// Reads the fields as they are; whether they make sense is for the reader of the file to say.
    pub fn parse(bytes: &[u8; RECORD_HEADER]) -> Self {
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            timestamp: number(0),
            sequence: number(4),
            frame: number(8),
            size: number(12),
            level: number(16),
            rate: number(20),
            frame_done: bytes[24],
            level_again: number(25),
            i_frame: bytes[29],
        }
    }

    /// Writes the fields.
    pub fn emit(&self) -> [u8; RECORD_HEADER] {
        let mut bytes = [0; RECORD_HEADER];
        let numbers = [self.timestamp, self.sequence, self.frame, self.size, self.level, self.rate];
        for (number, place) in numbers.into_iter().zip(bytes.chunks_exact_mut(4)) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes[24] = self.frame_done;
        bytes[25..29].copy_from_slice(&self.level_again.to_be_bytes());
        bytes[29] = self.i_frame;
        bytes
    }

    /// What the packets of a frame have in common, but for the rate.
    pub(super) fn of_frame(header: &Header, level: usize, frame: u32, display_index: u32, is_key: bool) -> Self {
        Self {
            timestamp: milliseconds(header.frame_rate.time_of(display_index.into())),
            sequence: 0,
            frame,
            size: 0,
            level: level as u32,
            rate: 0,
            frame_done: 0,
            level_again: level as u32,
            i_frame: is_key.into(),
        }
    }

    /// One of the packets of the frame.
    pub(super) fn packet(&self, sequence: u32, size: u32, is_last: bool) -> Self {
        Self { sequence, size, frame_done: is_last.into(), ..*self }
    }
}

/// To the nearest millisecond; a header that was checked has no time that does not fit.
fn milliseconds(time: Duration) -> u32 {
    u32::try_from((time.as_nanos() + 500_000) / 1_000_000).unwrap_or(u32::MAX)
}
