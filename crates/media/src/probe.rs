//! What is in an elementary stream of any codec that is known here, for a description of it and not for sending it.

use std::io;

use crate::access_unit::{AccessUnitReader, Codec, Framing};
use crate::error::{OpenError, ScanError};
use crate::index::{Frame, FrameRate, SequenceHeader, sorted_by};
use crate::ladder::mpeg4;
use crate::movie::{head_of, read_frames};
use crate::order::DisplayOrder;
use crate::streaming_file::ReadAt;

/// What is known of a stream when all of its frames were seen.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The first sequence header.
    pub sequence: SequenceHeader,
    /// Frames per second, as the stream or its time stamps state them, or as given; `None` where nothing does.
    pub frame_rate: Option<FrameRate>,
    /// When its frames are shown and decoded.
    pub order: DisplayOrder,
}

/// Stands where there is no frame rate.
const NO_RATE: FrameRate = FrameRate { numerator: 1, denominator: 1 };

/// Finds the frames of MPEG-1 or MPEG-2 video, MPEG-4 part 2, H.264 or H.265, and gives each to `take`, in decode order:
/// numbers in display order and times are known in the end. Of a frame some twenty bytes are kept. `frame_rate` is that of
/// a stream that does not state its own.
///
/// # Errors
/// When it cannot be read, or is none of these, or `take` fails.
pub fn probe(
    source: &impl ReadAt,
    frame_rate: Option<FrameRate>,
    take: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<Probed, OpenError> {
    if mpeg4::is_one(&head_of(source)?) {
        return probe_mpeg4(source, frame_rate, take);
    }
    let (summary, order) = read_frames(source, frame_rate.or(Some(NO_RATE)), take)?;
    let stated = Some(summary.sequence.frame_rate).filter(|_| summary.states_frame_rate);
    Ok(Probed { sequence: summary.sequence, frame_rate: stated.or(frame_rate), order })
}

/// A stream that was received may lack frames, so that its time stamps are uneven: the least time between two is the
/// period.
fn probe_mpeg4(
    source: &impl ReadAt,
    frame_rate: Option<FrameRate>,
    take: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<Probed, OpenError> {
    let places = mpeg4::cut(source)?;
    let no_reader = "invariant: byte streams of MPEG-4 part 2 are read";
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream).expect(no_reader);
    let (mut vops, mut bytes, mut group) = (mpeg4::Vops::default(), Vec::new(), 0);
    let mut times = Vec::with_capacity(places.count());
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
        take(frame)?;
    }
    if times.is_empty() {
        return Err(ScanError::NoAccessUnit { codec: Codec::Mpeg4Part2, length: source.length()? }.into());
    }
    let order = sorted_by(&times);
    let between = |pair: &[u32]| times[pair[1] as usize] - times[pair[0] as usize];
    let period = order.windows(2).map(between).filter(|&ticks| ticks > 0).min();
    let stated = vops.layer.zip(period);
    let stated = stated.and_then(|(layer, period)| FrameRate::reduced(layer.resolution.into(), period.unsigned_abs()));
    let known = stated.or(frame_rate);
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
    Ok(Probed { sequence, frame_rate: known, order: DisplayOrder::of(&order) })
}
