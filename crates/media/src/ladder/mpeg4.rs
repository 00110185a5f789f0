//! MPEG-4 part 2 as a level: one VOP per frame, all of them coded, at a constant rate. Clauses are those of ISO/IEC
//! 14496-2:2004.

use std::ops::Range;

use bytes::Bytes;

use crate::access_unit::{AccessUnitReader, Codec, Framing};
use crate::avi::Avi;
use crate::error::{OpenError, ScanError};
use crate::index::FrameRate;
use crate::ladder::level::Parts;
use crate::ladder::{LevelError, LevelFrame};
use crate::movie::{MAX_FRAMES, for_each_chunk, of_memory};
use crate::mpeg4::headers::{DEFAULT_VERSION, VideoObjectLayer, VopHeader, value, visual_object_version};
use crate::nal_index;
use crate::start_code::{self, Unit, UnitCutter};
use crate::streaming_file::{MAX_FRAME, ReadAt};

/// Start codes before the first picture (table 6-3): objects and layers, the sequence, user data, the visual object.
const VISUAL_OBJECT_SEQUENCE: u8 = 0xb0;
const USER_DATA: u8 = 0xb2;

/// How far into a stream its layer is looked for.
const HEADERS_CHECKED: usize = 64;

/// Whether a start code's value is that of a video object layer.
pub(super) fn is_layer(value: u8) -> bool {
    (value::VIDEO_OBJECT_LAYER_FIRST..=value::VIDEO_OBJECT_LAYER_LAST).contains(&value)
}

/// Whether a stream begins with the headers of MPEG-4 part 2.
pub(crate) fn is_one(stream: &[u8]) -> bool {
    let is_header = |value| {
        value <= value::VIDEO_OBJECT_LAYER_LAST
            || matches!(value, VISUAL_OBJECT_SEQUENCE | USER_DATA | value::VISUAL_OBJECT)
    };
    let values = start_code::parts(stream).filter_map(|part| part.first().copied()).take(HEADERS_CHECKED);
    values.take_while(|&value| is_header(value)).any(is_layer) && nal_index::codec_of(stream).is_none()
}

/// The frames of an elementary stream.
pub(super) fn from_stream(stream: Bytes) -> Result<Parts, LevelError> {
    let ranges = cut(&stream).map_err(of_memory)?;
    let ranges = ranges.into_iter().map(|range| range.start as usize..range.end as usize).collect();
    read(stream, ranges, None)
}

/// The frames of an AVI file.
pub(super) fn from_avi(avi: &Avi) -> Result<Parts, LevelError> {
    let ranges = (0..avi.frame_count()).map(|frame| avi.range(frame)).collect();
    read(avi.whole(), ranges, Some(avi))
}

/// Where frames begin and end: each VOP with the headers before it.
pub(crate) fn cut(source: &impl ReadAt) -> Result<Vec<Range<u64>>, OpenError> {
    let mut starts = Vec::new();
    let mut after_vop = true;
    let mut cutter: UnitCutter = UnitCutter::new();
    let mut sink = |unit: Unit| {
        if after_vop && starts.len() <= MAX_FRAMES {
            starts.push(unit.offset);
        }
        after_vop = unit.value == value::VOP;
    };
    let length = for_each_chunk(source, |chunk, _| {
        cutter.feed(chunk, &mut sink);
        true
    })?;
    cutter.finish(&mut sink);
    if !after_vop {
        // What stands behind the last VOP belongs to it.
        starts.pop();
    }
    if starts.len() > MAX_FRAMES {
        return Err(ScanError::TooManyFrames { limit: MAX_FRAMES, offset: starts[MAX_FRAMES] }.into());
    }
    let ends = starts.iter().copied().skip(1).chain([length]);
    let ranges: Vec<_> = starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect();
    match ranges.iter().find(|range| range.end - range.start > MAX_FRAME.into()) {
        Some(range) => Err(ScanError::FrameTooLarge { offset: range.start, size: range.end - range.start }.into()),
        None => Ok(ranges),
    }
}

fn read(bytes: Bytes, ranges: Vec<Range<usize>>, avi: Option<&Avi>) -> Result<Parts, LevelError> {
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream)?;
    let mut vops = Vops::default();
    if let Some(avi) = avi.filter(|avi| !avi.codec_data.is_empty()) {
        // Padding or something else there is no fault as long as frames can be read.
        _ = reader.configure(&avi.codec_data);
        vops.take_headers(&avi.codec_data);
    }
    let (mut frames, mut times) = (Vec::with_capacity(ranges.len()), Vec::with_capacity(ranges.len()));
    for (frame, range) in ranges.into_iter().enumerate() {
        let unit = reader.read(&bytes[range.clone()])?;
        vops.check(frame, &bytes[range.clone()])?;
        let size = u32::try_from(range.len())
            .map_err(|_| ScanError::FrameTooLarge { offset: range.start as u64, size: range.len() as u64 })?;
        times.push(unit.display_order.unwrap_or_default());
        let level_frame =
            LevelFrame { size, kind: unit.kind, key: unit.key, display_index: 0, offset: range.start as u64 };
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
        bytes,
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

/// The layer in force, and what the reader of access units does not tell.
#[derive(Default)]
pub(crate) struct Vops {
    version: Option<u32>,
    pub(crate) layer: Option<VideoObjectLayer>,
}

impl Vops {
    pub(crate) fn take_headers(&mut self, bytes: &[u8]) {
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
