//! Access units of an elementary stream, found incrementally: the same for every codec here, and its own in a file of each.

mod coded_frame;
mod mpeg_video;
mod start_codes;
mod tiling;

use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::FrameRate;

pub(crate) use coded_frame::StreamScanner;
pub use coded_frame::{CodedFrame, Damage, ScanSummary};
pub(crate) use mpeg_video::mpeg_video;
pub(crate) use start_codes::{StartCodeScanner, UnitAssembler};
pub(crate) use tiling::{Stated, Tiling};

/// An incremental scanner: bytes in, access units out. [`new`](Self::new) makes one of MPEG-1 and MPEG-2 video,
/// [`of`](Self::of) one of another codec.
///
/// Call [`feed`](Self::feed) with the stream in chunks of any size, then [`finish`](Self::finish) once. Each calls
/// `sink` for every access unit whose end has become known, in decode order; how the stream was cut into chunks
/// makes no difference. Memory is constant whatever arrives, and nothing in a stream is a reason to stop:
/// the scanner goes on at the next start code that makes sense.
///
/// A frame starts with the first header after the last slice of the frame before it, so frames tile the stream from
/// the first valid sequence header to the end; a `sequence_end_code` and whatever no picture follows belong to the
/// frame before. Two field pictures are one frame when they have the same temporal reference and opposite parity and
/// no header but the picture header is between them (6.1.1.4.1). Access units of H.264 and H.265 begin where their
/// standards say (7.4.1.2.3 and 7.4.2.4.4); of H.264, the fields of a frame are one frame here, too. Of MPEG-4 part 2 each
/// VOP is one with the headers before it, of AV1 each temporal unit that has a frame.
#[derive(Debug)]
pub struct Scanner(Box<dyn StreamScanner>);

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the start of a stream of MPEG-1 or MPEG-2 video.
    pub fn new() -> Self {
        Self(mpeg_video())
    }

    /// A scanner at the start of a stream of `codec`; `None` when streams of it are not scanned.
    pub fn of(codec: Codec) -> Option<Self> {
        codec.profile().scanner.map(|scanner| Self(scanner()))
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(CodedFrame)) {
        self.0.feed(chunk, sink);
    }

    /// Ends the stream, and with it the last access unit.
    ///
    /// # Errors
    /// When there was no access unit: [`ScanError::Empty`], [`ScanError::NotMpegVideo`],
    /// [`ScanError::InvalidSequence`], [`ScanError::NoPicture`] or [`ScanError::NoAccessUnit`]; or when the stream
    /// does not state its frame rate ([`ScanError::NoFrameRate`]).
    pub fn finish(self, sink: &mut impl FnMut(CodedFrame)) -> Result<ScanSummary, ScanError> {
        self.finish_at(None, sink)
    }

    /// As [`finish`](Self::finish), with the frame rate of a stream that does not state its own.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(crate) fn finish_at(
        mut self,
        frame_rate: Option<FrameRate>,
        sink: &mut impl FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        self.0.end(sink);
        self.0.summary(frame_rate)
    }

    /// Where the last access unit that has a slice begins; `None` while there is none.
    pub(crate) fn last_frame(&self) -> Option<u64> {
        self.0.last_frame()
    }
}
