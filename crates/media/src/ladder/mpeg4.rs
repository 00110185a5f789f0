//! MPEG-4 part 2 as a level: one VOP per frame, all of them coded, at a constant rate. Clauses are those of ISO/IEC
//! 14496-2:2004.

use std::ops::Range;

use crate::access_unit::{AccessUnitReader, Framing};

use crate::avi::Avi;
use crate::codec::Codec;
use crate::error::ScanError;
use crate::index::FrameIndex;
use crate::ladder::level::Parts;
use crate::ladder::{LevelError, LevelFrame};
use crate::mpeg4::headers::{DEFAULT_VERSION, VideoObjectLayer, VopHeader, is_layer, value, visual_object_version};
use crate::picture::FrameRate;
use crate::source::Source;
use crate::start_code;
use crate::streaming_file::MAX_FRAME;

/// The frames of an elementary stream.
pub(super) fn from_stream(stream: Source) -> Result<Parts, LevelError> {
    // The rate is looked at below, with the times of all frames.
    let any_rate = FrameRate { numerator: 1, denominator: 1 };
    let (FrameIndex { frames, .. }, _) = FrameIndex::read(&stream, Some(any_rate))?;
    let ranges = frames.iter().map(|frame| frame.offset..frame.offset + u64::from(frame.size));
    read(&stream, ranges, frames.len(), None)
}

/// The frames of an AVI file.
pub(super) fn from_avi(avi: &Avi) -> Result<Parts, LevelError> {
    read(avi.source(), avi.ranges().iter().cloned(), avi.frame_count(), Some(avi))
}

fn read(
    source: &Source,
    ranges: impl Iterator<Item = Range<u64>>,
    count: usize,
    avi: Option<&Avi>,
) -> Result<Parts, LevelError> {
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream)?;
    let mut vops = Vops::default();
    if let Some(avi) = avi.filter(|avi| !avi.codec_data.is_empty()) {
        // Padding or something else there is no fault as long as frames can be read.
        _ = reader.configure(&avi.codec_data);
        vops.take_headers(&avi.codec_data);
    }
    let (mut frames, mut times) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (frame, Range { start: offset, end }) in ranges.enumerate() {
        if end - offset > MAX_FRAME.into() {
            return Err(ScanError::FrameTooLarge { offset, size: end - offset }.into());
        }
        let bytes = source.range(offset, end - offset)?;
        let unit = reader.read(&bytes)?;
        vops.check(frame, &bytes)?;
        times.push(unit.display_order.unwrap_or_default());
        let size = bytes.len() as u32;
        let level_frame = LevelFrame { size, kind: unit.kind, key: unit.key, display_index: 0, offset };
        frames.push((level_frame, unit.leading));
    }
    let period = number_in_display_order(&mut frames, &times)?;
    let frame_rate = match (avi, vops.layer, period) {
        (Some(avi), ..) => Some(avi.frame_rate),
        (None, Some(layer), Some(period)) => FrameRate::reduced(layer.resolution.into(), period),
        _ => None,
    };
    Ok(Parts {
        codec: Codec::Mpeg4Part2,
        frame_rate: frame_rate.ok_or(LevelError::NoFrameRate)?,
        picture_size: vops.layer.map_or((0, 0), |layer| layer.size),
        frames,
        source: source.clone(),
    })
}

/// Ranks frames by the times at which they are shown, and gives the ticks from each to the next, which are the same
/// between all; `None` for a single frame.
fn number_in_display_order(frames: &mut [(LevelFrame, bool)], times: &[i64]) -> Result<Option<u64>, LevelError> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&frame| times[frame]);
    for (display, &frame) in order.iter().enumerate() {
        frames[frame].0.display_index = display as u32;
    }
    let gaps = || order.windows(2).map(|pair| times[pair[1]].saturating_sub(times[pair[0]]));
    let Some(period) = gaps().min() else { return Ok(None) };
    match gaps().zip(1..).find(|&(ticks, _)| ticks != period || ticks == 0) {
        None => Ok(Some(period.unsigned_abs())),
        // The frame before it in display order stays for twice its time, or longer.
        Some((ticks, frame)) if period > 0 && ticks % period == 0 => {
            Err(LevelError::SkippedFrame { frame, how: "the time stamps leave its place out" })
        }
        Some((ticks, frame)) => Err(LevelError::UnevenTimes { frame, ticks, period }),
    }
}

/// The layer in force, and what the reader of access units does not return.
#[derive(Default)]
struct Vops {
    version: Option<u32>,
    layer: Option<VideoObjectLayer>,
}

impl Vops {
    fn take_headers(&mut self, bytes: &[u8]) {
        start_code::parts(bytes).for_each(|part| self.take_header(part));
    }

    fn take_header(&mut self, part: &[u8]) {
        match part.split_first() {
            Some((&value::VISUAL_OBJECT, payload)) => self.version = visual_object_version(payload).ok(),
            Some((&value, payload)) if is_layer(value) => {
                let version = self.version.unwrap_or(DEFAULT_VERSION);
                self.layer = VideoObjectLayer::parse(payload, version).ok().or(self.layer);
            }
            _ => {}
        }
    }

    /// Refuses a frame of several VOPs, and one that is not coded.
    fn check(&mut self, frame: usize, unit: &[u8]) -> Result<(), LevelError> {
        let (mut vops, mut coded) = (0, true);
        for part in start_code::parts(unit) {
            match part.split_first() {
                Some((&value::VOP, payload)) => {
                    vops += 1;
                    let header = self.layer.and_then(|layer| VopHeader::parse(payload, layer).ok());
                    coded &= header.is_none_or(|header| header.coded);
                }
                _ => self.take_header(part),
            }
        }
        match (vops, coded) {
            (2.., _) => Err(LevelError::Packed { frame, vops }),
            (_, false) => Err(LevelError::SkippedFrame { frame, how: "its VOP is not coded" }),
            _ => Ok(()),
        }
    }
}
