//! What is in an elementary stream of any codec that is known here, for who wants to know and not to send it.

use std::time::Duration;

use crate::access_unit::{AccessUnit, AccessUnitReader, Codec, Framing};
use crate::error::{OpenError, ScanError};
use crate::index::{Frame, FrameIndex, FrameRate, PictureStructure, PictureType, SequenceHeader};
use crate::ladder::mpeg4;
use crate::movie::head_of;
use crate::streaming_file::ReadAt;

/// The frames of a stream.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Without a frame rate, all times are zero.
    pub index: FrameIndex,
    /// Frames per second, as the stream states them or its time stamps tell, or as given; `None` where nothing tells.
    pub frame_rate: Option<FrameRate>,
}

/// Stands where there is no frame rate.
const NO_RATE: FrameRate = FrameRate { numerator: 1, denominator: 1 };

/// Finds the frames of MPEG-1 or MPEG-2 video, MPEG-4 part 2, H.264 or H.265. `frame_rate` is that of a stream that does
/// not tell its own.
///
/// # Errors
/// When it cannot be read, or is none of these.
pub fn probe(source: &impl ReadAt, frame_rate: Option<FrameRate>) -> Result<Probed, OpenError> {
    if mpeg4::is_one(&head_of(source)?) {
        return probe_mpeg4(source, frame_rate);
    }
    match FrameIndex::read(source, frame_rate) {
        Ok((index, _)) => Ok(Probed { frame_rate: Some(index.sequence.frame_rate), index }),
        Err(OpenError::Scan(ScanError::NoFrameRate { .. })) => {
            let (index, _) = FrameIndex::read(source, Some(NO_RATE))?;
            Ok(Probed { index: without_times(index), frame_rate: None })
        }
        Err(error) => Err(error),
    }
}

fn without_times(mut index: FrameIndex) -> FrameIndex {
    for frame in &mut index.frames {
        (frame.decode_time, frame.display_time) = (Duration::ZERO, Duration::ZERO);
    }
    index
}

/// A stream that was received may lack frames, so that its time stamps are uneven: the least time between two is the
/// period.
fn probe_mpeg4(source: &impl ReadAt, frame_rate: Option<FrameRate>) -> Result<Probed, OpenError> {
    let ranges = mpeg4::cut(source)?;
    let no_reader = "invariant: byte streams of MPEG-4 part 2 are read";
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream).expect(no_reader);
    let (mut vops, mut bytes, mut group) = (mpeg4::Vops::default(), Vec::new(), 0);
    let (mut frames, mut times) = (Vec::with_capacity(ranges.len()), Vec::with_capacity(ranges.len()));
    for (number, range) in ranges.into_iter().enumerate() {
        bytes.resize((range.end - range.start) as usize, 0);
        source.read_exact_at(&mut bytes, range.start)?;
        vops.take_headers(&bytes);
        // One that cannot be read counts nevertheless.
        let unit = reader.read(&bytes).ok();
        group += u32::from(number > 0 && unit.as_ref().is_some_and(|unit| unit.key.is_some()));
        let before = times.last().copied().unwrap_or_default();
        times.push(unit.as_ref().and_then(|unit| unit.display_order).unwrap_or(before));
        frames.push(frame(number as u32, group, range.start, bytes.len() as u32, unit));
    }
    if frames.is_empty() {
        return Err(ScanError::NoAccessUnit { codec: Codec::Mpeg4Part2, length: source.length()? }.into());
    }
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&number| times[number]);
    let period = order.windows(2).map(|pair| times[pair[1]] - times[pair[0]]).filter(|&ticks| ticks > 0).min();
    let stated = vops.layer.zip(period);
    let stated = stated.and_then(|(layer, period)| FrameRate::reduced(layer.resolution.into(), period.unsigned_abs()));
    let known = stated.or(frame_rate);
    for (display, &number) in order.iter().enumerate() {
        frames[number].display_index = display as u32;
    }
    if let Some(rate) = known {
        for frame in &mut frames {
            frame.decode_time = rate.time_of(frame.decode_index.into());
            frame.display_time = rate.time_of(frame.display_index.into());
        }
    }
    let (width, height) = vops.layer.map_or((0, 0), |layer| layer.size);
    let sequence = SequenceHeader {
        codec: Codec::Mpeg4Part2,
        width,
        height,
        frame_rate: known.unwrap_or(NO_RATE),
        bit_rate: None,
        mpeg2: false,
        progressive: vops.layer.is_none_or(|layer| !layer.interlaced),
    };
    Ok(Probed { index: FrameIndex { sequence, frames }, frame_rate: known })
}

fn frame(number: u32, gop: u32, offset: u64, size: u32, unit: Option<AccessUnit>) -> Frame {
    let unit = unit.as_ref();
    Frame {
        decode_index: number,
        display_index: 0,
        kind: unit.map_or(PictureType::P, |unit| unit.kind),
        key: unit.and_then(|unit| unit.key),
        leading: unit.is_some_and(|unit| unit.leading),
        referenced: unit.is_none_or(|unit| unit.referenced),
        temporal_layer: 0,
        temporal_reference: 0,
        gop,
        gop_header: unit.and_then(|unit| unit.gop_header),
        structure: PictureStructure::Frame,
        offset,
        size,
        decode_time: Duration::ZERO,
        display_time: Duration::ZERO,
        references: unit.map_or(vec![], |unit| unit.references.iter().map(|&other| other as u32).collect()),
        missing_reference: unit.is_some_and(|unit| unit.missing_reference),
        picture_order: unit.and_then(|unit| unit.picture_order),
    }
}
