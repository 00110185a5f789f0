//! Access units of an elementary stream of MPEG-4 part 2, found incrementally: each VOP with the headers before it.

use super::clock::VopClock;
use super::headers::{self, VideoObjectLayer, VopHeader, is_header, is_layer, value};
use super::pace::Pace;
use crate::bits::BadField;
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::{FrameRate, PictureType};
use crate::scanner::{CodedFrame, Damage, ScanSummary, StartCodeScanner, Stated, StreamScanner, Tiling, UnitAssembler};
use crate::start_code::Unit;

/// How many bytes of a header are kept: those of a layer are read up to its size, which ends before the 30th byte; a VOP whose
/// time base goes on for more than 400 seconds counts as one that cannot be read.
const KEPT: usize = 64;

/// Start codes from here on are of systems and not of video (table 6-3).
const FIRST_OF_SYSTEMS: u8 = 0xb9;

/// Finds VOPs.
pub(super) fn scanner() -> Box<dyn StreamScanner> {
    Box::new(StartCodeScanner::new(Assembler::default()))
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
    frames: Tiling,
    damage: Damage,
}

impl UnitAssembler<KEPT> for Assembler {
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

    fn frames(&self) -> &Tiling {
        &self.frames
    }

    fn frames_mut(&mut self) -> &mut Tiling {
        &mut self.frames
    }

    fn summary(&self, length: u64, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        let stated = self.first_layer.map(|layer| {
            let fixed =
                layer.fixed_increment.and_then(|ticks| FrameRate::reduced(layer.resolution.into(), ticks.into()));
            Stated {
                width: layer.size.0.into(),
                height: layer.size.1.into(),
                frame_rate: self.pace.clone().rate(layer.resolution).or(fixed),
                progressive: !layer.interlaced,
            }
        });
        self.frames.summary(Codec::Mpeg4Part2, stated, length, frame_rate, self.damage)
    }
}

impl Assembler {
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
        self.frames.begin(CodedFrame::begun_at(start, kind), sink);
    }
}
