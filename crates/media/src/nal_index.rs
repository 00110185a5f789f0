//! From access units of H.264 and H.265 to the frame index: display order, groups, references, time stamps.

use std::io;

use crate::access_unit::{AccessUnit, Codec, Framing};
use crate::index::{Frame, FrameIndex, SequenceHeader, sorted_by};
use crate::start_code;
use crate::streaming_file::ReadAt;
use crate::{h264, h265};

/// Start codes that are looked at to recognise what a stream is.
const START_CODES_CHECKED: usize = 4_096;

/// NAL unit headers begin with a zero bit; the headers of MPEG video have start codes from here on.
const FIRST_THAT_IS_NO_NAL_UNIT: u8 = 0x80;

/// Which of the two a byte stream is: the first sequence parameter set that is well formed decides. `None` for MPEG
/// video and anything else.
pub(crate) fn codec_of(stream: &[u8]) -> Option<Codec> {
    let nals = start_code::parts(stream).filter(|nal| !nal.is_empty()).take(START_CODES_CHECKED);
    let mut nals = nals.take_while(|nal| nal[0] < FIRST_THAT_IS_NO_NAL_UNIT);
    nals.find_map(|nal| match () {
        () if h265::is_sequence_parameter_set(nal) => Some(Codec::H265),
        () if h264::is_sequence_parameter_set(nal) => Some(Codec::H264),
        () => None,
    })
}

#[derive(Debug)]
enum Reader {
    H264(h264::Reader),
    H265(h265::Reader),
}

impl Reader {
    fn new(codec: Codec) -> Self {
        match codec {
            Codec::H265 => Self::H265(h265::Reader::new(Framing::ByteStream)),
            _ => Self::H264(h264::Reader::new(Framing::ByteStream)),
        }
    }

    /// The unit, as far as it can be read, and the coded video sequence that it belongs to.
    fn read(&mut self, number: u64, bytes: &[u8]) -> (Option<AccessUnit>, u64) {
        match self {
            Self::H264(reader) => (reader.read_leniently(number, bytes).0, reader.sequences()),
            Self::H265(reader) => (reader.read_leniently(number, bytes).0, reader.sequences()),
        }
    }
}

/// Reads every access unit of `stream` that the scanner found, as it found it, and works out display order and time stamps.
///
/// Frames are shown and decoded at the stated rate, one each period: pictures that are to be shown longer
/// (`pic_struct`) are not.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn index(sequence: SequenceHeader, mut frames: Vec<Frame>, stream: &dyn ReadAt) -> io::Result<FrameIndex> {
    let mut reader = Reader::new(sequence.codec);
    let mut gop = 0;
    let mut shown_after = (0, 0);
    let mut display_keys = Vec::with_capacity(frames.len());
    let mut bytes = Vec::new();
    for (number, frame) in frames.iter_mut().enumerate() {
        bytes.resize(frame.size as usize, 0);
        stream.read_exact_at(&mut bytes, frame.offset)?;
        let (unit, sequence_number) = reader.read(number as u64, &bytes);
        // One that cannot be read is taken to be shown after the one before.
        let order = unit.as_ref().and_then(|unit| unit.display_order);
        shown_after = (sequence_number, order.unwrap_or(shown_after.1));
        display_keys.push(shown_after);
        if let Some(unit) = unit {
            frame.take(&unit);
        }
        gop += u32::from(frame.key.is_some() && number > 0);
        frame.gop = gop;
        frame.decode_time = sequence.frame_rate.time_of(number as u64);
    }
    for (display, number) in sorted_by(&display_keys).into_iter().enumerate() {
        let frame = &mut frames[number as usize];
        frame.display_index = display as u32;
        frame.display_time = sequence.frame_rate.time_of(display as u64);
    }
    Ok(FrameIndex { sequence, frames })
}
