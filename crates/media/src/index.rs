//! The frame index: what is known of every access unit of a movie.

use std::time::Duration;

use crate::access_unit::{AccessUnit, KeyKind};
use crate::frame_references::References;
use crate::picture::{GopHeader, PictureStructure, PictureType, SequenceHeader};
use crate::picture_order::PictureOrder;
use crate::recovery::Recovery;
use crate::scanner::CodedFrame;

/// One access unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number in decode order, from 0.
    pub decode_index: u32,
    /// Number in display order, from 0.
    pub display_index: u32,
    /// Coding type; of two paired fields, the first one's.
    pub kind: PictureType,
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
    /// True for a frame that is shown before the key frame it follows, and may refer to what came before that.
    pub leading: bool,
    /// False when the stream states that no other frame refers to it.
    pub referenced: bool,
    /// Temporal layer; 0 where the stream has none.
    pub temporal_layer: u8,
    /// Temporal reference, modulo 1024 (ISO/IEC 13818-2, 6.3.9); 0 where the codec has none.
    pub temporal_reference: u16,
    /// Number of the group of pictures, from 0; of H.264 and H.265 every key frame begins one.
    pub gop: u32,
    /// The group's header, on the first picture after one.
    pub gop_header: Option<GopHeader>,
    /// Whether fields were paired.
    pub structure: PictureStructure,
    /// Byte offset in the file. A frame starts with the headers before its picture, so frames tile the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u32,
    /// When it is to be sent and decoded, from the first frame.
    pub decode_time: Duration,
    /// When it is shown, from the first frame shown.
    pub display_time: Duration,
    /// Decode indices of the frames it cannot be decoded without, ascending. B pictures at the start of an open group
    /// refer to the last I or P picture of the group before as well.
    pub references: References,
    /// True when it also refers to something that is not in the stream, as the leading frames of its start or of a broken
    /// link.
    pub missing_reference: bool,
    /// What a decoder derives its place in display order from (H.264, H.265).
    pub picture_order: Option<PictureOrder>,
    /// Whether gradual intra refresh has made it independent of what came before (H.264, H.265), by decode indices.
    pub recovery: Recovery,
}

impl Frame {
    /// What is known of the frame of this number in decode order where it stands: numbers, times and references are
    /// still to come.
    pub(crate) fn at(number: usize, offset: u64, size: u32) -> Self {
        Self {
            decode_index: number as u32,
            display_index: 0,
            kind: PictureType::P,
            key: None,
            leading: false,
            referenced: true,
            temporal_layer: 0,
            temporal_reference: 0,
            gop: 0,
            gop_header: None,
            structure: PictureStructure::Frame,
            offset,
            size,
            decode_time: Duration::ZERO,
            display_time: Duration::ZERO,
            references: References::default(),
            missing_reference: false,
            picture_order: None,
            recovery: Recovery::default(),
        }
    }

    /// The frame of this number as the scanner found it.
    pub(crate) fn of(number: usize, coded: &CodedFrame) -> Self {
        Self {
            kind: coded.kind,
            temporal_reference: coded.temporal_reference,
            gop_header: coded.gop_header,
            structure: coded.structure,
            ..Self::at(number, coded.offset, coded.size as u32)
        }
    }

    /// What the reader of access units returns of it.
    pub(crate) fn take(&mut self, unit: &AccessUnit) {
        self.kind = unit.kind;
        self.key = unit.key;
        self.leading = unit.leading;
        self.referenced = unit.referenced;
        self.temporal_layer = unit.temporal_layer;
        self.gop_header = unit.gop_header;
        self.references = unit.references.iter().map(|&other| other as u32).collect();
        self.missing_reference = unit.missing_reference;
        self.picture_order = unit.picture_order;
        self.recovery = unit.recovery;
    }
}

/// The numbers of `keys` in the order in which these sort: decode indices in display order.
pub(crate) fn sorted_by<K: Ord + Copy>(keys: &[K]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&number| keys[number as usize]);
    order
}

/// Every access unit of a movie, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameIndex {
    /// The first sequence header.
    pub sequence: SequenceHeader,
    /// Frames in decode order.
    pub frames: Vec<Frame>,
}
