//! The scanner of streams that consist of units behind start codes.

use std::fmt;

use super::{CodedFrame, ScanSummary, StreamScanner, Tiling};
use crate::error::ScanError;
use crate::picture::FrameRate;
use crate::start_code::{Unit, UnitCutter};

/// Puts the units of one codec together to access units. Of each unit `KEPT` bytes are kept.
pub(crate) trait UnitAssembler<const KEPT: usize>: fmt::Debug + Send + Sync {
    /// Takes the next unit of the stream.
    fn take(&mut self, unit: &Unit<KEPT>, sink: &mut dyn FnMut(CodedFrame));

    /// The access units found so far.
    fn frames(&self) -> &Tiling;

    /// The same, to end the last one.
    fn frames_mut(&mut self) -> &mut Tiling;

    /// What is known at the end of a stream of `length` bytes; `frame_rate` is that of one that does not state its own.
    fn summary(&self, length: u64, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError>;
}

/// Cuts a stream at its start codes, and has the units put together.
#[derive(Debug)]
pub(crate) struct StartCodeScanner<const KEPT: usize, A> {
    cutter: UnitCutter<KEPT>,
    assembler: A,
}

impl<const KEPT: usize, A: UnitAssembler<KEPT>> StartCodeScanner<KEPT, A> {
    pub(crate) fn new(assembler: A) -> Self {
        Self { cutter: UnitCutter::new(), assembler }
    }
}

impl<const KEPT: usize, A: UnitAssembler<KEPT>> StreamScanner for StartCodeScanner<KEPT, A> {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        let assembler = &mut self.assembler;
        self.cutter.feed(chunk, &mut |unit| assembler.take(&unit, sink));
    }

    fn end(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        let assembler = &mut self.assembler;
        self.cutter.finish(&mut |unit| assembler.take(&unit, sink));
        assembler.frames_mut().end(self.cutter.length(), sink);
    }

    fn summary(&self, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        self.assembler.summary(self.cutter.length(), frame_rate)
    }

    fn last_frame(&self) -> Option<u64> {
        self.assembler.frames().open().map(|frame| frame.offset)
    }
}
