//! A movie in memory, and how a frame index is made from its bytes.

use bytes::Bytes;

use crate::access_unit::Codec;
use crate::error::ScanError;
use crate::identify::identify;
use crate::index::{FrameIndex, PictureStructure};
use crate::nal_index::{self, codec_of};
use crate::order;
use crate::scanner::{ScanSummary, Scanner};

/// How many frames a movie may have: 46 hours at 25 Hz. Bounds the memory for a hostile stream.
pub(crate) const MAX_FRAMES: usize = 1 << 22;

/// An elementary stream of MPEG-1 or MPEG-2 video, H.264 or H.265, and its frame index.
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

/// A stream that ends inside a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// The picture's frame, in decode order.
    pub frame: u32,
    /// Rows of macroblocks that it should have.
    pub rows: u32,
    /// The last row of which a slice is there; 0 when there is none.
    pub last_row: u32,
}

impl Movie {
    /// Whether the stream ends inside its last picture: some of its rows of macroblocks have no slice. Every row of a
    /// picture of MPEG-2 begins with one (ISO/IEC 13818-2, 6.1.2.2: the restricted slice structure of its profiles).
    ///
    /// A cut inside the very last slice is not seen, and MPEG-1, field pictures and pictures of over 2,800 lines (whose
    /// slices need an extension to tell their row) are not judged.
    pub fn cut_short(&self) -> Option<CutShort> {
        let sequence = &self.index.sequence;
        let last = self.index.frames.last()?;
        if !sequence.mpeg2 || last.structure != PictureStructure::Frame || sequence.height > 2_800 {
            return None;
        }
        // An interlaced sequence has an even number of rows per field (ISO/IEC 13818-2, 6.3.3).
        let height = u32::from(sequence.height);
        let rows = if sequence.progressive { height.div_ceil(16) } else { 2 * height.div_ceil(32) };
        let bytes = self.frame_bytes(self.index.frames.len() - 1);
        let slices = bytes.windows(4).filter(|code| code[..3] == [0, 0, 1] && (0x01..=0xAF).contains(&code[3]));
        let last_row = slices.map(|code| u32::from(code[3])).max().unwrap_or(0);
        (last_row < rows).then_some(CutShort { frame: last.decode_index, rows, last_row })
    }
}

impl FrameIndex {
    /// Finds the frames of an elementary stream.
    ///
    /// H.264 and H.265 are told by their parameter sets, and MPEG video is what is left. Bytes before the first valid
    /// sequence header belong to no frame: the first frame's offset tells how many.
    /// Damage is passed over; [`scan_with_summary`](Self::scan_with_summary) also tells what it was.
    ///
    /// # Errors
    /// When the stream is empty, is something else (which is named where it can be recognised), has no valid
    /// sequence header, no frame rate, no picture, a frame of 4 GiB or more, or more than 4,194,304 frames.
    pub fn scan(stream: &[u8]) -> Result<Self, ScanError> {
        Self::scan_with_summary(stream).map(|(index, _)| index)
    }

    /// As [`scan`](Self::scan), with what was wrong with the stream.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_with_summary(stream: &[u8]) -> Result<(Self, ScanSummary), ScanError> {
        let codec = codec_of(stream).unwrap_or(Codec::MpegVideo);
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
        let mut scanner = Scanner::of(codec).expect("invariant: streams of a codec that is recognised are scanned");
        scanner.feed(stream, &mut sink);
        let summary = scanner.finish(&mut sink).map_err(|error| match (error, guess) {
            (ScanError::NotMpegVideo { .. }, Some((format, offset))) => ScanError::OtherFormat { format, offset },
            (error, _) => error,
        })?;
        match refused {
            Some(error) => Err(error),
            None if codec == Codec::MpegVideo => Ok((order::index(summary.sequence, &frames), summary)),
            None => Ok((nal_index::index(summary.sequence, &frames, stream), summary)),
        }
    }
}
