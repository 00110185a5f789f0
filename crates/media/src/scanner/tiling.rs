//! How access units tile a stream, and what is said of it at its end.

use super::{CodedFrame, Damage, ScanSummary};
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::{FrameRate, SequenceHeader};

/// Access units tile a stream: each ends where the next begins, and the last one with the stream.
#[derive(Debug, Default)]
pub(crate) struct Tiling {
    open: Option<CodedFrame>,
    first: Option<u64>,
}

impl Tiling {
    /// Begins the next access unit, which ends the one before.
    pub(crate) fn begin(&mut self, frame: CodedFrame, sink: &mut dyn FnMut(CodedFrame)) {
        self.end(frame.offset, sink);
        self.first.get_or_insert(frame.offset);
        self.open = Some(frame);
    }

    /// Ends the last access unit.
    pub(crate) fn end(&mut self, end: u64, sink: &mut dyn FnMut(CodedFrame)) {
        if let Some(mut frame) = self.open.take() {
            frame.size = end - frame.offset;
            sink(frame);
        }
    }

    /// The one whose end is not known yet.
    pub(crate) fn open(&self) -> Option<&CodedFrame> {
        self.open.as_ref()
    }

    pub(crate) fn open_mut(&mut self) -> Option<&mut CodedFrame> {
        self.open.as_mut()
    }

    /// Where the first one begins.
    pub(crate) fn first(&self) -> Option<u64> {
        self.first
    }

    /// What is known of a stream of `codec` when its `length` bytes have come; `frame_rate` is that of one that does not state
    /// its own.
    pub(crate) fn summary(
        &self,
        codec: Codec,
        stated: Option<Stated>,
        length: u64,
        frame_rate: Option<FrameRate>,
        damage: Damage,
    ) -> Result<ScanSummary, ScanError> {
        let (Some(stated), Some(leading_bytes)) = (stated, self.first) else {
            return Err(if length == 0 { ScanError::Empty } else { ScanError::NoAccessUnit { codec, length } });
        };
        let side = |samples: u32| u16::try_from(samples).unwrap_or(u16::MAX);
        let sequence = SequenceHeader {
            codec,
            width: side(stated.width),
            height: side(stated.height),
            frame_rate: stated.frame_rate.or(frame_rate).ok_or(ScanError::NoFrameRate { codec })?,
            bit_rate: None,
            mpeg2: false,
            progressive: stated.progressive,
        };
        let states_frame_rate = stated.frame_rate.is_some();
        Ok(ScanSummary { sequence, states_frame_rate, length, damage: Damage { leading_bytes, ..damage } })
    }
}

/// What the headers of a stream state of it. The frame rate may not be among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    /// In luma samples, as shown.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) frame_rate: Option<FrameRate>,
    pub(crate) progressive: bool,
}
