//! From access units of any codec to the frame index: display order, groups, references.

use std::io;

use crate::index::{Frame, sorted_by};
use crate::order::{DisplayOrder, Indexer};
use crate::picture::PictureType;
use crate::profile::UnitReader;
use crate::scanner::CodedFrame;
use crate::streaming_file::ReadAt;

/// By what frames are brought into display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownBy {
    /// By what their headers say, in each coded video sequence.
    Headers,
    /// By their types: I and P frames in the order in which they are decoded, each behind the B frames that follow it.
    Types,
    /// As they are decoded.
    Decoding,
}

/// Reads every access unit that the scanner found, as it found it, and works out display order.
///
/// Frames are shown and decoded at the stated rate, one each period: pictures that are to be shown longer
/// (`pic_struct` of H.264 and H.265) are not.
#[derive(Debug)]
pub(crate) struct UnitIndexer {
    reader: Box<dyn UnitReader>,
    shown_by: ShownBy,
    bytes: Vec<u8>,
    gop: u32,
    /// I and P frames so far.
    anchors: u64,
    /// By what each frame sorts: the coded video sequence and its order in that, or the last I or P frame.
    keys: Vec<(u64, i64)>,
}

impl UnitIndexer {
    /// An indexer of a stream that this reader reads from its first access unit on.
    pub(crate) fn of(reader: impl UnitReader + 'static, shown_by: ShownBy) -> Box<dyn Indexer> {
        let reader = Box::new(reader);
        Box::new(Self { reader, shown_by, bytes: Vec::new(), gop: 0, anchors: 0, keys: Vec::new() })
    }

    fn key(&mut self, kind: PictureType, sequence: u64, order: Option<i64>) -> (u64, i64) {
        match self.shown_by {
            ShownBy::Decoding => (0, self.keys.len() as i64),
            // One that cannot be read is taken to be shown after the one before.
            ShownBy::Headers => (sequence, order.unwrap_or(self.keys.last().map_or(0, |&(_, order)| order))),
            ShownBy::Types if kind == PictureType::B => (self.anchors, 0),
            ShownBy::Types => {
                self.anchors += 1;
                (self.anchors, 1)
            }
        }
    }
}

impl Indexer for UnitIndexer {
    fn take(&mut self, frame: &mut Frame, _coded: &CodedFrame, source: &dyn ReadAt) -> io::Result<()> {
        self.bytes.resize(frame.size as usize, 0);
        source.read_exact_at(&mut self.bytes, frame.offset)?;
        let number = self.keys.len();
        let (unit, sequence) = self.reader.read_in_sequence(number as u64, &self.bytes);
        let order = unit.as_ref().and_then(|unit| unit.display_order);
        match unit {
            Some(unit) => frame.take(&unit),
            // Nor can a decoder read it.
            None => frame.missing_reference = true,
        }
        let key = self.key(frame.kind, sequence, order);
        self.keys.push(key);
        self.gop += u32::from(frame.key.is_some() && number > 0);
        frame.gop = self.gop;
        Ok(())
    }

    fn order(self: Box<Self>) -> DisplayOrder {
        DisplayOrder::of(&sorted_by(&self.keys))
    }
}
