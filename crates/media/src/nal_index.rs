//! From access units of H.264 and H.265 to the frame index: display order, groups, references.

use std::io;

use crate::access_unit::{AccessUnit, Codec, Framing};
use crate::index::{Frame, sorted_by};
use crate::movie::Indexer;
use crate::order::DisplayOrder;
use crate::scanner::CodedFrame;
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
            _ => Self::H264(h264::Reader::new(Framing::ByteStream).of_whole_stream()),
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

/// Reads every access unit that the scanner found, as it found it, and works out display order.
///
/// Frames are shown and decoded at the stated rate, one each period: pictures that are to be shown longer
/// (`pic_struct`) are not.
#[derive(Debug)]
pub(crate) struct NalIndexer {
    reader: Reader,
    bytes: Vec<u8>,
    gop: u32,
    /// The coded video sequence and the order of each frame.
    keys: Vec<(u64, i64)>,
}

impl NalIndexer {
    pub(crate) fn of(codec: Codec) -> Box<dyn Indexer> {
        Box::new(Self { reader: Reader::new(codec), bytes: Vec::new(), gop: 0, keys: Vec::new() })
    }
}

impl Indexer for NalIndexer {
    fn take(&mut self, frame: &mut Frame, _coded: &CodedFrame, source: &dyn ReadAt) -> io::Result<()> {
        self.bytes.resize(frame.size as usize, 0);
        source.read_exact_at(&mut self.bytes, frame.offset)?;
        let number = self.keys.len();
        let (unit, sequence) = self.reader.read(number as u64, &self.bytes);
        // One that cannot be read is taken to be shown after the one before.
        let order = unit.as_ref().and_then(|unit| unit.display_order);
        let before = self.keys.last().map_or(0, |&(_, order)| order);
        self.keys.push((sequence, order.unwrap_or(before)));
        if let Some(unit) = unit {
            frame.take(&unit);
        }
        self.gop += u32::from(frame.key.is_some() && number > 0);
        frame.gop = self.gop;
        Ok(())
    }

    fn order(self: Box<Self>) -> DisplayOrder {
        DisplayOrder::of(&sorted_by(&self.keys))
    }
}
