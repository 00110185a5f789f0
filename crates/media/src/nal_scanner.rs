//! Access units of an H.264 or H.265 byte stream (annex B of either), found incrementally.

use std::fmt::Debug;

use crate::bits::BadField;
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::{FrameRate, PictureStructure, PictureType};
use crate::scanner::{CodedFrame, Damage, ScanSummary, StartCodeScanner, Stated, StreamScanner, Tiling, UnitAssembler};
use crate::start_code::Unit;

/// How many bytes of a NAL unit are kept: parameter sets and slice headers are shorter, but for a sequence parameter
/// set with many scaling lists or reference picture sets, of which no encoder at hand writes so many.
const KEPT: usize = 1024;

/// What a NAL unit is to the access units around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// After the last slice of a picture it begins the next access unit.
    Before,
    /// As `Before`, and it cannot be read.
    BadBefore,
    /// It belongs to the access unit that it stands in, wherever that is.
    Within,
    /// A slice, or slice segment.
    Slice(Slice),
    /// A slice whose header cannot be read.
    BadSlice,
}

impl Role {
    /// Of a parameter set that could be read, or not.
    pub(crate) fn of_parameter_set(taken: Result<(), BadField>) -> Self {
        if taken.is_ok() { Self::Before } else { Self::BadBefore }
    }
}

/// A slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// It is the first of its picture.
    pub(crate) begins_picture: bool,
    /// Its picture is the second field of the frame before.
    pub(crate) completes_frame: bool,
    pub(crate) kind: PictureType,
    /// Of the frame, with this picture in it.
    pub(crate) structure: PictureStructure,
}

/// Tells what each NAL unit of a codec is to the access units around it.
pub(crate) trait Finder: Debug + Default + Send + Sync {
    /// What the next NAL unit is, without its start code.
    fn role_of(&mut self, nal: &[u8]) -> Role;

    /// What the sequence states, once that is known.
    fn stated(&self) -> Option<Stated>;
}

/// Puts NAL units together to access units.
#[derive(Debug)]
struct Assembler<F> {
    codec: Codec,
    finder: F,
    /// Where what precedes the next picture begins.
    pending: Option<u64>,
    frames: Tiling,
    damage: Damage,
}

/// The scanner of a codec whose access units this finds.
pub(crate) fn scanner<F: Finder + 'static>(codec: Codec) -> Box<dyn StreamScanner> {
    let (finder, frames, damage) = (F::default(), Tiling::default(), Damage::default());
    Box::new(StartCodeScanner::new(Assembler { codec, finder, pending: None, frames, damage }))
}

impl<F: Finder> UnitAssembler<KEPT> for Assembler<F> {
    fn take(&mut self, unit: &Unit<KEPT>, sink: &mut dyn FnMut(CodedFrame)) {
        // `zero_byte` belongs to the NAL unit that it stands before (B.1).
        let start = unit.offset - u64::from(unit.zero_before);
        let nal = [&[unit.value], unit.payload()].concat();
        match self.finder.role_of(&nal) {
            Role::Before => _ = self.pending.get_or_insert(start),
            Role::BadBefore => {
                self.damage.bad_headers += 1;
                self.pending.get_or_insert(start);
            }
            Role::BadSlice => self.damage.orphan_slices += 1,
            Role::Slice(slice) => self.take_slice(start, slice, sink),
            Role::Within => {}
        }
    }

    fn frames(&self) -> &Tiling {
        &self.frames
    }

    fn frames_mut(&mut self) -> &mut Tiling {
        &mut self.frames
    }

    fn summary(&self, length: u64, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        self.frames.summary(self.codec, self.finder.stated(), length, frame_rate, self.damage)
    }
}

impl<F: Finder> Assembler<F> {
    fn take_slice(&mut self, start: u64, slice: Slice, sink: &mut dyn FnMut(CodedFrame)) {
        let before = self.pending.take();
        match self.frames.open_mut() {
            Some(frame) if !slice.begins_picture => frame.kind = frame.kind.max(slice.kind),
            Some(frame) if slice.completes_frame => frame.structure = slice.structure,
            // The first slices are lost.
            None if !slice.begins_picture => self.damage.orphan_slices += 1,
            _ => {
                let frame = CodedFrame::begun_at(before.unwrap_or(start), slice.kind);
                self.frames.begin(CodedFrame { structure: slice.structure, ..frame }, sink);
            }
        }
    }
}
