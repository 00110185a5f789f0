//! A movie in memory, and how a frame index is made from its bytes.

use bytes::Bytes;

use crate::error::ScanError;
use crate::identify::identify;
use crate::index::FrameIndex;
use crate::order;
use crate::scanner::{ScanSummary, Scanner};

/// How many frames a movie may have: 46 hours at 25 Hz. Bounds the memory for a hostile stream.
const MAX_FRAMES: usize = 1 << 22;

/// An MPEG-1 or MPEG-2 video elementary stream and its frame index.
#[derive(Clone, Debug)]
pub struct Movie {
    /// The whole stream.
    pub bytes: Bytes,
    /// Its frames.
    pub index: FrameIndex,
}

impl Movie {
    /// Finds the frames of a stream.
    ///
    /// # Errors
    /// As [`FrameIndex::scan`].
    pub fn parse(bytes: Bytes) -> Result<Self, ScanError> {
        let index = FrameIndex::scan(&bytes)?;
        Ok(Self { bytes, index })
    }

    /// The bytes of frame `decode_index`, with the headers before its picture; a reference, not a copy.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_bytes(&self, decode_index: usize) -> Bytes {
        let frame = &self.index.frames[decode_index];
        let start = frame.offset as usize;
        self.bytes.slice(start..start + frame.size as usize)
    }
}

impl FrameIndex {
    /// Finds the frames of an elementary stream.
    ///
    /// Bytes before the first valid sequence header belong to no frame: the first frame's offset tells how many.
    /// Damage is passed over; [`scan_with_summary`](Self::scan_with_summary) also tells what it was.
    ///
    /// # Errors
    /// When the stream is empty, is something else (which is named where it can be recognised), has no valid
    /// sequence header, no picture, a frame of 4 GiB or more, or more than 4,194,304 frames.
    pub fn scan(stream: &[u8]) -> Result<Self, ScanError> {
        Self::scan_with_summary(stream).map(|(index, _)| index)
    }

    /// As [`scan`](Self::scan), with what was wrong with the stream.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_with_summary(stream: &[u8]) -> Result<(Self, ScanSummary), ScanError> {
        let guess = identify(stream);
        if let Some((format, offset)) = guess.filter(|(format, _)| !format.is_only_a_guess()) {
            return Err(ScanError::OtherFormat { format, offset });
        }
        let mut frames = Vec::new();
        let mut refused = None;
        let mut sink = |frame: crate::CodedFrame| {
            if frames.len() == MAX_FRAMES {
                refused.get_or_insert(ScanError::TooManyFrames { limit: MAX_FRAMES, offset: frame.offset });
            } else if u32::try_from(frame.size).is_err() {
                refused.get_or_insert(ScanError::FrameTooLarge { offset: frame.offset, size: frame.size });
            } else {
                frames.push(frame);
            }
        };
        let mut scanner = Scanner::new();
        scanner.feed(stream, &mut sink);
        let summary = scanner.finish(&mut sink).map_err(|error| match (error, guess) {
            (ScanError::NotMpegVideo { .. }, Some((format, offset))) => ScanError::OtherFormat { format, offset },
            (error, _) => error,
        })?;
        match refused {
            Some(error) => Err(error),
            None => Ok((order::index(summary.sequence, &frames), summary)),
        }
    }
}
