//! What is in an elementary stream of any codec that is known here, for a description of it and not for sending it.

use std::time::Duration;

use crate::access_unit::{AccessUnitReader, Codec, Framing};
use crate::error::{OpenError, ScanError};
use crate::index::{Frame, FrameIndex, FrameRate, SequenceHeader, sorted_by};
use crate::ladder::mpeg4;
use crate::movie::head_of;
use crate::streaming_file::ReadAt;

/// The frames of a stream.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Without a frame rate, all times are zero.
    pub index: FrameIndex,
    /// Frames per second, as the stream states them or its time stamps give them, or as given; `None` where nothing
    /// does.
    pub frame_rate: Option<FrameRate>,
}

/// Stands where there is no frame rate.
const NO_RATE: FrameRate = FrameRate { numerator: 1, denominator: 1 };

/// Finds the frames of MPEG-1 or MPEG-2 video, MPEG-4 part 2, H.264 or H.265. `frame_rate` is that of a stream that does
/// not state its own.
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
    let places = mpeg4::cut(source)?;
    let no_reader = "invariant: byte streams of MPEG-4 part 2 are read";
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream).expect(no_reader);
    let (mut vops, mut bytes, mut group) = (mpeg4::Vops::default(), Vec::new(), 0);
    let (mut frames, mut times) = (Vec::with_capacity(places.count()), Vec::with_capacity(places.count()));
    for (number, range) in places.ranges().enumerate() {
        bytes.resize((range.end - range.start) as usize, 0);
        source.read_exact_at(&mut bytes, range.start)?;
        vops.take_headers(&bytes);
        let mut frame = Frame::at(number, range.start, bytes.len() as u32);
        // One that cannot be read counts nevertheless.
        let unit = reader.read(&bytes).ok();
        if let Some(unit) = &unit {
            frame.take(unit);
        }
        group += u32::from(number > 0 && frame.key.is_some());
        frame.gop = group;
        let before = times.last().copied().unwrap_or_default();
        times.push(unit.and_then(|unit| unit.display_order).unwrap_or(before));
        frames.push(frame);
    }
    if frames.is_empty() {
        return Err(ScanError::NoAccessUnit { codec: Codec::Mpeg4Part2, length: source.length()? }.into());
    }
    let order = sorted_by(&times);
    let between = |pair: &[u32]| times[pair[1] as usize] - times[pair[0] as usize];
    let period = order.windows(2).map(between).filter(|&ticks| ticks > 0).min();
    let stated = vops.layer.zip(period);
    let stated = stated.and_then(|(layer, period)| FrameRate::reduced(layer.resolution.into(), period.unsigned_abs()));
    let known = stated.or(frame_rate);
    for (display, &number) in order.iter().enumerate() {
        frames[number as usize].display_index = display as u32;
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
