//! Access units of an elementary stream of MPEG-4 part 2, found incrementally: each VOP with the headers before it.

use super::clock::VopClock;
use super::headers::{self, VideoObjectLayer, VopHeader, is_header, is_layer, value};
use super::pace::Pace;
use crate::access_unit::Codec;
use crate::error::ScanError;
use crate::headers::BadField;
use crate::index::{FrameRate, PictureStructure, PictureType, SequenceHeader};
use crate::scanner::{CodedFrame, Damage, ScanSummary, StreamScanner};
use crate::start_code::{Unit, UnitCutter};

/// How many bytes of a header are kept: those of a layer are read up to its size, which ends before the 30th byte; a VOP whose
/// time base goes on for more than 400 seconds counts as one that cannot be read.
const KEPT: usize = 64;

/// Start codes from here on are of systems and not of video (table 6-3).
const FIRST_OF_SYSTEMS: u8 = 0xb9;

/// Finds VOPs.
#[derive(Debug)]
pub(super) struct Mpeg4Scanner {
    cutter: UnitCutter<KEPT>,
    assembler: Assembler,
}

impl Default for Mpeg4Scanner {
    fn default() -> Self {
        Self { cutter: UnitCutter::new(), assembler: Assembler::default() }
    }
}

impl StreamScanner for Mpeg4Scanner {
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        let assembler = &mut self.assembler;
        self.cutter.feed(chunk, &mut |unit| assembler.take(&unit, sink));
    }

    fn finish(
        self: Box<Self>,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        let Self { mut cutter, mut assembler } = *self;
        cutter.finish(&mut |unit| assembler.take(&unit, sink));
        assembler.finish(cutter.length(), frame_rate, sink)
    }

    fn last_frame(&self) -> Option<u64> {
        self.assembler.open.as_ref().map(|frame| frame.offset)
    }
}

/// Puts headers and VOPs together to access units.
#[derive(Debug, Default)]
struct Assembler {
    /// `visual_object_verid`, where one was read.
    version: Option<u32>,
    /// The layer in force.
    layer: Option<VideoObjectLayer>,
    first_layer: Option<VideoObjectLayer>,
    clock: VopClock,
    pace: Pace,
    /// Where what precedes the next VOP begins.
    pending: Option<u64>,
    open: Option<CodedFrame>,
    first_frame: Option<u64>,
    damage: Damage,
}

impl Assembler {
    fn take(&mut self, unit: &Unit<KEPT>, sink: &mut dyn FnMut(CodedFrame)) {
        match unit.value {
            value::VOP => return self.take_vop(unit, sink),
            value::GROUP_OF_VOP => self.take_group(unit),
            value if is_header(value) => self.take_header(unit),
            value::VISUAL_OBJECT_SEQUENCE_END => return,
            code => {
                self.damage.foreign_codes += u64::from(code >= FIRST_OF_SYSTEMS);
                return;
            }
        }
        self.pending.get_or_insert(unit.offset);
    }

    fn take_group(&mut self, unit: &Unit<KEPT>) {
        self.pace.restart();
        match headers::group_of_vop(unit.payload()) {
            Ok(group) => self.clock.begin_group(group.time_code),
            Err(_) => self.damage.bad_headers += 1,
        }
    }

    fn take_header(&mut self, unit: &Unit<KEPT>) {
        let read = match unit.value {
            value::VISUAL_OBJECT => {
                headers::visual_object_version(unit.payload()).map(|version| self.version = Some(version))
            }
            value if is_layer(value) => self.take_layer(unit.payload()),
            _ => Ok(()),
        };
        self.damage.bad_headers += u64::from(read.is_err());
    }

    fn take_layer(&mut self, payload: &[u8]) -> Result<(), BadField> {
        let layer = VideoObjectLayer::parse(payload, self.version.unwrap_or(headers::DEFAULT_VERSION))?;
        self.first_layer.get_or_insert(layer);
        self.layer = Some(layer);
        Ok(())
    }

    fn take_vop(&mut self, unit: &Unit<KEPT>, sink: &mut dyn FnMut(CodedFrame)) {
        let start = self.pending.take().unwrap_or(unit.offset);
        // Before the first layer no VOP can be read.
        let Some(layer) = self.layer else { return };
        self.close_open_frame(start, sink);
        self.first_frame.get_or_insert(start);
        let kind = match VopHeader::parse(unit.payload(), layer) {
            Ok(header) => {
                let time = self.clock.time_of(header, layer.resolution);
                if self.first_layer.is_some_and(|first| first.resolution == layer.resolution) {
                    self.pace.take(time, header.kind == PictureType::B);
                }
                header.kind
            }
            Err(_) => {
                self.damage.bad_headers += 1;
                PictureType::P
            }
        };
        self.open = Some(CodedFrame {
            offset: start,
            size: 0,
            kind,
            temporal_reference: 0,
            structure: PictureStructure::Frame,
            gop_header: None,
            after_sequence_end: false,
            shown_fields: 2,
        });
    }

    fn close_open_frame(&mut self, end: u64, sink: &mut dyn FnMut(CodedFrame)) {
        if let Some(mut frame) = self.open.take() {
            frame.size = end - frame.offset;
            sink(frame);
        }
    }

    fn finish(
        mut self,
        length: u64,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        self.close_open_frame(length, sink);
        let codec = Codec::Mpeg4Part2;
        let (Some(layer), Some(first_frame)) = (self.first_layer, self.first_frame) else {
            return Err(if length == 0 { ScanError::Empty } else { ScanError::NoAccessUnit { codec, length } });
        };
        let fixed = layer.fixed_increment.and_then(|ticks| FrameRate::reduced(layer.resolution.into(), ticks.into()));
        let stated = self.pace.rate(layer.resolution).or(fixed);
        let (width, height) = layer.size;
        let sequence = SequenceHeader {
            codec,
            width,
            height,
            frame_rate: stated.or(frame_rate).ok_or(ScanError::NoFrameRate { codec })?,
            bit_rate: None,
            mpeg2: false,
            progressive: !layer.interlaced,
        };
        Ok(ScanSummary {
            sequence,
            states_frame_rate: stated.is_some(),
            length,
            damage: Damage { leading_bytes: first_frame, ..self.damage },
        })
    }
}
