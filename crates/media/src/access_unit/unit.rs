//! An access unit: how important it is, and what it refers to.

use crate::bits::BadField;
use crate::picture::{GopHeader, PictureType};
use crate::picture_order::PictureOrder;
use crate::recovery::Recovery;

/// How the parts of an access unit are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Start codes (annex B of H.264 and H.265; every MPEG stream), or the low-overhead format of AV1 (section 5.2).
    ByteStream,
    /// Each NAL unit behind its length, in so many bytes, 1 to 4 (ISO/IEC 14496-15).
    LengthPrefixed(u8),
}

/// A frame where decoding can begin, by what may be shown before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// Nothing after it refers to anything before it: a closed group, an IDR picture, an AV1 key frame.
    Closed,
    /// Frames that are shown before it may refer to what came before it: an open group, a CRA picture.
    Open,
    /// As open, and what came before it is gone: its leading frames cannot be decoded (`broken_link`, a BLA picture).
    BrokenLink,
}

/// One access unit: a coded frame, or one field of it, with the headers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessUnit {
    /// How many units the reader read before it; of a second field, before the first one: both are one frame, to which
    /// others refer by this number.
    pub number: u64,
    /// What of its frame it holds.
    pub part: FramePart,
    /// Coding type. Of H.264, H.265 and AV1: I when all slices are intra, B when one has two reference lists or, for
    /// AV1, when it is shown before a frame that came earlier, else P. An AV1 unit of several frames is I when one of
    /// them is a key frame, and P when they differ; a VOP of MPEG-4 part 2 predicted by global motion counts as P.
    pub kind: PictureType,
    /// Set where decoding can begin.
    pub key: Option<KeyKind>,
    /// True for a frame that is shown before the key frame it follows, and may refer to what came before that.
    pub leading: bool,
    /// False when the stream states that no other frame refers to it.
    pub referenced: bool,
    /// Temporal layer (H.265 `TemporalId`, AV1 `temporal_id`, H.264 SVC prefix); frames of a layer never refer to a
    /// higher one. 0 where the stream has none.
    pub temporal_layer: u8,
    /// Numbers of the units it cannot be decoded intact without, ascending: exact where headers state it, and otherwise
    /// all that they allow.
    pub references: Vec<u64>,
    /// True when it refers to a unit that the reader never saw.
    pub missing_reference: bool,
    /// Where it stands in display order within its coded video sequence: temporal reference, picture order count,
    /// order hint, or ticks of the time base (MPEG-4 part 2). `None` where headers do not state it.
    pub display_order: Option<i64>,
    /// What a decoder derives that from (H.264, H.265). `None` where pictures that are missing do not change it.
    pub picture_order: Option<PictureOrder>,
    /// Whether gradual intra refresh has made it independent of what came before (H.264, H.265).
    pub recovery: Recovery,
    /// The group-of-pictures header before it (MPEG-1, MPEG-2), or that of a group of VOPs (MPEG-4 part 2), whose time
    /// code has whole seconds only.
    pub gop_header: Option<GopHeader>,
}

/// What of its frame an access unit holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FramePart {
    /// All of it: a frame picture, or both of its fields.
    #[default]
    Whole,
    /// One field. Its frame lacks the other, which comes next or is lost.
    FirstField,
    /// The field that the frame of the unit before wanted.
    SecondField,
}

/// Why an access unit could not be read. The reader goes on with the next one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessUnitError {
    /// There is no coded picture in it.
    #[error("access unit {number} of {length} bytes holds no coded picture")]
    NoPicture {
        /// Its number.
        number: u64,
        /// Its bytes.
        length: usize,
    },
    /// A header is cut off or has a value that the standard does not allow.
    #[error("access unit {number}: {field} is {value}")]
    BadHeader {
        /// Its number.
        number: u64,
        /// The syntax element at fault, by its name in the standard.
        field: &'static str,
        /// What it is, in words.
        value: String,
    },
    /// The headers that its slices name have not come.
    #[error("access unit {number}: {parameter_set} {id} has not come")]
    MissingParameterSet {
        /// Its number.
        number: u64,
        /// Which kind, for instance `"sequence parameter set"`.
        parameter_set: &'static str,
        /// Its identifier.
        id: u32,
    },
    /// Out-of-band configuration (avcC, hvcC, av1C) that is not well formed.
    #[error("codec configuration: {reason}")]
    BadConfiguration {
        /// What is wrong.
        reason: String,
    },
}

impl AccessUnitError {
    pub(crate) fn bad_header(number: u64, BadField { name: field, value }: BadField) -> Self {
        let value = value.map_or("cut off".to_owned(), |value| value.to_string());
        Self::BadHeader { number, field, value }
    }

    pub(crate) fn bad_configuration_field(BadField { name, value }: BadField) -> Self {
        let value = value.map_or("cut off".to_owned(), |value| value.to_string());
        Self::bad_configuration(format!("{name} is {value}"))
    }

    pub(crate) fn bad_configuration(reason: impl Into<String>) -> Self {
        Self::BadConfiguration { reason: reason.into() }
    }
}
